"""Detects the language of a text, among those that scirgen has rules for, by its most common words. It needs no model
and no dependency."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final[dict[str, frozenset[str]]] = {
    "de": frozenset([
        "der", "die", "das", "und", "in", "den", "von", "zu", "mit", "ist", "des", "im", "dem", "für", "auf",
        "ein", "eine", "nicht", "werden", "wurde", "wurden", "sind", "als", "bei", "durch", "nach", "wird",
        "aus", "sich", "einer", "zur", "oder", "wie", "warum", "welche", "was", "man", "hat", "haben",
    ]),
    "en": frozenset([
        "the", "of", "and", "in", "to", "is", "was", "for", "with", "that", "are", "by", "from", "this", "were",
        "as", "on", "an", "be", "which", "at", "or",
    ]),
    "es": frozenset([
        "de", "la", "el", "y", "en", "que", "los", "las", "del", "se", "una", "un", "por", "con", "para", "no",
        "es", "al", "lo", "como", "más", "fue", "son", "su", "qué", "cómo", "cuál", "cuáles",
    ]),
    "fr": frozenset([
        "le", "la", "les", "de", "des", "du", "et", "en", "un", "une", "est", "dans", "que", "qui", "pour",
        "par", "sur", "au", "aux", "avec", "ce", "cette", "sont", "ont", "été", "ne", "pas", "plus", "à", "l",
        "d", "a", "quel", "quelle", "quels", "quelles", "comment", "pourquoi", "depuis",
    ]),
    "pt": frozenset([
        "de", "e", "o", "da", "do", "em", "que", "a", "os", "as", "para", "com", "uma", "um", "dos", "das",
        "no", "na", "não", "foi", "são", "ao", "pelo", "pela", "mais", "nos", "nas", "aos", "qual", "quais",
        "como", "foram", "se", "por", "é", "pelos", "pelas",
    ]),
}  # fmt: skip
TELLABLE: Final = frozenset(_WORDS) | {"zh"}
"""Languages that `detect_language` tells apart."""
_AHEAD = 2
"""By how many of its words a language must lead the default one: names and loan words bring in one."""
_HAN = re.compile(r"[一-鿿]")
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str, default: str = "en") -> str:
    """``de``, ``en``, ``es``, ``fr``, ``pt`` or ``zh``; ``default`` where there is too little text to tell."""
    sample = text[:20_000]
    if len(_HAN.findall(sample)) > 0.1 * max(1, len(sample)):
        return "zh"
    words = [w.lower() for w in _WORD.findall(sample)]
    if len(words) < 5:
        return default
    seen = {code: sum(w in known for w in words) for code, known in _WORDS.items()}
    best = max(seen, key=lambda code: seen[code])
    told = seen[best] >= 0.1 * len(words) and seen[best] - seen.get(default, 0) >= _AHEAD
    return best if told else default


_NAMES: Final = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


_LETTERS_3: Final = {
    "ger": "de", "deu": "de", "eng": "en", "spa": "es", "fre": "fr", "fra": "fr", "por": "pt", "chi": "zh", "zho": "zh",
    "ita": "it", "jpn": "ja", "kor": "ko", "dut": "nl", "nld": "nl", "pol": "pl", "rus": "ru", "swe": "sv", "tur": "tr",
}  # fmt: skip
_CODES: Final = {name.lower(): code for code, name in _NAMES.items()}


def language_code(said: str, default: str = "en") -> str:
    """The two-letter code of a language as catalogues give it: "ger", "de-DE", "German"; ``default`` for none."""
    plain = said.strip().lower()
    return _LETTERS_3.get(plain) or _CODES.get(plain) or plain[:2] or default


def language_name(code: str) -> str:
    """The English name of an ISO 639-1 code ("zh", "zh-CN"); an unknown code is returned unchanged."""
    return _NAMES.get(code.split("-")[0].split("_")[0].lower(), code)
