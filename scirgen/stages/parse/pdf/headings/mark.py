"""Marks headings: candidates, the classifier's two passes, levels; run-in headings become groups of their own."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from scirgen.core.records import BlockKind
from scirgen.stages.parse.pdf.headings.candidates import Candidate, Outline, candidates
from scirgen.stages.parse.pdf.headings.features import context_rows, rows
from scirgen.stages.parse.pdf.headings.levels import set_levels
from scirgen.stages.parse.pdf.headings.trees import Classifier
from scirgen.stages.parse.pdf.lines import Style
from scirgen.stages.parse.pdf.paragraphs import Group, split

_SERIES: Final = ("roman", "letter", "arabic", "roman_letter", "letter_number", "han", "han_paren", "lower")


def mark_headings(groups: list[Group], body: Style, outline: Outline, first: int, model: Classifier) -> list[Group]:
    """The groups with kind and level of headings set, from index ``first`` (after the front matter) on.

    A paragraph that begins with a run-in heading is returned as two groups.
    """
    found = candidates(groups, body, outline, first)
    score(found, groups, body, model)
    accept_series(found, groups, body, model.threshold)
    return apply(groups, [c for c in found if c.score >= model.threshold])


def score(found: Sequence[Candidate], groups: Sequence[Group], body: Style, model: Classifier) -> None:
    """Set each candidate's ``score``."""
    plain_rows = rows(found, groups, body)
    once = [model.first.probability(row) for row in plain_rows]
    for candidate, row in zip(found, context_rows(found, plain_rows, once), strict=True):
        candidate.score = model.second.probability(row)


def accept_series(found: Sequence[Candidate], groups: Sequence[Group], body: Style, threshold: float) -> None:
    """Accept what is plainly a series of headings: one type, one scheme of numbers going on, each above prose, set apart from it.

    The classifier has seen few papers with headings in the body's own size ("II. METHODS" in small capitals, "B. Sampling" in italics).
    """
    series: dict[tuple[object, str], list[Candidate]] = defaultdict(list)
    for c in found:
        if c.number is not None and c.number.scheme in _SERIES and not c.run_in and len(c.group.lines) <= 3:
            series[(c.key, c.number.scheme)].append(c)
    for members in series.values():
        apart = [c for c in members if _set_apart(c, body) and _above_prose(c, groups)]
        if (
            len(apart) >= 3
            and len(apart) >= 0.7 * len(members)
            and max(c.number.values[-1] for c in apart if c.number) >= 2
        ):
            for c in apart:
                c.score = max(c.score, threshold)


def _set_apart(c: Candidate, body: Style) -> bool:
    """Whether a line differs from the body in type, in capitals or by being centred, has words, and does not end as a sentence."""
    group = c.group
    left, right = group.lines[0].x0 - group.x0, group.x1 - group.lines[0].x1
    centred = left > 2.5 * body.size and abs(left - right) < 1.2 * body.size
    distinct = c.style.bold != body.bold or c.style.italic != body.italic or c.style.size > body.size + 0.4
    words = re.findall(r"[^\W\d_]{3,}|[\u4e00-\u9fff]{2,}", c.text)
    whole = (
        c.text[-1:] not in ".;,:" and group.kind is not BlockKind.TABLE and max(line.math for line in group.lines) < 0.4
    )
    return (centred or distinct or c.key[5]) and bool(words) and whole


def _above_prose(c: Candidate, groups: Sequence[Group]) -> bool:
    following = groups[c.index + 1 : c.index + 4]
    return any(g.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) and len(g.text) > 60 for g in following)


def apply(groups: Sequence[Group], accepted: Sequence[Candidate]) -> list[Group]:
    """The groups with the accepted candidates made headings."""
    set_levels(accepted)
    chosen = {c.index: c for c in accepted}
    result: list[Group] = []
    for index, group in enumerate(groups):
        candidate = chosen.get(index)
        if candidate is None:
            result.append(group)
            continue
        parts = [group] if not candidate.run_in else [p for p in split(group, candidate.length) if p.lines]
        parts[0].kind, parts[0].level = BlockKind.HEADING, candidate.level
        for rest in parts[1:]:
            rest.kind = BlockKind.PARAGRAPH
        result += parts
    return result
