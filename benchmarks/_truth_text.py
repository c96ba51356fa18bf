"""Compares headings of a paper with those of its truth."""

from __future__ import annotations

import re
import unicodedata

_NUMBERS = re.compile(
    r"^\s*(?:(?:appendix|annexe?|section)\s+(?:[a-h]|\d{1,2})\b[\s.:]*|\d{1,2}(?:\.\d{1,2})*\.?\s+|[ivx]+(?:-[a-z]\d?)?\.\s+|\(?[a-h][.)]\s+"
    r"|[a-h]\.?\d{1,2}(?:\.\d{1,2})*\.?\s+|[一二三四五六七八九十]{1,3}[、.．]\s*)(?=\S)"
)
NEUTRAL = {"abstract", "resumo", "resumen", "key points", "keywords", "plain language summary"}
"""Headings that count neither way: the labels of abstracts and keywords."""


def normal(text: str) -> str:
    """A heading without numbering (2.1, IV., a., B2, Appendix A), accents, case, punctuation."""
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c)).lower()
    text = _NUMBERS.sub("", text)
    return " ".join(re.sub(r"[^\w\s]|_", " ", text).split())
