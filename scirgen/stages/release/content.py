"""What a release is made of, whether it comes from a run or from an importer. Pairs are streamed; the rest fits in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from scirgen.core.records import Aspect, Dataset, Link, Paper, QAPair, SectionLabel
from scirgen.core.release import ReleaseInfo
from scirgen.stages.base import RunView


@dataclass
class ReleaseContent:
    """Input of `scirgen.stages.release.write.write_release`.

    Attributes:
        info: name, origin, seed and the like; counts and files are filled in by the writer.
        datasets: by id.
        papers: those that use a dataset, by id.
        uses: dataset id -> ids of the papers that use it, sorted.
        aspects: kept aspects, dataset by dataset.
        pairs: called for a fresh pass over the accepted pairs, in the order of ids.
        document_papers: document id -> paper id.
        splits: dataset id -> split where they were published already; None to make them.
        keep_all: somebody else's published questions: near-duplicates are not dropped.
    """

    info: ReleaseInfo
    datasets: dict[str, Dataset]
    papers: dict[str, Paper]
    uses: dict[str, tuple[str, ...]]
    aspects: list[Aspect]
    pairs: Callable[[], Iterator[QAPair]]
    document_papers: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, str] | None = None
    keep_all: bool = False


def from_run(run: RunView, info: ReleaseInfo) -> ReleaseContent:
    """Collect a run's results. Only papers judged to be using a dataset count."""
    datasets = {d.id: d for d in sorted(run.datasets(), key=lambda d: d.id)}
    uses: dict[str, set[str]] = {}
    for link in run.records("match", Link):
        if link.used and link.dataset_id in datasets:
            uses.setdefault(link.dataset_id, set()).add(link.paper_id)
    wanted = {p for ids in uses.values() for p in ids}
    papers = {p.id: p for p in run.records("collect", Paper) if p.id in wanted}
    for paper_id in sorted(wanted - set(papers)):
        papers[paper_id] = Paper(id=paper_id)
    aspects = {
        a.id: a
        for a in run.records("verify", Aspect)
        if a.dataset_id in datasets and a.paper_id in uses.get(a.dataset_id or "", ())
    }
    ordered = sorted(
        aspects.values(), key=lambda a: (a.dataset_id or "", a.paper_id, a.span.document_id, a.span.start, a.id)
    )
    documents = {label.document_id: label.paper_id for label in run.records("section", SectionLabel)}
    documents |= {a.span.document_id: a.paper_id for a in ordered}
    left_out = Counter(f"{r.stage}: {r.code}" for r in run.rejections())
    return ReleaseContent(
        info=info.model_copy(update={"left_out": dict(sorted(left_out.items()))}),
        datasets=datasets,
        papers={k: papers[k] for k in sorted(papers)},
        uses={k: tuple(sorted(v)) for k, v in sorted(uses.items())},
        aspects=ordered,
        pairs=lambda: iter(run.pairs()),
        document_papers=documents,
    )
