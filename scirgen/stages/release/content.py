"""The content of a release, from a run or an importer. Pairs are streamed; the rest fits in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scirgen.core.corpus.printed import papers_of
from scirgen.core.corpus.questions import Question, Regraded, Unanswered, fates
from scirgen.core.grouped import grouped
from scirgen.core.records import (
    LINKED,
    OWN,
    Aspect,
    Dataset,
    Document,
    Link,
    Paper,
    Provenance,
    QAPair,
    Record,
    SectionLabel,
    Span,
    count_links,
    rejected_pair,
    same_fields,
    users_of,
)
from scirgen.core.records.licences import may_be_whole
from scirgen.release_files.release import MadeRow, ReleaseInfo, UnfaithfulRow
from scirgen.release_files.reviews import Reviewed
from scirgen.stages.base import RunView
from scirgen.stages.release.parts import PartContent


@dataclass
class ReleaseContent:
    """Content of a release, as a run or an import of a published set gives it.

    Attributes:
        info: name, origin, seed and the like; the writer fills in counts and files.
        datasets: the datasets by id.
        papers: the papers that use a dataset, by id.
        uses: dataset id -> ids of the papers that use it, sorted.
        aspects: kept aspects, dataset by dataset.
        pairs: returns a new iterator over the accepted pairs, in the order of ids.
        document_papers: document id -> paper id.
        documents: returns an iterator over the parsed papers that use a dataset, each once; None: there are none, and
            quotations are all that is known of a paper.
        splits: dataset id -> split, if they are published already; None: splits are made.
        keep_all: the questions were published by others, so near-duplicates are not dropped.
        reviewed: people's labels of pairs.
        writers: pair id -> (model, prompt) that wrote it, since a pair's provenance names the last model that saw it.
        unfaithful: returns an iterator over the candidates that a faithfulness score rejected.
        parts: what plugins add, such as retrieval tasks.
        added: pair id -> fields that plugins add to its row.
        same_as: dataset id -> id of the dataset that it repeats, for published corpora that have records twice.
        elsewhere: documents that pairs cite and that only other parts have read (``search.corpus``).
        closed: the whole records, by id, that are front matter of papers with a licence that does not allow their text.
    """

    info: ReleaseInfo
    datasets: dict[str, Dataset] = field(default_factory=dict)
    papers: dict[str, Paper] = field(default_factory=dict)
    uses: dict[str, tuple[str, ...]] = field(default_factory=dict)
    aspects: list[Aspect] = field(default_factory=list)
    pairs: Callable[[], Iterator[QAPair]] = lambda: iter(())
    document_papers: Mapping[str, str] = field(default_factory=dict)
    documents: Callable[[], Iterator[Document]] | None = None
    splits: Mapping[str, str] | None = None
    keep_all: bool = False
    writers: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    unfaithful: Callable[[], Sequence[UnfaithfulRow]] = field(default_factory=lambda: tuple)
    reviewed: Reviewed = field(default_factory=Reviewed)
    parts: Sequence[PartContent] = ()
    added: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    same_as: Mapping[str, str] = field(default_factory=dict)
    elsewhere: frozenset[str] = frozenset()
    closed: Mapping[str, Dataset] = field(default_factory=dict)

    def with_closed_abstracts_cut(self) -> ReleaseContent:
        """Return the content with blanks in place of what no answer cites in the descriptions of closed records, so
        that offsets stay."""
        pairs = self.pairs() if self.closed else ()
        cited = grouped((s.document_id, s) for p in pairs if p.answer for s in p.evidence)
        cut: dict[str, Dataset] = {}
        for id, record in self.closed.items():
            at = record.text.find(record.description, len(f"Title: {record.title}"))
            kept = [*" " * len(record.text)]
            for span in cited.get(id, ()):
                kept[span.start : span.end] = span.text
            description = "".join(kept[at : at + len(record.description)])
            cut[id] = Dataset.model_validate(same_fields(record, Dataset) | {"description": description})
        return replace(self, datasets=self.datasets | cut)


def from_run(run: RunView, info: ReleaseInfo) -> ReleaseContent:
    """Collect a run's results. Papers count if they are judged to use a dataset, or answer what somebody asked."""
    datasets = {d.id: d for d in sorted(run.datasets(), key=lambda d: d.id)}
    uses = run.uses()
    documents = {label.document_id: label.paper_id for label in run.records("section", SectionLabel)}
    found, elsewhere = _answering_papers(run, datasets)
    documents |= found
    wanted = {p for ids in uses.values() for p in ids} | {*found.values()}
    papers = {paper_id: Paper(id=paper_id) for paper_id in sorted(wanted)}
    papers |= {k: p for k, p in papers_of(run).items() if k in wanted}
    aspects = {
        a.id: a
        for a in run.records("verify", Aspect)
        if a.dataset_id in datasets and a.paper_id in uses.get(a.dataset_id or "", ())
    }
    ordered = sorted(
        aspects.values(), key=lambda a: (a.dataset_id or "", a.paper_id, a.span.document_id, a.span.start, a.id)
    )
    documents |= {a.span.document_id: a.paper_id for a in ordered}
    of_paper = users_of(uses)
    users = {d: set(of_paper[p]) for d, p in documents.items() if p in of_paper}
    writers, made = _made(run)
    made_from = {n.dataset_id: n.paper_id for n in run.records("match", Link) if OWN in n.found_by.split(", ")}
    own = {d: {text for text, paper in documents.items() if paper == made_from[d]} for d in made_from}
    places = _places(run, own)
    # Rejections of an earlier release are left out; this release counts its own.
    aside = (r for r in run.rejections() if r.stage != "release" and r.code != "unchosen")  # of which no pair was made
    left_out = Counter(f"{r.stage}: {r.code}" for r in aside)
    return ReleaseContent(
        info=info.model_copy(
            update={
                "left_out": dict(sorted(left_out.items())),
                "made": made,
                "notes": (*info.notes, *_second_grades(run), *_guessed(run), *_own(run)),
                "counts": count_links(run.records("match", Link)),
            }
        ),
        datasets=datasets,
        papers={k: papers[k] for k in sorted(papers)},
        uses=uses,
        aspects=ordered,
        pairs=lambda: (_one_text(p.with_gold(users, datasets), own, places) for p in run.pairs()),
        document_papers=documents,
        documents=lambda: _used(run, wanted),
        writers=writers,
        unfaithful=lambda: _unfaithful(run),
        elsewhere=elsewhere,
        closed={d: datasets[d] for d in made_from if d in datasets and not may_be_whole(datasets[d].licence)},
    )


