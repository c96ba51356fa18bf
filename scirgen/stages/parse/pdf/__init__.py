"""Layout analysis of PDFs: from placed spans to blocks. `parser` opens files; `analyse` has all steps in order."""
