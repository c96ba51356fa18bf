"""Words that somebody who has not read a text could not know: its numbers, the names it coins, its turns of phrase."""

from __future__ import annotations

import re
from collections.abc import Iterable

from scirgen.core.text.words import unspaced

RUN = 4
"""Words in a row that a question may not share with the text it is about."""

_NUMBER = re.compile(r"(?<![\w.,])\d(?!-?[dD]\b)")
"""A number by itself: neither a dimension ("3D") nor the digit of a name or formula ("CO2", "PM2.5")."""
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_NAME = re.compile(r"[^\W_]*(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z])[^\s,;:()]*|[A-Z]{2,}[-_/]?[A-Z\d]*[^\s,;:()]*")
_BEFORE = re.compile(r"^\s*([^\W_][\w.+-]*)\s*(?::|\s[–—-]\s|\()")
_STUDY = re.compile(r"\bet al\b", re.I)


def coined(titles: Iterable[str]) -> frozenset[str]:
    """Return the names that titles coin: words with inner capitals or digits, one word before a colon or bracket."""
    found: set[str] = set()
    for title in titles:
        found |= {name.strip(".").casefold() for name in _NAME.findall(title) if not name.isdigit()}
        if before := _BEFORE.match(title):
            found.add(before.group(1).casefold())
    return frozenset(found)


def borrowed(question: str, shown: str, names: frozenset[str], run: int = RUN) -> str:
    """Return a sentence that names what a question takes from the text; "" if nothing.

    Args:
        question: what somebody asks.
        shown: the text that the writer of the question saw.
        names: names that the text coins (`coined`).
        run: fewest words in a row that count as the text's own.
    """
    if number := _NUMBER.search(question):
        return f"it has a number: {question[max(0, number.start() - 10) : number.end() + 10]!r}"
    if _STUDY.search(question):
        return "it names a study by its authors"
    words = [w.casefold() for w in _WORD.findall(question)]
    known = {w.strip(".,?;:()\"'").casefold() for w in question.split()} | set(words)
    # A name that the text also writes as a common word ("PROTEINS", a set of proteins) is one here, too.
    plain = {w for w in _WORD.findall(shown) if w.islower()} & set(_WORD.findall(question))
    if taken := sorted((names - plain) & known):
        return f"it has a name that the text coins: {taken[0]!r}"
    said = _sequence(shown)
    runs = {tuple(said[i : i + run]) for i in range(len(said) - run + 1)}
    asked = _sequence(question)
    for i in range(len(asked) - run + 1):
        if tuple(asked[i : i + run]) in runs:
            return f"it has the text's words: {' '.join(asked[i : i + run])!r}"
    return ""


def _sequence(text: str) -> list[str]:
    """Return the words in order. In scripts without spaces each is a character and the three behind it, so that a run
    is as long as four words."""
    found: list[str] = []
    for word in _WORD.findall(text):
        if unspaced(word):
            found += [word[i : i + 4] for i in range(max(1, len(word) - 3))]
        else:
            found.append(word.casefold())
    return found
