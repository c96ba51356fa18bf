"""The features of a heading candidate: its typeface relative to the body's, its position, the form of its text, its
neighbours.

Only the flags of usual names depend on a language. Ratios refer to the body's size and the column's width, so that a
feature means the same in every paper.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from scirgen import BlockKind
from scirgen.stages.parse.terms import plain
from scirgen_pdf.headings.candidates import Candidate, StyleKey
from scirgen_pdf.headings.numbering import SCHEMES, without_number
from scirgen_pdf.page.lines import Style
from scirgen_pdf.paragraphs import Group

_SENTENCE = re.compile(r"[.!?:;。！？：；][\"'”’)\]]*$")
_KINDS = (
    BlockKind.PARAGRAPH, BlockKind.OTHER, BlockKind.TABLE, BlockKind.LIST_ITEM, BlockKind.EQUATION, BlockKind.FOOTNOTE,
)  # fmt: skip
_NAMES = ("main", "back", "references", "abstract", "other_abstract", "keywords")
_STEMS = re.compile(
    r"introdu|background|method|material|result|discus|conclu|data\b|dataset|experiment|model|analys"
    r"|study (?:area|site)|related|limitation|evaluation"
    r"|future|theor|overview|summary|acknowledg|availab|contribut|interest|funding|appendi|supplement|einleitung|ergebnis|diskussion|fazit|metod|resultad"
    r"|discusi|antecedent|引言|方法|结果|讨论|结论|分析|模型|实验|数据|研究"
)
_CAP = 12.0  # ems of room; more says no more. The weights are trained with these numbers: they change together.
_LEFT_OF_COLUMN, _OVERLAPPING, _TOP = 5.0, 2.0, 98.0  # ems left of the edge and into a group; points above the first
_CENTRED, _LOPSIDED, _BESIDE = 2.0, 1.5, 0.4  # ems
_PROSE, _LONG, _WIDE = 60, 150, 200  # characters of prose, of a paragraph, of one that shows the text's width
_MOST_CHARS, _MOST_OUTLINED, _MOST_ALIKE, _MOST_REPEATED, _MOST_SCORE, _MOST_ABOVE = 400, 20, 40, 10, 30.0, 10.0
_CONTENT_WORD = 4  # letters of a word that titles in title case begin with a capital
_UNKNOWN_CASE, _USUAL_WIDTH, _LARGER = 0.5, 300.0, 0.4  # without words; points, without paragraphs; points of size
_BEHIND = 2  # groups behind a heading among which its prose stands

_COLUMNS = (
    "run_in size bold lighter italic upright font colour caps title_case share lines chars words width last_width "
    "ends_stop ends_colon upper digit lower han ended number_depth number_fits above below page_top column_bottom "
    "indent centred next_prose next_chars next_body next_upper prev_ended prev_prose outline outlined position "
    "first_page after_references key_count key_share key_followed key_words key_named key_numbered key_of_text "
    "named_number math digits letters column beside before_same after_same repeated commas equals brackets stem "
    "rest numbered_names prev_heading_like next_heading_like leads "
)
NAMES: tuple[str, ...] = (
    *_COLUMNS.split(),
    *(f"kind_{k.value}" for k in _KINDS),
    *(f"name_{n}" for n in _NAMES),
    *(f"scheme_{s}" for s in SCHEMES),
)
"""The names of a row's columns, in order."""

CONTEXT_NAMES: tuple[str, ...] = (
    "score", "key_mean", "key_max", "key_sum", "prev_score", "next_score", "scheme_mean", "above_mean",
)  # fmt: skip
"""Further columns of the second pass, made from the first pass's scores."""


