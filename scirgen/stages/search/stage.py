"""Step search: the passages that may answer a question, by BM25 over question and rewordings, in all that was read.

It runs where the run's store is. The corpus lies in the run's folder (``corpus/``), for use of one's own too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from scirgen.core.config import Config
from scirgen.core.corpus import Corpus, Reading
from scirgen.core.corpus.questions import Pool, Pooled, Question
from scirgen.core.corpus.stored import Unit
from scirgen.core.errors import ConfigError
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
    version: ClassVar[int] = 2
    reads_run: ClassVar[bool] = True
    on_driver: ClassVar[bool] = True

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._view: RunView | None = None
        self._reading: Reading | None = None
        self._corpus: Corpus | None = None

    def uses(self, config: Config) -> Uses:
        """Return the depth, the language and the encoder; the corpus is a parameter of each item."""
        if not config.generate.asks:
            return Uses()
        return Uses(config=("search", "language"), extra=(_encoder(config, load_registry()),))

    def definitions(self, ctx: StageContext) -> str:
        """Return the digest of a corpus that several runs share."""
        shared = ctx.config.search.corpus
        return Reading.open(Path(shared)).content if shared and ctx.config.generate.asks else ""

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse a corpus that is not there, also if this run asks nothing."""
        if config.search.corpus:
            Reading.open(Path(config.search.corpus))

    def check(self, ctx: StageContext) -> None:
        """Refuse an encoder that is not there."""
        _encoder(ctx.config, ctx.registry)

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield the questions of this round: those that were asked, and those that an answerer narrowed."""
        asked = (*scope.outputs("ask", Question), *scope.outputs("answer", Question))
        questions = sorted((q for q in asked if q.round == scope.round), key=lambda q: q.id)
        for question in questions:
            yield WorkItem(question.key, (question,), {"corpus": self._read(ctx).content})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        question = item.one(Question)
        async with self._lock:
            if self._corpus is None:
                self._corpus = await asyncio.to_thread(self._opened, ctx)
        corpus, users = self._corpus, self._read(ctx).users
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
                dataset_ids=users.get(hit.passage.document_id, (hit.passage.document_id,)),
            )
            for hit in hits
        ]
        return StageResult((Pool(id=question.id, dataset_id=question.dataset_id, entries=tuple(entries)),))

    def _read(self, ctx: StageContext) -> Reading:
        """Return what is searched: all that the run has read, or a corpus that several runs share."""
        if ctx.run is None:
            raise ConfigError("step search needs a run", hint="Run: scirgen generate.")
        if self._reading is None or self._view is not ctx.run:
            self._view, self._corpus = ctx.run, None
            self._reading = Reading.searched(ctx.run, ctx.config.search.corpus)
        return self._reading

    def _opened(self, ctx: StageContext) -> Corpus:
        reading, uri = self._read(ctx), ctx.config.search.encoder
        assert self._view is not None
        kind, name = embedder_of(uri, ctx.registry) if uri else (None, "")
        encoder, embed = (kind.identify(name, _ENCODER), kind.open(name).embed) if kind else ("", None)
        if shared := ctx.config.search.corpus:
            return reading.opened(Path(shared), encoder, embed)
        return reading.written(ctx.folder / "corpus", self._view, encoder, embed)


def _encoder(config: Config, registry: Registry) -> str:
    """Return the identity of the encoder; "" for none."""
    if not config.search.encoder:
        return ""
    kind, name = embedder_of(config.search.encoder, registry)
    return kind.identify(name, _ENCODER)
