"""The base of all records: ids, the classes that they name, spans of text, and provenance."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

_BREAKS_LINES = re.compile('[\x00-\x1f\x7f-\x9f"\u2028\u2029]')


def plain_id(value: str) -> str:
    """Return an id without characters that break lines or table cells: control characters, line separators, quotation
    marks.

    They are percent-encoded, as in an address; any other id stays as it is.
    """
    return _BREAKS_LINES.sub(lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), value)


Id = Annotated[str, AfterValidator(plain_id)]
Ids = Annotated[tuple[str, ...], AfterValidator(lambda ids: tuple(map(plain_id, ids)))]


class Frozen(BaseModel):
    """Base of plain data: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))


class Record(Frozen):
    """Base of all records."""


def same_fields(record: BaseModel, kind: type[BaseModel]) -> dict[str, Any]:
    """Return the values of a record's fields that another class has too, by name."""
    return {name: getattr(record, name) for name in type(record).model_fields.keys() & kind.model_fields.keys()}


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
Medium = Literal["text", "table", "header", "caption"]


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
    medium: Medium = Field(default="text", description="header: of a table; caption: of a figure or a table")
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
