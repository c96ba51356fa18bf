"""Reads PDF files with PyMuPDF (AGPL-3.0 or commercial; extra ``pymupdf``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pymupdf

from scirgen.plugin import Box
from scirgen_pdf.reading.page import Facts, Glyph, Page, Raster, Signs, Span, TextLine, is_unnamed
from scirgen_pdf.reading.rules import straight
from scirgen_pdf.reading.type1 import Objects, misread_signs

FAULT: Final = pymupdf.mupdf.FzErrorBase
_MAY_COPY: Final = 16  # ISO 32000-1, table 22, bit 5
_PLAIN: Final = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
_FLAGS: Final = _PLAIN | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE
_RAISED, _ITALIC, _BOLD = 1, 2, 16


class PyMuPDFFile:
    """A `PdfFile` of PyMuPDF."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            RuntimeError, ValueError: it cannot be opened, or is not a PDF.
        """
        tools: Any = pymupdf.TOOLS
        tools.mupdf_display_errors(False)
        tools.mupdf_display_warnings(False)
        opener: Any = pymupdf.open
        self._path = path
        self._password: str | None = None
        self._document: Any = opener(path, filetype="pdf")
        if not self._document.is_pdf:
            raise ValueError("not a PDF")
        self.count: int = 0 if self.locked else self._document.page_count

    @property
    def locked(self) -> bool:
        return bool(self._document.needs_pass)

    def unlock(self, password: str) -> bool:
        fits = bool(self._document.authenticate(password))
        self.count = self._document.page_count if fits else 0
        self._password = password if fits else None
        return fits

    def facts(self) -> Facts:
        try:
            packet = str(self._document.get_xml_metadata())
        except (RuntimeError, ValueError):
            packet = ""
        stated = self._document.metadata or {}
        metadata = f"{packet} {stated.get('subject') or ''}"
        return Facts(str(stated.get("title") or ""), metadata, bool(self._document.permissions & _MAY_COPY))

    def outline(self) -> list[tuple[int, str, int]]:
        return [(int(e[0]), str(e[1]), int(e[2])) for e in self._document.get_toc(simple=True)]

    def page(self, number: int, *, glyphs: bool = False) -> Page:
        page = self._document[number]
        blocks = page.get_text("rawdict" if glyphs else "dict", flags=_FLAGS, sort=False)["blocks"]
        lines = [
            TextLine([_span(raw) for raw in line["spans"]], line["bbox"], line["dir"], block)
            for block, held in enumerate(blocks)
            for line in held.get("lines", ())
        ]
        # PyMuPDF gives the text of a page before its rotation; `upright` turns it.
        return Page(lines, page.cropbox.width, page.cropbox.height)

    def rules(self, number: int) -> list[Box]:
        page = self._document[number]
        found = straight(box for kind, box in page.get_bboxlog() if kind.startswith("fill-im"))  # thin pictures
        for drawing in page.get_cdrawings():
            stroked = drawing["type"] != "f"
            for item in drawing["items"]:
                if item[0] == "l":
                    found += straight([(*item[1], *item[2])])
                elif item[0] == "re":
                    x0, y0, x1, y1 = item[1]
                    sides = [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]
                    found += straight([(x0, y0, x1, y1)]) or straight(sides if stroked else sides[:2])
        return found

    def pictures(self, number: int) -> list[Box]:
        return [tuple(info["bbox"]) for info in self._document[number].get_image_info()]

    def draw(self, number: int, dpi: int) -> tuple[Raster, float, float]:
        page = self._document[number]
        drawn = page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
        return Raster(drawn.width, drawn.height, bytes(drawn.samples)), page.rect.width, page.rect.height

    def signs(self) -> Signs:
        return misread_signs(Objects(self._path, self._password).type1_fonts())

    def unmapped(self, numbers: Sequence[int]) -> float:
        text = "".join("".join(self._document[n].get_text("text", flags=_PLAIN).split()) for n in numbers)
        return sum(is_unnamed(ord(c)) for c in text) / max(1, len(text))

    def close(self) -> None:
        self._document.close()


def _span(raw: dict[str, Any]) -> Span:
    flags, characters = raw["flags"], raw.get("chars", ())
    return Span(
        raw["text"] if "text" in raw else "".join(c["c"] for c in characters),
        raw["font"],
        raw["size"],
        raw["bbox"],
        raw["origin"],
        bold=bool(flags & _BOLD),
        italic=bool(flags & _ITALIC),
        raised=bool(flags & _RAISED),
        colour=raw["color"],
        glyphs=tuple(Glyph(c["c"], c["bbox"]) for c in characters),
    )
