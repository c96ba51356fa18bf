"""Measures how hard the questions of a release are for search: fields of its rows, and a line on its card. No call is
made.

On if the settings have a section ``difficulty`` or name it in ``steps``.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from weakref import ref

import numpy as np
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


class DifficultyConfig(Section):
    """Section ``difficulty``: ranks of the gold passages under BM25 and an encoder."""

    encoder: str = Field(default="", description="an embedding model that searches beside BM25 (st:MODEL_OR_DIR)")


class DifficultyRow(Record):
    """The added fields."""

    bm25_rank: int | None = Field(
        default=None, description="rank of the first passage of grade 2 under BM25; 0: not among the first 100"
    )
    dense_rank: int | None = Field(default=None, description="the same under difficulty.encoder")
    overlap: float | None = Field(
        default=None, description="share of the question's terms that stand in its passages of grade 2"
    )
    hard: bool | None = Field(
        default=None, description="true: no search has one among the first five, and no model answers without documents"
    )


@dataclass(frozen=True)
class Measured:
    """The fields by pair id, and the share of questions with a neighbour above .8, where an encoder is configured."""

    rows: Mapping[str, DifficultyRow]
    passages: int
    near: float | None = None


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
    dense, near = _dense(run, ctx, encoder, pairs, ids, gold) if encoder else ({}, None)
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
    return Measured(rows, len(ids), near)


def _passages(run: RunView) -> Iterator[Passage]:
    """The passages of used papers, and the records: what step search searches too."""
    used = {paper for papers in run.uses().values() for paper in papers}
    for document in run.records("parse", Document):
        if document.paper_id in used:
            yield from passages_of(document)
    yield from (record_passage(dataset) for dataset in run.datasets())


def _gold(pair: QAPair, held: Mapping[str, Sequence[tuple[int, int, str]]]) -> frozenset[str]:
    """Ids of the passages of grade 2."""
    if pair.sought:
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
) -> tuple[dict[str, int], float]:  # fmt: skip
    """Ranks by cosine, and the share of questions whose nearest neighbour has a cosine above .8."""
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
    return ranks, near / len(pairs)


class DifficultyFields(RowFields):
    """``bm25_rank``, ``dense_rank``, ``overlap`` and ``hard`` of each row."""

    name: ClassVar[str] = "difficulty"
    fields: ClassVar[type[Record]] = DifficultyRow

    def fingerprint(self, config: Config) -> str:
        """Hash of the section."""
        return digest(config.part("difficulty", DifficultyConfig).model_dump())

    def values(self, run: RunView, ctx: StageContext) -> Mapping[str, Record]:
        """The fields of pairs with a gold passage."""
        return measured(run, ctx).rows


@dataclass(frozen=True)
class DifficultyContent(PartContent):
    """The lines of the card."""

    found: Measured

    @property
    def notes(self) -> tuple[str, ...]:
        """Shares of all accepted questions; none where nothing could be ranked."""
        rows = list(self.found.rows.values())
        if not rows:
            return ()
        said = [_first_five("BM25", [row.bm25_rank or 0 for row in rows])]
        if any(row.dense_rank is not None for row in rows):
            said.append(_first_five("The encoder", [row.dense_rank or 0 for row in rows]))
        overlap = float(np.mean([row.overlap for row in rows if row.overlap is not None] or [0]))
        hard = sum(bool(row.hard) for row in rows) / len(rows)
        lines = [
            f"Difficulty of {len(rows):,} questions among {self.found.passages:,} passages of all that was read: "
            f"{' '.join(said)} {overlap:.0%} of a question's terms stand in its gold passages. {hard:.0%} are hard: "
            "missed by all in the first five, and not answered without documents where that was tried (`hard`).",
        ]
        if self.found.near is not None:
            lines.append(f"{self.found.near:.0%} of the questions have a neighbour with a cosine above {_NEAR:g}.")
        return tuple(lines)

    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Write nothing; the fields are in the rows."""
        return PartWritten()


def _first_five(name: str, ranks: Sequence[int]) -> str:
    first = sum(rank == 1 for rank in ranks) / len(ranks)
    five = sum(0 < rank <= _MISSED for rank in ranks) / len(ranks)
    none = sum(rank == 0 for rank in ranks) / len(ranks)
    return f"{name} has a gold passage first for {first:.0%}, in five for {five:.0%}, not in {_DEPTH} for {none:.0%}."


class DifficultyPart(ReleasePart):
    """A run's difficulty on the card."""

    name: ClassVar[str] = "difficulty"

    def fingerprint(self, config: Config) -> str:
        """Hash of the section."""
        return digest(config.part("difficulty", DifficultyConfig).model_dump())

    def material(self, run: RunView, ctx: StageContext) -> DifficultyContent:
        """Measure once; the fields have the same result."""
        return DifficultyContent(measured(run, ctx))
