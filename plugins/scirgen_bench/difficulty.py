"""Measures how hard the questions of a release are for search, and how much of the corpus they cover: fields of its
rows, and a table on card and report. It makes no calls. The section ``difficulty`` of the settings turns it on.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from scirgen import Config, QAPair, Record, RowFields, RunView, Section, StageContext
from scirgen.claims.needed import needed_evidence
from scirgen.core.corpus import Corpus, Passage, passages_of, record_passage
from scirgen.core.text.analysis import terms
from scirgen.llm.encoders.embedder import embedder_of
from scirgen.plugin import Document, PartContent, PartWritten, ReleaseMaterial, ReleasePart, digest

_DEPTH = 100
_MISSED = 5
"""A question is hard if no searcher has a passage of grade 2 among so many, and it is not guessable."""
_NEAR = 0.8
_BATCH = 256
_TOPICS = 50
"""Largest number of topics: groups of passages by the encoder, of four passages or more on average."""
_SAMPLE = 20_000
"""Passages, evenly spaced, that the topics are made from."""


class DifficultyConfig(Section):
    """Section ``difficulty``: ranks of the gold passages under BM25 and an encoder."""

    encoder: str = Field(default="", description="an embedding model that also searches (st:MODEL_OR_DIR)")


class DifficultyRow(Record):
    """The added fields."""

    bm25_rank: int | None = Field(
        default=None, description="rank of the first passage of grade 2 under BM25; 0: not among the first 100"
    )
    dense_rank: int | None = Field(default=None, description="the same under difficulty.encoder")
    overlap: float | None = Field(
        default=None, description="share of the question's terms that its passages of grade 2 contain"
    )
    hard: bool | None = Field(
        default=None, description="true: no search has one among the first five, and no model answers without documents"
    )


@dataclass(frozen=True)
class Measured:
    """The fields by pair id, with the origin of each question and whether a model answers it without documents.
    ``covered`` and ``topics`` are the numbers of documents and topics with a gold passage, and of all; ``near`` is the
    share of questions with a neighbour above .8. Topics and neighbours need an encoder.
    """

    rows: Mapping[str, DifficultyRow]
    passages: int
    asked: Mapping[str, str] = field(default_factory=dict)
    guessable: Mapping[str, bool | None] = field(default_factory=dict)
    covered: tuple[int, int] = (0, 0)
    near: float | None = None
    topics: tuple[int, int] | None = None


_last: tuple[ref[RunView], str, Measured] | None = None
"""The last result: part and fields are asked one after the other."""


def measured(run: RunView, ctx: StageContext) -> Measured:
    """Rank the run's passages for each accepted question."""
    encoder = ctx.config.part("difficulty", DifficultyConfig).encoder
    global _last
    if _last is None or _last[0]() is not run or _last[1] != encoder:
        _last = ref(run), encoder, _measure(run, ctx, encoder)
    return _last[2]


