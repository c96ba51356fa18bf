"""The interface of parsers. `assemble` makes a `Document` from a parser's result; `pool` kills a parser that hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind, PlacedLine
from scirgen.core.records.table import Table

LAYOUT_VERSION: Final = 28
"""The version of the layout analysis. Raise it when a paper gives another document: stage parse then reads it again."""
CRASHED: Final = "the parser crashed on it"
"""The beginning of a rejection's reason that the next run does not trust: it tries the file again."""
FileKind = Literal["pdf", "jats", "tei", "html", "latex", "text"]
"""The kind of a file, according to its content; see `sniff`."""


class ParserOptions(BaseModel):
    """The options of a parser; plain data, because they cross a process boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reader: str = "auto"
    no_extract: Literal["parse", "refuse"] = "refuse"
    ocr: bool = False
    ocr_language: str = "eng"
    tables: Literal["cells", "skip"] = "cells"
    grobid_url: str = ""
    timeout_s: float = 120.0


class ParsedBlock(BaseModel):
    """A block with its own text; the offsets of its lines and cells count from its beginning. ``level`` is for
    headings, 1 the outermost; ``refused`` is the code of a table that is not read as cells (`grid.REFUSED`)."""

    model_config = ConfigDict(extra="forbid")

    kind: BlockKind
    text: str
    lines: tuple[PlacedLine, ...] = ()
    level: int | None = None
    table: Table | None = None
    refused: str = ""


class ParsedPaper(BaseModel):
    """A parser's result: blocks in reading order, and the front matter it found.

    Formats that state authors, DOI, year and licence give them; `frontmatter` finds those that are printed, except
    authors. The worker adds ``kind`` (of the file) and ``orders`` (sentences that `presentable` removed).
    """

    model_config = ConfigDict(extra="forbid")

    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    licence: str = ""
    language: str = ""
    pages: int = 0
    parser: str
    blocks: tuple[ParsedBlock, ...]
    kind: FileKind | None = None
    orders: tuple[str, ...] = ()


class Parser(Protocol):
    """A parser plugin (kind ``parser``). Made without arguments, in a worker process; it may block, crash or be killed.

    It may declare ``reads``, a tuple of `FileKind`; scirgen's own parsers then read the files of other kinds.
    """

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one file.

        Raises:
            PaperError: with one of its documented codes.
            ScirgenError: a retryable one if a service that it needs does not answer. Other exceptions of a plugin do
                not count as damage of the file: the paper fails (``plugin_fault``).
        """


def out_of_memory() -> PaperError:
    """Return the error for a file that needs more memory than allowed."""
    return PaperError("parsing needs more memory than allowed", code="memory", hint="Raise parse.memory_mb.")
