"""Repairs characters of a page: accents drawn beside their letters, ligatures without names, spaces that readers leave
out."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Annotated, Final

from fontTools import agl

from scirgen_pdf.reading.page import Glyph, Page, PdfFile, Span, TextLine
from scirgen_pdf.units import Count, Ems, Share

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
    """Return the text in Unicode normal form C, with accents that stand before or after their letters combined with
    them."""
    if _HAS.search(text):
        text = _ACCENT.sub(_compose, text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def ends_in_accent(text: str) -> bool:
    """Return whether the last printed character is an accent without its letter."""
    return text.rstrip()[-1:] in _MARKS and bool(text.strip())


def begins_with_accent(text: str) -> bool:
    """Return whether the first printed character is an accent without its letter."""
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
    """Return the space before an accent: many fonts have one before a raised accent inside a word in capitals."""
    inside = gap and before.isupper() and after in _VOWELS
    return "" if inside and not _SHORT_WORD.search(match.string[: match.start("gap")]) else gap


def _joined(letter: str, mark: str) -> str:
    made = unicodedata.normalize("NFC", _DOTLESS.get(letter, letter) + _MARKS[mark])
    return made if len(made) == 1 and letter.isalpha() else ""


@dataclass(frozen=True)
class Characters:
    """Limits of the repairs of characters, and of the check that a text is readable."""

    # Ligatures, ornaments
    beside: Annotated[Count, "codes of ligatures next to letters in a paper; fewer may be formulas"] = 5
    words: Annotated[Count, "words of four letters in a font of text"] = 50
    ornaments: Annotated[Share, "of the characters; a paper about ornaments has fewer"] = 0.2
    # Spaces that readers leave out
    sideways: Annotated[Share, "the rise of a base line that is not level"] = 0.1
    blank: Annotated[Ems, "the narrowest gap between words"] = 0.1
    within: Annotated[Ems, "the usual gap within words, at most; wider is letter-spaced text"] = 0.03
    gaps: Annotated[Count, "of a span that shows its usual gap"] = 3
    # Unreadable text
    sampled: Annotated[Count, "pages whose glyphs are counted"] = 4
    unmapped: Annotated[Share, "glyphs without a Unicode value, at most"] = 0.3
    judged: Annotated[Count, "Latin words of a text that can be judged"] = 60
    small: Annotated[Share, "small letters of the letters of a readable text"] = 0.6
    garbage: Annotated[Share, "words with a vowel; a text with fewer is garbage"] = 0.6
    readable: Annotated[Share, "words with a vowel that show a readable text"] = 0.75
    leftward: Annotated[Share, "letters of right-to-left scripts; a text with fewer quotes them"] = 0.3


_RULES: Final = Characters()
_WORD: Final = re.compile(r"[a-z]{4}")
_OLD: Final = dict(zip(range(0x0B, 0x10), ("ff", "fi", "fl", "ffi", "ffl"), strict=True))
_CORK: Final = dict(zip(range(0x1B, 0x20), ("ff", "fi", "fl", "ffi", "ffl"), strict=True)) | dict(
    zip(range(0x10, 0x17), ("“", "”", "„", "«", "»", "–", "—"), strict=True)
)
_BESIDE_LETTERS: Final = {
    "old": re.compile(r"[\x0b\x0c\x0e\x0f][a-z]|[a-z][\x0b\x0c\x0e\x0f]"),
    "cork": re.compile(r"[\x1b-\x1f][a-z]|[a-z][\x1b-\x1f]"),
}


def name_ligatures(spans: Iterable[Span]) -> None:
    """Replace the codes of ligatures by their letters, in fonts of words that have these codes next to letters.

    TeX's old encoding has them at 11 to 15, the Cork encoding at 27 to 31; a document's fonts mostly share one
    encoding.
    """
    known = [span for span in spans if span.text]
    beside: dict[str, Counter[str]] = {name: Counter() for name in _BESIDE_LETTERS}
    for span in known:
        if not span.text.isprintable():
            for name, pattern in _BESIDE_LETTERS.items():
                beside[name][span.font] += len(pattern.findall(span.text))
    words: Counter[str] = Counter()
    for span in known if any(sum(counts.values()) >= _RULES.beside for counts in beside.values()) else ():
        words[span.font] += len(_WORD.findall(span.text))
    for name, table in (("old", _OLD), ("cork", _CORK)):
        fonts = {font for font, count in beside[name].items() if count and words[font] >= _RULES.words}
        if sum(beside[name][font] for font in fonts) >= _RULES.beside:
            for span in known:
                if span.font in fonts:
                    span.text = span.text.translate(table)
            return


_DINGBATS: Final = {
    ord(sign): (_OLD | _CORK).get(code, chr(code))
    for code in (*_OLD, *_CORK, *range(0x21, 0x7F))
    if (sign := agl.toUnicode(f"a{code}", isZapfDingbats=True))
}


def name_letters(spans: Iterable[Span]) -> None:
    """Replace ornaments by letters: readers give ornaments for fonts of dvips, which names a letter "a" and its
    code."""
    known = list(spans)
    signs = sum(ord(c) in _DINGBATS for span in known for c in span.text if not c.isascii())
    if signs and signs > _RULES.ornaments * sum(len(span.text) for span in known):
        for span in known:
            span.text = span.text.translate(_DINGBATS)


_GLUED: Final = re.compile(r"(?<![\w/.@:-])[A-Za-zÀ-ÿ]{25,}(?![\w/@:]|\.\w)")


def has_glued_words(text: str) -> bool:
    """Return whether a word is so long that it may be several."""
    return _GLUED.search(text) is not None


def with_blanks(lines: Iterable[TextLine]) -> None:
    """Put a space into each span's text at each gap between its glyphs that is as wide as one."""
    for line in lines:
        level = abs(line.direction[1]) < _RULES.sideways
        last: Glyph | None = None
        for span in line.spans:
            characters = span.glyphs
            text = _text(characters, span.size if level else 0.0)
            if last and characters and level and _apart(last, characters[0], span.size):
                text = f" {text}"
            last = characters[-1] if characters else last
            span.text = text


