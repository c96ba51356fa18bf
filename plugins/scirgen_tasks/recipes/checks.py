"""Checks of drafted texts, shared by several recipes: text copied from a paper, and names of its methods."""

from __future__ import annotations

import re

from scirgen.core.text.textmatch import words

_NAME = re.compile(r"\b(?=[\w-]*[A-Z][\w-]*[A-Z0-9])[A-Z]?[\w-]{2,}\b")


def shares_run(text: str, other: str, length: int) -> bool:
    """Check whether two texts have so many words in a row in common."""
    a, b = words(text), words(other)
    runs = {b[i : i + length] for i in range(len(b) - length + 1)}
    return any(a[i : i + length] in runs for i in range(len(a) - length + 1))


def coined_names(title: str) -> list[str]:
    """Return the words of a title with two capitals, or a capital and a digit (TSEB, ConvLSTM, ERA5): acronyms and
    names of methods."""
    return list(dict.fromkeys(_NAME.findall(title)))
