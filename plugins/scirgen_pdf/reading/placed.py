"""Makes lines of pieces of text in the order in which a file draws them, by the movement from one to the next.

The distances, in parts of the type's size, are those of MuPDF's text device, so that both readers cut lines alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Glyph, Point, Span, TextLine, around
from scirgen_pdf.units import Ems, Points, Share


@dataclass(frozen=True)
class Steps:
    """Limits of the movement from one piece to the next; those in ems are MuPDF's."""

    direction: Annotated[Share, "the cosine of two base lines of one direction, at least"] = 0.999
    no_blank: Annotated[Ems, "the widest gap without a space"] = 0.15
    drawn_blank: Annotated[Ems, "the narrowest space that a file draws"] = 0.05
    line: Annotated[Ems, "the widest gap and the highest step inside a line"] = 0.8
    block: Annotated[Ems, "the highest step between lines of a block"] = 1.4
    indent: Annotated[Points, "a line that begins elsewhere begins a block"] = 0.5
    rise: Annotated[Ems, "of a superscript, above the base line of the line's first character"] = 0.1


STEPS: Final = Steps()
"""The limits in use."""


class Typeface(NamedTuple):
    """The typography of a piece of text. ``direction`` is that of its base line."""

    font: str
    size: float
    bold: bool
    italic: bool
    colour: int
    direction: Point


class Piece(NamedTuple):
    """Text that is drawn at once, from the origin of its first character to where the next one would be.

    Attributes:
        spaced: the file draws a blank before it, which the reader does not give.
        glyphs: its characters one by one, if they were asked for.
    """

    text: str
    start: Point
    end: Point
    box: Box
    face: Typeface
    glyphs: tuple[Glyph, ...] = ()
    spaced: bool = False


def placed_lines(pieces: Iterable[Piece]) -> list[TextLine]:
    """Return the lines of a page's pieces."""
    lines: list[list[Piece]] = []
    blocks: list[int] = []
    block = 0
    last: Piece | None = None
    for piece in pieces:
        step = _step(last, lines[-1][0], piece) if last is not None else "block"
        if step in ("line", "block"):
            block += step == "block"
            lines.append([])
            blocks.append(block)
        elif step == "blank" and last is not None:
            lines[-1].append(_blank(last, piece))
        lines[-1].append(piece)
        last = piece
    return [_line(line, number) for line, number in zip(lines, blocks, strict=True)]


def _step(last: Piece, first: Piece, new: Piece) -> str:
    """Return the movement to a piece: none, "blank", "line" or "block"."""
    (x, y), size = new.face.direction, new.face.size
    if x * last.face.direction[0] + y * last.face.direction[1] < STEPS.direction:
        return "block"
    dx, dy = new.start[0] - last.end[0], new.start[1] - last.end[1]
    along, across = dx * x + dy * y, abs(dy * x - dx * y)
    if across < STEPS.line * size:
        if abs(along) >= STEPS.line * size:
            return "line"
        blank = along > (STEPS.drawn_blank if new.spaced else STEPS.no_blank) * size
        return "blank" if blank and _takes_blank(last.text, new.text) else ""  # accents move back
    if across > STEPS.block * size:
        return "block"
    return "block" if abs(new.start[0] - first.start[0]) > STEPS.indent else "line"


def _takes_blank(before: str, after: str) -> bool:
    """Return whether a gap between two texts means a blank; behind a Chinese character it does not."""
    last = before[-1]
    return not (last.isspace() or after[0].isspace()) and (last < "\u0700" or "\u2000" <= last <= "\u20cf")


def _blank(last: Piece, new: Piece) -> Piece:
    """Return a blank that fills the gap between two pieces, in the larger typography: one beside a mark is not
    raised."""
    box = new.box
    if new.face.direction == (1.0, 0.0):
        box = (min(last.box[2], box[0]), box[1], box[0], box[3])
    glyphs = (Glyph(" ", box),) if new.glyphs else ()
    of = last if last.face.size > new.face.size else new
    return Piece(" ", (last.end[0], of.start[1]), new.start, box, of.face, glyphs)


def _line(pieces: Sequence[Piece], block: int) -> TextLine:
    first = pieces[0]
    level = first.face.direction == (1.0, 0.0)
    spans: list[Span] = []
    before: tuple[Typeface, bool] | None = None
    for piece in pieces:
        face = piece.face
        raised = level and piece.start[1] < first.start[1] - STEPS.rise * face.size
        if (face, raised) == before:
            span = spans[-1]
            span.text += piece.text
            span.box = around((span.box, piece.box))
            span.glyphs += piece.glyphs
            continue
        before = (face, raised)
        spans.append(
            Span(
                piece.text,
                face.font,
                face.size,
                piece.box,
                piece.start,
                face.bold,
                face.italic,
                raised,
                face.colour,
                piece.glyphs,
            )
        )
    return TextLine(spans, around(span.box for span in spans), first.face.direction, block)
