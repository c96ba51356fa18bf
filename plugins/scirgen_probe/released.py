"""The fields that the wing adds to rows, and the rows without an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from scirgen import QAPair, Record, RowFields, RunView, Span, StageContext
from scirgen.core.text.bm25 import BM25
from scirgen.plugin import SPLITS, Aspect, Id, PartContent, PartWritten, ReleaseMaterial, ReleasePart, telling_words
from scirgen.stages.generate.material import record_pieces
from scirgen_probe.proving import spans_read
from scirgen_probe.records import Nugget, Unanswerable

_SHOWN = 3
"""Nearest passages of a row without an answer."""


class NuggetRow(Record):
    """An atomic fact of the answer, with the line of the evidence that carries it."""

    fact: str
    vital: bool
    document_id: Id
    start: int
    end: int
    text: str
    headers: tuple[str, ...] = Field(default=(), description="of a table's cell: what its headers say, outermost first")


class ProbeRow(Record):
    """The added fields."""

    answerable: bool = Field(default=True, description="false: neither record nor linked papers answer the question")
    lacking: str = Field(
        default="", description="what nothing says, if not answerable: `missing: ...`, `near_miss: ...`"
    )
    nuggets: tuple[NuggetRow, ...] = Field(
        default=(), description="atomic facts of the answer, each with the line of the evidence that carries it"
    )


class ProbeFields(RowFields):
    """``answerable``, ``lacking`` and ``nuggets`` of each row."""

    name: ClassVar[str] = "probe"
    fields: ClassVar[type[Record]] = ProbeRow

    def values(self, run: RunView, ctx: StageContext) -> Mapping[str, Record]:
        """Return the fields of pairs with nuggets, and of questions without an answer."""
        facts: defaultdict[str, list[NuggetRow]] = defaultdict(list)
        for n in sorted(run.records("probe", Nugget), key=lambda n: (n.span.document_id, n.span.start, n.id)):
            where = n.span.model_dump(include={"document_id", "start", "end", "text", "headers"})
            facts[n.pair_id].append(NuggetRow(fact=n.fact, vital=n.vital, **where))
        found: dict[str, Record] = {pair_id: ProbeRow(nuggets=tuple(rows)) for pair_id, rows in facts.items()}
        for q in run.records("probe", Unanswerable):
            found[q.id] = ProbeRow(answerable=False, lacking=": ".join(filter(None, (q.lacks, q.differs))))
        return found


@dataclass(frozen=True)
class ProbeContent(PartContent):
    """Return the questions without an answer as pairs whose spans are the nearest passages."""

    questions: tuple[QAPair, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for the card."""
        if not self.questions:
            return ()
        return (
            "Questions with answerable: false have no answer here: the passages of records and linked "
            "papers nearest to them were read by a judge. Their rows name the nearest passages; qrels leave them out.",
        )

    def pairs(self) -> Iterable[QAPair]:
        """Return the questions, by id."""
        return self.questions

    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Write no file; count the rows that are left without near-duplicates."""
        files = (folder / f"{split}.jsonl" for split in SPLITS)
        count = sum('"answerable":false' in line for file in files for line in file.open(encoding="utf-8"))
        return PartWritten(counts={"unanswerable": count})


class ProbePart(ReleasePart):
    """A run's questions without an answer."""

    name: ClassVar[str] = "probe"

    def material(self, run: RunView, ctx: StageContext) -> ProbeContent:
        """Find the nearest passages: those that were read for a question that people asked, or else among records and
        quoted statements of papers."""
        questions = {q.id: q for q in run.records("probe", Unanswerable)}
        if not questions:
            return ProbeContent()
        read = spans_read(run, questions)
        own = {dataset.id: [span for _, span in record_pieces(dataset)] for dataset in run.datasets()}
        spans: list[Span] = [span for mine in own.values() for span in mine]
        spans += [aspect.span for aspect in run.records("verify", Aspect)]
        index = BM25([sorted(telling_words(span.text)) for span in spans])
        found: list[QAPair] = []
        for _, q in sorted(questions.items()):
            nearest = read.get(q.id, [])[:_SHOWN]
            if not nearest:
                ranked = index.ranked(sorted(telling_words(q.question)))[:_SHOWN]
                nearest = [spans[n] for n, score in ranked if score > 0] or own[q.dataset_id][:1]
            found.append(
                QAPair(
                    id=q.id, dataset_id=q.dataset_id, question=q.question, answer="", question_type=q.question_type,
                    bloom=q.bloom, evidence=tuple(nearest), strategy="probe", language=q.language,
                    provenance=q.provenance, asked="seeking" if q.id in read else "known_item",
                )
            )  # fmt: skip
        return ProbeContent(tuple(found))
