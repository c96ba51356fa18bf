"""Reads a page as a picture, with Tesseract (https://github.com/tesseract-ocr/tesseract)."""

from __future__ import annotations

import csv
import shutil
import subprocess
from itertools import groupby
from typing import Annotated, Final

from scirgen_pdf.reading.page import Page, PdfFile, Span, TextLine, around
from scirgen_pdf.units import Chars, Count, Share

_DPI: Final[Annotated[Count, "dots of an inch"]] = 300
_SECONDS: Final[Annotated[Count, "that Tesseract may take for a page"]] = 600
_POINTS: Final[Annotated[Count, "of an inch"]] = 72
_ERROR: Final[Annotated[Chars, "of Tesseract's error that are shown"]] = 200
_SURE: Final[Annotated[float, "per cent; what Tesseract is less sure of is dirt"]] = 10.0
_SIZE: Final[Annotated[Share, "of the median height of a line's words with ascenders and descenders: its size"]] = 0.95


def has_tesseract() -> bool:
    """Return whether Tesseract is installed."""
    return shutil.which("tesseract") is not None


def recognised(file: PdfFile, number: int, language: str) -> Page:
    """Return a page's text as Tesseract reads it; page numbers count from 0.

    Raises:
        RuntimeError: Tesseract fails, for example because it lacks a language.
    """
    drawn, width, height = file.draw(number, _DPI)
    picture = b"P5 %d %d 255\n" % (drawn.width, drawn.height) + drawn.pixels
    command = ["tesseract", "stdin", "stdout", "-l", language, "--dpi", str(_DPI), "tsv"]
    done = subprocess.run(command, input=picture, capture_output=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"Tesseract failed: {done.stderr.decode('utf-8', 'replace').strip()[-_ERROR:]}")
    rows = csv.DictReader(done.stdout.decode("utf-8").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    found = [row for row in rows if row["level"] == "5" and float(row["conf"]) >= _SURE and row["text"].strip()]
    lines = [
        _line(list(group), int(block))
        for (block, _, _), group in groupby(found, key=lambda r: (r["block_num"], r["par_num"], r["line_num"]))
    ]
    return Page(lines, width, height)


def _line(rows: list[dict[str, str]], block: int) -> TextLine:
    scale = _POINTS / _DPI
    boxes = []
    for row in rows:
        x, y, width, height = (float(row[name]) * scale for name in ("left", "top", "width", "height"))
        boxes.append((x, y, x + width, y + height))
    box = around(boxes)
    size = _SIZE * (box[3] - box[1])
    spans = []
    for place, (row, (x0, _, x1, _)) in enumerate(zip(rows, boxes, strict=True)):
        text = row["text"] if place == len(rows) - 1 else row["text"] + " "
        spans.append(Span(text, "ocr", size, (x0, box[1], x1, box[3]), (x0, box[3])))
    return TextLine(spans, box, block=block)
