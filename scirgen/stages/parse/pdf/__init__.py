"""Layout analysis of PDF pages: from placed spans to blocks. Pure functions; opening files is left to `pymupdf_parser`."""