class _Paper:
    """Figures that are counted once per paper."""

    def __init__(self, found: Sequence[Candidate], groups: Sequence[Group], body: Style) -> None:
        self.groups, self.body = groups, body
        self.by_key: dict[StyleKey, list[Candidate]] = defaultdict(list)
        for candidate in found:
            self.by_key[candidate.key].append(candidate)
        self.chars: Counter[tuple[str, float, bool, bool]] = Counter()
        for group in groups:
            self.chars[_type(group.style)] += len(group.text)
        self.total = max(1, sum(self.chars.values()))
        self.texts = Counter(plain(c.text) for c in found)
        self.outlined = sum(c.outline is not None for c in found)
        named = [c for c in found if c.name in ("main", "references")]
        self.named_schemes = Counter(c.number.scheme if c.number else "" for c in named)
        self.named = len(named)
        widths = sorted(g.x1 - g.x0 for g in groups if len(g.text) > _WIDE)
        self.width = widths[len(widths) // 2] if widths else _USUAL_WIDTH
        self.references = next((c.index for c in found if c.name == "references"), len(groups))
        self.next_of = {a.index: b for a, b in pairwise(found)}
        self.prev_of = {b.index: a for a, b in pairwise(found)}
        self.followed = {id(c): float(_followed(c, groups)) for c in found}
        self.of_key = {key: self._shares(same) for key, same in self.by_key.items()}

    def _shares(self, same: Sequence[Candidate]) -> tuple[float, ...]:
        """Figures of all candidates of one type: text, share followed by prose, words, share named, share numbered."""
        n = len(same)
        return (
            sum(len(m.text) for m in same),
            sum(len(m.group.text) for m in same) if same[0].run_in else 0,
            sum(self.followed[id(m)] for m in same) / n,
            sum(len(m.text.split()) for m in same) / n,
            sum(m.name in ("main", "back", "references") for m in same) / n,
            sum(m.number is not None for m in same) / n,
        )


def rows(found: Sequence[Candidate], groups: Sequence[Group], body: Style) -> list[list[float]]:
    """Return one row of `NAMES` for each candidate."""
    paper = _Paper(found, groups, body)
    return [_row(candidate, paper) for candidate in found]


def context_rows(
    found: Sequence[Candidate], first: Sequence[Sequence[float]], scores: Sequence[float]
) -> list[list[float]]:
    """Return the rows with `CONTEXT_NAMES` added: the first pass's scores of candidates of the same type and of the
    neighbours."""
    by_key: dict[StyleKey, list[float]] = defaultdict(list)
    by_scheme: dict[str, list[float]] = defaultdict(list)
    by_size: dict[float, float] = defaultdict(float)
    for candidate, score in zip(found, scores, strict=True):
        by_key[candidate.key].append(score)
        by_scheme[candidate.number.scheme if candidate.number else ""].append(score)
        by_size[candidate.style.size] += 0.0 if candidate.run_in else score
    made = []
    for i, (candidate, row) in enumerate(zip(found, first, strict=True)):
        same = by_key[candidate.key]
        scheme = by_scheme[candidate.number.scheme] if candidate.number else []
        before, after = (scores[i - 1] if i else 0.0), (scores[i + 1] if i + 1 < len(scores) else 0.0)
        bigger = sum(total for size, total in by_size.items() if size > candidate.style.size + _LARGER)
        made.append(
            [
                *row,
                scores[i],
                sum(same) / len(same),
                max(same),
                min(sum(same), _MOST_SCORE),
                before if i and found[i - 1].index >= candidate.index - 1 else -1.0,
                after if i + 1 < len(found) and found[i + 1].index <= candidate.index + 1 else -1.0,
                sum(scheme) / len(scheme) if scheme else -1.0,
                min(bigger, _MOST_ABOVE),
            ]
        )
    return made


def _type(style: Style) -> tuple[str, float, bool, bool]:
    return (style.font, style.size, style.bold, style.italic)


def _row(c: Candidate, paper: _Paper) -> list[float]:
    names = [float(c.name == name) for name in _NAMES]
    kinds = [float(c.group.kind is kind) for kind in _KINDS]
    scheme = c.number.scheme if c.number else (c.numbers[0].scheme if c.numbers else "")
    schemes = [float(scheme == s) for s in SCHEMES]
    return [
        *_type_part(c, paper),
        *_text_part(c),
        *_place_part(c, paper),
        *_paper_part(c, paper),
        *kinds,
        *names,
        *schemes,
    ]


def _type_part(c: Candidate, paper: _Paper) -> list[float]:
    s, body = c.style, paper.body
    words = [w for w in re.findall(r"[^\W\d_]+", without_number(c.text)) if len(w) >= _CONTENT_WORD]
    column = max(1.0, c.group.x1 - c.group.x0)
    lines = c.group.lines if not c.run_in else c.group.lines[:1]
    return [
        float(c.run_in),
        s.size / max(1.0, body.size),
        float(s.bold and not body.bold),
        float(body.bold and not s.bold),
        float(s.italic and not body.italic),
        float(body.italic and not s.italic),
        float(s.font != body.font),
        float(s.colour != body.colour),
        float(c.key.capitals),
        sum(w[:1].isupper() for w in words) / len(words) if words else _UNKNOWN_CASE,
        c.share,
        float(len(lines)) if not c.run_in else 1.0,
        float(len(c.text)),
        float(len(c.text.split())),
        (lines[0].x1 - lines[0].x0) / column,
        (lines[-1].x1 - lines[-1].x0) / column,
    ]


def _text_part(c: Candidate) -> list[float]:
    bare = without_number(c.text)
    start = bare[:1]
    return [
        float(c.text[-1:] in ".。"),
        float(c.text[-1:] in ":：—–"),
        float(start.isupper()),
        float(start.isdigit()),
        float(start.islower()),
        float("一" <= start <= "鿿"),
        float(c.ended),
        float(c.numbers[0].depth if c.numbers else 0),
        float(c.number is not None),
    ]


def _place_part(c: Candidate, paper: _Paper) -> list[float]:
    groups, group, body = paper.groups, c.group, paper.body
    size = max(1.0, body.size)
    before = groups[c.index - 1] if c.index else None
    after = groups[c.index + 1] if c.index + 1 < len(groups) else None
    left, right = group.lines[0].x0 - group.x0, group.x1 - group.lines[0].x1
    beside = (
        after is not None
        and after.page == group.page
        and abs(after.lines[0].middle - group.lines[0].middle) < _BESIDE * size
    )
    beside |= (
        before is not None
        and before.page == group.page
        and abs(before.lines[-1].middle - group.lines[-1].middle) < _BESIDE * size
    )
    same_region = after is not None and after.page == group.page and after.region == group.region
    prose = after is not None and (after.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM))
    follows = group if c.run_in else after
    behind = group.text[c.length :].lstrip() if c.run_in else after.text if after is not None else ""
    return [
        max(-_OVERLAPPING, min(group.above / size, _CAP)),
        max(-_OVERLAPPING, min(group.below / size, _CAP)) if same_region else _CAP,
        float(group.above > _TOP),
        float(not same_region),
        max(-_LEFT_OF_COLUMN, min(left / size, _CAP)),
        float(left > _CENTRED * size and abs(left - right) < _LOPSIDED * size),
        float(prose),
        float(min(len(follows.text), _MOST_CHARS)) if follows is not None else 0.0,
        float(follows is not None and (follows.style.font, follows.style.size) == (body.font, body.size)),
        float(behind[:1].isupper()),
        float(before is None or bool(_SENTENCE.search(before.text))),
        float(before is not None and before.kind is BlockKind.PARAGRAPH and len(before.text) > _LONG),
        float(c.outline is not None),
        float(min(paper.outlined, _MOST_OUTLINED)),
        c.index / max(1, len(groups)),
        float(group.page == groups[0].page),
        float(c.index > paper.references),
    ]


