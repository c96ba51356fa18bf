"""Finding a quotation in a text, word for word. Only this module defines what counts as the same words.

Two pieces of text are the same when they are equal after this normalisation: characters in Unicode form NFKC (ligatures
become letters); all hyphens, dashes and minus signs are one sign, and all quotation marks of a kind too; soft hyphens
and zero-width characters are dropped; a hyphen between two letters is dropped (with the line break after it), so a word
hyphenated at a line's end matches the whole word; white space is dropped, but between two digits it is one space.
Letters keep their case. A quotation never begins or ends inside a word.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left

_SAME: dict[str, str] = {
    **dict.fromkeys("‐‑‒–—―−﹘﹣－⁃", "-"),
    **dict.fromkeys("‘’‚‛′ʹ`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    "∕": "/",
    "∼": "~",
}
_OUTER = " \t\r\n\"'“”‘’«»"
_ELLIPSIS = re.compile(r"^(?:\.{3}|…|\[\.{3}\]|\[…\])\s*|\s*(?:\.{3}|…|\[\.{3}\]|\[…\])$")


class Verbatim:
    """A text prepared for finding quotations in it. Preparing takes time linear in the text; finding is a substring
    search."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._letters, self._at = _normalised(text)

    def find(self, quote: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
        """Return the first place of a quotation in ``text[start:end]`` as offsets [start, end) into the original text;
        or None.

        Quotation marks and an ellipsis around the quotation are not part of it.
        """
        wanted = _normalised(bare(quote))[0]
        if not wanted:
            return None
        stop = len(self.text) if end is None else end
        at = self._letters.find(wanted, bisect_left(self._at, start))
        while at >= 0:
            first, last = self._at[at], self._at[at + len(wanted) - 1] + 1
            if last > stop:
                return None
            if self._whole(at, at + len(wanted)) and self._whole_words(first, last):
                return first, last
            at = self._letters.find(wanted, at + 1)
        return None

    def _whole(self, at: int, end: int) -> bool:
        """Check whether a match begins and ends at whole characters; one character may stand for several letters (a
        ligature)."""
        places = self._at
        return (at == 0 or places[at - 1] != places[at]) and (end == len(places) or places[end] != places[end - 1])

    def _whole_words(self, first: int, last: int) -> bool:
        text = self.text
        cuts_before = first > 0 and text[first - 1].isalnum() and text[first].isalnum()
        cuts_after = last < len(text) and text[last].isalnum() and text[last - 1].isalnum()
        return not (cuts_before or cuts_after)


def bare(quote: str) -> str:
    """Return a quotation without the marks and ellipses around it."""
    stripped = quote.strip(_OUTER)
    while (shorter := _ELLIPSIS.sub("", stripped).strip(_OUTER)) != stripped:
        stripped = shorter
    return stripped


def _normalised(text: str) -> tuple[str, array[int]]:
    """Return the normalised text, and the offset in the original of each of its characters."""
    letters: list[str] = []
    places = array("q")
    for offset, character in enumerate(text):
        if character.isascii():
            letters.append(character)
            places.append(offset)
            continue
        known = _SAME.get(character)
        for part in unicodedata.normalize("NFKC", character) if known is None else known:
            letters.append(_SAME.get(part, part))
            places.append(offset)
    return _squeezed("".join(letters), places)


_LOOSE = re.compile(r"(?<=[^\W\d_])-\s*(?=[^\W\d_])|\s+")


def _squeezed(text: str, places: array[int]) -> tuple[str, array[int]]:
    """Remove hyphens inside words and white space."""
    kept: list[str] = []
    kept_places = array("q")
    at = 0
    for gap in _LOOSE.finditer(text):
        kept.append(text[at : gap.start()])
        kept_places.extend(places[at : gap.start()])
        if text[gap.start()] != "-" and gap.start() > 0 and gap.end() < len(text):
            before, after = text[gap.start() - 1], text[gap.end()]
            if before.isdigit() and after.isdigit():
                kept.append(" ")
                kept_places.append(places[gap.start()])
        at = gap.end()
    kept.append(text[at:])
    kept_places.extend(places[at:])
    return "".join(kept), kept_places
