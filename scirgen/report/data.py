"""The content of a report as plain data, for report.json and report.html. Figures come from `figures` (a run) or
`released`."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import Field

from scirgen.core.corpus.questions import Fate
from scirgen.core.records import Frozen, Span
from scirgen.release_files.release import EvidenceRow

S = TypeVar("S", Span, EvidenceRow)
LEVELS = ("C1", "C2", "C3", "C4", "C5", "C6")


class StageRow(Frozen):
    """One stage of the funnel."""

    stage: str
    reads: str
    item: str
    done: int
    todo: int
    failed: int
    outputs: int
    rejected: dict[str, int]
    failures: dict[str, int]


class TypeRow(Frozen):
    """One question type (ScIRGen, Table 3a). Words are white-space separated."""

    question_type: str
    rows: int
    share: float
    question_words: float
    answer_words: float
    rejected: dict[str, int]


class AspectRow(Frozen):
    """One aspect over all datasets (ScIRGen, Table 3c): statements and their mean words; (dataset, paper) groups and
    theirs."""

    aspect: str
    groups: int
    sentences: int
    words: float
    words_each: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One measured score of a pair. No model, since a run has many and they are all in memory."""

    name: str
    value: float
    threshold: float | None
    accepted: bool
    question_type: str


class NearRow(Frozen):
    """A pair whose score is close to the threshold; ``reason`` for a rejected one."""

    id: str
    question: str
    answer: str
    value: float
    threshold: float
    reason: str = ""


class Sides(Frozen):
    """The pairs closest to a score's threshold, closest first: those that it rejected, and those that were kept."""

    score: str
    rejected: tuple[NearRow, ...]
    kept: tuple[NearRow, ...]


class Highlight(Frozen):
    """Evidence with the text around it: the text before, the span itself, the text after, and its place."""

    before: str
    text: str
    after: str
    where: str


SHOWN_TEXT = 2000
SHOWN_SPAN = 600
_AROUND = 240
SHOWN_SPANS = 4


def shown(text: str, most: int = SHOWN_TEXT) -> str:
    """Return a text for the sample, cut if it is very long; the row's own record has all of it."""
    return text if len(text) <= most else f"{text[:most].rstrip()} … ({len(text):,} characters in all)"


def cut_out(text: str, at: int, quote: str, where: str) -> Highlight:
    """Return a span that begins at ``at`` with the text around it; without, if the text does not contain it there."""
    end = at + len(quote)
    held = text[at:end] == quote
    return Highlight(
        before=text[max(0, at - _AROUND) : at] if held else "",
        text=shown(quote, SHOWN_SPAN),
        after=text[end : end + _AROUND] if held else "",
        where=where,
    )


def highlights(
    spans: Sequence[S], around: Callable[[S], Highlight], table: Callable[[S], int] = lambda span: 0
) -> tuple[Highlight, ...]:
    """Return the first pieces of evidence, then how many more there are. The cells of a table are one piece, with each
    on a line after its headers; ``table``, the table's number, and captions among the evidence tell tables apart."""
    captions = sorted((s.document_id, s.start) for s in spans if s.medium == "caption")
    pieces: dict[object, list[S]] = {}
    for number, span in enumerate(spans):
        table_id = span.document_id, span.page, table(span), bisect(captions, (span.document_id, span.start))
        pieces.setdefault(table_id if span.medium in ("table", "header") else number, []).append(span)
    found = []
    for piece in list(pieces.values())[:SHOWN_SPANS]:
        first = around(piece[0])
        if piece[0].medium != "text":  # beside a cell or a caption stand other cells
            named = {header for cell in piece for header in cell.headers}
            cells = [c for c in piece if c.headers or c.text not in named]
            text = "\n".join(f"{'; '.join(c.headers)}: {c.text}" if c.headers else c.text for c in cells)
            first = Highlight(before="", text=shown(text), after="", where=first.where)
        found.append(first)
    if more := len(pieces) - len(found):
        found.append(Highlight(before="", text="", after="", where=f"{more} more: scirgen inspect RUN ROW_ID"))
    return tuple(found)


