"""Puts back the blanks of tightly set lines, which MuPDF leaves out where they are narrower than 0.15 of the type's size."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any, Final

_GLUED: Final = re.compile(r"(?<![\w/.@:-])[A-Za-zÀ-ÿ]{25,}(?![\w/@:]|\.\w)")
_LEAST_BLANK, _MOST_WITHIN, _LEAST_GAPS = 0.1, 0.03, 3
"""Parts of the type's size: the least gap between words, and the most usual one within words; and the least number of gaps."""


def has_glued_words(text: str) -> bool:
    """Whether a word is so long that it may be several."""
    return _GLUED.search(text) is not None


def with_blanks(blocks: Sequence[dict[str, Any]]) -> None:
    """Give each span of ``page.get_text("rawdict")["blocks"]`` its text, with a blank at each gap that is as wide as one."""
    for line in (line for block in blocks for line in block.get("lines", ())):
        level = abs(line["dir"][1]) < 0.1
        last: dict[str, Any] | None = None
        for span in line["spans"]:
            characters = span["chars"]
            text = _text(characters, span["size"] if level else 0.0)
            if last and characters and level and _apart(last, characters[0], span["size"]):
                text = f" {text}"
            last = characters[-1] if characters else last
            span["text"] = text


def _text(characters: Sequence[dict[str, Any]], size: float) -> str:
    pairs = list(pairwise(characters))
    if size <= 0 or len(pairs) < _LEAST_GAPS or median(_gap(a, b) for a, b in pairs) > _MOST_WITHIN * size:
        return "".join(c["c"] for c in characters)
    return "".join([characters[0]["c"], *(f" {b['c']}" if _apart(a, b, size) else b["c"] for a, b in pairs)])


def _gap(a: dict[str, Any], b: dict[str, Any]) -> float:
    return float(b["origin"][0] - a["bbox"][2])


def _apart(a: dict[str, Any], b: dict[str, Any], size: float) -> bool:
    return _gap(a, b) >= _LEAST_BLANK * size and " " not in (a["c"], b["c"])