def _answering_papers(run: RunView, datasets: Mapping[str, Dataset]) -> tuple[dict[str, str], frozenset[str]]:
    """Return a mapping: document id -> paper id of the papers that answer what somebody asked; and the documents that
    answer it and that only other parts have read (``search.corpus``)."""
    cited = {s.document_id for p in run.pairs() if p.grades for s in p.evidence} - {*datasets}
    found = {d.id: d.paper_id for d in run.records("parse", Document) if d.id in cited} if cited else {}
    return found, frozenset(cited - found.keys())


def _second_grades(run: RunView) -> list[str]:
    """Return a line for the card: how far a second grader agrees on passages that were read to answer questions."""
    calls = list(run.records("answer", Regraded))
    pairs = [pair for call in calls for pair in call.grades]
    if not pairs:
        return []
    counts = [Counter(grades) for grades in zip(*pairs, strict=True)]
    raw = sum(one == two for one, two in pairs) / len(pairs)
    chance = sum(counts[0][grade] * counts[1][grade] for grade in counts[0]) / len(pairs) ** 2
    kappa = f"{(raw - chance) / (1 - chance):.2f}" if chance < 1 else "not defined, as all grades are equal"
    by = ", ".join(sorted({call.by for call in calls}))
    return [
        f"A second grader ({by}), who saw the passages in another order, graded "
        f"{len(calls):,} calls again: {raw:.0%} of {len(pairs):,} grades are equal; Cohen's kappa {kappa}."
    ]


def _guessed(run: RunView) -> list[str]:
    """Return a line for the card: how many questions a model answers without documents."""
    known = [p.guessable for p in run.pairs() if p.guessable is not None]
    left = sum(r.code == "guessable" for r in run.rejections("filter"))
    if not known and not left:
        return []
    share = (sum(known) + left) / (len(known) + left)
    rest = f"{left:,} left out, {sum(known):,} kept" if left else "their rows say `guessable`"
    return [
        f"A model without documents gives the main part of the answer to {share:.0%} of the {len(known) + left:,} "
        f"asked and answered questions that papers answer; {rest}."
    ]


def _own(run: RunView) -> list[str]:
    """Return a line for the card: what became of the user's own questions."""
    aside = (*run.rejections("answer"), *run.rejections("filter"))
    told = fates(run.records("ask", Question), run.records("answer", Unanswered), run.pairs(), aside)
    counts: Counter[str] = Counter(fate.outcome for fate in told)
    said = ", ".join(f"{n:,} {words}" for outcome, words in _FATES.items() if (n := counts[outcome]))
    return [f"Of {len(told):,} questions that the user gave: {said}."] if told else []


_FATES = {
    "answered": "have an accepted answer",
    "not here": "are not answered by anything that was read",
    "rejected": "have an answer that was rejected",
    "open": "were not decided",
}


