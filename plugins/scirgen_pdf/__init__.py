"""Layout analysis of PDFs: from placed spans to blocks. `parser` opens files; `analyse` has all steps in order."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

PLUGIN = Plugin(
    "scirgen-pdf",
    __version__,
    (
        Provided("parser", "pdf", "scirgen_pdf.parser:PdfParser", "PDF, by pdfium or PyMuPDF", "pdf"),
        Provided("codes", "scirgen-pdf", "scirgen_pdf.codes:CODES"),
    ),
)
