"""Reads the names, codes and outlines of glyphs in a file's Type 1 fonts. Each reader lacks a part of them.

pypdf finds the fonts, fontTools reads them. The text of a file or font that either cannot read stays as the reader
returns it.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

from fontTools import agl
from fontTools.cffLib import CFFFontSet
from fontTools.pens.recordingPen import RecordingPen
from pypdf import PdfReader

from scirgen_pdf.reading.page import Signs
from scirgen_pdf.reading.signs import RIGHT, Outline, Point, distinct, extent, sign_of
from scirgen_pdf.units import Bytes, Count, Ems, Share


@dataclass(frozen=True)
class Fonts:
    """Limits of the fonts whose glyphs are read by shape."""

    glyphs: Annotated[Count, "that are read of a font"] = 400
    program: Annotated[Bytes, "of the largest font; fonts of signs have a few glyphs"] = 200_000
    misread: Annotated[Share, "of a font's glyphs: misread ones of a font of signs"] = 0.2
    letters: Annotated[Count, "small letters that a font of text names"] = 8
    foot: Annotated[Ems, "above the base line: the foot of a μ is lower; that of an m is on the line"] = -0.12


_FONTS: Final = Fonts()
_UNNAMED: Final = frozenset("\0\ufffd")
_SINGLES: Final = re.compile(r"beginbfchar(.*?)endbfchar", re.S)
_BY_CODE: Final = re.compile(r"<([0-9a-fA-F]+)>\s*<([0-9a-fA-F]{4})>")
_TAG: Final = re.compile(r"^[A-Z]{6}\+")


@dataclass(frozen=True)
class Type1Font:
    """A Type 1 font of a file.

    Attributes:
        name: with the tag of its subset.
        names: the glyph names of codes, where the file states them.
        unicode: the characters of codes, where the file states them one by one.
        program: the font's program in the Compact Font Format; empty if the file does not hold it.
    """

    name: str
    names: Mapping[int, str]
    unicode: Mapping[int, str]
    program: bytes

    @property
    def plain(self) -> str:
        """The name without the tag of the subset."""
        return _TAG.sub("", self.name)

    def texts(self) -> dict[int, str]:
        """Return the text that each named code means, for names such as "f_i" that readers do not know."""
        return {code: text for code, name in self.names.items() if (text := agl.toUnicode(name))}


class Objects:
    """The objects of a file as pypdf reads them; none if pypdf cannot read it."""

    def __init__(self, path: Path, password: str | None) -> None:
        """Read the table of a file's objects."""
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        try:
            self._reader: Any = PdfReader(path, password=password)
        except Exception:  # pypdf raises what Python raises on broken files
            self._reader = None

    def metadata_packet(self) -> str:
        """Return the XMP packet; "" if there is none."""
        try:
            packet = self._reader.root_object["/Metadata"]
            return str(packet.get_object().get_data().decode("utf-8", "replace"))
        except Exception:
            return ""

    def type1_fonts(self) -> list[Type1Font]:
        """Return the Type 1 fonts of the pages."""
        found: list[Type1Font] = []
        try:
            found.extend(_fonts(self._reader))
        except Exception:
            return found
        return found


def _fonts(reader: PdfReader) -> Iterator[Type1Font]:
    seen: set[int] = set()
    for page in reader.pages:
        for held in _mapping(_mapping(page.get("/Resources")).get("/Font")).values():
            number = getattr(held, "idnum", id(held))
            font = _mapping(held)
            if number in seen or font.get("/Subtype") not in ("/Type1", "/MMType1"):
                continue
            seen.add(number)
            named = _mapping(font.get("/Encoding")).get("/Differences")
            given = font.get("/ToUnicode")
            table = given.get_object().get_data().decode("latin-1") if given is not None else ""
            single = "".join(_SINGLES.findall(table))
            codes = {int(a, 16): chr(int(b, 16)) for a, b in _BY_CODE.findall(single)}
            descriptor = _mapping(font.get("/FontDescriptor"))
            program = descriptor.get("/FontFile3")
            data = program.get_object().get_data() if program is not None else b""
            yield Type1Font(str(font.get("/BaseFont", ""))[1:], _differences(named), codes, data)


def _mapping(value: Any) -> Mapping[str, Any]:
    held = value.get_object() if hasattr(value, "get_object") else value
    return held if isinstance(held, Mapping) else {}


