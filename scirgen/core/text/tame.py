"""Shortens long runs in text from outside, so patterns that are applied to it later stay fast.

Patterns over text backtrack within runs: of blanks, of one sign, of letters without a blank. With runs of at most a few
hundred characters, their time is linear in the text. Each entry point (records, parsed papers, model replies) calls
this once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

from scirgen.core.secrets.addresses import without_passwords

MOST_BLANKS = 16
MOST_SIGNS = 32
MOST_LETTERS = 256

_BLANKS = re2.compile(r"[ \t\f\v\x{a0}\x{2000}-\x{200a}\x{3000}]{17,}")
_LINES = re2.compile(r"(?:[ \t\r\f\v]{0,16}[\n\x{2028}\x{2029}\x{85}]){9,}")
_SIGNS = re2.compile(
    "|".join(rf"{sign}{{33,}}" for sign in map(re2.escape, "-–—−_=.…·*#~+|/\\<>()[]{}!?,;:\"'`^&%$@0"))
)
_ANY = re2.compile("|".join(f"(?:{run.pattern})" for run in (_BLANKS, _LINES, _SIGNS)))
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]+")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WORD = re.compile(r"(?<![!-\u024f])[!-\u024f]{257,}+|(?<!\w)\w{257,}+")


def tame(text: str, most: int | None = None) -> str:
    """Return the text with shortened runs.

    Args:
        text: any text.
        most: largest number of characters to keep; None keeps all.

    Returns:
        The text; ordinary text is unchanged. Addresses lose user names and passwords. Blanks beyond 16 in a row, line
        ends beyond 8 and one sign repeated beyond 32 are dropped; a word of more than 256 characters is cut into words.
    """
    text = without_passwords(text)
    if most is not None and len(text) > most:
        text = text[:most]
    text = whole_characters(text)
    if _ANY.search(text):
        text = tame_blanks(text)
        text = _SIGNS.sub(lambda m: m.group()[:MOST_SIGNS], text)
    if len(text) > MOST_LETTERS and _may_have_long_words(text) and _WORD.search(text):
        text = _WORD.sub(lambda m: " ".join(_pieces(m.group())), text)
    return text


def _may_have_long_words(text: str) -> bool:
    # In ASCII, a word of the pattern stands between blanks; this takes a fifth of the pattern's time.
    return not text.isascii() or max(map(len, text.split()), default=0) > MOST_LETTERS


def tame_blanks(text: str) -> str:
    """Shorten only blanks and line ends, for values that may be addresses or keys."""
    try:
        blanks = _BLANKS.search(text)
    except UnicodeEncodeError:  # half a character (a lone surrogate): the reader of the record rejects it
        return text
    if blanks:
        text = _BLANKS.sub(lambda m: m.group()[:MOST_BLANKS], text)
    if _LINES.search(text):
        text = _LINES.sub("\n\n", text)
    return text


def whole_characters(text: str) -> str:
    """Return the text with half characters (lone surrogates, as in broken PDFs) replaced, since RE2 reads UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def tame_value(text: str) -> str:
    """Return a record's value without passwords in addresses, and with bounded blanks, before anything divides it."""
    return tame_blanks(without_passwords(text))


def tame_values(value: object) -> object:
    """Like `tame_value`, for every string in a record's value; the keys too."""
    return each_text(value, tame_value)


def tame_strings(value: object, written: str | None = None) -> object:
    """Return a reply's value with every string's runs bounded and nothing unseen; the keys too.

    ``written`` is the JSON text that it was read from, if known: without escapes, no string holds what is not there.
    """
    if written is not None and "\\" not in written and tame(visible(written)) == written:
        return value
    return each_text(value, lambda text: tame(visible(text)))


def visible(text: str) -> str:
    """Return a text without control characters (a terminal would obey them) and marks of reading direction."""
    return _UNSEEN.sub("", text)


def uncontrolled(text: str) -> str:
    """Return a text with a blank for each control character except tabs and line ends, so that offsets stay."""
    return _CONTROL.sub(" ", text)


def each_text(value: object, bounded: Callable[[str], str]) -> object:
    """Return a JSON value with each of its texts replaced, the keys included."""
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, dict):
        return {bounded(k) if isinstance(k, str) else k: each_text(v, bounded) for k, v in value.items()}
    if isinstance(value, list):
        return [each_text(v, bounded) for v in value]
    return value


def _pieces(word: str) -> list[str]:
    return [word[at : at + MOST_LETTERS] for at in range(0, len(word), MOST_LETTERS)]