class SampleRow(Frozen):
    """A row to look at: accepted, or rejected with its reason. Very long texts are cut, and the first spans are
    shown."""

    id: str
    status: str
    stage: str
    code: str
    reason: str
    question: str
    answer: str
    question_type: str
    bloom: str
    dataset: str
    evidence: tuple[Highlight, ...]
    scores: dict[str, float]


class PaperRow(Frozen):
    """A paper that cost many model calls: stage -> calls."""

    paper: str
    calls: dict[str, int]
    total: int


class RecordRow(Frozen):
    """A dataset with the numbers of its used papers and of its rows."""

    id: str
    title: str
    papers: int
    rows: int


class PublishingTable(Frozen):
    """A release by licence: (licence, what it allows, numbers of records, papers and questions)."""

    rows: tuple[tuple[str, str, tuple[int, int, int]], ...]
    summary: tuple[str, ...]


class ReportData(Frozen):
    """All figures of a run, or of a release, which has no funnel, usage or rejected rows.

    Attributes:
        field: title of the domain.
        date: day on which the run, or the release, was last written.
        judged: who judged the rows, with their agreement, in sentences.
        records: the datasets with most rows.
        publishing: what may be published of the release: the table, and sentences about it.
        rows: accepted pairs; ``released`` of them are in the release. Tables of types, levels and facts count the
            released rows, or all accepted ones before the first release.
        bare: rows without an answer, which a plugin adds.
        papers: papers judged to use a dataset; ``papers_cited`` of them are evidence of a row, and
            ``papers_collected`` were candidates.
        papers_unread, papers_unused: names of the first papers that could not be read, and that no dataset uses.
        own: what became of the user's own questions, those without a row first.
        asked: rows by the origin of their question; ``seeking`` is the share that was to be asked by people who had not
            read the texts; ``linked`` counts those that no document answers alone, by how these answer them together.
        tables: those of the release's plugins: caption -> rows of cells, the head first.
        left: datasets of an earlier run that the catalogue or the selection no longer has.
    """

    kind: Literal["run", "release"] = "run"
    name: str = ""
    domain: str
    field: str = ""
    date: str = ""
    judged: tuple[str, ...] = ()
    records: tuple[RecordRow, ...] = ()
    publishing: PublishingTable | None = None
    models: dict[str, str]
    datasets: int
    datasets_with_papers: int
    datasets_with_rows: int = 0
    links: dict[str, int]
    papers: int
    papers_collected: int | None = None
    papers_cited: int | None = None
    papers_unread: tuple[str, ...] = ()
    papers_unused: tuple[str, ...] = ()
    dropped_datasets: int = 0
    rows: int
    waiting: int
    funnel: tuple[StageRow, ...]
    types: tuple[TypeRow, ...]
    papers_per_dataset: dict[str, int]
    aspects: tuple[AspectRow, ...]
    bloom: dict[str, int]
    bloom_by_type: dict[str, dict[str, int]]
    bloom_agreement: float | None
    evenness: float | None
    facts: dict[str, int]
    asked: dict[str, int] = Field(default={})
    own: tuple[Fate, ...] = ()
    linked: dict[str, int] = Field(default={})
    seeking: float = 0.0
    tables: dict[str, tuple[tuple[str, ...], ...]] = Field(default={})
    scores: tuple[ScoreRow, ...]
    sides: tuple[Sides, ...] = ()
    judged_nothing: tuple[str, ...] = ()
    defects: dict[str, int]
    unwritten: dict[str, int] = Field(default={})
    costliest: tuple[PaperRow, ...] = ()
    released: int | None = None
    bare: int = 0
    queries: dict[str, int] = Field(default={})
    candidates: int
    usage: dict[str, object]
    last_usage: dict[str, object]
    sample: tuple[SampleRow, ...]
    sample_of: int = 0

    @property
    def papers_alone(self) -> bool:
        """True if every record was made from a paper."""
        return bool(self.papers) and self.links.get("links_own") == self.links.get("links")