def _text(characters: Sequence[Glyph], size: float) -> str:
    pairs = list(pairwise(characters))
    if size <= 0 or len(pairs) < _RULES.gaps or median(_gap(a, b) for a, b in pairs) > _RULES.within * size:
        return "".join(c.text for c in characters)
    return "".join([characters[0].text, *(f" {b.text}" if _apart(a, b, size) else b.text for a, b in pairs)])


def _gap(a: Glyph, b: Glyph) -> float:
    return b.box[0] - a.box[2]


def _apart(a: Glyph, b: Glyph, size: float) -> bool:
    return _gap(a, b) >= _RULES.blank * size and " " not in (a.text, b.text)


_LATIN_WORD: Final = re.compile(r"[A-Za-zÀ-ÿ]{3,}")
_VOWEL: Final = re.compile(r"[aeiouyà-åè-ïò-öù-üý]", re.I)
_RIGHT_TO_LEFT: Final = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def is_unreadable(file: PdfFile, pages: Sequence[Page]) -> bool:
    """Return whether a PDF's text is garbage.

    Args:
        file: the open PDF; a few pages are read again to count glyphs without a Unicode value.
        pages: its pages as the parser reads them, with character codes where there is no Unicode value. These codes
            may still be right; then the words look like words. Type below a point is that of a font that is drawn
            larger than it says, so that the blanks between its words cannot be found.
    """
    spans = [span for page in pages for span in page.spans()]
    if 2 * sum(len(span.text) for span in spans if span.size < 1) > sum(len(span.text) for span in spans):
        return True
    joined = " ".join(page.text() for page in pages)
    if _like_words(joined):
        return False
    if _unmapped(file) > _RULES.unmapped:
        return True
    words = _LATIN_WORD.findall(joined)
    return len(words) >= _RULES.judged and _with_vowel(words) < _RULES.garbage


def is_right_to_left(text: str) -> bool:
    """Return whether many of a text's letters are of a right-to-left script (Arabic, Hebrew, Syriac ...)."""
    found = len(_RIGHT_TO_LEFT.findall(text))
    return found > 0 and found > _RULES.leftward * max(1, sum(map(str.isalpha, text)))


def _like_words(text: str) -> bool:
    """Return whether most letters are small ones and most words have a vowel."""
    words = _LATIN_WORD.findall(text)
    letters = "".join(words)
    small = sum(map(str.islower, letters)) >= _RULES.small * len(letters)
    return len(words) >= _RULES.judged and small and _with_vowel(words) >= _RULES.readable


def _with_vowel(words: Sequence[str]) -> float:
    return sum(bool(_VOWEL.search(word)) for word in words) / max(1, len(words))


def _unmapped(file: PdfFile) -> float:
    """Return the share of glyphs without a Unicode value on a few pages."""
    places = {round(i * (file.count - 1) / max(1, _RULES.sampled - 1)) for i in range(min(file.count, _RULES.sampled))}
    return file.unmapped(sorted(places))
