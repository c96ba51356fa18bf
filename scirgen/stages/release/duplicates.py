"""Near-duplicate questions over the whole release: what is dropped, what has several gold datasets, what hangs together.

`scirgen.core.neardup` decides; this carries it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from scirgen.core.neardup import Asked, near_duplicates, resolve
from scirgen.core.records import QAPair, Rejection
from scirgen.core.taxonomy import LanguageWording
from scirgen.stages.release.content import ReleaseContent


@dataclass(frozen=True)
class Settled:
    """Duplicates dealt with.

    Attributes:
        content: with pairs that leave out what was dropped.
        positives: pair id -> all datasets that answer it, for those with more than one.
        groups: sets of dataset ids that have a near-duplicate question in common.
        rejections: what was dropped, with why.
    """

    content: ReleaseContent
    positives: Mapping[str, tuple[str, ...]]
    groups: list[set[str]]
    rejections: list[Rejection]


def settle(content: ReleaseContent, wording: LanguageWording) -> Settled:
    """Deal with a run's duplicates; of someone else's published questions, drop none and only see what hangs together."""
    asked = [Asked(p.id, p.dataset_id, p.question, p.answer, p.question_type) for p in content.pairs()]
    dataset_of = {a.id: a.dataset_id for a in asked}
    if content.keep_all:
        found = near_duplicates(asked, wording.stop_words)
        groups = [{dataset_of[g.leader], *(dataset_of[m] for m, _ in g.members)} for g in found]
        return Settled(content, {}, [g for g in groups if len(g) > 1], [])
    resolution = resolve(asked, wording)
    drops = {d.id: d for d in resolution.drops}
    rejections = [
        Rejection(
            stage="release",
            code=drops[pair.id].code,
            reason=drops[pair.id].reason,
            record_kind="QAPair",
            record_id=pair.id,
            dataset_id=pair.dataset_id,
            question_type=pair.question_type,
            score=drops[pair.id].score,
            record=pair.model_dump_json(exclude_defaults=True),
        )
        for pair in content.pairs()
        if pair.id in drops
    ]
    positives = {k: v for k, v in resolution.positives.items() if k not in drops}

    def kept() -> Iterator[QAPair]:
        return (p for p in content.pairs() if p.id not in drops)

    return Settled(replace(content, pairs=kept), positives, [set(v) for v in positives.values()], rejections)
