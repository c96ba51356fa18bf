"""Layout analysis of PDF pages: from placed spans to blocks. Pure functions; see `pymupdf_parser` for opening files."""
