"""Which groups are headings, and of what level: by the outline where a PDF has one, by numbering, and by typography.

No style is known beforehand. Groups that are surely headings (outline entries, usual names, numbered ones) show which styles
this paper sets its headings in; other groups set in these styles are headings too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from scirgen.core.records import BlockKind
from scirgen.stages.parse.pdf.lines import Style
from scirgen.stages.parse.pdf.paragraphs import Group
from scirgen.stages.parse.pdf.terms import DEPTH, kind_of_heading, plain

_SENTENCE_END = re.compile(r"[.;,。；，]$")
_START = re.compile(r"^[\"“‘(¿¡'`]*(?:[A-ZÀ-Þ\d一-鿿]|[a-z][A-Z]|[a-zβ-ω]-|R package)")
_OUTERMOST = re.compile(
    r"^(?:introduc|background$|methods?$|methodolog|materia|resul|discus|conclu|references|referencias|literatur|bibliogra|acknowledg"
    r"|引言|方法|结果|讨论|结论|参考文献)"
)
_MAX_CHARS, _MAX_LINES, _MAX_WORDS = 230, 5, 32

StyleKey = tuple[str, float, bool, bool, bool, int]


@dataclass(frozen=True)
class Outline:
    """Entries of the PDF's own outline: (level, text, page)."""

    entries: tuple[tuple[int, str, int], ...] = ()


@dataclass
class _Candidate:
    group: Group
    index: int
    key: StyleKey
    name: str
    outline: int | None = None
    depth: int | None = None
    seed: bool = False
    followed: bool = False
    accepted: bool = field(default=False)


def mark_headings(groups: list[Group], body: Style, outline: Outline, first: int) -> None:
    """Set kind and level of the groups that are headings, from index ``first`` (after the front matter) on."""
    candidates = [
        _candidate(group, index, groups, body)
        for index, group in enumerate(groups)
        if index >= first and _usable(group) and _may_be_heading(group, body)
    ]
    _match_outline(candidates, outline)
    _check_numbers(candidates)
    _accept(candidates, groups, body)
    accepted = [c for c in candidates if c.accepted]
    _set_levels(accepted)


def _usable(group: Group) -> bool:
    """Whether its kind leaves it open; a numbered title may have been taken for a list item or a table's cell."""
    if group.kind is BlockKind.PARAGRAPH:
        return True
    return group.kind in (BlockKind.OTHER, BlockKind.TABLE, BlockKind.LIST_ITEM) and bool(
        DEPTH.match(group.text) or kind_of_heading(group.text)
    )


def _may_be_heading(group: Group, body: Style) -> bool:
    text = group.text
    letters = sum(c.isalpha() for c in text)
    if len(group.lines) > _MAX_LINES or len(text) > _MAX_CHARS or len(text.split()) > _MAX_WORDS:
        return False
    unnumbered = DEPTH.sub("", text).replace(" ", "")
    if letters < 2 or letters < 0.5 * len(unnumbered) or not _START.match(text):
        return False
    if _SENTENCE_END.search(text) and not (kind_of_heading(text) or (DEPTH.match(text) and len(text) < 90)):
        return False
    return group.share > 0.5 and max(line.math for line in group.lines) < 0.5 and group.style.size >= 0.75 * body.size


def _candidate(group: Group, index: int, groups: Sequence[Group], body: Style) -> _Candidate:
    number = DEPTH.match(group.text)
    kind = kind_of_heading(group.text)
    following = next((g for g in groups[index + 1 : index + 3] if g.kind is not BlockKind.CAPTION), None)
    return _Candidate(
        group=group,
        index=index,
        key=_key(group),
        name=plain(group.text),
        depth=number.group(1).count(".") + 1 if number else None,
        seed=kind in ("main", "back", "references", "abstract"),
        followed=following is not None and len(following.text) > 60,
    )


def _key(group: Group) -> StyleKey:
    style = group.style
    letters = [c for c in group.text if c.isalpha()]
    capitals = len(letters) > 3 and sum(c.isupper() for c in letters) > 0.85 * len(letters)
    return (style.font, style.size, style.bold, style.italic, capitals, style.colour)


def _match_outline(candidates: list[_Candidate], outline: Outline) -> None:
    used: set[int] = set()
    for level, text, page in outline.entries:
        name = plain(text)
        if len(name) < 2:
            continue
        best, score = None, 0.0
        for candidate in candidates:
            if id(candidate) in used or (page > 0 and abs(candidate.group.page - page) > 1):
                continue
            value = fuzz.ratio(name, candidate.name)
            if value > score:
                best, score = candidate, value
        if best is not None and score >= 88:
            best.outline = level
            used.add(id(best))


