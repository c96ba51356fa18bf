"""Rejoins accents that a PDF draws beside their letters ("energ´ıa", "tama˜no")."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_MARKS: Final = {
    "´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "ˇ": "\u030c", "˚": "\u030a",
    "˝": "\u030b", "¸": "\u0327", "˘": "\u0306", "¯": "\u0304",
}  # fmt: skip
_ACCENT: Final = re.compile(
    rf"(?P<before>\w?)(?P<gap> ?)(?P<mark>[{''.join(_MARKS)}])(?P<space> ?)(?P<after>[^\W\d_]?)"
)
_HAS: Final = re.compile(rf"[{''.join(_MARKS)}]")
_VOWELS: Final = frozenset("aeiouyıAEIOUY")
_DOTLESS: Final = {"ı": "i", "ȷ": "j"}
_SHORT_WORD: Final = re.compile(
    r"(?:^|\W)(?:de|del|el|la|los|las|un|una|y|e|o|u|a|al|en|et|le|les|des|du|au|à|da|do|das|dos|os|as)$", re.I
)


def composed(text: str) -> str:
    """The text in Unicode normal form C, with accents that are before or after their letters put on them."""
    if _HAS.search(text):
        text = _ACCENT.sub(_compose, text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def ends_in_accent(text: str) -> bool:
    """Whether the last printed character is an accent without its letter."""
    return text.rstrip()[-1:] in _MARKS and bool(text.strip())


def begins_with_accent(text: str) -> bool:
    """Whether the first printed character is an accent without its letter."""
    return text.lstrip()[:1] in _MARKS and bool(text.strip())


def _compose(match: re.Match[str]) -> str:
    before, gap, mark, space, after = match.group("before", "gap", "mark", "space", "after")
    if gap and space:
        return match.group()
    left = _joined(before, mark) if before and not gap else ""
    right = _joined(after, mark) if after and not (space and left) else ""
    if right and left:
        # The accent could belong to either letter: it goes to a vowel before a consonant ("Rodr´ıguez" but "Jose´s").
        right = "" if before in _VOWELS and after not in _VOWELS and mark not in "ˇ˜" else right
    if right:
        return before + _kept(match, before, gap, after) + right
    return left + gap + space + after if left else match.group()


def _kept(match: re.Match[str], before: str, gap: str, after: str) -> str:
    """A blank before an accent: many fonts have one before a raised accent inside a word in capitals."""
    inside = gap and before.isupper() and after in _VOWELS
    return "" if inside and not _SHORT_WORD.search(match.string[: match.start("gap")]) else gap


def _joined(letter: str, mark: str) -> str:
    made = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + _MARKS[mark])
    return made if len(made) == 1 and letter.isalpha() else ""