def _differences(named: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    code = 0
    for entry in named.get_object() if hasattr(named, "get_object") else named or ():
        if isinstance(entry, str):
            found[code] = entry[1:]
            code += 1
        else:
            code = int(entry)
    return found


def misread_signs(fonts: Sequence[Type1Font]) -> Signs:
    """Return the signs, and the letter μ, that fonts give as other characters, by the fonts' names without tags."""
    shown: dict[str, dict[int, set[str]]] = {}
    for font in fonts:
        of_name = shown.setdefault(font.plain, {})  # readers give all subsets under one name
        for character, sign in _of_font(font).items():
            of_name.setdefault(character, set()).add(sign)
    sure = {name: {c: s for c, (s, *others) in of.items() if s != chr(c) and not others} for name, of in shown.items()}
    return {name: signs for name, signs in sure.items() if signs}


def _of_font(font: Type1Font) -> dict[int, str]:
    """Read what the font's glyphs show, by the character that readers give: mostly that character, or else another
    sign."""
    if not 0 < len(font.program) <= _FONTS.program:
        return {}
    try:
        every, glyphs, scale = _glyphs(font.program)
        names = list(islice((name for name in every if name != ".notdef"), _FONTS.glyphs))
        known = {name: agl.toUnicode(name) or "\0" for name in names}
        codes = {n: font.unicode.get(c) or (known.get(n) or "\0").replace("\0", chr(c)) for c, n in font.names.items()}
        # A font of letters may have an H like a plus: only what it does not name, and its m, may be something else.
        text = sum(len(name) == 1 and name.islower() for name in names) >= _FONTS.letters
        asked = [n for n in names if (n in codes if known[n] in _UNNAMED else not text or n == "m")]
        outlines = {name: _outlines(glyphs[name], scale) for name in asked}
    except Exception:  # fontTools raises what Python raises on broken fonts
        return {}
    given = {ord(c): c for name in names if len(c := codes.get(name, known[name])) == 1}
    return given | (_misread(outlines, known, codes) if asked else {})


def _glyphs(program: bytes) -> tuple[list[str], Mapping[str, Any], float]:
    """Return the names of a font's glyphs, its glyphs by name, and the size of its unit in ems."""
    fonts = CFFFontSet()
    fonts.decompile(io.BytesIO(program), None)
    return list(fonts[0].CharStrings.keys()), fonts[0].CharStrings, float(fonts[0].FontMatrix[0])


def _misread(
    outlines: Mapping[str, list[Outline]], known: Mapping[str, str], codes: Mapping[str, str]
) -> dict[int, str]:
    signs: dict[int, str] = {}
    sure: dict[int, str] = {}
    for name, curves in outlines.items():
        sign = sign_of(curves)
        given = codes.get(name, known[name])
        if len(given) != 1:
            continue
        if sign and not {known[name], given} & set(RIGHT[sign]) and given.strip("\0\ufffd "):
            (sure if known[name] in _UNNAMED else signs)[ord(given)] = sign
        if given == name == "m" and curves and min(extent(points)[1] for points, _ in curves) < _FONTS.foot:
            sure[ord(given)] = "μ"  # of a Greek font; as "m" it makes metres of micrometres
    drawn = sum(bool(curves) for curves in outlines.values())
    of_signs = len(signs) + len(sure) >= _FONTS.misread * drawn
    return sure | (signs if of_signs else {})


def _outlines(glyph: Any, scale: float) -> list[Outline]:
    """Return the closed curves of a glyph; a bent side has a point in its middle."""
    pen = RecordingPen()
    glyph.draw(pen)
    curves: list[tuple[list[Point], list[bool]]] = []
    for step, at in pen.value:
        points = [(x * scale, y * scale) for x, y in at]
        if step == "moveTo":
            curves.append((points, []))
        elif step in ("lineTo", "curveTo"):
            (x0, y0), (x3, y3) = curves[-1][0][-1], points[-1]
            if step == "curveTo":
                (x1, y1), (x2, y2) = points[0], points[-2]
                curves[-1][0].append(((x0 + 3 * x1 + 3 * x2 + x3) / 8, (y0 + 3 * y1 + 3 * y2 + y3) / 8))
            curves[-1][0].append((x3, y3))
            curves[-1][1].append(step == "lineTo")
    return [(distinct(points), all(straight)) for points, straight in curves if straight]