def _check_numbers(candidates: list[_Candidate]) -> None:
    """Keep a number as evidence only where it goes on from another: 2 after 1, 2.1 after 2, 2.2 after 2.1.

    Where the usual main headings stand without numbers, numbers belong to lists.
    """
    usual = [c for c in candidates if kind_of_heading(c.group.text) == "main"]
    if len(usual) >= 2 and all(c.depth is None for c in usual):
        for candidate in candidates:
            candidate.depth = None
        return
    seen: set[tuple[int, ...]] = set()
    numbers: list[tuple[_Candidate, tuple[int, ...]]] = []
    for candidate in candidates:
        match = DEPTH.match(candidate.group.text)
        if match:
            numbers.append((candidate, tuple(int(n) for n in match.group(1).split("."))))
    for candidate, number in numbers:
        before = (*number[:-1], number[-1] - 1)
        fits = (number[-1] <= 1 and (len(number) == 1 or number[:-1] in seen)) or before in seen
        if fits or candidate.outline is not None:
            seen.add(number)
        else:
            candidate.depth = None


def _accept(candidates: list[_Candidate], groups: Sequence[Group], body: Style) -> None:
    chars: dict[StyleKey, int] = defaultdict(int)
    for group in groups:
        chars[_key(group)] += len(group.text)
    total = max(1, sum(chars.values()))
    by_key: dict[StyleKey, list[_Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_key[candidate.key].append(candidate)
    with_outline = sum(c.outline is not None for c in candidates) >= 4
    numbered = sum(c.depth is not None for c in candidates) >= 4
    for key, members in by_key.items():
        distinct = _distinct(key, body)
        sure = [c for c in members if c.outline is not None or c.seed or (c.depth is not None and distinct)]
        heading_chars = sum(len(c.group.text) for c in members)
        clean = heading_chars / max(1, chars[key])
        followed = sum(c.followed for c in members) / len(members)
        rare = chars[key] / total < 0.1
        usual = distinct and rare and clean > 0.6 and (len(sure) >= 1 or (followed > 0.65 and _strong(key, body)))
        for candidate in members:
            if (
                candidate.outline is not None
                or (candidate.seed and (distinct or len(candidate.group.lines) == 1))
                or (candidate.depth is not None and (distinct or candidate.depth > 1) and candidate.followed)
            ):
                candidate.accepted = True
            elif usual and not (with_outline and not sure) and (candidate.followed or _leads(candidate, candidates)):
                candidate.accepted = not (numbered and not with_outline and candidate.depth is None and not sure)


def _leads(candidate: _Candidate, candidates: Sequence[_Candidate]) -> bool:
    """Whether another heading candidate follows at once (a heading above a sub-heading)."""
    return any(c.index == candidate.index + 1 for c in candidates)


def _distinct(key: StyleKey, body: Style) -> bool:
    font, size, bold, italic, capitals, colour = key
    return (
        size >= body.size + 0.5
        or (bold and not body.bold)
        or (italic and not body.italic)
        or capitals
        or font != body.font
        or colour != body.colour
    )


def _strong(key: StyleKey, body: Style) -> bool:
    _, size, bold, _, _, _ = key
    return size >= body.size + 1 or (bold and not body.bold and size >= body.size - 0.6)


def _set_levels(accepted: list[_Candidate]) -> None:
    for candidate in accepted:
        candidate.group.kind = BlockKind.HEADING
    ranks = _style_ranks(accepted)
    by_outline = [c for c in accepted if c.outline is not None]
    base = min((c.outline or 1 for c in by_outline), default=1)
    for candidate in accepted:
        if len(by_outline) >= 4 and candidate.outline is not None:
            candidate.group.level = candidate.outline - base + 1
        elif candidate.depth is not None:
            candidate.group.level = candidate.depth
        else:
            candidate.group.level = ranks[candidate.key]


def _style_ranks(accepted: list[_Candidate]) -> dict[StyleKey, int]:
    """Level of each heading style: those of the usual main headings first, then by prominence."""
    by_key: dict[StyleKey, list[_Candidate]] = defaultdict(list)
    for candidate in accepted:
        by_key[candidate.key].append(candidate)
    main = {k for k, members in by_key.items() if any(_OUTERMOST.match(c.name) for c in members)}
    if main:
        strongest = max(main, key=lambda k: _prominence(k))
        main = {k for k in main if _prominence(k)[0] >= _prominence(strongest)[0] - 0.5}
    rest = sorted((k for k in by_key if k not in main), key=_prominence, reverse=True)
    ranks = dict.fromkeys(main, 1)
    floor = max((_prominence(k) for k in main), default=None)
    level, last = (1 if main else 0), None
    for key in rest:
        if floor is not None and _prominence(key)[:2] > floor[:2]:
            ranks[key] = 1
            continue
        if last is None or _prominence(key) != last:
            level, last = level + 1, _prominence(key)
        ranks[key] = min(level, 4)
    return ranks


def _prominence(key: StyleKey) -> tuple[float, bool, bool, bool]:
    _, size, bold, italic, capitals, _ = key
    return (size, capitals, bold, not italic)
