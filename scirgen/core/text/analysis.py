"""Words of a text as search counts them: stems by Snowball without stop words, and pairs of characters in scripts that
write no spaces."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from scirgen.core.text.language import base_language
from scirgen.core.text.words import UNSPACED, pairs_of

_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:['’][^\W_{UNSPACED}]+)?")
_SNOWBALL = {
    "ar": "arabic", "da": "danish", "de": "german", "en": "english", "es": "spanish", "fi": "finnish", "fr": "french",
    "hu": "hungarian", "it": "italian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""Language code -> name of its stemmer, and of its list of stop words in bm25s."""

_CACHE = 0
"""Words that a stemmer remembers: none. With many different words, cleaning a full cache costs more than stemming."""


def terms(text: str, language: str) -> list[str]:
    """Return the terms of a text in order. A language without a stemmer keeps its words whole."""
    stem, stop = _tools(base_language(language))
    found = [w for w in pairs_of(_TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())) if w not in stop]
    return [str(word) for word in stem.stemWords(found)] if stem else found


@lru_cache(maxsize=8)
def _tools(language: str) -> tuple[Any, frozenset[str]]:
    import Stemmer
    from bm25s import stopwords

    name = _SNOWBALL.get(language, "")
    listed = "EN" if language == "en" else name.upper()
    stop = frozenset(getattr(stopwords, f"STOPWORDS_{listed}", ()))
    return (Stemmer.Stemmer(name, _CACHE) if name in Stemmer.algorithms() else None), stop
