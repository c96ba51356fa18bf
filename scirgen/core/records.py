"""The records that stages exchange. Frozen, strict, and serialisable to one JSON line each.

Offsets are character offsets (Python ``str`` indices, end exclusive) into `Document.text`, or into `Dataset.text` when
a span's ``document_id`` is a dataset's id.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from scirgen.core.errors import ScirgenError
from scirgen.core.fingerprint import content_id
from scirgen.core.table import Table

_BREAKS_LINES = re.compile('[\x00-\x1f\x7f-\x9f"\u2028\u2029]')


def plain_id(value: str) -> str:
    """Return an id without what breaks lines and cells of text: control characters, line separators, quotation marks.

    They are percent-encoded, as in an address; any other id stays as it is.
    """
    return _BREAKS_LINES.sub(lambda found: _percent(found.group()), value)


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


Id = Annotated[str, AfterValidator(plain_id)]
Ids = Annotated[tuple[str, ...], AfterValidator(lambda ids: tuple(map(plain_id, ids)))]


class Frozen(BaseModel):
    """Base of plain data: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))


class Record(Frozen):
    """Base of all records."""


class SectionClass(StrEnum):
    """The five section classes of ScIRGen (section 2.1) and ``none`` for everything else."""

    INTRODUCTION = "abstract_introduction"
    RELATED_WORK = "related_work"
    METHOD = "method"
    EXPERIMENT = "experiment"
    CONCLUSION = "conclusion"
    NONE = "none"


class AspectCategory(StrEnum):
    """The six kinds of statements extracted from a paper (ScIRGen, section 2.1)."""

    BACKGROUND = "background"
    OBJECTIVE = "research_objective"
    METHODS = "methods"
    CHALLENGES = "challenges"
    DATASET = "dataset"
    FINDINGS = "findings"


class BlockKind(StrEnum):
    """The kind of a block of a parsed page."""

    TITLE = "title"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    CAPTION = "caption"
    TABLE = "table"
    EQUATION = "equation"
    FOOTNOTE = "footnote"
    REFERENCE = "reference"
    OTHER = "other"


_MEDIA: dict[BlockKind, Medium] = {BlockKind.TABLE: "table", BlockKind.CAPTION: "caption"}

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in PDF points, origin at the page's top left."""


class Provenance(Record):
    """Where a record comes from. No clock times: the same input gives the same record on every machine."""

    stage: str
    key: str
    fingerprint: str
    prompt: str | None = Field(default=None, description="prompt id@version#hash")
    model: str | None = Field(default=None, description="backend:name@revision")
    replies: tuple[str, ...] = Field(default=(), description="keys of the cached replies used")


SpanRole = Literal["answer", "context"]
Medium = Literal["text", "table", "caption"]
Origin = Literal["seeking", "narrowed", "known_item", "user"]
"""The origin of a question: somebody asked who had not read the text; the answerer narrowed such a question to what the
passages say; it was written from a known answer; the user gave it."""

ORIGINS: Mapping[str, str] = {
    "seeking": "asked by somebody who had not read the texts",
    "narrowed": "asked so and narrowed to what the texts say",
    "user": "given by the user",
    "known_item": "written from a known answer",
}
"""Each origin in words, for cards and reports."""


LINKED = "linked"
"""Name of the score of a question whose answer cites several documents (`QAPair.needs`), and the strategy of those that
are written for two."""
LINKS: Mapping[str, str] = {
    "bridge": "one document leads to what the other says",
    "comparison": "each says something of one of two things",
    "agreement": "they agree or conflict on one matter",
    "change": "they say how one thing was at different times",
    "other": "joined in another way",
}
"""The ways in which documents together answer a question, in words."""


class Span(Record):
    """A verbatim piece of a parsed document or of a dataset's metadata."""

    document_id: Id
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    page: int | None = Field(default=None, description="1-based page")
    bbox: Box | None = None
    section: SectionClass | None = None
    role: SpanRole = Field(default="answer", description="context: it only says what or where the answer is about")
    medium: Medium = Field(default="text", description="caption: of a figure or a table")
    headers: tuple[str, ...] = Field(default=(), description="of a table's cell: what its headers say, outermost first")

    @property
    def shown(self) -> str:
        """Its text, after its headers if it is a cell."""
        return f"{'; '.join(self.headers)}: {self.text}" if self.headers else self.text


