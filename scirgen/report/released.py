"""Computes the figures of any release from its files alone. `figures` reads a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from scirgen.core.grouped import grouped
from scirgen.release_files.release import CorpusDocument, EvidenceRow, Passage, Release
from scirgen.report.about import day_of, field_of, judgements, most_rows, publishing
from scirgen.report.counting import Counted, accepted_row, aspect_rows, drawn, figures_of, histogram, score_rows
from scirgen.report.data import (
    Highlight,
    ReportData,
    SampleRow,
    ScoreRow,
    cut_out,
    highlights,
)

_WITH_PAPER = "with-paper"


def gather_release(release: Release, *, sample: int = 300) -> ReportData:
    """Read a release and compute every figure.

    Args:
        release: an opened release.
        sample: largest number of rows to show.

    Raises:
        InputError: a file is missing or damaged.
    """
    asked: list[Counted] = []
    scores: list[ScoreRow] = []
    for row in release.rows():
        about = row.dataset_id if row.gold else ""
        counted = (row.id, about, row.question, row.answer, row.question_type, row.bloom, row.needs_facts)
        asked.append(Counted(*counted, row.asked, row.linked))
        scores += score_rows(row.scores, row.question_type, accepted=True)
    documents, titles = {}, {}
    for document in release.corpus(_WITH_PAPER):
        documents[document.id], titles[document.id] = document.papers, document.title
    info = release.info
    return ReportData(
        kind="release",
        name=info.name,
        domain=info.domain,
        field=field_of(info.domain),
        date=day_of(release.folder / "release.json"),
        judged=judgements(info),
        publishing=publishing(release),
        records=most_rows(titles, {d: len(p) for d, p in documents.items()}, (a.dataset_id for a in asked)),
        models={str(n): model for n, model in enumerate(info.models, 1)},
        datasets=len(documents),
        datasets_with_papers=sum(bool(p) for p in documents.values()),
        datasets_with_rows=len({a.dataset_id for a in asked if a.dataset_id}),
        links={name: n for name, n in info.counts.items() if name.startswith("links")},
        papers=len({p for ids in documents.values() for p in ids}),
        rows=len(asked),
        bare=sum(not a.answer for a in asked),
        waiting=0,
        funnel=(),
        papers_per_dataset=histogram(len(p) for p in documents.values()),
        aspects=tuple(aspect_rows((a.category, a.dataset_id, a.paper_id, a.text) for a in release.aspects())),
        bloom_agreement=None,
        tables=info.tables,
        scores=tuple(scores),
        defects=dict(Counter(info.left_out).most_common()),
        candidates=0,
        usage={},
        last_usage={},
        sample=tuple(_sample(release, {a.id for a in drawn(asked, sample, lambda a: a.question_type)})),
        sample_of=len(asked),
        **figures_of(asked, {}),
    )


def _sample(release: Release, ids: set[str]) -> Iterator[SampleRow]:
    rows = [r for r in release.rows() if r.id in ids]
    wanted = {r.dataset_id for r in rows}
    documents = {d.id: d for d in release.corpus(_WITH_PAPER) if d.id in wanted}
    cited = {p for r in rows for p in r.passages}
    passages = grouped((p.document_id, p) for p in (release.passages() if cited else ()) if p.id in cited)
    titles = {p.id: p.title or p.id for p in release.papers()} if cited else {}
    for row in rows:
        document = documents.get(row.dataset_id)
        evidence = highlights(row.evidence, partial(_highlight, document, passages, titles))
        about = (document.title if document else row.dataset_id) if row.gold else ""
        yield accepted_row(row, row.split, about, evidence)


def _highlight(
    document: CorpusDocument | None,
    passages: Mapping[str, list[Passage]],
    titles: Mapping[str, str],
    evidence: EvidenceRow,
) -> Highlight:
    """Return the evidence with the text around it, from the dataset's metadata or from the passage that holds it, if
    the release has that text."""
    page = f", page {evidence.page}" if evidence.page else ""
    if evidence.source == "dataset" and document is not None:
        text, at, where = document.metadata, evidence.start, f"metadata: {document.title}"
    else:
        held = passages.get(evidence.document_id, ())
        around = next((p for p in held if p.start <= evidence.start and evidence.end <= p.end), None)
        text, at = (around.text, evidence.start - around.start) if around else ("", 0)
        where = f"paper {titles.get(evidence.document_id, evidence.document_id)}{page}"
    return cut_out(text, at, evidence.text, where)
