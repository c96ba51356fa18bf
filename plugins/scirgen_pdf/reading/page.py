"""The typed input of the layout: the pages that a reader returns, and the methods that it must have.

All boxes are in points from the top left corner of the page as it is shown (cropped and rotated).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from scirgen.plugin import Box

Point = tuple[float, float]
Signs = dict[str, dict[int, str]]
"""By font name: the characters that are other signs, for `str.translate`."""


class Glyph(NamedTuple):
    """One character and its place: from its origin to the next one's, between ascent and descent of its font."""

    text: str
    box: Box


@dataclass(slots=True)
class Span:
    """Characters of one line in one typography.

    Attributes:
        font: the font's name without the tag of its subset.
        size: of the type, in points.
        base: where its base line begins.
        raised: the reader calls it a superscript.
        colour: 0xRRGGBB.
        glyphs: its characters one by one, if they were asked for (`PdfFile.page`).
    """

    text: str
    font: str
    size: float
    box: Box
    base: Point
    bold: bool = False
    italic: bool = False
    raised: bool = False
    colour: int = 0
    glyphs: tuple[Glyph, ...] = ()


@dataclass(slots=True)
class TextLine:
    """A line as the file draws it: spans in reading order; columns side by side are different lines.

    ``direction`` is (1, 0) for upright text; lines of one ``block`` follow each other closely.
    """

    spans: list[Span]
    box: Box
    direction: Point = (1.0, 0.0)
    block: int = 0


class Word(NamedTuple):
    """Characters between spaces, and the box around them."""

    text: str
    box: Box


class Marks(NamedTuple):
    """The words and rules of a page, of which tables are made; empty if it cannot have one."""

    words: Sequence[Word] = ()
    rules: Sequence[Box] = ()


@dataclass(slots=True)
class Page:
    """A page's text and its size in points; ``rules`` are set only to turn them with it."""

    lines: list[TextLine]
    width: float
    height: float
    rules: Sequence[Box] = ()

    def spans(self) -> Iterator[Span]:
        """Return all spans, line by line."""
        return (span for line in self.lines for span in line.spans)

    def text(self) -> str:
        """Return the text of all spans, joined by spaces."""
        return " ".join(span.text for span in self.spans())


class Raster(NamedTuple):
    """A page drawn in grey: one byte per pixel, row by row."""

    width: int
    height: int
    pixels: bytes


class Facts(NamedTuple):
    """The facts that a file states; ``metadata`` is its XMP packet and its subject."""

    title: str = ""
    metadata: str = ""
    may_copy: bool = True


class PdfFile(Protocol):
    """An open PDF. Page numbers count from 0. Methods raise ValueError or RuntimeError where the file is broken."""

    count: int

    @property
    def locked(self) -> bool:
        """The file needs a password."""
        ...

    def unlock(self, password: str) -> bool:
        """Try a password; return whether it fits."""
        ...

    def facts(self) -> Facts:
        """Return the facts that the file states about itself."""
        ...

    def outline(self) -> Sequence[tuple[int, str, int]]:
        """Return the bookmarks: level from 1, title, page from 1."""
        ...

    def page(self, number: int, *, glyphs: bool = False) -> Page:
        """Read a page's text. ``glyphs``: also each character, which takes longer with some readers."""
        ...

    def rules(self, number: int) -> list[Box]:
        """Return the level and upright lines that a page draws, as thin boxes: strokes, sides of frames, thin bars."""
        ...

    def pictures(self, number: int) -> list[Box]:
        """Return the boxes of a page's pictures."""
        ...

    def draw(self, number: int, dpi: int) -> tuple[Raster, float, float]:
        """Draw a page; return it with the page's width and height in points."""
        ...

    def signs(self) -> Signs:
        """Return the signs that the file's fonts give as other characters (`reading.signs`)."""
        ...

    def unmapped(self, numbers: Sequence[int]) -> float:
        """Return the share of some pages' characters that have no Unicode value."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def is_unnamed(code: int) -> bool:
    """Return whether a code point is the replacement character, or of the private use area."""
    return code == ord("\ufffd") or ord("\ue000") <= code <= ord("\uf8ff")


def around(boxes: Iterable[Box]) -> Box:
    """Return the smallest box that holds all boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)