def _plausible(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and not -9999 <= value <= 9999:
        return None
    return value


Year = Annotated[int | None, BeforeValidator(_plausible)]
"""A year; one that no calendar has is unknown."""


class Dataset(Record):
    """A record of a catalogue of scientific datasets."""

    id: Id = Field(min_length=1)
    title: str = Field(min_length=1)
    description: str = ""
    doi: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = Field(
        default=(), description="further metadata to show to a model, as (label, text) in reading order"
    )
    related: tuple[str, ...] = Field(default=(), description="DOIs or titles of papers that the record names")
    licence: str = "unknown"
    language: str = "en"
    language_guessed: bool = Field(default=False, description="the language is that of the text; none is stated")
    source: str = Field(default="", description="name of the source adapter")
    year: Year = Field(default=None, description="year of publication")
    translations: tuple[tuple[str, str, str], ...] = Field(
        default=(), description="(language, field name, text), for bilingual catalogues"
    )
    provenance: Provenance | None = None

    @cached_property
    def text(self) -> str:
        """The metadata as one text; spans with ``document_id == id`` index into it."""
        lines = [f"Title: {self.title}"]
        if self.description:
            lines.append(f"Description: {self.description}")
        if self.keywords:
            lines.append("Keywords: " + "; ".join(self.keywords))
        lines += [f"{label}: {value}" for label, value in self.fields if value]
        return "\n".join(lines)


class Paper(Record):
    """A paper that may use a dataset, with its file if one is available."""

    id: Id = Field(min_length=1, description="DOI, the source's own id, or a content hash of the file")
    title: str = ""
    doi: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()
    year: Year = None
    licence: str = "unknown"
    file: str | None = Field(default=None, description="local path; never part of a fingerprint")
    sha256: str | None = Field(default=None, description="SHA-256 of the file's bytes")
    media_type: str | None = None
    provenance: Provenance | None = None


OWN = "own"
"""The way in which a link was found if the record was made from the paper itself."""


class Criteria(Record):
    """The three questions by which a paper's use of a dataset is judged, as a model or a rule answers them."""

    methodology: Literal["yes", "no", "unclear"] = Field(
        description="the paper's methods take in these data, or made them"
    )
    terminology: Literal["yes", "no", "unclear"] = Field(
        description="names, variables, region and period are those of the record"
    )
    results: Literal["yes", "no", "unclear"] = Field(description="results of the paper rest on values of these data")


class Link(Record):
    """A candidate (``used is None``) or judged relation between a dataset and a paper."""

    dataset_id: Id
    paper_id: Id
    found_by: str = Field(description="how the candidate was found: doi, file_name, column, cites, text_search, ...")
    used: bool | None = None
    explanation: str = ""
    evidence: tuple[Span, ...] = ()
    criteria: Criteria | None = Field(default=None, description="criteria that the model or a rule found met")
    strategy: str | None = Field(default=None, description="the match strategy that judged it")
    provenance: Provenance | None = None

    @property
    def id(self) -> str:
        """``dataset_id|paper_id``."""
        return f"{self.dataset_id}|{self.paper_id}"


def count_links(links: Iterable[Link]) -> dict[str, int]:
    """Count the links that hold, those of them that a model judged, the model's "yes" to each criterion, and the links
    of papers to records made from them."""
    used = [link for link in links if link.used]
    judged = [link.criteria for link in used if link.criteria]
    yes = {f"links_{name}": sum(getattr(c, name) == "yes" for c in judged) for name in Criteria.model_fields}
    own = {"links_own": sum(OWN in link.found_by.split(", ") for link in used)}
    return {
        "links": len(used),
        "links_by_model": len(judged),
        **(yes if judged else {}),
        **(own if own["links_own"] else {}),
    }


class PlacedLine(Record):
    """A printed line: the offset of its text (like its block's) and its position on the page."""

    start: int
    page: int = Field(description="1-based")
    bbox: Box


class Block(Record):
    """One block of a document in reading order.

    ``page`` and ``bbox`` give its start. A paragraph that continues in another column or page is one block, and
    ``lines`` give the position of each of its lines.
    """

    kind: BlockKind
    start: int
    end: int
    page: int | None = None
    bbox: Box | None = None
    heading_path: tuple[str, ...] = Field(default=(), description="headings above it, outermost first")
    level: int | None = Field(default=None, description="headings only: 1 is the outermost")
    doi: str | None = Field(default=None, description="references only: the DOI printed in the entry")
    lines: tuple[PlacedLine, ...] = Field(default=(), description="in order; empty where the parser knows no places")
    table: Table | None = Field(default=None, description="of a table that is read as cells")


class Document(Record):
    """A parsed paper. Blocks are ordered, do not overlap, and index into ``text``."""

    id: Id
    paper_id: Id
    title: str = ""
    abstract: str = ""
    text: str
    blocks: tuple[Block, ...]
    pages: int = 0
    language: str = "en"
    parser: str = ""
    authors: tuple[str, ...] = Field(default=(), description="this and what follows: as the paper prints it")
    doi: str | None = None
    year: Year = None
    licence: str = "unknown"
    provenance: Provenance | None = None

    @cached_property
    def _starts(self) -> list[int]:
        return [b.start for b in self.blocks]

    def block_at(self, offset: int) -> Block | None:
        """Return the block that holds the character at ``offset``; None between blocks."""
        index = bisect_right(self._starts, offset) - 1
        return self.blocks[index] if index >= 0 and offset < self.blocks[index].end else None

    def span(self, start: int, end: int, section: SectionClass | None = None) -> Span:
        """Return the span [start, end) with the page it begins on and the box of its lines on that page."""
        block = self.block_at(start)
        cell = block.table.at(start, end) if block and block.table else None
        page, bbox = (block.page, block.bbox) if block else (None, None)
        if block and block.lines:
            first = max(0, bisect_right([line.start for line in block.lines], start) - 1)
            page = block.lines[first].page
            boxes = [line.bbox for line in block.lines[first:] if line.start < end and line.page == page]
            boxes = boxes or [block.lines[first].bbox]
            bbox = (
                min(b[0] for b in boxes),
                min(b[1] for b in boxes),
                max(b[2] for b in boxes),
                max(b[3] for b in boxes),
            )
        return Span(
            document_id=self.id,
            start=start,
            end=end,
            text=self.text[start:end],
            page=page,
            bbox=bbox,
            section=section,
            medium=_MEDIA.get(block.kind, "text") if block else "text",
            headers=tuple(self.text[c.start : c.end] for c in block.table.headers(cell))
            if cell and block and block.table
            else (),
        )


class SectionLabel(Record):
    """One heading with the text below it, [start, end), with its section class."""

    document_id: Id
    paper_id: Id
    start: int
    end: int
    heading: str
    heading_path: tuple[str, ...] = ()
    label: SectionClass
    decided_by: Literal["rule", "model"]
    provenance: Provenance | None = None


class Aspect(Record):
    """A verbatim statement of a paper. ``dataset_id`` is None before verification, which is per (dataset, paper)."""

    paper_id: Id
    category: AspectCategory
    span: Span
    context: str = Field(
        default="",
        description="what the sentence is about where it does not say so itself (dataset, species, survey, period), "
        "in the model's words",
    )
    context_span: Span | None = Field(default=None, description="the paper's sentence or title that says so")
    cells: tuple[Span, ...] = Field(default=(), description="of a table: the cells that it is, then their headers")
    dataset_id: Id | None = None
    reason: str = Field(default="", description="the second pass's reason for keeping it")
    provenance: Provenance | None = None

    @property
    def id(self) -> str:
        """Content hash of place, category and dataset."""
        cells = [(c.start, c.end) for c in self.cells]
        place = (self.span.document_id, self.span.start, self.span.end)
        return content_id("asp", self.dataset_id or "", self.category, *place, *([cells] if cells else []))

    @property
    def text(self) -> str:
        """Its sentence, or its cells with their headers."""
        return cells_text(self.cells) or self.span.text


GUESSED: Final = "guessed"
"""Part of the judge's score: 1 if what a model answers without documents is the answer's main part."""


class Score(Record):
    """One measured quantity of a pair. ``passed`` is None if the value was measured but decides nothing."""

    name: str
    value: float
    threshold: float | None = Field(default=None, description="at or below it the score rejects")
    sure: float | None = Field(default=None, description="above it the score keeps without a judge; None: threshold")
    passed: bool | None = None
    unsure: bool = Field(default=False, description="the value lies between threshold and sure: a judge has to decide")
    model: str | None = None
    prompt_hash: str | None = None
    truncated: bool = False
    tokens: tuple[str, ...] = ()
    logprobs_with: tuple[float, ...] = ()
    logprobs_without: tuple[float, ...] = ()
    detail: str = ""
    abstained: bool = Field(default=False, description="there was nothing to measure; the score decides nothing")
    parts: tuple[tuple[str, float], ...] = Field(default=(), description="components of the value, by name")
    level: str | None = Field(default=None, description="the Bloom level that a judge named in the same call")
    context: tuple[int, ...] | None = Field(
        default=None,
        description="places, from 0, of the spans that a judge calls context; None: it was not asked",
    )


class Doubt(Record):
    """A reason to look at a pair again: that of a rule, of a score, or of the judge's first reading."""

    code: str = Field(description="code of the gate, or name of the scorer")
    reason: str


class Grade(Record):
    """The grade of a passage or record that was found for a question: how much it helps to answer it."""

    passage_id: Id
    document_id: Id
    start: int
    end: int
    grade: Literal[0, 1, 2] = Field(description="2: it carries the answer or its main part; 1: it adds to it; 0: no")
    found_by: tuple[str, ...] = Field(default=(), description="the searches that found it")


class QAPair(Record):
    """A question with its answer and evidence."""

    id: Id
    dataset_id: Id
    question: str
    answer: str
    question_type: str = Field(description="id in taxonomies/graesser.yaml")
    evidence: tuple[Span, ...] = ()
    about: Literal["dataset", "paper"] | None = Field(
        default=None, description="source of the answer: the dataset's record, or a paper that uses it; None if unknown"
    )
    dataset_ids: Ids = Field(
        default=(), description="all datasets that answer it, dataset_id among them; empty: dataset_id alone"
    )
    strategy: str = ""
    language: str = "en"
    round: int = 0
    note: str = Field(default="", description="how it was made, if that matters (the fact that was changed for a No)")
    intended_bloom: str | None = Field(default=None, description="C1..C6, requested when generating")
    bloom: str | None = Field(default=None, description="C1..C6, assigned by the tag stage")
    scores: tuple[Score, ...] = ()
    unsure: bool = Field(default=False, description="the scores could not decide, and no judge did")
    doubts: tuple[Doubt, ...] = Field(default=(), description="reasons for which the judge looked at it again")
    mended: bool = Field(default=False, description="the judge added or dropped evidence in its second look")
    asked: Origin = "known_item"
    form: str = Field(default="question", description="question, keywords, plan or request")
    need: str = Field(default="", description="what the one who asks is about to do")
    question_id: Id | None = Field(default=None, description="the question of step ask that it answers")
    given_id: Id = Field(default="", description="the user's own id of the question")
    grades: tuple[Grade, ...] = Field(default=(), description="of all that was read to answer it, by passage id")
    from_memory: str | None = Field(
        default=None, description="what a model answers without documents; empty: it does not know; None: not asked"
    )
    asks_back: str = Field(default="", description="what that model would have to ask to understand the question")
    provenance: Provenance | None = None

    @property
    def guessable(self) -> bool | None:
        """True if the judge finds the answer's main part in ``from_memory``; None if that was not measured."""
        if not self.from_memory:
            return None if self.from_memory is None else False
        return next((bool(v) for s in self.scores for name, v in s.parts if name == GUESSED), None)

    @property
    def sought(self) -> bool:
        """True if the question was asked before an answer was known."""
        return self.asked != "known_item"

    @property
    def found_by(self) -> tuple[str, ...]:
        """The searches that found its gold; subject, if none did."""
        gold = [g.found_by or ("subject",) for g in self.grades if g.grade == 2]
        return tuple(sorted({name for names in gold for name in names}))

    @property
    def answer_evidence(self) -> tuple[Span, ...]:
        """The spans that carry the answer."""
        return tuple(s for s in self.evidence if s.role == "answer")

    @property
    def needs(self) -> tuple[str, ...] | None:
        """Ids of the documents without which a judge could not answer it; None if none was asked."""
        return next((tuple(d for d, lost in s.parts if lost) for s in self.scores if s.name == LINKED), None)

    @property
    def link(self) -> str:
        """The way in which the documents that it needs answer it together (`LINKS`); empty for one document."""
        return next((s.detail for s in self.scores if s.name == LINKED), "")

    @property
    def gold(self) -> tuple[str, ...]:
        """Ids of all datasets that answer it."""
        return self.dataset_ids or (self.dataset_id,)

    @staticmethod
    def make_id(dataset_id: str, question_type: str, question: str, answer: str) -> str:
        """Content hash, the same on every machine."""
        return content_id("qa", dataset_id, question_type, question, answer)


class Rejection(Record):
    """Something that was not kept, with the reason. Every input is kept or rejected, so the counts of the funnel add
    up."""

    stage: str
    code: str
    reason: str
    record_kind: str = Field(description="name of the record's class")
    record_id: str
    dataset_id: Id | None = None
    question_type: str | None = None
    score: float | None = None
    record: str = Field(default="", description="the rejected record as JSON, or the raw text it would have come from")
    provenance: Provenance | None = None

    @classmethod
    def of(cls, stage: str, code: str, reason: str, about: Record | tuple[str, str], **fields: Any) -> Rejection:
        """Return the rejection of a record with an id, or of what never became a record: (name of its class, id).

        ``fields`` are further fields of the rejection; those that the record itself provides can be omitted.
        """
        if isinstance(about, tuple):
            told: dict[str, object] = dict(zip(("record_kind", "record_id"), about, strict=True))
        else:
            told = {k: getattr(about, k) for k in ("dataset_id", "question_type") if hasattr(about, k)}
            told |= {"record_kind": type(about).__name__, "record_id": getattr(about, "id", "")}
            if "record" not in fields:
                told["record"] = about.model_dump_json()
        return cls.model_validate({"stage": stage, "code": code, "reason": reason, **told, **fields})


def rejected_pair(rejection: Rejection) -> QAPair | None:
    """Return the pair that a rejection holds; None if it rejects something else."""
    try:
        return QAPair.model_validate_json(rejection.record)
    except ValueError:
        return None


class Failure(Record):
    """Something that could not be decided; the next run tries it again."""

    stage: str
    code: str
    message: str
    hint: str = ""
    retryable: bool = True
    record_id: str | None = None

    @classmethod
    def of(cls, stage: str, error: ScirgenError, record_id: str | None = None) -> Failure:
        return cls(
            stage=stage, code=error.error_code, message=error.message, hint=error.hint, retryable=error.retryable,
            record_id=record_id,
        )  # fmt: skip


class ReleaseFile(Record):
    """A file written by the release stage; ``path`` is relative to the run's folder."""

    path: str
    sha256: str
    bytes: int
    rows: int | None = None
    provenance: Provenance | None = None


def aspects_by_category(aspects: Iterable[Aspect]) -> dict[AspectCategory, list[Aspect]]:
    """Aspects grouped in the order of the six categories, each group in document order."""
    ordered = sorted(aspects, key=lambda a: (a.paper_id, a.span.start, a.span.end))
    return {c: [a for a in ordered if a.category == c] for c in AspectCategory if any(a.category == c for a in ordered)}


def cells_text(cells: Iterable[Span]) -> str:
    """Cells of a table on one line, each after its headers."""
    return " | ".join(" ".join(c.shown.split()) for c in cells if c.role == "answer")


def context_text(dataset: Dataset, aspects: Iterable[Aspect] = ()) -> str:
    """Return the dataset's metadata, followed by the kept statements of its papers under the names of their categories,
    as one string."""
    parts = [dataset.text]
    for category, group in aspects_by_category(aspects).items():
        name = category.value.replace("_", " ").capitalize()
        said = (text for a in group for text in (a.context_span.text if a.context_span else "", a.text) if text)
        parts.append(f"{name}: " + " ".join(dict.fromkeys(said)))
    return "\n".join(parts)