def _paper_part(c: Candidate, paper: _Paper) -> list[float]:
    group, text = c.group, c.text
    n = len(paper.by_key[c.key])
    chars, whole, followed, words, named, numbered = paper.of_key[c.key]
    in_type = max(1, paper.chars[_type(c.style)])
    previous, following = paper.prev_of.get(c.index), paper.next_of.get(c.index)
    solid = max(1, len(text.replace(" ", "")))
    scheme = c.number.scheme if c.number else ""
    return [
        float(min(n, _MOST_ALIKE)),
        chars / (in_type if not c.run_in else max(1, whole)),
        followed,
        words,
        named,
        numbered,
        in_type / paper.total,
        paper.named_schemes[scheme] / max(1, paper.named),
        max(line.math for line in group.lines) if not c.run_in else 0.0,
        sum(ch.isdigit() for ch in text) / solid,
        sum(ch.isalpha() for ch in text) / solid,
        (group.x1 - group.x0) / max(1.0, paper.width),
        float(len({line.cells for line in group.lines} - {1}) > 0),
        float(previous is not None and previous.index == c.index - 1 and previous.key == c.key),
        float(following is not None and following.index == c.index + 1 and following.key == c.key),
        float(min(paper.texts[plain(text)], _MOST_REPEATED)),
        float(text.count(",") + text.count("，")),
        float("=" in text),
        float("(" in text or "[" in text),
        float(bool(_STEMS.search(plain(text)))),
        float(min(len(group.text) - len(text), _MOST_CHARS)) if c.run_in else 0.0,
        float(sum(n for s, n in paper.named_schemes.items() if s) / max(1, paper.named)),
        float(previous is not None and previous.index >= c.index - 1 and not previous.run_in),
        float(following is not None and following.index <= c.index + 1 and not following.run_in),
        paper.followed[id(c)],
    ]


def _followed(c: Candidate, groups: Sequence[Group]) -> bool:
    """Return whether prose follows: for a run-in, in the same paragraph; otherwise within the next two groups."""
    if c.run_in:
        return len(c.group.text) - c.length > _PROSE
    following = next((g for g in groups[c.index + 1 : c.index + 1 + _BEHIND] if g.kind is not BlockKind.CAPTION), None)
    return following is not None and len(following.text) > _PROSE
