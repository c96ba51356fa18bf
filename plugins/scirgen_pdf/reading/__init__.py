"""Readers of PDF files: each gives the same typed pages (`page`), so that the layout depends on none of them."""
