"""The PDF parser: PyMuPDF reads the file (in a worker process), and `analyse` analyses the pages."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pymupdf

from scirgen import PaperError, ParsedPaper, ParserOptions
from scirgen.plugin import find_dois
from scirgen.stages.parse.base import LAYOUT_VERSION
from scirgen_pdf.analyse import Layout, RawPage, analyse, lay_out
from scirgen_pdf.headings.candidates import Outline
from scirgen_pdf.headings.trees import Classifier, classifier
from scirgen_pdf.page.characters import (
    has_glued_words,
    is_right_to_left,
    is_unreadable,
    name_ligatures,
    with_blanks,
)
from scirgen_pdf.page.signs import Signs, misread_signs
from scirgen_pdf.tables import has_caption, page_rules, page_words

_MAX_PAGES = 2000
_LEAST_SIDEWAYS = 100
_LEAST_CHARS = 10  # of a page with a text layer
_MOST_SCANS = 0.4
_MOST_METADATA = 200_000  # characters of an XMP packet
_MAY_COPY = 16  # ISO 32000-1, table 22, bit 5
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_CID_FOR_UNKNOWN_UNICODE


class PyMuPDFParser:
    """Parses PDF files."""

    def __init__(self, model: Classifier | None = None) -> None:
        """Use the heading classifier ``model``; None: the shipped one."""
        self._model = model or classifier()
        tools: Any = pymupdf.TOOLS
        tools.mupdf_display_errors(False)
        tools.mupdf_display_warnings(False)
        self._id = f"pymupdf/{metadata.version('pymupdf')}+layout.{LAYOUT_VERSION}"

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one PDF.

        Raises:
            PaperError: ``not_a_pdf``, ``damaged``, ``encrypted``, ``no_extract``, ``no_text``, ``unreadable_text``,
                ``too_large``, ``memory``.
        """
        try:
            layout, outline = read_layout(path, options)
            return analyse(layout, outline, self._id, self._model)
        except (
            pymupdf.FileDataError,
            pymupdf.EmptyFileError,
            pymupdf.mupdf.FzErrorBase,
            RuntimeError,
            ValueError,
        ) as error:
            if "alloc" in str(error) or "memory" in str(error).lower():
                raise MemoryError from error
            raise PaperError(
                f"the PDF is damaged: {error}"[:300], hint="Fetch it again; it may be truncated.", code="damaged"
            ) from error


def read_layout(path: Path, options: ParserOptions) -> tuple[Layout, Outline]:
    """The groups of a PDF in reading order, and its outline.

    Raises:
        PaperError: as `PyMuPDFParser.parse`.
    """
    with _opened(path) as document:
        _check(document, options)
        signs = misread_signs(document)
        pages = [_page(document[number], options, signs=signs) for number in range(document.page_count)]
        if sum(_chars(page) for page in pages) < _LEAST_CHARS * max(1, len(pages)):
            raise _no_text(options)
        scans = sum(_chars(page) < _LEAST_CHARS and _is_picture(document[n]) for n, page in enumerate(pages))
        if scans > _MOST_SCANS * len(pages):
            raise _no_text(options, f"{scans} of the PDF's {len(pages)} pages are pictures without text")
        if is_unreadable(document, (_text(page) for page in pages)):
            if not (options.ocr and shutil.which("tesseract")):
                raise _unreadable(options)
            pages = [_page(document[number], options, by_ocr=True) for number in range(document.page_count)]
        elif any(has_glued_words(_text(page)) for page in pages):
            pages = [_page(document[number], options, signs=signs, tight=True) for number in range(document.page_count)]
        name_ligatures(span for page in pages for span in _spans(page.blocks))
        if is_right_to_left(" ".join(_text(page) for page in pages)):
            raise PaperError(
                "the PDF's text is in a right-to-left script, which PDFs do not give in the order of reading",
                hint="Provide the paper as HTML, JATS, TEI or text.",
                code="unreadable_text",
            )
        outline = Outline(tuple((e[0], str(e[1]), int(e[2])) for e in document.get_toc(simple=True)))
        layout = lay_out(pages, str((document.metadata or {}).get("title") or ""))
        layout.doi = _stated_doi(document) or layout.doi
        return layout, outline


def _stated_doi(document: Any) -> str | None:
    """The first DOI in the file's metadata: its XMP packet, else its subject."""
    try:
        packet = str(document.get_xml_metadata())[:_MOST_METADATA]
    except (RuntimeError, ValueError):
        packet = ""
    stated = packet + " " + str((document.metadata or {}).get("subject") or "")
    return next((doi for doi in find_dois(stated) if "(issn)" not in doi), None)


def _opened(path: Path) -> Any:
    opener: Any = pymupdf.open
    return opener(path, filetype="pdf")


