"""Cuts texts into passages with langchain-text-splitters, with exact offsets. All of scirgen uses this module."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from scirgen.core.text.words import unspaced

_WORD = re.compile(r"[^\s。！？；]*[。！？；]+\s*|\S+\s*")


def count_words(text: str) -> int:
    """Return the whitespace-separated tokens of a text; in scripts without spaces, two characters are a word."""
    return len(text.split()) + unspaced(text) // 2


def words(text: str) -> list[str]:
    """Return the text in pieces of one whitespace-separated token each, with the white space behind it; in scripts
    without spaces, of one sentence or clause."""
    return _WORD.findall(text)


def windows(
    text: str,
    most: int,
    *,
    pieces: Callable[[str], Iterable[str]] = words,
    length: Callable[[str], int] = count_words,
) -> list[tuple[int, int]]:
    """Return [start, end) of runs of pieces of at most ``most`` each, in order; a piece that alone is longer is a run
    by itself.

    Args:
        text: the text to cut. White space between two runs belongs to neither.
        most: largest length of a run. Runs do not overlap: the splitter's start index is exact only then.
        pieces: cuts the text into pieces that stay whole; together they are the text, and each has more than white
            space.
        length: the length of a piece; that of a run is their sum, and that of "" is 0.
    """
    if not text.strip():
        return []
    made = _splitter()(most, pieces, length).create_documents([text])
    starts = [int(document.metadata["start_index"]) for document in made]
    return [(start, start + len(document.page_content)) for start, document in zip(starts, made, strict=True)]


@lru_cache(maxsize=1)
def _splitter() -> type:
    # Imported on first use, because it takes 0.4 s.
    from langchain_text_splitters import TextSplitter

    # The splitter would warn of a piece that is longer than a run; here that is allowed.
    logging.getLogger("langchain_text_splitters.base").setLevel(logging.ERROR)

    class PieceSplitter(TextSplitter):
        """Joins pieces to runs, and keeps the text between them as it is."""

        def __init__(self, most: int, pieces: Callable[[str], Iterable[str]], length: Callable[[str], int]) -> None:
            super().__init__(most, 0, length, add_start_index=True)
            self._pieces = pieces

        def split_text(self, text: str) -> list[str]:
            return self._merge_splits(self._pieces(text.lstrip()), "")

    return PieceSplitter
