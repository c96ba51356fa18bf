"""Step search: the passages that may answer a question, by BM25 over question and rewordings, in all that was read.

It runs where the run's store is. The corpus lies in the run's folder (``corpus/``), for use of one's own too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import ClassVar

from scirgen.core.config import Config
from scirgen.core.corpus import Corpus, Passage, passages_of, record_passage
from scirgen.core.corpus.questions import Pool, Pooled, Question
from scirgen.core.corpus.stored import FORMAT, Unit
from scirgen.core.errors import ConfigError
from scirgen.core.records import OWN, Dataset, Document, Link
from scirgen.core.registry import Registry, load_registry
from scirgen.llm.encoders.embedder import embedder_of
from scirgen.stages.base import RunView, Scope, Stage, StageContext, StageResult, Uses, WorkItem

_RECORDS = 2.5
"""Records taken from a search, as a multiple of passages: they are short, and several serve a need."""
_ENCODER = "search.encoder"
_OWN = 4
"""Passages of the document that a question was asked about, its best, that are in the pool whatever is found."""


class SearchStage(Stage):
    """One item is a question."""

    name: ClassVar[str] = "search"
    reads_run: ClassVar[bool] = True
    on_driver: ClassVar[bool] = True

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._view: RunView | None = None
        self._digest = ""
        self._corpus: Corpus | None = None
        self._users: dict[str, tuple[str, ...]] = {}

    def uses(self, config: Config) -> Uses:
        """Return the depth, the language and the encoder; the corpus is a parameter of each item."""
        if not config.generate.asks:
            return Uses()
        return Uses(config=("search", "language"), extra=(_encoder(config, load_registry()),))

    def check(self, ctx: StageContext) -> None:
        """Refuse an encoder that is not there."""
        _encoder(ctx.config, ctx.registry)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield the questions of this round: those that were asked, and those that an answerer narrowed."""
        asked = (*scope.outputs("ask", Question), *scope.outputs("answer", Question))
        questions = sorted((q for q in asked if q.round == scope.round), key=lambda q: q.id)
        for question in questions:
            yield WorkItem(question.key, (question,), {"corpus": self._read(ctx)})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        question = item.one(Question)
        async with self._lock:
            if self._corpus is None:
                self._corpus = await asyncio.to_thread(self._build, ctx)
        corpus = self._corpus
        depth = ctx.config.search.depth
        language = ctx.config.language
        queries = [*((text, language) for text in (question.text, *question.rewordings))]
        queries += [(text, code) for code, text in question.translations]
        names = ["question", *(f"rewording {n}" for n in range(1, len(question.rewordings) + 1))]
        names += [f"in {code}" for code, _ in question.translations]
        names += [f"{name}, dense" for name in names] if ctx.config.search.encoder else []
        unit: Unit = "datasets" if question.wants == "data" else "passages"
        depth = int(depth * _RECORDS) if question.wants == "data" else depth
        # What the question was asked about is read, whether a search finds it or not.
        hits = corpus.search(unit, queries, depth, question.document_id, _OWN)
        entries = [
            Pooled(
                passage=hit.passage,
                found_by=tuple(name for name, rank in zip(names, hit.ranks, strict=True) if rank),
                dataset_ids=self._users.get(hit.passage.document_id, (hit.passage.document_id,)),
            )
            for hit in hits
        ]
        return StageResult((Pool(id=question.id, dataset_id=question.dataset_id, entries=tuple(entries)),))

    def _read(self, ctx: StageContext) -> str:
        """Digest of what the run has read, and of the papers' users."""
        if ctx.run is None:
            raise ConfigError("step search needs a run", hint="Run: scirgen generate.")
        if self._view is not ctx.run:
            self._view, self._corpus = ctx.run, None
            self._digest = ctx.run.content("collect", "parse", "match")
        return self._digest

    def _build(self, ctx: StageContext) -> Corpus:
        assert self._view is not None
        digest = f"{FORMAT}-{self._read(ctx)}"
        self._users = _users(self._view)
        records = (record_passage(d) for d in _records(self._view))
        embed = None
        if uri := ctx.config.search.encoder:
            kind, name = embedder_of(uri, ctx.registry)
            digest, embed = f"{digest}-{kind.identify(name, _ENCODER)}", kind.open(name).embed
        return Corpus.build(ctx.folder / "corpus", digest, _passages(self._view), records, embed)


def _encoder(config: Config, registry: Registry) -> str:
    """Return the identity of the encoder; "" for none."""
    if not config.search.encoder:
        return ""
    kind, name = embedder_of(config.search.encoder, registry)
    return kind.identify(name, _ENCODER)


def _records(run: RunView) -> Iterator[Dataset]:
    """Yield the records of datasets; not those that were made from papers."""
    made = {link.dataset_id for link in run.records("collect", Link) if OWN in link.found_by.split(", ")}
    return (d for d in run.datasets() if d.id not in made)


def _passages(run: RunView) -> Iterator[Passage]:
    """Yield the passages of all papers that were read, and the records."""
    for document in run.records("parse", Document):
        yield from passages_of(document)
    yield from (record_passage(d) for d in _records(run))


def _users(run: RunView) -> dict[str, tuple[str, ...]]:
    """Id of a paper's document -> ids of the datasets that use it, which may be none."""
    users: dict[str, list[str]] = {}
    for dataset_id, papers in run.uses().items():
        for paper_id in papers:
            users.setdefault(paper_id, []).append(dataset_id)
    return {d.id: tuple(users.get(d.paper_id, ())) for d in run.records("parse", Document)}
