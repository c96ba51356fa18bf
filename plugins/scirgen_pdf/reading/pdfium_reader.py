"""Reads PDF files with pdfium (Apache-2.0 or BSD-3-Clause; package ``pypdfium2``).

pdfium gives characters in the order in which the file draws them. `placed` makes lines of them.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import hypot, sqrt
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Facts, Glyph, Page, Point, Raster, Signs, is_unnamed
from scirgen_pdf.reading.pdfium_fonts import Font, Fonts
from scirgen_pdf.reading.pdfium_objects import ADDRESS, DEEPEST, INDEX, Place, address, direct, objects, strokes
from scirgen_pdf.reading.placed import STEPS, Piece, Typeface, placed_lines
from scirgen_pdf.reading.rules import straight
from scirgen_pdf.reading.type1 import Objects, Type1Font, misread_signs
from scirgen_pdf.units import Ems, Share

FAULT: Final = pypdfium2.PdfiumError
_MAY_COPY: Final = 16  # ISO 32000-1, table 22, bit 5
_ITALIC: Final = 1 << 6
_BOLD: Final = 1 << 18
_LIGATED: Final = frozenset("filt")
_OVERHANG: Final[Annotated[Ems, "by which a glyph's box may exceed its width"]] = 0.15
_LEVEL: Final[Annotated[Share, "of a direction: a base line that is more level than upright"]] = 0.5
_HYPHENS: Final = ("\x02", "\ufffe")
"""The signs that pdfium gives for a hyphen at the end of a line."""

_TEXT_OBJECT: Final = direct(pdfium.FPDFText_GetTextObject, ADDRESS, ADDRESS, INDEX)
_ORIGIN: Final = direct(pdfium.FPDFText_GetCharOrigin, INDEX, ADDRESS, INDEX, ADDRESS, ADDRESS)
_LOOSE_BOX: Final = direct(pdfium.FPDFText_GetLooseCharBox, INDEX, ADDRESS, INDEX, ADDRESS)
_IS_GENERATED: Final = direct(pdfium.FPDFText_IsGenerated, INDEX, ADDRESS, INDEX)
_FONT: Final = direct(pdfium.FPDFTextObj_GetFont, ADDRESS, ADDRESS)
_MATRIX: Final = direct(pdfium.FPDFText_GetMatrix, INDEX, ADDRESS, INDEX, ADDRESS)
_FONT_SIZE: Final = direct(pdfium.FPDFText_GetFontSize, ctypes.c_double, ADDRESS, INDEX)
_COLOUR: Final = direct(pdfium.FPDFPageObj_GetFillColor, INDEX, *[ADDRESS] * 5)


class PdfiumFile:
    """A `PdfFile` of pdfium."""

    def __init__(self, path: Path) -> None:
        """Open a file; one that needs a password is `locked`.

        Raises:
            RuntimeError: it cannot be opened.
        """
        logging.getLogger("pypdfium2").setLevel(logging.ERROR)
        self._path = path
        self._document: Any = None
        self._password: str | None = None
        self._fonts = Fonts(self._texts)
        self._held: tuple[int, Any] = (-1, None)
        self.count = 0
        self._open(None)

    def _open(self, password: str | None) -> bool:
        try:
            self._document = pypdfium2.PdfDocument(self._path, password=password)
        except pypdfium2.PdfiumError as error:
            if error.err_code != pdfium.FPDF_ERR_PASSWORD:
                raise
            return False
        self._password = password
        self.count = len(self._document)
        return True

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._path, self._password)

    @cached_property
    def _type1(self) -> list[Type1Font]:
        return self._objects.type1_fonts()

    def _texts(self, font: str) -> Mapping[int, str]:
        """Return the texts of a font's named codes; pdfium leaves out the tags of subsets, so these must agree."""
        found: dict[int, set[str]] = {}
        for one in self._type1:
            for code, text in one.texts().items() if one.plain == font else ():
                found.setdefault(code, set()).add(text)
        return {code: text for code, (text, *others) in found.items() if not others}

    @property
    def locked(self) -> bool:
        return self._document is None

    def unlock(self, password: str) -> bool:
        return self._open(password)

    def facts(self) -> Facts:
        stated = self._document.get_metadata_dict()
        metadata = f"{self._objects.metadata_packet()} {stated.get('Subject', '')}"
        may_copy = bool(pdfium.FPDF_GetDocPermissions(self._document.raw) & _MAY_COPY)
        return Facts(stated.get("Title", ""), metadata, may_copy)

    def outline(self) -> list[tuple[int, str, int]]:
        found = []
        for mark in self._document.get_toc():
            place = mark.get_dest()
            page = place.get_index() if place else None
            found.append((mark.level + 1, mark.get_title(), -1 if page is None else page + 1))
        return found

    def page(self, number: int, *, glyphs: bool = False) -> Page:
        page = self._page(number)
        text = page.get_textpage()
        try:
            place = Place(page)
            texts = (item for item, _ in objects(page.raw, pdfium.FPDF_PAGEOBJ_TEXT))
            pieces = _Text(text.raw, place, self._fonts, glyphs).pieces(texts)
            return Page(placed_lines(pieces), place.width, place.height)
        finally:
            text.close()

    def _page(self, number: int) -> Any:
        """Return a page; the last one stays open, because its rules are read after its text."""
        held, page = self._held
        if held != number:
            if page is not None:
                page.close()
            page = self._document[number]
            self._held = number, page
        return page

    def rules(self, number: int) -> list[Box]:
        page = self._page(number)
        place = Place(page)
        drawn = objects(page.raw, pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE)
        return [rule for item, forms in drawn for rule in straight(strokes(item, forms, place))]

    def pictures(self, number: int) -> list[Box]:
        page = self._document[number]
        place = Place(page)
        found = [
            place.box(*item.get_bounds()) for item in page.get_objects((pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=DEEPEST)
        ]
        page.close()
        return found

    def draw(self, number: int, dpi: int) -> tuple[Raster, float, float]:
        page = self._document[number]
        width, height = page.get_size()
        drawn = page.render(scale=dpi / 72, grayscale=True)
        rows = bytes(drawn.buffer)
        pixels = b"".join(rows[y * drawn.stride :][: drawn.width] for y in range(drawn.height))
        raster = Raster(drawn.width, drawn.height, pixels)
        drawn.close()
        page.close()
        return raster, width, height

    def signs(self) -> Signs:
        return misread_signs(self._type1)

    def unmapped(self, numbers: Sequence[int]) -> float:
        missing = printed = 0
        for number in numbers:
            page = self._document[number]
            text = page.get_textpage()
            for index in range(text.count_chars()):
                code = pdfium.FPDFText_GetUnicode(text.raw, index)
                if code > 0x20 and not pdfium.FPDFText_IsGenerated(text.raw, index):
                    printed += 1
                    unknown = pdfium.FPDFText_HasUnicodeMapError(text.raw, index) == 1
                    missing += unknown or is_unnamed(code)
            text.close()
            page.close()
        return missing / max(1, printed)

    def close(self) -> None:
        if self._document is not None:
            self._document.close()


class _Text:
    """The text of a page: pieces in the order of drawing; pdfium's own order sorts some lines."""

    def __init__(self, text: Any, place: Place, fonts: Fonts, glyphs: bool) -> None:
        self._text = text
        self._place = place
        self._fonts = fonts
        self._glyphs = glyphs
        self._address = address(text)
        self._count: int = pdfium.FPDFText_CountChars(text)
        self._letters = _letters(text, self._count)
        self._point, self._box = (ctypes.c_double * 2)(), (ctypes.c_float * 4)()
        self._at, self._box_at = ctypes.addressof(self._point), ctypes.addressof(self._box)
        self._matrix, self._parts = (ctypes.c_float * 6)(), (ctypes.c_uint * 4)()
        self._matrix_at, self._parts_at = ctypes.addressof(self._matrix), ctypes.addressof(self._parts)
        self._faces: dict[tuple[float, ...], _Face] = {}
        self._origins: list[Point] = []
        self._boxes: list[tuple[float, ...]] = []
        if glyphs:
            self._read_all()

    def _read_all(self) -> None:
        """Read the places of all characters at once."""
        count = self._count
        points, boxes = (ctypes.c_double * (2 * count))(), (ctypes.c_float * (4 * count))()
        x, box = ctypes.addressof(points), ctypes.addressof(boxes)
        for index in range(count):
            _ORIGIN(self._address, index, x + 16 * index, x + 16 * index + 8)
            _LOOSE_BOX(self._address, index, box + 16 * index)
        self._origins = [self._place.point(x, y) for x, y in zip(points[::2], points[1::2], strict=True)]
        self._boxes = list(zip(*[iter(boxes)] * 4, strict=True))

    def pieces(self, objects: Iterable[int]) -> list[Piece]:
        """Return the pieces on the page in the order of ``objects``, the addresses of its text objects."""
        drawn: dict[int, list[Piece]] = {key: [] for key in objects}
        index = 0
        while index < self._count:
            item = _TEXT_OBJECT(self._address, index)
            if not item:
                index += 1  # pdfium's own blanks and ends of lines
                continue
            end = self._end(index, item)
            drawn.setdefault(item, []).extend(self._drawn(index, end, item))
            index = end
        return [piece for piece in _in_order(drawn.values()) if _is_on(piece.box, self._place)]

    def _end(self, index: int, item: int) -> int:
        """Return the index behind the last character of an object, found in steps that double and halve."""
        step, inside, outside = 1, index, self._count
        while inside + step < self._count and _TEXT_OBJECT(self._address, inside + step) == item:
            inside += step
            step *= 2
        outside = min(outside, inside + step)
        while outside - inside > 1:
            middle = (inside + outside) // 2
            if _TEXT_OBJECT(self._address, middle) == item:
                inside = middle
            else:
                outside = middle
        return outside

    def _drawn(self, start: int, end: int, item: int) -> Iterator[Piece]:
        """Yield the pieces of an object, cut at gaps that are too wide for a line.

        pdfium puts blanks into narrower gaps than readers see; those go.
        """
        face = self._face(start, item)
        size = face.type.size
        ranges: list[tuple[int, int]] = []
        begin = start
        for index in (i for i in range(start, end) if self._letters[i] == " " and self._is_made(i)):
            gap = self._gap(index, face) if begin < index < end - 1 else 0.0
            if STEPS.no_blank * size < gap < STEPS.line * size:
                continue
            ranges.append((begin, index))
            begin = index + 1
            if gap >= STEPS.line * size:
                yield from self._piece(ranges, face)
                ranges = []
        yield from self._piece([*ranges, (begin, end)], face)

    def _face(self, index: int, item: int) -> _Face:
        """Return the typography of a text object, of which ``index`` is a character."""
        font = _FONT(item) or 0
        _MATRIX(self._address, index, self._matrix_at)
        at = self._parts_at
        known = _COLOUR(item, at, at + 4, at + 8, at + 12)
        size, matrix, (red, green, blue, _) = _FONT_SIZE(self._address, index), self._matrix[:4], self._parts
        colour = red << 16 | green << 8 | blue if known else 0
        key = (font, size, colour, *matrix)
        if key not in self._faces:
            self._faces[key] = _face(self._fonts.of(font), size, matrix, colour, self._place)
        return self._faces[key]

    def _gap(self, index: int, face: _Face) -> float:
        """Return the width of the gap that a blank of pdfium fills."""
        last, new = self._origin(index - 1), self._origin(index + 1)
        return hypot(new[0] - last[0], new[1] - last[1]) - self._width(index - 1, face)

    def _is_made(self, index: int) -> bool:
        """Return whether a character is a blank that pdfium put into a gap."""
        return bool(_IS_GENERATED(self._address, index) == 1)

    def _piece(self, ranges: Iterable[tuple[int, int]], face: _Face) -> Iterator[Piece]:
        """Yield the piece of the characters in ranges of indices; none if there are none."""
        ranges = [(a, b) for a, b in ranges if a < b]
        if not ranges:
            return
        text = "".join([self._letters[a:b] for a, b in ranges])
        if not (text.isascii() and text.isprintable()):
            letters = (_letter(self._text, i, self._letters[i], face.font) for a, b in ranges for i in range(a, b))
            text = "".join(letters).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        first, stop = self._origin(ranges[0][0]), self._stop(ranges[-1][1] - 1, face)
        glyphs = tuple([glyph for a, b in ranges for glyph in self._each(a, b, face)]) if self._glyphs else ()
        yield Piece(text, first, stop, _box(first, stop, face), face.type, glyphs)

    def _each(self, start: int, end: int, face: _Face) -> Iterator[Glyph]:
        """Yield the characters of a piece one by one; several of one glyph are one, except with pdfium's blanks."""
        waiting, base = "", self._origins[start]
        for index in range(start, end):
            at, letter = self._origins[index], self._letters[index]
            if waiting and (at != base or " " in (waiting, letter)):
                yield Glyph(waiting, _box(base, self._stop(index - 1, face), face))
                waiting = ""
            waiting += letter if " " <= letter <= "~" else _letter(self._text, index, letter, face.font)
            base = at
        yield Glyph(waiting, _box(base, self._stop(end - 1, face), face))

    def _origin(self, index: int) -> Point:
        if self._origins:
            return self._origins[index]
        _ORIGIN(self._address, index, self._at, self._at + 8)
        return self._place.point(*self._point)

    def _stop(self, index: int, face: _Face) -> Point:
        """Return the point at which a character ends."""
        (x, y), (dx, dy), width = self._origin(index), face.type.direction, self._width(index, face)
        return x + dx * width, y + dy * width

    def _width(self, index: int, face: _Face) -> float:
        """Return the distance from a character to the next, in points.

        pdfium's boxes also hold what hangs over, as in an "f", and the font's width may be that of another glyph for
        the same character, such as a small capital.
        """
        if self._boxes:
            left, top, right, bottom = self._boxes[index]
        else:
            _LOOSE_BOX(self._address, index, self._box_at)
            left, top, right, bottom = self._box
        extent: float = abs(right - left if face.level else top - bottom)
        letter = self._letters[index]
        width = face.font.width(letter) * face.across
        other = extent > width + _OVERHANG * face.type.size and letter != "f"
        return extent if not width or other or (letter in _LIGATED and self._is_part(index)) else width

    def _is_part(self, index: int) -> bool:
        """Return whether a character shares its glyph with the one before it."""
        return index > 0 and self._origin(index) == self._origin(index - 1)


def _in_order(drawn: Iterable[list[Piece]]) -> Iterator[Piece]:
    """All pieces; those behind an object without any, which holds blanks only, are `Piece.spaced`."""
    empty = False
    for held in drawn:
        if held and empty:
            yield held[0]._replace(spaced=True)
            yield from held[1:]
        else:
            yield from held
        empty = not held


def _letters(text: Any, count: int) -> str:
    """One character for each index of pdfium's text."""
    held = (ctypes.c_ushort * (count + 1))()
    given = pdfium.FPDFText_GetText(text, 0, count, held)
    if given == count + 1:
        plain = bytes(held)[: 2 * count].decode("utf-16-le", "surrogatepass")
        if len(plain) == count and "\0" not in plain:
            return plain
    codes = (pdfium.FPDFText_GetUnicode(text, index) for index in range(count))
    return "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)


def _letter(text: Any, index: int, letter: str, font: Font) -> str:
    if letter in _HYPHENS and pdfium.FPDFText_IsHyphen(text, index) == 1:
        return "-"
    if not " " <= letter <= "~" and pdfium.FPDFText_HasUnicodeMapError(text, index) == 1:
        return font.named(ord(letter))
    return letter


def _box(start: Point, end: Point, face: _Face) -> Box:
    """Return the box around text between two points of its base line."""
    (dx, dy), up, down = face.type.direction, face.up, face.down
    if dx == 1.0:
        return min(start[0], end[0]), start[1] - up, max(start[0], end[0]), start[1] - down
    xs = [x + b * dy for x in (start[0], end[0]) for b in (up, down)]
    ys = [y - b * dx for y in (start[1], end[1]) for b in (up, down)]
    return min(xs), min(ys), max(xs), max(ys)


def _is_on(box: Box, place: Place) -> bool:
    return box[2] > 0 and box[3] > 0 and box[0] < place.width and box[1] < place.height


class _Face(NamedTuple):
    """The typography of a text object.

    Attributes:
        across: the width of an em in points; ``up`` and ``down``: the heights of its ascent and descent.
        level: its base line is level on the page before that is turned.
    """

    type: Typeface
    font: Font
    across: float
    up: float
    down: float
    level: bool


def _face(font: Font, given: float, matrix: Sequence[float], colour: int, place: Place) -> _Face:
    a, b, c, d = matrix
    direction = place.direction(a, b)
    bold, italic = bool(font.flags & _BOLD), bool(font.flags & _ITALIC)
    size, level = given * sqrt(abs(a * d - b * c)), (abs(direction[0]) > _LEVEL) != place.sideways
    typeface = Typeface(font.name, size, bold, italic, colour, direction)
    return _Face(typeface, font, given * hypot(a, b), font.ascent * size, font.descent * size, level)
