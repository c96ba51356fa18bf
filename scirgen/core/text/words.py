"""Words that distinguish one dataset from another, for rules that compare metadata with papers. The lists are English;
a word of another language counts as distinctive."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Scripts that write no spaces, as a character class: Han, kana, Thai, Lao, Burmese, Khmer. Their words are pairs of
characters, as in Lucene's CJK analyzer: no dictionary decides, and every machine cuts alike."""

_TOKEN = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_WORD_OR_NUMBER = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+(?:[.,]\d+)*")
_UNSPACED = re.compile(rf"[{UNSPACED}]")

DATA_WORDS = frozenset([
    "data", "dataset", "datasets", "database", "databases", "product", "products", "record", "records", "archive",
    "archives", "observation", "observations", "reanalysis", "inventory", "collection", "series", "map", "maps", "grid",
    "gridded", "survey", "network", "measurements",
])  # fmt: skip
"""Words for data in general, which do not distinguish datasets."""

_COMMON = frozenset(
    re.findall(
        r"\w+",
        """
        a about above according across after all along already also although among an and another any are around as at
        be because been before being below between both but by can cannot case cases could did do does due during each
        either especially etc even every few first following for found from further generally given had has have here
        high higher how however i if in including increase increased indicate into is it its itself large larger last
        later least less level like long low lower main mainly many may mean means might more most much must near need
        needs next no nor not number observed obtained of off often on one only onto or other others our out over own
        part parts per period possible present previous provide provided range rather recent related relatively
        respectively result results same second see several shall short should show showed shown shows significant
        significantly similar since small smaller so some such system systems term than that the their them then there
        therefore these they third this those though three through throughout thus time to together too total toward
        towards two type types under until up upon use used uses using usually value values various very via was we were
        what when where whereas whether which while who whole whose why will with within without would year years yet
        annual area areas based daily different global hourly information integrated monthly multi new region regional
        regions resolution scale science set sets site sites spatial station stations studies study temporal version
        yearly analysis data paper research work
        """,
    )
)
"""Words that occur in any paper or record, and general words for dates and places."""


def unspaced(text: str) -> int:
    """Return the number of characters in scripts that write no spaces."""
    return 0 if text.isascii() else len(_UNSPACED.findall(text))


def pairs_of(tokens: Iterable[str]) -> list[str]:
    """Return the tokens, those of scripts without spaces as pairs of characters."""
    found: list[str] = []
    for token in tokens:
        if len(token) > 2 and not token.isascii() and _UNSPACED.match(token):
            found += [token[i : i + 2] for i in range(len(token) - 1)]
        else:
            found.append(token)
    return found


def tokens_of(text: str) -> list[str]:
    """Return the runs of letters and digits; pairs of characters in scripts without spaces."""
    return pairs_of(_TOKEN.findall(text))


def letters(text: str) -> str:
    """Return only letters and digits, in lower case, so that a text compares equal in any typesetting and Unicode
    form."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def words_and_numbers(text: str) -> list[str]:
    """Return lower-cased words, and numbers with their decimals."""
    return pairs_of(_WORD_OR_NUMBER.findall(text.lower()))


def telling_words(text: str) -> frozenset[str]:
    """Return the words of a text that are not common, in the singular and in lower case."""
    words = (singular(w.lower()) for w in tokens_of(text))
    return frozenset(w for w in words if w not in _COMMON and len(w) > (1 if _UNSPACED.match(w) else 2))


def singular(word: str) -> str:
    """Return a crude singular, the same for a text and a query."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word
