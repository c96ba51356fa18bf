"""Reads ligatures and quotation marks of TeX's bitmap fonts, whose glyphs have no names: their codes say what they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

_LEAST: Final = 5
_LEAST_WORDS: Final = 50
_WORD: Final = re.compile(r"[a-z]{4}")
_OLD: Final = dict(zip(range(0x0B, 0x10), ("ff", "fi", "fl", "ffi", "ffl"), strict=True))
_CORK: Final = dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)) | dict(
    zip(range(0x10, 0x17), ("“", "”", "„", "«", "»", "–", "—"), strict=True)
)
_BESIDE_LETTERS: Final = {
    "old": re.compile(r"[\x0b\x0c\x0e\x0f][a-z]|[a-z][\x0b\x0c\x0e\x0f]"),
    "cork": re.compile(r"[\x1b-\x1f][a-z]|[a-z][\x1b-\x1f]"),
}


def name_ligatures(spans: Iterable[dict[str, Any]]) -> None:
    """Replace the codes of ligatures in the text of spans whose fonts are ones of words and have them beside letters.

    TeX's old encoding has them at 11 to 15, the Cork encoding at 27 to 31; a document's fonts mostly share one encoding.
    """
    known = [span for span in spans if span["text"]]
    beside: dict[str, Counter[str]] = {name: Counter() for name in _BESIDE_LETTERS}
    words: Counter[str] = Counter()
    for span in known:
        words[span["font"]] += len(_WORD.findall(span["text"]))
        for name, pattern in _BESIDE_LETTERS.items():
            beside[name][span["font"]] += len(pattern.findall(span["text"]))
    for name, table in (("old", _OLD), ("cork", _CORK)):
        fonts = {font for font, count in beside[name].items() if count and words[font] >= _LEAST_WORDS}
        if sum(beside[name][font] for font in fonts) >= _LEAST:
            for span in known:
                if span["font"] in fonts:
                    span["text"] = span["text"].translate(table)
            return
