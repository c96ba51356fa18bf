"""The interface of parsers. `assemble` makes a `Document` from a parser's result; `pool` kills a parser that hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from scirgen.core.records import BlockKind, PlacedLine

FileKind = Literal["pdf", "jats", "tei", "html", "latex", "text"]
"""What a file is by its content; see `sniff`."""


class ParserOptions(BaseModel):
    """What a parser may be told; plain data, because it crosses a process boundary."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    password_env: str = ""
    no_extract: Literal["parse", "refuse"] = "refuse"
    ocr: bool = False
    ocr_language: str = "eng"
    tables: Literal["skip", "cite"] = "skip"
    grobid_url: str = ""
    timeout_s: float = 120.0


class ParsedBlock(BaseModel):
    """A block with its own text; its lines' offsets count from its own beginning. ``level`` is for headings, 1 the outermost."""

    model_config = ConfigDict(extra="forbid")

    kind: BlockKind
    text: str
    lines: tuple[PlacedLine, ...] = ()
    level: int | None = None


class ParsedPaper(BaseModel):
    """What a parser gives: blocks in reading order, and what it knows of the front matter.

    The worker adds ``kind`` (what the file is) and ``orders`` (sentences that `presentable` took out).
    """

    model_config = ConfigDict(extra="forbid")

    title: str = ""
    abstract: str = ""
    language: str = ""
    pages: int = 0
    parser: str
    blocks: tuple[ParsedBlock, ...]
    kind: FileKind | None = None
    orders: tuple[str, ...] = ()


class Parser(Protocol):
    """A parser plugin (kind ``parser``). Made without arguments, in a worker process; it may block, crash or be killed."""

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one file.

        Raises:
            PaperError: with one of its documented codes.
            ScirgenError: a retryable one where a service it needs is not there.
        """
        ...
