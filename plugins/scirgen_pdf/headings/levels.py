"""Assigns levels to accepted headings: by the PDF's outline, their numbers, their typeface, and for run-ins the heading
above."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from scirgen_pdf.headings.candidates import Candidate, StyleKey
from scirgen_pdf.units import Count, Ems, Points, Share, Times

_MAKERS: Final = re.compile("PS|MT|[-,]")
_BEHIND: Final = ("back", "references")


class Type(NamedTuple):
    """The type of headings; a type in which some are centred and others not is two."""

    style: StyleKey
    centred: bool = False


@dataclass(frozen=True)
class Levels:
    """Rules of the pass that gives headings their levels."""

    deepest: Annotated[Count, "levels of a paper"] = 4
    outlined: Annotated[Count, "headings that the outline must have to be believed"] = 4
    alike: Annotated[Share, "the headings of a type at one level of the outline that correct the others"] = 0.8
    usual: Annotated[Share, "the headings of a type with usual names that make it the main one"] = 0.25
    back: Annotated[Share, "the headings of a type that are back matter's, if all of them are outermost"] = 0.5
    as_strong: Annotated[Points, "how much smaller than the largest main type another one may be"] = 0.5
    both: Annotated[Count, "centred headings of a type, and others, that make it two"] = 2
    centred: Annotated[Ems, "what a centred heading leaves empty before it"] = 1.5
    lopsided: Annotated[Times, "the wider room beside a centred heading in the narrower one"] = 1.25


_RULES = Levels()


def set_levels(accepted: Sequence[Candidate], rules: Levels = _RULES) -> None:
    """Give each heading its level, 1 for the outermost."""
    types = _types(accepted, rules)
    known = _outline_levels([c for c in accepted if c.outline is not None], types, rules)
    schemes = _scheme_levels(accepted, rules)
    for c in accepted:
        if c.index not in known and c.number is not None:
            known[c.index] = schemes[c.number.scheme] + c.number.depth - 1
    votes: dict[Type, Counter[int]] = defaultdict(Counter)
    for c in accepted:
        if c.index in known:
            votes[types[c.index]][known[c.index]] += 1
    last_numbered = max((c.index for c in accepted if c.index in known and c.name not in _BEHIND), default=-1)
    ranks = _ranks([c for c in accepted if not c.run_in and c.name != "keywords"], types, votes, rules)
    main = 1 in known.values()
    above = 0
    for c in accepted:
        if c.run_in:
            continue
        c.level = known.get(c.index, ranks.get(types[c.index], 1))
        if c.index in known:
            above = c.level
        elif main and c.name == "back" and c.index > last_numbered:
            c.level = 1  # behind numbered headings, back matter stands for itself in any type
        elif c.level == 1 and main and not c.name and c.index < last_numbered:
            c.level = above + 1  # if the main headings are numbered, one without a number between them is below them
    _level_run_ins(accepted, known, rules)
    least = min((c.level for c in accepted), default=1)  # "1.1 Introduction", "2.1 Methods": nothing stands above them
    for c in accepted:
        c.level = max(1, min(c.level - least + 1, rules.deepest))


def _types(accepted: Sequence[Candidate], rules: Levels) -> dict[int, Type]:
    """Return the type of each heading, by its index. A font has the names of two makers ("TimesNewRomanPS-ItalicMT"),
    and acronyms alone ("HTTPS") make no type of capitals."""
    keys = {c.index: c.key._replace(font=_MAKERS.sub("", c.key.font)) for c in accepted}
    ordinary = {keys[c.index] for c in accepted if c.name or c.number or len(c.text.split()) > 1}
    for index, key in keys.items():
        lower = key._replace(capitals=False)
        if key not in ordinary and lower in ordinary:
            keys[index] = lower
    sides: dict[StyleKey, Counter[bool]] = defaultdict(Counter)
    for c in accepted:
        sides[keys[c.index]][_is_centred(c, rules)] += 1
    two = {key for key, side in sides.items() if min(side[True], side[False]) >= rules.both}
    return {c.index: Type(keys[c.index], keys[c.index] in two and _is_centred(c, rules)) for c in accepted}


def _is_centred(c: Candidate, rules: Levels) -> bool:
    rooms = [(line.x0 - c.group.x0, c.group.x1 - line.x1) for line in c.group.lines]
    before, behind = max(rooms)
    even = max(before, behind) < rules.lopsided * min(before, behind)
    return not c.run_in and even and before > rules.centred * c.style.size


def _outline_levels(outlined: Sequence[Candidate], types: dict[int, Type], rules: Levels) -> dict[int, int]:
    """Return the levels that the outline gives, by index; an entry at another level than most of its type moves, with
    all below it."""
    if len(outlined) < rules.outlined:
        return {}
    base = min(c.outline or 1 for c in outlined)
    votes: dict[Type, Counter[int]] = defaultdict(Counter)
    for c in outlined:
        votes[types[c.index]][c.outline or 1] += 1
    known: dict[int, int] = {}
    moved = within = 0
    for c in outlined:
        level = c.outline or 1
        if level <= within:
            moved = within = 0
        usual, number = votes[types[c.index]].most_common(1)[0]
        if not within and usual != level and number >= rules.alike * votes[types[c.index]].total():
            moved, within = usual - level, level
        known[c.index] = level + moved - base + 1
    return known


def _scheme_levels(accepted: Sequence[Candidate], rules: Levels) -> dict[str, int]:
    """Return the level of a scheme's one-part numbers: the first is the outermost, each new one is one deeper.

    A scheme that begins in the type of an outer one ("A" after "5", in an appendix) has the level of that one.
    """
    levels: dict[str, int] = {"appendix": 1, "roman_letter": 1, "letter_number": 1}
    keys: dict[StyleKey, int] = {}
    above = 0
    for c in accepted:
        if c.number is None:
            above = 1 if c.name in ("main", "back") else above
            continue
        scheme = c.number.scheme
        if scheme not in levels:
            if c.key in keys:
                levels[scheme] = keys[c.key]
            else:
                levels[scheme] = min(rules.deepest, above + 1)
        if c.number.depth == 1:
            keys.setdefault(c.key, levels[scheme])
        above = levels[scheme] + c.number.depth - 1
    return levels


def _ranks(
    accepted: Sequence[Candidate], types: dict[int, Type], votes: dict[Type, Counter[int]], rules: Levels
) -> dict[Type, int]:
    """Level of each type: what its numbered headings say, 1 where the usual main headings are set in it, else by
    prominence."""
    by_key: dict[Type, list[Candidate]] = defaultdict(list)
    for c in accepted:
        by_key[types[c.index]].append(c)
    ranks = {key: votes[key].most_common(1)[0][0] for key in by_key if votes[key]}
    named = {
        key: sum(c.name in ("main", "references", "back") for c in members) / len(members)
        for key, members in by_key.items()
        if key not in ranks
    }
    main = [key for key, share in named.items() if share >= rules.usual]
    if main:
        strongest = max(_prominence(k)[0] for k in main)
        ranks |= {k: 1 for k in main if _prominence(k)[0] >= strongest - rules.as_strong}
    for key in sorted((k for k in by_key if k not in ranks), key=_prominence, reverse=True):
        ranks[key] = _rank_among(key, ranks, by_key, votes, rules)
    return ranks


def _rank_among(
    key: Type,
    ranks: dict[Type, int],
    by_key: dict[Type, list[Candidate]],
    votes: dict[Type, Counter[int]],
    rules: Levels,
) -> int:
    """Return the level of a type among those whose level is known: one below the least of the more prominent ones."""
    back = sum(c.name in _BEHIND for c in by_key[key]) >= rules.back * len(by_key[key])
    above = [ranks[k] for k in ranks if _prominence(k) >= _prominence(key)]
    above += [max(votes[k]) for k in ranks if votes[k] and _prominence(k) == _prominence(key)]
    below = [ranks[k] for k in ranks if _prominence(k) < _prominence(key) and not all(map(_is_behind, by_key[k]))]
    if back or not above:
        return 1
    deeper = max(above) + 1
    return min(deeper, min(below, default=deeper), rules.deepest)


def _is_behind(c: Candidate) -> bool:
    """Return whether a heading stands behind the paper, where even a weak type may be the outermost."""
    return c.name in _BEHIND or (c.number is not None and c.number.scheme == "appendix")


def _prominence(key: Type) -> tuple[float, bool, bool, bool, bool]:
    _, _, size, bold, italic, capitals, _ = key.style
    return (size, bold, capitals, key.centred, not italic)


def _level_run_ins(accepted: Sequence[Candidate], known: dict[int, int], rules: Levels) -> None:
    """Run-ins without numbers: all of one type have one level, mostly one below what stands above them; if that is of
    several levels, below all lines."""
    votes: dict[StyleKey, Counter[int]] = defaultdict(Counter)
    above = line = 0
    for c in accepted:
        if c.index in known and (not c.run_in or c.number is not None or known[c.index] > line):
            above = known[c.index]
            votes[c.key][above] += 1
        elif c.run_in:
            votes[c.key][min(above + 1, rules.deepest)] += 1
            known.pop(c.index, 0)  # an outline that has it beside the line above is flat
        else:
            above = c.level
        line = line if c.run_in else c.level
    deepest = max((c.level for c in accepted if not c.run_in), default=0)
    for c in accepted:
        key = c.key._replace(run_in=True)
        if c.run_in or (c.text.endswith(".") and c.number is None and votes[key]):
            usual, *others = votes[key].most_common(2)
            below = any(number >= rules.both for _, number in others) and c.run_in
            c.level = known.get(c.index) or (max(usual[0], deepest + 1) if below else usual[0])
            if c.name in _BEHIND:
                c.level = 1