def _measure(run: RunView, ctx: StageContext, encoder: str) -> Measured:
    pairs = [pair for pair in run.pairs() if pair.answer]
    ids = [passage.id for passage in _passages(run)]
    if not pairs or not ids:
        return Measured({}, len(ids))
    language = ctx.config.language
    held: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    words: dict[str, frozenset[str]] = {}
    for passage in _passages(run):
        held[passage.document_id].append((passage.start, passage.end, passage.id))
    gold = {pair.id: _gold(pair, held) for pair in pairs}
    wanted = {id for found in gold.values() for id in found}
    for passage in _passages(run):
        if passage.id in wanted:
            words[passage.id] = frozenset(terms(passage.text, language))
    with tempfile.TemporaryDirectory() as folder:
        corpus = Corpus.build(Path(folder, "corpus"), "difficulty", _passages(run), ())
        lexical = {
            pair.id: _rank([hit.passage.id for hit in corpus.search("passages", ((pair.question, language),), _DEPTH)],
                           gold[pair.id])
            for pair in pairs
        }  # fmt: skip
    dense, near, topics = _dense(run, ctx, encoder, pairs, ids, gold) if encoder else ({}, None, None)
    rows = {}
    for pair in pairs:
        if not gold[pair.id]:
            continue
        asked = set(terms(pair.question, language))
        said = frozenset().union(*(words.get(id, frozenset()) for id in gold[pair.id]))
        ranks = [lexical[pair.id], *([dense[pair.id]] if dense else [])]
        rows[pair.id] = DifficultyRow(
            bm25_rank=lexical[pair.id],
            dense_rank=dense.get(pair.id),
            overlap=round(len(asked & said) / len(asked), 4) if asked else None,
            hard=not pair.guessable and not any(0 < rank <= _MISSED for rank in ranks),
        )
    asked_by = {pair.id: str(pair.asked) for pair in pairs}
    guessable = {pair.id: pair.guessable for pair in pairs}
    covered = sum(any(id in wanted for _, _, id in passages) for passages in held.values())
    return Measured(rows, len(ids), asked_by, guessable, (covered, len(held)), near, topics)


def _passages(run: RunView) -> Iterator[Passage]:
    """Yield the passages of used papers, and the records: what step search searches too."""
    used = {paper for papers in run.uses().values() for paper in papers}
    for document in run.records("parse", Document):
        if document.paper_id in used:
            yield from passages_of(document)
    yield from (record_passage(dataset) for dataset in run.datasets())


def _gold(pair: QAPair, held: Mapping[str, Sequence[tuple[int, int, str]]]) -> frozenset[str]:
    """Ids of the passages of grade 2."""
    if pair.grades:
        return frozenset(grade.passage_id for grade in pair.grades if grade.grade == 2)
    return frozenset(
        id
        for span in needed_evidence(pair)
        for start, end, id in held.get(span.document_id, ())
        if start < span.end and span.start < end
    )


def _rank(found: Sequence[str], gold: frozenset[str]) -> int:
    return next((rank for rank, id in enumerate(found, 1) if id in gold), 0)


def _dense(
    run: RunView, ctx: StageContext, uri: str, pairs: Sequence[QAPair], ids: Sequence[str],
    gold: Mapping[str, frozenset[str]],
) -> tuple[dict[str, int], float, tuple[int, int]]:  # fmt: skip
    """Ranks by cosine, the share of questions whose nearest neighbour has a cosine above .8, and topics (with a gold
    passage, all)."""
    kind, name = embedder_of(uri, ctx.registry)
    model = kind.open(name)
    vectors = model.embed([f"{p.title} {p.heading} {p.text}" for p in _passages(run)])
    asked = model.embed([pair.question for pair in pairs], "query")
    ranks: dict[str, int] = {}
    near = 0
    for at in range(0, len(pairs), _BATCH):
        part = asked[at : at + _BATCH]
        for pair, scores in zip(pairs[at:], part @ vectors.T, strict=False):
            first = np.argsort(-scores, kind="stable")[:_DEPTH]
            ranks[pair.id] = _rank([ids[n] for n in first], gold[pair.id])
        alike = part @ asked.T
        alike[np.arange(len(part)), np.arange(at, at + len(part))] = -1
        near += int((alike.max(axis=1) > _NEAR).sum())
    topic = _topics(vectors)
    wanted = {id for found in gold.values() for id in found}
    covered = len({int(t) for id, t in zip(ids, topic, strict=True) if id in wanted})
    return ranks, near / len(pairs), (covered, len({*topic.tolist()}))


