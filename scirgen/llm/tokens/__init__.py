"""Tokenisation: chat templates, tries, alignment of pieces."""
