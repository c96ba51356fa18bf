"""The objects that a page of pdfium draws, and their places on the page as it is shown."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from math import hypot
from typing import Annotated, Any, Final

import pypdfium2
import pypdfium2.raw as pdfium

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Point
from scirgen_pdf.reading.rules import outlines
from scirgen_pdf.units import Count, Share

_ROUNDED: Final[Annotated[Share, "of a direction: how far it may be from a whole number that it means"]] = 0.0005
DEEPEST: Final[Annotated[Count, "forms within forms whose drawings are read"]] = 4


def direct(function: Any, result: Any, *arguments: Any) -> Any:
    """One of pdfium's functions with addresses as integers; pypdfium2 makes an object of each address. The calls are
    short and many, so none gives other threads their turn."""
    return ctypes.PYFUNCTYPE(result, *arguments)(ctypes.cast(function, ctypes.c_void_p).value or 0)


ADDRESS, INDEX = ctypes.c_void_p, ctypes.c_int
_KIND: Final = direct(pdfium.FPDFPageObj_GetType, INDEX, ADDRESS)
_OBJECT: Final = direct(pdfium.FPDFPage_GetObject, ADDRESS, ADDRESS, INDEX)
_OBJECT_OF_FORM: Final = direct(pdfium.FPDFFormObj_GetObject, ADDRESS, ADDRESS, INDEX)
_OBJECTS_OF_FORM: Final = direct(pdfium.FPDFFormObj_CountObjects, INDEX, ADDRESS)
_PLACED: Final = direct(pdfium.FPDFPageObj_GetMatrix, INDEX, ADDRESS, ADDRESS)
_DRAW_MODE: Final = direct(pdfium.FPDFPath_GetDrawMode, INDEX, *[ADDRESS] * 3)
_SEGMENTS: Final = direct(pdfium.FPDFPath_CountSegments, INDEX, ADDRESS)
_SEGMENT: Final = direct(pdfium.FPDFPath_GetPathSegment, ADDRESS, ADDRESS, INDEX)
_END: Final = direct(pdfium.FPDFPathSegment_GetPoint, INDEX, *[ADDRESS] * 3)
_KIND_OF_SEGMENT: Final = direct(pdfium.FPDFPathSegment_GetType, INDEX, ADDRESS)
_CLOSES: Final = direct(pdfium.FPDFPathSegment_GetClose, INDEX, ADDRESS)


class Place:
    """Turns a page's own coordinates, from its lower left corner, into those of the page as it is shown."""

    def __init__(self, page: Any) -> None:
        """Read the page's box and rotation."""
        x0, y0, x1, y1 = page.get_cropbox()
        a0, b0, a1, b1 = page.get_mediabox()
        self._x, self._y, self._right, self._top = max(x0, a0), max(y0, b0), min(x1, a1), min(y1, b1)
        self._turn = page.get_rotation()
        self.width, self.height = page.get_size()

    @property
    def sideways(self) -> bool:
        """The page is shown turned by a quarter."""
        return self._turn in (90, 270)

    def point(self, x: float, y: float) -> Point:
        """Return the place of a point."""
        if not self._turn:
            return x - self._x, self._top - y
        if self._turn == 90:
            return y - self._y, x - self._x
        if self._turn == 180:
            return self._right - x, y - self._y
        return self._top - y, self._right - x

    def box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """Return the box between two corners."""
        (a, b), (c, d) = self.point(x0, y0), self.point(x1, y1)
        return min(a, c), min(b, d), max(a, c), max(b, d)

    def direction(self, x: float, y: float) -> Point:
        """Return the direction of a vector."""
        (a, b), (c, d) = self.point(0, 0), self.point(x, y)
        length = hypot(c - a, d - b) or 1.0
        return _rounded((c - a) / length), _rounded((d - b) / length)


def _rounded(value: float) -> float:
    near = round(value)
    return float(near) if abs(value - near) < _ROUNDED else value


def objects(page: Any, *kinds: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the addresses of a page's objects of some kinds in the order of drawing, each with those of the forms that
    hold it, from the inside.

    pypdfium2 makes a Python object for each of a page's thousands of paths, which takes longer than the text.
    """
    held = address(page)
    return _among((_OBJECT(held, index) for index in range(pdfium.FPDFPage_CountObjects(page))), kinds, ())


def _among(
    items: Iterable[int], kinds: tuple[int, ...], forms: tuple[int, ...]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    for item in items:
        is_a = _KIND(item)
        if is_a in kinds:
            yield item, forms
        elif is_a == pdfium.FPDF_PAGEOBJ_FORM and len(forms) + 1 < DEEPEST:
            inside = (_OBJECT_OF_FORM(item, index) for index in range(_OBJECTS_OF_FORM(item)))
            yield from _among(inside, kinds, (item, *forms))


def strokes(item: int, forms: Iterable[int], place: Place) -> list[Box]:
    """Return the straight pieces of a path from point to point; of a filled path, `outlines` of its parts; of a
    picture, its box: some programs draw rules as thin pictures."""
    matrix = _matrix(item)
    for form in forms:
        matrix = matrix.multiply(_matrix(form))
    if _KIND(item) == pdfium.FPDF_PAGEOBJ_IMAGE:
        return [(*place.point(*matrix.on_point(0, 0)), *place.point(*matrix.on_point(1, 1)))]
    mode, end = (ctypes.c_int * 2)(), (ctypes.c_float * 2)()
    _DRAW_MODE(item, ctypes.addressof(mode), ctypes.addressof(mode) + 4)
    filled, stroked = mode
    if not (filled or stroked):
        return []
    parts: list[list[Point]] = []
    found: list[Box] = []
    at = ctypes.addressof(end)
    for index in range(_SEGMENTS(item)):
        segment = _SEGMENT(item, index)
        _END(segment, at, at + 4)
        point = place.point(*matrix.on_point(*end))
        kind = _KIND_OF_SEGMENT(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO or not parts:
            parts.append([])
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            found.append((*parts[-1][-1], *point))
        parts[-1].append(point)
        if _CLOSES(segment):
            found.append((*point, *parts[-1][0]))
    return found if stroked else [line for points in parts for line in outlines(points)]


def _matrix(item: int) -> Any:
    held = pdfium.FS_MATRIX()
    _PLACED(item, ctypes.addressof(held))
    return pypdfium2.PdfMatrix.from_raw(held)


def address(pointer: Any) -> int:
    """Return the address that a pointer of pypdfium2 holds."""
    return ctypes.addressof(pointer.contents)
