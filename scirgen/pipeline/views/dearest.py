"""Finds the papers of a run that cost most model calls, so that a reader sees where the money goes."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import cast

from scirgen.core.records import Aspect, Link, Paper, SectionLabel
from scirgen.pipeline.record_codec import unpack
from scirgen.pipeline.views.view import StoreView

_OF_PAPERS: dict[str, type[SectionLabel | Link | Aspect]] = {
    "section": SectionLabel,
    "match": Link,
    "extract": Aspect,
    "verify": Aspect,
}
"""Stages whose model calls concern one paper, and the records that they make."""


@dataclass(frozen=True)
class DearPaper:
    """A paper, and the model calls whose replies are in its records: stage -> calls."""

    paper_id: str
    title: str
    calls: dict[str, int]

    @property
    def total(self) -> int:
        """Calls of all stages."""
        return sum(self.calls.values())


def dearest_papers(view: StoreView, most: int = 5) -> tuple[DearPaper, ...]:
    """Papers in falling order of their calls. A call that made no record (it found nothing in a section) is not
    counted."""
    calls: dict[str, Counter[str]] = defaultdict(Counter)
    for stage, kind in _OF_PAPERS.items():
        for result in view.results(stage):
            found: dict[str, set[str]] = defaultdict(set)
            for record in cast("list[SectionLabel | Link | Aspect]", unpack(result.outputs_blob, kind)):
                if record.provenance is not None:
                    found[record.paper_id].update(record.provenance.replies)
            for paper_id, replies in found.items():
                if replies:
                    calls[paper_id][stage] += len(replies)
    first = sorted(calls, key=lambda p: (-calls[p].total(), p))[:most]
    titles = {p.id: p.title for p in view.records("collect", Paper) if p.id in first} if first else {}
    return tuple(DearPaper(p, titles.get(p, ""), dict(calls[p])) for p in first)
