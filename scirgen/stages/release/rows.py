"""Converts a run's records to a release's rows. Pure functions without files, in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from scirgen.claims.needed import documents_needed, needed_evidence
from scirgen.core.grouped import grouped
from scirgen.core.records import Dataset, Paper, QAPair, Span, same_fields, users_of
from scirgen.release_files.release import (
    AspectRow,
    CorpusDocument,
    EvidenceRow,
    PaperRow,
    Passage,
    ReleaseRow,
    ScoreRow,
)
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.passages import (
    Held,
    PassageIndex,
    Source,
    merge,
    paper_passages,
    quoted_passages,
    record_passages,
)


def paper_rows(content: ReleaseContent) -> Iterator[PaperRow]:
    """Yield the papers by id, with the datasets they use."""
    users = users_of(content.uses)
    documents = {
        paper_id: document_id for document_id, paper_id in sorted(content.document_papers.items(), reverse=True)
    }
    for paper in content.papers.values():
        used = tuple(sorted(users.get(paper.id, ())))
        yield PaperRow(**same_fields(paper, PaperRow), dataset_ids=used, document_id=documents.get(paper.id))


def aspect_rows(content: ReleaseContent) -> Iterator[AspectRow]:
    """Yield the kept aspects, dataset by dataset."""
    for aspect in content.aspects:
        values = same_fields(aspect, AspectRow) | same_fields(aspect.span, AspectRow)
        own = {"id": aspect.id, "dataset_id": aspect.dataset_id or "", "bbox": aspect.span.bbox or ()}
        yield AspectRow.model_validate(values | own)


def corpus_rows(content: ReleaseContent, *, with_paper: bool) -> Iterator[CorpusDocument]:
    """Yield one document per dataset: title and description (ScIRGen, section 4.1), with the extracts if
    ``with_paper``."""
    extracts = grouped((a.dataset_id or "", a) for a in content.aspects) if with_paper else {}
    for dataset in content.datasets.values():
        said = dataset.description if dataset.id not in content.closed else " ".join(dataset.description.split())
        parts = [said, *(a.span.text for a in extracts.get(dataset.id, ()))]
        yield CorpusDocument(
            **same_fields(dataset, CorpusDocument),
            text="\n".join(p for p in parts if p),
            metadata=dataset.text,
            papers=content.uses.get(dataset.id, ()),
            same_as=content.same_as.get(dataset.id),
        )


def all_passages(
    content: ReleaseContent, evidence: Mapping[str, Iterable[Span]], index: PassageIndex
) -> Iterator[list[Passage]]:
    """Yield the passages, one document at a time: each record, then each paper.

    Args:
        content: the content of the release.
        evidence: paper document id -> spans that are evidence of answers. They and the kept aspects are all that is
            quoted of a paper whose licence does not allow its text.
        index: is filled as passages are taken.
    """
    cut = content.documents is not None
    for dataset in content.datasets.values():
        yield _added(record_passages(dataset, cut=cut, uncut=content.closed.get(dataset.id)), index)
    quoted = grouped((a.span.document_id, a.span) for a in content.aspects)
    users = grouped((a.span.document_id, a.dataset_id or "") for a in content.aspects)
    of_paper = users_of(content.uses)
    unseen = set(quoted) | set(evidence)

    def source(document_id: str, paper_id: str = "") -> Source:
        paper_id = content.document_papers.get(document_id, paper_id)
        datasets = {*users.get(document_id, ()), *of_paper.get(paper_id, ())}
        return Source.of_paper(document_id, content.papers.get(paper_id), sorted(datasets))

    for document in content.documents() if content.documents else ():
        spans = [*quoted.get(document.id, ()), *evidence.get(document.id, ())]
        unseen.discard(document.id)
        yield _added(paper_passages(source(document.id, document.paper_id), document, spans), index)
    for document_id in sorted(unseen):
        spans = [*quoted.get(document_id, ()), *evidence.get(document_id, ())]
        yield _added(quoted_passages(source(document_id), merge(spans)), index)


def _added(held: list[Held], index: PassageIndex) -> list[Passage]:
    index.add(held)
    return [one.passage for one in held]


def passage_grades(pair: QAPair, row: ReleaseRow, index: PassageIndex) -> dict[str, int]:
    """Return the grades of a row's passages, by id: if it was asked first, those given when it was answered; if it was
    written from passages, 2 for those that it needs and 1 for the others that carry the answer.

    A passage that a licence keeps out of the release has none.
    """
    if not row.answer:
        return {}
    if pair.grades:
        return {g.passage_id: g.grade for g in pair.grades if g.passage_id in index.released}
    places = (index.places(span.document_id, span.start, span.end) for span in needed_evidence(pair))
    needed = {place.passage for found in places for place in found}
    return {passage: 2 if passage in needed else 1 for passage in row.passages}


def release_row(
    pair: QAPair,
    split: str,
    group: str,
    datasets: Mapping[str, Dataset],
    papers: Mapping[str, Paper],
    document_papers: Mapping[str, str],
    index: PassageIndex,
    writer: tuple[str | None, str | None] | None = None,
) -> ReleaseRow:
    """Return one row, with each piece of evidence's licence and the passages that hold it.

    The spans of a pair without an answer are not evidence: they are the nearest places, and give its passages alone.
    ``writer`` is the model and prompt that wrote the pair; without it they are those of the pair's own provenance.
    """
    origin = pair.provenance
    model, prompt = writer or ((origin.model, origin.prompt) if origin else (None, None))
    needed = needed_evidence(pair) if pair.answer else ()
    evidence: list[EvidenceRow] = []
    for span in pair.evidence:
        own = span.document_id in datasets
        paper = papers.get(document_papers.get(span.document_id, ""))
        licence = datasets[span.document_id].licence if own else (paper.licence if paper else "unknown")
        more = {
            "source": "dataset" if own else "paper",
            "bbox": span.bbox or (),
            "places": tuple(index.places(span.document_id, span.start, span.end)),
            "licence": licence,
        }
        evidence.append(EvidenceRow.model_validate(same_fields(span, EvidenceRow) | more))
    return ReleaseRow.model_validate(
        same_fields(pair, ReleaseRow)
        | {
            "dataset_ids": (),
            "split": split,
            "needs_documents": documents_needed(pair) if pair.answer else 0,
            "linked": pair.link,
            "needs_facts": len(needed),
            "group": group,
            "evidence": tuple(evidence) if pair.answer else (),
            "passages": tuple(
                dict.fromkeys(place.passage for e in evidence if e.role == "answer" for place in e.places)
            ),
            "scores": tuple(ScoreRow(**same_fields(score, ScoreRow)) for score in pair.scores),
            "depth": len(pair.grades),
            "found_by": pair.found_by,
            "guessable": pair.guessable,
            "model": model,
            "prompt": prompt,
        }
    )
