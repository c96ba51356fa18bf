"""The fonts of a file as pdfium gives them: names, flags, heights and widths."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Final

import pypdfium2.raw as pdfium

from scirgen_pdf.units import Ems

_TAG: Final = re.compile(r"^[A-Z]{6}\+")
_HIGHEST: Final[Annotated[Ems, "the ascent of a font; more is a mistake of the font"]] = 1.3
_LOWEST: Final[Annotated[Ems, "the descent of a font; less is a mistake of the font"]] = -0.6
_USUAL: Final[Annotated[tuple[Ems, Ems], "ascent and descent of a font that does not state them"]] = (0.8, -0.2)


class Font:
    """A font of a file.

    Attributes:
        name: without the tag of its subset.
        flags: those of its descriptor (ISO 32000-1, table 123).
        ascent, descent: in parts of the type's size; together at least 1, as in MuPDF.
    """

    def __init__(self, raw: Any, texts: Callable[[str], Mapping[int, str]]) -> None:
        """Read the font that pdfium calls ``raw``; ``texts`` gives those of its codes, by its name."""
        self._raw = raw
        self.name = _TAG.sub("", _name(raw))
        self._texts = partial(texts, self.name)
        self.flags: int = pdfium.FPDFFont_GetFlags(raw) if raw else 0
        self.ascent, self.descent = _heights(raw)
        self._named: Mapping[int, str] | None = None
        self._widths: dict[str, float] = {}

    def width(self, letter: str) -> float:
        """Return the width of a character, in ems; 0 if the font does not state it."""
        if letter not in self._widths:
            value = ctypes.c_float()
            pdfium.FPDFFont_GetGlyphWidth(self._raw, ord(letter), 1.0, ctypes.byref(value))
            self._widths[letter] = value.value
        return self._widths[letter]

    def named(self, code: int) -> str:
        """Return the text that a code without a Unicode value means by the name of its glyph, or else the code."""
        if self._named is None:
            self._named = self._texts()
        return self._named.get(code) or chr(code)


class Fonts:
    """A file's fonts, each read once."""

    def __init__(self, texts: Callable[[str], Mapping[int, str]]) -> None:
        """Look up the texts of a font's codes, by its name, with ``texts``."""
        self._known: dict[int, Font] = {}
        self._texts = texts

    def of(self, address: int | None) -> Font:
        """Return the font at an address of pdfium's."""
        key = address or 0
        if key not in self._known:
            self._known[key] = Font(ctypes.cast(key, pdfium.FPDF_FONT), self._texts)
        return self._known[key]


def _name(raw: Any) -> str:
    size = pdfium.FPDFFont_GetBaseFontName(raw, None, 0) if raw else 0
    held = ctypes.create_string_buffer(max(1, size))
    if raw:
        pdfium.FPDFFont_GetBaseFontName(raw, held, size)
    return held.value.decode("utf-8", "replace")


def _heights(raw: Any) -> tuple[float, float]:
    found = []
    for read in (pdfium.FPDFFont_GetAscent, pdfium.FPDFFont_GetDescent):
        value = ctypes.c_float()
        read(raw, 1.0, ctypes.byref(value))
        found.append(value.value)
    ascent, descent = found
    if ascent <= 0 or descent > 0 or ascent > _HIGHEST or descent < _LOWEST:
        return _USUAL
    height = max(1.0, 1 / (ascent - descent))
    return ascent * height, descent * height
