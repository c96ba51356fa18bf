"""The PDF parser: a reader opens the file (in a worker process), and `analyse` analyses its pages."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from scirgen import PaperError, ParsedPaper, ParserOptions
from scirgen.plugin import find_dois
from scirgen.stages.parse.base import LAYOUT_VERSION
from scirgen.stages.parse.readers import chosen, reader_in_use
from scirgen_pdf.analyse import Draft, analyse, lay_out
from scirgen_pdf.headings.candidates import Outline
from scirgen_pdf.headings.trees import Classifier, classifier
from scirgen_pdf.page.characters import (
    has_glued_words,
    is_right_to_left,
    is_unreadable,
    name_letters,
    name_ligatures,
    with_blanks,
)
from scirgen_pdf.page.upright import upright
from scirgen_pdf.reading.ocr import has_tesseract, recognised
from scirgen_pdf.reading.page import Marks, Page, PdfFile, Signs
from scirgen_pdf.reading.readers import opened
from scirgen_pdf.reading.rules import underlined
from scirgen_pdf.tables import has_caption, may_go_on, page_words

_MAX_PAGES = 2000
_LEAST_CHARS = 10  # of a page with a text layer
_MAX_SCANS = 0.4  # of the pages
_MAX_OF_PAGE = 0.5  # that one picture covers, where the page is a scan
_MAX_SAID = 300  # characters of a reader's error
_MAX_METADATA = 200_000  # characters of an XMP packet
_PASSWORDS = "SCIRGEN_PDF_PASSWORD"  # environment variable with the passwords of encrypted PDFs, one per line


class PdfParser:
    """Parses PDF files."""

    def __init__(self, model: Classifier | None = None) -> None:
        """Use the heading classifier ``model``; None: the shipped one.

        Raises:
            ImportError: no reader of PDFs is installed.
        """
        if not chosen("auto"):
            raise ImportError("neither pypdfium2 nor PyMuPDF is installed")
        self._model = model or classifier()

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one PDF.

        Raises:
            PaperError: ``not_a_pdf``, ``damaged``, ``encrypted``, ``no_extract``, ``no_text``, ``unreadable_text``,
                ``too_large``, ``memory``.
            MissingExtraError: the reader of ``options`` is not installed.
        """
        made_by = f"{reader_in_use(options.reader).replace(' ', '/')}+layout.{LAYOUT_VERSION}"
        with _damage():
            draft, outline = read_layout(path, options)
            return analyse(draft, outline, made_by, self._model)


@contextmanager
def _damage() -> Iterator[None]:
    """Turn the errors of readers into a `PaperError`."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if "alloc" in str(error) or "memory" in str(error).lower():
            raise MemoryError from error
        raise PaperError(
            f"the PDF is damaged: {error}"[:_MAX_SAID], hint="Fetch it again; it may be truncated.", code="damaged"
        ) from error


class Reading(NamedTuple):
    """The content of a PDF, as a reader returns it: its pages, their marks by number from 0, and the title, DOI and
    outline that the file states."""

    pages: list[Page]
    marks: Callable[[int], Marks]
    title: str
    doi: str | None
    outline: Outline


def read_layout(path: Path, options: ParserOptions) -> tuple[Draft, Outline]:
    """Return a PDF's draft up to its headings, and its outline.

    Raises:
        PaperError: as `PdfParser.parse`.
    """
    with read_pages(path, options) as read:
        draft = lay_out(read.pages, read.title, read.marks)
    draft.doi = read.doi or draft.doi
    return draft, read.outline


@contextmanager
def read_pages(path: Path, options: ParserOptions) -> Iterator[Reading]:
    """Read a PDF's pages and what the file states; it stays open for the marks of pages.

    Raises:
        PaperError: as `PdfParser.parse`.
    """
    with opened(path, options.reader) as file:
        _check(file, options)
        if _is_cut_off(path):
            raise PaperError("the PDF is cut off: its end is missing", hint="Fetch it again.", code="damaged")
        signs = file.signs()
        pages = _pages(file, options, signs)
        chars = [sum(len(span.text.strip()) for span in page.spans()) for page in pages]
        if sum(chars) < _LEAST_CHARS * max(1, len(pages)):
            raise _no_text(options)
        scans = sum(n < _LEAST_CHARS and _is_picture(file, i, pages[i]) for i, n in enumerate(chars))
        if scans > _MAX_SCANS * len(pages):
            raise _no_text(options, f"{scans} of the PDF's {len(pages)} pages are pictures without text")
        tables = options.tables == "cells"
        if is_unreadable(file, pages):
            if not (options.ocr and has_tesseract()):
                raise _unreadable(options)
            pages = [recognised(file, number, options.ocr_language) for number in range(file.count)]
            tables = False
        elif any(has_glued_words(page.text()) for page in pages):
            pages = _pages(file, options, signs, tight=True)
        captioned = [tables and has_caption(page.lines) for page in pages]
        name_ligatures(span for page in pages for span in page.spans())
        if is_right_to_left(" ".join(page.text() for page in pages)):
            raise PaperError(
                "the PDF's text is in a right-to-left script, which PDFs do not store in reading order",
                hint="Provide the paper as HTML, JATS, TEI or text.",
                code="unreadable_text",
            )
        facts = file.facts()
        stated = (doi for doi in find_dois(facts.metadata[:_MAX_METADATA]) if "(issn)" not in doi)
        outline = Outline(tuple(file.outline()))
        yield Reading(pages, _Marked(file, captioned, signs), facts.title, next(stated, None), outline)


def _check(file: PdfFile, options: ParserOptions) -> None:
    if file.locked:
        passwords = os.environ.get(_PASSWORDS, "").splitlines()
        if not any(file.unlock(password) for password in passwords if password):
            raise PaperError(
                "the PDF is encrypted and needs a password",
                hint=f"Put its password into the environment variable {_PASSWORDS}.",
                code="encrypted",
            )
    elif options.no_extract == "refuse" and not file.facts().may_copy:
        raise PaperError(
            "the PDF's owner does not permit text extraction",
            hint="If you have the right to extract it, set parse.no_extract: parse.",
            code="no_extract",
        )
    if file.count == 0:
        raise PaperError("the PDF has no pages: it is truncated or broken", hint="Fetch it again.", code="damaged")
    if file.count > _MAX_PAGES:
        raise PaperError(f"{file.count} pages are too many for a paper", code="too_large", hint="Split the file.")


def _is_cut_off(path: Path) -> bool:
    """Return whether a PDF's last object stands behind its last table of objects (ISO 32000-1, 7.5), which ends a whole
    file. Readers repair such a file, and leave out the pages that it lacks."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return max(data.rfind(b"startxref"), data.rfind(b"trailer")) < data.rfind(b" obj")