def _topics(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the topic of each passage: k-means by cosine, begun with passages that are far from each other."""
    sample = vectors[:: -(-len(vectors) // _SAMPLE)]
    centres = sample[:1]
    while len(centres) < min(_TOPICS, len(sample) // 4):
        centres = np.vstack([centres, sample[(sample @ centres.T).max(axis=1).argmin()]])
    for _ in range(10):
        nearest = (sample @ centres.T).argmax(axis=1)
        sums = np.stack([sample[nearest == n].sum(axis=0) for n in range(len(centres))])
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), centres)
    return np.asarray((vectors @ centres.T).argmax(axis=1))


class DifficultyFields(RowFields):
    """``bm25_rank``, ``dense_rank``, ``overlap`` and ``hard`` of each row."""

    name: ClassVar[str] = "difficulty"
    fields: ClassVar[type[Record]] = DifficultyRow

    def fingerprint(self, config: Config) -> str:
        """Return the hash of the section."""
        return digest(config.part("difficulty", DifficultyConfig).model_dump())

    def values(self, run: RunView, ctx: StageContext) -> Mapping[str, Record]:
        """Return the fields of pairs with a gold passage."""
        return measured(run, ctx).rows


@dataclass(frozen=True)
class DifficultyContent(PartContent):
    """The table, with a column for each origin of questions if there are several."""

    found: Measured
    encoder: str = ""

    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Write nothing; the fields are in the rows. The card has no line if nothing could be ranked."""
        if not self.found.rows:
            return PartWritten()
        origins = sorted({self.found.asked[id] for id in self.found.rows})
        groups = {"all": [*self.found.rows]}
        if len(origins) > 1:
            groups |= {o.replace("_", " "): [i for i in groups["all"] if self.found.asked[i] == o] for o in origins}
        told = [dict(self._lines(ids)) for ids in groups.values()]
        rows = [tuple(lines.get(name, "-") for lines in told) for name in told[0]]
        table = (("questions", *groups), *((name, *row) for name, row in zip(told[0], rows, strict=True)))
        whole = [f"{self.found.covered[0]:,} of {self.found.covered[1]:,} documents have a passage of grade 2"]
        if self.found.topics is not None:
            whole.append(f"{self.found.topics[0]} of {self.found.topics[1]} topics (groups of passages) do")
        if self.found.near is not None:
            whole.append(f"{self.found.near:.0%} of the questions have a neighbour with a cosine above {_NEAR:g}")
        caption = f"Difficulty, among the {self.found.passages:,} passages that are searched: {'; '.join(whole)}"
        return PartWritten(info={"tables": {caption: table}})

    def _lines(self, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the lines of the table for some questions: name and value."""
        rows = [self.found.rows[id] for id in ids]
        yield "number", f"{len(rows):,}"
        for name, ranks in (
            ("BM25", [row.bm25_rank for row in rows]),
            (self.encoder, [row.dense_rank for row in rows if row.dense_rank is not None]),
        ):
            if ranks:
                for limit, words in ((1, "first"), (_MISSED, f"in {_MISSED}"), (_DEPTH, f"in {_DEPTH}")):
                    yield f"{name}: gold {words}", _share([0 < (rank or 0) <= limit for rank in ranks])
        overlap = [row.overlap for row in rows if row.overlap is not None]
        yield "terms that stand in the gold", f"{np.mean(overlap or [0]):.0%}"
        guessed = [known for id in ids if (known := self.found.guessable.get(id)) is not None]
        if guessed:
            yield "answered without documents", f"{_share(guessed)} of {len(guessed):,}"
        yield f"hard: not in {_MISSED} of any search, not answered without documents", _share([r.hard for r in rows])


def _share(told: Sequence[bool | None]) -> str:
    return f"{sum(map(bool, told)) / len(told):.0%}"


class DifficultyPart(ReleasePart):
    """A run's difficulty on the card."""

    name: ClassVar[str] = "difficulty"

    fingerprint = DifficultyFields.fingerprint

    def material(self, run: RunView, ctx: StageContext) -> DifficultyContent:
        """Measure once; the fields have the same result."""
        return DifficultyContent(measured(run, ctx), ctx.config.part("difficulty", DifficultyConfig).encoder)
