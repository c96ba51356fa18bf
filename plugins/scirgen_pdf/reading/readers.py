"""Opens PDF files with the reader that is chosen (`scirgen.stages.parse.readers`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scirgen.stages.parse.readers import chosen
from scirgen_pdf.reading.page import PdfFile


@contextmanager
def opened(path: Path, reader: str) -> Iterator[PdfFile]:
    """Open a PDF with a reader, and close it at the end.

    Raises:
        ValueError, RuntimeError: it cannot be opened.
        MissingExtraError: the reader is not installed.
    """
    file, faults = _open(path, chosen(reader))
    try:
        yield file
    except faults as error:
        raise RuntimeError(str(error)) from error
    finally:
        file.close()


def _open(path: Path, reader: str) -> tuple[PdfFile, type[Exception]]:
    """Return the open file, and the errors of its library that are not RuntimeErrors."""
    if reader == "pdfium":
        from scirgen_pdf.reading import pdfium_reader

        return pdfium_reader.PdfiumFile(path), pdfium_reader.FAULT
    from scirgen_pdf.reading import pymupdf_reader

    return pymupdf_reader.PyMuPDFFile(path), pymupdf_reader.FAULT
