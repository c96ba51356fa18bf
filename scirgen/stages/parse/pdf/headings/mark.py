"""Marks headings: candidates, the classifier's two passes, levels; run-in headings become groups of their own."""

from __future__ import annotations

from collections.abc import Sequence

from scirgen.core.records import BlockKind
from scirgen.stages.parse.pdf.headings.candidates import Candidate, Outline, candidates
from scirgen.stages.parse.pdf.headings.features import context_rows, rows
from scirgen.stages.parse.pdf.headings.levels import set_levels
from scirgen.stages.parse.pdf.headings.series import accept_series
from scirgen.stages.parse.pdf.headings.trees import Classifier
from scirgen.stages.parse.pdf.page.lines import Style
from scirgen.stages.parse.pdf.paragraphs import Group, split


def mark_headings(groups: list[Group], body: Style, outline: Outline, first: int, model: Classifier) -> list[Group]:
    """The groups with the headings' kind and level, from index ``first`` (after the front matter) on.

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


def apply(groups: Sequence[Group], accepted: Sequence[Candidate]) -> list[Group]:
    """The groups, with the accepted candidates as headings."""
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