def _check(document: Any, options: ParserOptions) -> None:
    if not document.is_pdf:
        raise PaperError("not a PDF", code="not_a_pdf")
    if document.needs_pass:
        passwords = os.environ.get(options.password_env, "").splitlines()
        if not any(document.authenticate(password) for password in passwords if password):
            raise PaperError(
                "the PDF is encrypted and needs a password",
                hint=f"Put its password into the environment variable {options.password_env}.",
                code="encrypted",
            )
    elif options.no_extract == "refuse" and not document.permissions & _MAY_COPY:
        raise PaperError(
            "the PDF's owner does not permit text extraction",
            hint="If you have the right to extract it, set parse.no_extract: parse.",
            code="no_extract",
        )
    if document.page_count == 0:
        raise PaperError("the PDF has no pages: it is truncated or broken", hint="Fetch it again.", code="damaged")
    if document.page_count > _MAX_PAGES:
        raise PaperError(
            f"{document.page_count} pages are too many for a paper", code="too_large", hint="Split the file."
        )


def _page(
    page: Any, options: ParserOptions, by_ocr: bool = False, signs: Signs | None = None, tight: bool = False
) -> RawPage:
    """A page's text; by OCR if it has none, or if ``by_ocr`` is set. ``signs`` replace what fonts give for them.

    ``tight``: narrow blanks are put back.
    """
    text = page.get_text("rawdict" if tight else "dict", flags=_FLAGS, sort=False)
    if tight:
        with_blanks(text["blocks"])
    if signs:
        for span in _spans(text["blocks"]):
            if span["font"] in signs:
                span["text"] = span["text"].translate(signs[span["font"]])
    if options.ocr and (by_ocr or not text["blocks"]) and shutil.which("tesseract"):
        recognised = page.get_textpage_ocr(language=options.ocr_language, dpi=300, full=True)
        text = page.get_text("dict", flags=_FLAGS, textpage=recognised)
    tabled = options.tables == "cells" and has_caption(text["blocks"])
    words, rules = (page_words(page, signs or {}), page_rules(page)) if tabled else ([], [])
    box = page.cropbox
    return RawPage(*_upright(text["blocks"], box.width, box.height), words, rules)


def _upright(blocks: list[dict[str, Any]], width: float, height: float) -> tuple[list[dict[str, Any]], float]:
    """The blocks, turned if most text is sideways or upside down, and the height of the turned page.

    Boxes on such a page are those of the turned page.
    """
    weights: Counter[tuple[int, int]] = Counter()
    for line in (line for block in blocks for line in block.get("lines", ())):
        x, y = line["dir"]
        weights[(round(x), round(y))] += sum(len(span["text"].strip()) for span in line["spans"])
    most = max(weights, key=lambda direction: weights[direction], default=(1, 0))
    turns: dict[tuple[int, int], Callable[[float, float], tuple[float, float]]] = {
        (0, -1): lambda x, y: (height - y, x),
        (0, 1): lambda x, y: (y, width - x),
        (-1, 0): lambda x, y: (width - x, height - y),
    }
    if most not in turns or weights[most] < max(_LEAST_SIDEWAYS, 0.7 * weights.total()):
        return blocks, height
    turn = turns[most]
    for line in (line for block in blocks for line in block.get("lines", ())):
        end, start = turn(*line["dir"]), turn(0.0, 0.0)
        line["dir"] = (end[0] - start[0], end[1] - start[1])
        for part in (line, *line["spans"]):
            (x0, y0), (x1, y1) = turn(*part["bbox"][:2]), turn(*part["bbox"][2:])
            part["bbox"] = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
            if "origin" in part:
                part["origin"] = turn(*part["origin"])
    return blocks, width if most[1] else height


def _is_picture(page: Any) -> bool:
    """Tells whether one picture covers most of a page."""
    area = page.rect.width * page.rect.height
    boxes = (info["bbox"] for info in page.get_image_info())
    return any((x1 - x0) * (y1 - y0) > 0.5 * area for x0, y0, x1, y1 in boxes)


def _spans(blocks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (span for block in blocks for line in block.get("lines", ()) for span in line["spans"])


def _chars(page: RawPage) -> int:
    return sum(len(span["text"].strip()) for span in _spans(page.blocks))


def _text(page: RawPage) -> str:
    return " ".join(span["text"] for span in _spans(page.blocks))


def _unreadable(options: ParserOptions) -> PaperError:
    hint = "Install Tesseract and set parse.ocr: true to read its pages as pictures, or find another version."
    if options.ocr:
        hint = "parse.ocr is on, but Tesseract is not installed; install it (and its language data) and run again."
    return PaperError("the PDF's fonts do not map to Unicode text", hint=hint, code="unreadable_text")


def _no_text(options: ParserOptions, message: str = "the PDF has no text layer") -> PaperError:
    if options.ocr and not shutil.which("tesseract"):
        hint = "parse.ocr is on, but Tesseract is not installed; install it (and its language data) and run again."
    elif options.ocr:
        hint = "OCR found no text either."
    else:
        hint = "It is probably a scan: install Tesseract and set parse.ocr: true, or find a version with a text layer."
    return PaperError(message, hint=hint, code="no_text")
