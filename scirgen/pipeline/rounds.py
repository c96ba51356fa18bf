"""Plans the later rounds of a run with a target: which subjects get more questions, and which rows known items
supply."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from scirgen.core.corpus.questions import Question
from scirgen.core.records import QAPair
from scirgen.stages.ask.stage import AGAIN, seeking_share
from scirgen.stages.base import RunView, StageContext
from scirgen.stages.generate.quotas import budget, keep_sought, plan_round, progress, rest_of, wanted_of_people

_LOWEST_YIELD = 0.1
_FIRST_YIELD = 0.5
_DRY = 2
"""Rounds without an answer, one after the other, after which a subject is exhausted."""

Cells = dict[str, list[dict[str, object]]]


@dataclass
class SubjectProgress:
    """The progress of one subject: a dataset's record, or a paper.

    Attributes:
        asked: round -> new questions.
        answered: rounds whose questions have an answer, or were narrowed and are still open.
        accepted: rows so far.
    """

    dataset_id: str
    id: str
    asked: Counter[int] = field(default_factory=Counter)
    answered: set[int] = field(default_factory=set)
    accepted: int = 0

    @property
    def exhausted(self) -> bool:
        """True if its last round brought no new question, or its last two no answer."""
        rounds = sorted(self.asked)
        return not self.asked[rounds[-1]] or (len(rounds) >= _DRY and not self.answered & {*rounds[-_DRY:]})


def next_round(view: RunView, ctx: StageContext, round: int) -> Cells:
    """Return a mapping: dataset id -> the cells assigned to it in ``round``; empty if the target is met or cannot be
    met.

    Datasets with questions that the round before narrowed are in it, possibly without a cell. Known items fill what
    people's questions cannot, which is known after their last round.
    """
    config = ctx.config.generate
    found: Cells = {q.dataset_id: [] for q in view.records("answer", Question) if q.round == round}
    share = seeking_share(ctx.config, ctx.pack)
    if config.quota.total is None or round > config.quota.max_rounds * (2 if share else 1):
        return found
    kinds = ctx.taxonomies.wanted_types(config.types, ctx.pack, ctx.config.language)
    reached = progress(view, ctx.taxonomies, before=round, distinct=True)
    counted, asked = keep_sought(config, kinds, reached)
    missing = wanted_of_people(config, reached.accepted) - len(asked) if share else 0
    left = budget(config.quota) - reached.spent if round <= config.quota.max_rounds else 0
    again = _ask_again(view, ctx, {a.id for a in reached.accepted}, missing, left, round)
    hoped = sum(cast(int, cell["count"]) for cells in again.values() for cell in cells)
    counted = replace(counted, answered=counted.answered + hoped)
    for cells in (again, plan_round(rest_of(config, reached, asked, hoped=bool(again)), kinds, counted, round)):
        for dataset_id, given in cells.items():
            found[dataset_id] = found.get(dataset_id, []) + given
    return found


def _ask_again(view: RunView, ctx: StageContext, accepted: set[str], missing: int, left: int, round: int) -> Cells:
    """Return the subjects that are asked about again, fewest rows first, as often as the yield suggests, but at most
    ``left`` times."""
    subjects = list(subject_progress(view, round, accepted)) if missing > 0 and left > 0 else []
    able = sorted(
        (s for s in subjects if not s.exhausted), key=lambda s: (s.accepted, s.asked.total(), s.dataset_id, s.id)
    )
    if not able:
        return {}
    asked, got = sum(s.asked.total() for s in subjects), sum(s.accepted for s in subjects)
    needed = math.ceil(missing / (max(_LOWEST_YIELD, got / asked) if asked else _FIRST_YIELD))
    each = min(ctx.config.ask.questions_per_subject, math.ceil(needed / len(able)))
    cells: Cells = {}
    for subject in able[: math.ceil(min(needed, left) / each)]:
        cells.setdefault(subject.dataset_id, []).append({AGAIN: subject.id, "count": min(each, left)})
        left -= each
    return cells


def subject_progress(view: RunView, before: int, accepted: set[str]) -> Iterator[SubjectProgress]:
    """Yield the progress of each subject in the rounds before ``before``.

    Args:
        view: the run.
        before: the first round that does not count.
        accepted: ids of the rows that count.
    """
    found: dict[str, SubjectProgress] = {}
    of: dict[str, tuple[str, int]] = {}

    def subject(question: Question) -> SubjectProgress:
        return found.setdefault(question.subject, SubjectProgress(question.dataset_id, question.subject))

    for question in view.records("ask", Question):
        if question.asked == "seeking" and question.round < before:
            subject(question).asked[question.round] += 1
            of[question.id] = question.subject, question.round
    for rejection in view.rejections("ask"):
        if rejection.record_kind != "Question":
            continue  # a paper without a subject
        question = Question.model_validate_json(rejection.record)
        if question.round < before:
            subject(question).asked[question.round] += 0
    for question in view.records("answer", Question):
        of[question.id] = question.subject, question.round - 1
        if question.round == before and question.subject in found:
            found[question.subject].answered.add(before - 1)
    for pair in view.records("answer", QAPair):
        if pair.round < before and pair.question_id in of:
            id, asked_in = of[pair.question_id]
            found[id].answered.add(asked_in)
    for pair in view.pairs():
        if pair.id in accepted and pair.question_id in of:
            found[of[pair.question_id][0]].accepted += 1
    yield from found.values()


def falls_short(view: RunView, ctx: StageContext, kept: int, rows: int) -> Iterator[str]:
    """Yield a line for the card if fewer rows than wanted are people's questions.

    Args:
        view: the run.
        ctx: its settings.
        kept: number of such rows that the release keeps.
        rows: number of all rows that it keeps.
    """
    config = ctx.config.generate
    total, share = config.quota.total, seeking_share(ctx.config, ctx.pack)
    if config.mix.get("seeking") and ctx.pack != "standard" and not config.off:
        yield "The model uses the small prompts: none was asked first, and all questions are known items."
    wanted = wanted_of_people(config, ()) if total is not None else math.ceil(rows * share)
    if not share or kept >= wanted:
        return
    subjects = list(subject_progress(view, 10**9, set()))
    if not subjects:
        return  # a merged run has the steps of its parts, not their settings
    asked, dry = sum(s.asked.total() for s in subjects), sum(s.exhausted for s in subjects)
    why = (
        f"{asked} were asked"
        if total is None
        else f"the rounds ended (generate.quota.max_rounds: {config.quota.max_rounds})"
    )
    if total is not None and progress(view, ctx.taxonomies).spent >= budget(config.quota):
        why = f"the budget of {budget(config.quota)} candidates was used up (generate.quota.candidates)"
    elif dry and total is not None:
        why = f"{dry} of {len(subjects)} subjects are exhausted (only copies of earlier questions, or twice no answer)"
    rest = "generate.mix has no known items"
    if config.mix.get("known_item"):
        others = rows - kept - ((total or rows) - wanted)  # known items beyond their own share
        rest = f"known items fill {max(0, others)} rows"
    yield f"Questions of people who had not read the texts: {kept} of {wanted} wanted rows; {why}; {rest}."
