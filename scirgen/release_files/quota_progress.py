"""Counts what a run has of its target, read from its records. `scirgen.release_files.quotas` does the arithmetic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from scirgen.core.records import Dataset, Provenance, QAPair, Record, Rejection
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.quotas import Accepted, Progress
from scirgen.repeats.neardup import Asked, resolve

R = TypeVar("R", bound=Record)


class RunRecords(Protocol):
    """The part of a run's view that this module reads."""

    def datasets(self) -> Iterable[Dataset]: ...

    def records(self, stage: str, kind: type[R]) -> Iterable[R]: ...

    def rejections(self, stage: str | None = None) -> Iterable[Rejection]: ...

    def pairs(self) -> Iterable[QAPair]: ...


def progress(run: RunRecords, taxonomies: Taxonomies, before: int | None = None, *, distinct: bool = False) -> Progress:
    """Count what was asked for and accepted in the rounds before ``before`` (None: in all).

    A resumed run looks at earlier rounds only, so that it plans what it planned before. With ``distinct``, a pair that
    release will drop as a near-duplicate does not count as accepted, so a later round replaces it.
    """

    def counts(round: int) -> bool:
        return before is None or round < before

    tried: Counter[str] = Counter(p.question_type for p in run.records("generate", QAPair) if counts(p.round))
    exhausted: set[tuple[str, str]] = set()
    for rejection in run.rejections("generate"):
        if rejection.question_type is None or not counts(_round(rejection.provenance)):
            continue
        if rejection.code != "no_evidence":
            tried[rejection.question_type] += 1
        elif rejection.dataset_id:
            exhausted.add((rejection.dataset_id, rejection.question_type))
    pairs = [p for p in run.pairs() if counts(p.round)]
    repeated = _repeated(pairs, taxonomies) if distinct else frozenset()
    accepted = tuple(Accepted.of(p, taxonomies) for p in pairs if p.id not in repeated)
    return Progress(accepted, tuple(d.id for d in run.datasets()), dict(tried), frozenset(exhausted))


def _repeated(pairs: Sequence[QAPair], taxonomies: Taxonomies) -> frozenset[str]:
    if not pairs:
        return frozenset()
    asked = (Asked(p.id, p.dataset_id, p.question, p.answer, p.question_type) for p in pairs)
    return frozenset(d.id for d in resolve(asked, taxonomies.wording.of(pairs[0].language)).drops)


def rejection_codes(run: RunRecords) -> dict[str, Counter[str]]:
    """Question type -> rejection code -> count, of generate and filter."""
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    for stage in ("generate", "filter"):
        for rejection in run.rejections(stage):
            if rejection.question_type:
                codes[rejection.question_type][rejection.code] += 1
    return dict(codes)


def _round(provenance: Provenance | None) -> int:
    """The round that an item of generate belonged to: from the second round on, its key ends in ``#round``."""
    _, sign, number = provenance.key.rpartition("#") if provenance else ("", "", "")
    return int(number) if sign and number.isdigit() else 0