def _used(run: RunView, papers: Collection[str]) -> Iterator[Document]:
    """Yield the parsed papers that use a dataset, each once."""
    seen: set[str] = set()
    for document in run.records("parse", Document):
        if document.paper_id in papers and document.id not in seen:
            seen.add(document.id)
            yield document


def _unfaithful(run: RunView) -> list[UnfaithfulRow]:
    """Return the candidates that a faithfulness score rejected, by id."""
    found: dict[str, UnfaithfulRow] = {}
    for rejection in run.rejections("filter"):
        pair = None if rejection.score is None else rejected_pair(rejection)
        if pair and any(score.name == rejection.code for score in pair.scores):
            more = {"score_name": rejection.code, "score": rejection.score}
            found[pair.id] = UnfaithfulRow(**same_fields(pair, UnfaithfulRow), **more)
    return [found[id] for id in sorted(found)]


def _places(run: RunView, own: Mapping[str, set[str]]) -> dict[Span, Span]:
    """Return the evidence from records made from papers, with its page and box in the paper."""
    made = {document: dataset for dataset, documents in own.items() for document in documents}
    pairs = run.pairs() if own else ()
    cited = grouped((s.document_id, s) for p in pairs for s in p.evidence if s.document_id in own)
    found: dict[Span, Span] = {}
    for document in run.records("parse", Document) if cited else ():
        for span in cited.get(made.get(document.id, ""), ()):
            if (at := document.text.find(span.text)) >= 0:
                place = document.span(at, at + len(span.text))
                found[span] = span.model_copy(update={"page": place.page, "bbox": place.bbox})
    return found


def _one_text(pair: QAPair, own: Mapping[str, set[str]], places: Mapping[Span, Span]) -> QAPair:
    """Count a paper and the record that was made from it (its title and abstract) as one document that a pair needs.

    Args:
        pair: the pair of the run.
        own: dataset's id -> ids of the documents of the paper that its record was made from.
        places: evidence from such records -> the same with its place in the paper.
    """
    same = {pair.dataset_id} | own.get(pair.dataset_id, set())
    scores = tuple(
        s.model_copy(update={"parts": ((*s.parts[-1][:1], 1.0),), "value": 0.0, "detail": ""})
        if s.name == LINKED and len(s.parts) > 1 and {document for document, _ in s.parts} <= same
        else s
        for s in pair.scores
    )
    evidence = tuple(places.get(span, span) for span in pair.evidence)
    return pair.model_copy(update={"scores": scores, "evidence": evidence})


_STAGES: tuple[tuple[str, type[Record]], ...] = (
    ("section", SectionLabel), ("match", Link), ("extract", Aspect), ("verify", Aspect),
    ("ask", Question), ("answer", QAPair), ("generate", QAPair),
)  # fmt: skip
_WITHOUT_WRITER = {"collect", "parse", "search", "filter", "tag", "release"}


def _made(run: RunView) -> tuple[dict[str, tuple[str | None, str | None]], tuple[MadeRow, ...]]:
    """Return the model and prompt of each pair, and those of every stage, from the records' provenance."""
    writers: dict[str, tuple[str | None, str | None]] = {}
    made: dict[tuple[str, str, str], None] = {}
    same: dict[tuple[str | None, str | None], tuple[str | None, str | None]] = {}
    accepted: set[str] = set()
    for pair in run.pairs():
        accepted.add(pair.id)
        if pair.provenance is not None and pair.provenance.model:
            made[pair.provenance.stage, pair.provenance.model, pair.provenance.prompt or ""] = None
        for score in pair.scores:
            if score.model:
                made["filter", score.model, f"{score.name} #{score.prompt_hash[:12]}" if score.prompt_hash else ""] = (
                    None
                )
    added = sorted({*run.stages()} - {*dict(_STAGES), *_WITHOUT_WRITER})
    steps: list[tuple[str, type[Record]]] = [*_STAGES, *((stage, Record) for stage in added)]
    for stage, kind in steps:
        for record in run.records(stage, kind):
            origin: Provenance | None = getattr(record, "provenance", None)
            if origin is None:
                continue
            if origin.model:
                made[origin.stage or stage, origin.model, origin.prompt or ""] = None
            if isinstance(record, QAPair) and record.id in accepted:
                key = (origin.model, origin.prompt)
                writers[record.id] = same.setdefault(key, key)
    order = {stage: n for n, stage in enumerate([*dict(_STAGES), "filter", "tag"])}
    rows = sorted(made, key=lambda m: (order.get(m[0], len(order)), m))
    return writers, tuple(MadeRow(stage=s, model=m, prompt=p) for s, m, p in rows)
