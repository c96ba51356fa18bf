"""The records of a run's input: datasets of a catalogue, papers, their documents, links between both, and
statements."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from textwrap import shorten
from typing import Literal

from pydantic import Field

from scirgen.core.fingerprint import content_id
from scirgen.core.grouped import grouped
from scirgen.core.records.base import (
    AspectCategory,
    BlockKind,
    Box,
    Id,
    Medium,
    Provenance,
    Record,
    SectionClass,
    Span,
    Year,
)
from scirgen.core.records.table import Cell, Table

_LABEL = re.compile(r"\S+\s+(?:\S*?\d[\w.]*|[IVX]+\b)")
_LETTERED = re.compile(r"[A-Z][.:]?\s+[^\W\d_]")
_NO_ARTICLE = re.compile(r"A(?:[.:]|\s+[A-Z]\w*(?:\s[^A-Z]+)?$)")
"""A stop, or one capital behind the letter: "A Test data", not "A closer look" or "A Closer Look"."""
_ARTICLE = re.compile(r"A\s+[a-zß-ÿ]")
_NUMBERED = re.compile(r"\d{1,2}[.:]?\s")
_ROMAN = re.compile(r"[IVX]{2,}[.:]?\s")
_LONGEST_CAPTION = 600
_MEDIA: dict[BlockKind, Medium] = {BlockKind.TABLE: "table", BlockKind.CAPTION: "caption"}


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


def users_of(uses: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return a mapping: paper id -> ids of the datasets that use it, from dataset id -> ids of papers."""
    return grouped((paper_id, dataset_id) for dataset_id, papers in uses.items() for paper_id in papers)


def count_links(links: Iterable[Link]) -> dict[str, int]:
    """Count the links that state use, those of them that a model judged, the model's "yes" to each criterion, and the
    links of papers to records made from them."""
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

    def blocks_in(self, start: int, end: int) -> tuple[Block, ...]:
        """Return the blocks that begin in [start, end)."""
        return self.blocks[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

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
            headers=tuple(self.header(block.table, c) for c in block.table.headers(cell))
            if cell and block and block.table
            else (),
        )

    def header(self, table: Table, cell: Cell) -> str:
        """Return what a header of a table says; a number after what heads it: "Depth (m) 10"."""
        return " ".join(self.text[c.start : c.end] for c in (table.head(cell, self.text), cell) if c)


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


def aspects_by_category(aspects: Iterable[Aspect]) -> dict[AspectCategory, list[Aspect]]:
    """Return the aspects grouped in the order of the six categories, each group in document order."""
    ordered = sorted(aspects, key=lambda a: (a.paper_id, a.span.start, a.span.end))
    return {c: [a for a in ordered if a.category == c] for c in AspectCategory if any(a.category == c for a in ordered)}


def cells_text(cells: Iterable[Span]) -> str:
    """Return the cells of a table on one line, each after its headers."""
    return " | ".join(" ".join(c.shown.split()) for c in cells if c.role == "answer")


def caption_label(caption: str) -> str:
    """Return the name that a caption begins with: "Table 2"; empty if it has none."""
    found = _LABEL.match(caption)
    return found.group().rstrip(".:") if found else ""


def appendices(sections: Iterable[tuple[Sequence[str], SectionClass | None]]) -> set[str]:
    """Return the outermost headings that letters number from A on, behind those that figures number or a conclusion;
    none beside Roman numbers. ``sections``: the path of each section of a paper, its own heading included, and its
    class."""
    found: list[str] = []
    concluded = numbered = roman = False
    for path, label in sections:
        roman |= _ROMAN.match(path[0]) is not None
        if len(path) == 1 and _NUMBERED.match(path[0]):
            numbered, found = True, found if concluded else []
        concluded |= label is SectionClass.CONCLUSION
        section = label not in (None, SectionClass.NONE) and not path[0][1:2].isspace()  # "A. Methods" may be one
        open_end = (numbered and concluded) or ((numbered or concluded) and not section)
        behind = len(path) == 1 and open_end and _LETTERED.match(path[0])
        if behind and path[0][0] == chr(ord("A") + len(found)):
            found.append(path[0])
    one = found[0] if len(found) == 1 else ""
    article = one and not (_NO_ARTICLE.match(one) or (numbered and not _ARTICLE.match(one)))
    return set() if roman or article else set(found)


def abouts(statements: Iterable[tuple[str, Span | None]]) -> Iterator[str]:
    """Yield what each statement of a prompt is about, from its context and the place that says so: of a table its
    caption, the second time only the caption's label."""
    seen: set[Span] = set()
    for context, place in statements:
        label = caption_label(place.text) if place and place.medium == "caption" else ""
        if place and label and context.startswith(label):
            yield label if place in seen else shorten(place.text, _LONGEST_CAPTION, placeholder=" ...")
            seen.add(place)
        else:
            yield context


def context_text(dataset: Dataset, aspects: Iterable[Aspect] = ()) -> str:
    """Return the dataset's metadata, followed by the kept statements of its papers under the names of their categories,
    as one string."""
    parts = [dataset.text]
    for category, group in aspects_by_category(aspects).items():
        name = category.value.replace("_", " ").capitalize()
        said = (text for a in group for text in (a.context_span.text if a.context_span else "", a.text) if text)
        parts.append(f"{name}: " + " ".join(dict.fromkeys(said)))
    return "\n".join(parts)