def _pages(file: PdfFile, options: ParserOptions, signs: Signs, *, tight: bool = False) -> list[Page]:
    """Return the pages of a file, upright. ``signs`` replace what fonts give for them. ``tight``: narrow blanks are put
    back."""
    return [upright(_page(file, number, options, signs, tight)) for number in range(file.count)]


class _Marked:
    """The marks of the pages that may have a table, or go on with one; each is read when a table is looked for."""

    def __init__(self, file: PdfFile, captioned: Sequence[bool], signs: Signs) -> None:
        """Remember which pages have the caption of a table."""
        self._file, self._captioned, self._signs = file, captioned, signs
        self._known: dict[int, Marks] = {}

    def __call__(self, number: int) -> Marks:
        """Return the marks of a page, by its number from 0."""
        for n in range(max((n for n in range(number + 1) if self._captioned[n]), default=number), number + 1):
            if n not in self._known:
                self._known[n] = self._read(n, self._known.get(n - 1, Marks()))
        return self._known[number]

    def _read(self, number: int, before: Marks) -> Marks:
        captioned = self._captioned[number]
        rules = self._file.rules(number) if captioned or before.words else []
        if not captioned and not may_go_on(before.rules, rules):
            return Marks()
        page = self._file.page(number, glyphs=True)
        page.rules = rules
        return Marks(page_words(upright(page).lines, self._signs), page.rules)


def _page(file: PdfFile, number: int, options: ParserOptions, signs: Signs, tight: bool) -> Page:
    """Return a page's text, by OCR if it has none."""
    page = file.page(number, glyphs=tight)
    if not page.lines and options.ocr and has_tesseract():
        return recognised(file, number, options.ocr_language)
    underlined(page, cache(lambda: file.rules(number)))
    if tight:
        with_blanks(page.lines)
    name_letters(page.spans())
    for span in page.spans() if signs else ():
        if span.font in signs:
            span.text = span.text.translate(signs[span.font])
    return page


def _is_picture(file: PdfFile, number: int, page: Page) -> bool:
    """Return whether one picture covers most of a page."""
    area = page.width * page.height
    return any((x1 - x0) * (y1 - y0) > _MAX_OF_PAGE * area for x0, y0, x1, y1 in file.pictures(number))


def _unreadable(options: ParserOptions) -> PaperError:
    hint = "Install Tesseract and set parse.ocr: true to read its pages as pictures, or find another version."
    if options.ocr:
        hint = "parse.ocr is on, but Tesseract is not installed; install it (and its language data) and run again."
    return PaperError("the PDF's fonts do not say which letters or words they show", hint=hint, code="unreadable_text")


def _no_text(options: ParserOptions, message: str = "the PDF has no text layer") -> PaperError:
    if options.ocr and not has_tesseract():
        hint = "parse.ocr is on, but Tesseract is not installed; install it (and its language data) and run again."
    elif options.ocr:
        hint = "OCR found no text either."
    else:
        hint = "It is probably a scan: install Tesseract and set parse.ocr: true, or find a version with a text layer."
    return PaperError(message, hint=hint, code="no_text")
