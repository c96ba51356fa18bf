"""Words that tell one dataset from another, for rules that compare metadata with papers. English; other words count as telling."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"[^\W_]+")

DATA_WORDS = frozenset(
    [
        "data",
        "dataset",
        "datasets",
        "database",
        "databases",
        "product",
        "products",
        "record",
        "records",
        "archive",
        "archives",
        "observation",
        "observations",
        "reanalysis",
        "inventory",
        "collection",
        "series",
        "map",
        "maps",
        "grid",
        "gridded",
        "survey",
        "network",
        "measurements",
    ]
)
"""Words that say that something is data; they tell no dataset apart."""

_COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "based",
        "between",
        "by",
        "for",
        "from",
        "in",
        "into",
        "is",
        "it",
        "its",
        "near",
        "of",
        "off",
        "on",
        "or",
        "over",
        "per",
        "the",
        "their",
        "this",
        "to",
        "under",
        "used",
        "using",
        "via",
        "was",
        "were",
        "which",
        "with",
        "long",
        "short",
        "term",
        "high",
        "low",
        "resolution",
        "spatial",
        "temporal",
        "daily",
        "monthly",
        "hourly",
        "annual",
        "yearly",
        "global",
        "regional",
        "new",
        "integrated",
        "multi",
        "scale",
        "level",
        "version",
        "period",
        "area",
        "areas",
        "region",
        "regional",
        "site",
        "sites",
        "station",
        "stations",
        "different",
        "during",
        "year",
        "years",
        "main",
        "part",
        "system",
        "systems",
        "analysis",
        "study",
        "set",
        "sets",
        "value",
        "values",
        "information",
        "science",
    ]
)


def tokens_of(text: str) -> list[str]:
    """Runs of letters and digits."""
    return _TOKEN.findall(text)


def telling_words(text: str) -> frozenset[str]:
    """Words of a text that are not common, in the singular and in lower case."""
    words = (singular(w.lower()) for w in tokens_of(text))
    return frozenset(w for w in words if w not in _COMMON and len(w) > 2)


def singular(word: str) -> str:
    """A crude singular, the same for a text and a query."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
