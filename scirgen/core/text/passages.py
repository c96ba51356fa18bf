"""Cuts texts into passages with langchain-text-splitters, with exact offsets. All of scirgen uses this module."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_text_splitters import TextSplitter

_TOKEN = re.compile(r"\S+")


def windows(text: str, tokens: int) -> list[tuple[int, int]]:
    """[start, end) of runs of at most ``tokens`` whitespace-separated tokens, in order; the last run may be shorter.

    Args:
        text: the text to cut. White space between two runs belongs to neither.
        tokens: largest number of tokens in a run. Runs do not overlap: the splitter's start index is exact only then.
    """
    if not text.strip():
        return []
    made = _splitter(tokens).create_documents([text])
    starts = [int(document.metadata["start_index"]) for document in made]
    return [(start, start + len(document.page_content)) for start, document in zip(starts, made, strict=True)]


@lru_cache(maxsize=8)
def _splitter(tokens: int) -> TextSplitter:
    # Imported on first use, because it takes 0.4 s.
    from langchain_text_splitters import TextSplitter
    from langchain_text_splitters.base import Tokenizer, split_text_on_tokens

    class WordSplitter(TextSplitter):
        """Counts whitespace-separated tokens, and keeps the text between them as it is."""

        def split_text(self, text: str) -> list[str]:
            bounds = [match.span() for match in _TOKEN.finditer(text)]
            numbered = Tokenizer(
                chunk_overlap=0,
                tokens_per_chunk=tokens,
                encode=lambda _: list(range(len(bounds))),
                decode=lambda run: text[bounds[run[0]][0] : bounds[run[-1]][1]],
            )
            return split_text_on_tokens(text=text, tokenizer=numbered)

    settings: dict[str, Any] = {"chunk_size": tokens, "chunk_overlap": 0, "strip_whitespace": False}
    return WordSplitter(**settings, length_function=lambda text: len(text.split()), add_start_index=True)
