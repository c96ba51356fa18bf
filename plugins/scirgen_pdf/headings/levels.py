"""Assigns levels to accepted headings: by the PDF's outline, their numbers, their typeface, and for run-ins the heading
above."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from scirgen_pdf.headings.candidates import Candidate, StyleKey
from scirgen_pdf.units import Count, Points, Share


@dataclass(frozen=True)
class Levels:
    """Rules of the pass that gives headings their levels."""

    deepest: Annotated[Count, "levels of a paper"] = 4
    outlined: Annotated[Count, "headings that the outline must have to be believed"] = 4
    usual: Annotated[Share, "the headings of a type with usual names that make it the main one"] = 0.25
    as_strong: Annotated[Points, "how much smaller than the largest main type another one may be"] = 0.5


_RULES = Levels()


def set_levels(accepted: Sequence[Candidate], rules: Levels = _RULES) -> None:
    """Give each heading its level, 1 for the outermost."""
    outlined = [c for c in accepted if c.outline is not None]
    base = min((c.outline or 1 for c in outlined), default=1)
    known: dict[int, int] = {}
    if len(outlined) >= rules.outlined:
        known = {c.index: (c.outline or 1) - base + 1 for c in outlined}
    schemes = _scheme_levels(accepted, rules)
    for c in accepted:
        if c.index not in known and c.number is not None:
            known[c.index] = schemes[c.number.scheme] + c.number.depth - 1
    votes: dict[StyleKey, Counter[int]] = defaultdict(Counter)
    for c in accepted:
        if c.index in known:
            votes[c.key][known[c.index]] += 1
    last_numbered = max(known, default=-1)
    ranks = _ranks([c for c in accepted if not c.run_in and c.name != "keywords"], votes, rules)
    main = 1 in known.values()
    above = 0
    for c in accepted:
        if c.run_in:
            continue
        c.level = known.get(c.index, ranks.get(c.key, 1))
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


def _ranks(accepted: Sequence[Candidate], votes: dict[StyleKey, Counter[int]], rules: Levels) -> dict[StyleKey, int]:
    """Level of each type: what its numbered headings say, 1 where the usual main headings are set in it, else by
    prominence."""
    by_key: dict[StyleKey, list[Candidate]] = defaultdict(list)
    for c in accepted:
        by_key[c.key].append(c)
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
        ranks[key] = _rank_among(key, ranks, by_key, rules)
    return ranks


def _rank_among(
    key: StyleKey, ranks: dict[StyleKey, int], by_key: dict[StyleKey, list[Candidate]], rules: Levels
) -> int:
    """Return the level of a type among those whose level is known: one below the least of the more prominent ones."""
    back = all(c.name == "back" for c in by_key[key])
    above = [ranks[k] for k in ranks if _prominence(k) >= _prominence(key)]
    below = [ranks[k] for k in ranks if _prominence(k) < _prominence(key)]
    if back or not above:
        return 1
    deeper = max(above) + 1
    return min(deeper, min(below, default=deeper), rules.deepest)


def _prominence(key: StyleKey) -> tuple[float, bool, bool, bool]:
    _, _, size, bold, italic, capitals, _ = key
    return (size, bold, capitals, not italic)


def _level_run_ins(accepted: Sequence[Candidate], known: dict[int, int], rules: Levels) -> None:
    """Run-ins without numbers: all of one type have one level, mostly one below what stands above them."""
    votes: dict[StyleKey, Counter[int]] = defaultdict(Counter)
    above = 0
    for c in accepted:
        if c.index in known:
            above = known[c.index]
            votes[c.key][above] += 1
        elif c.run_in:
            votes[c.key][min(above + 1, rules.deepest)] += 1
        else:
            above = c.level
    for c in accepted:
        if c.run_in:
            c.level = known.get(c.index) or votes[c.key].most_common(1)[0][0]
            if c.name in ("back", "references"):
                c.level = 1
