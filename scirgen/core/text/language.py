"""Which of the languages that scirgen has rules for a text is written in: by its commonest words. No model, no dependency."""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final[dict[str, frozenset[str]]] = {
    "en": frozenset([
        "the", "of", "and", "in", "to", "is", "was", "for", "with", "that", "are", "by", "from", "this", "were", "as",
        "on", "an", "be", "which", "at", "or",
    ]),
    "pt": frozenset([
        "de", "e", "o", "da", "do", "em", "que", "a", "os", "as", "para", "com", "uma", "um", "dos", "das", "no", "na",
        "não", "foi", "são", "ao", "pelo", "pela", "mais",
    ]),
    "es": frozenset([
        "de", "la", "el", "y", "en", "que", "los", "las", "del", "se", "una", "un", "por", "con", "para", "no", "es",
        "al", "lo", "como", "más", "fue", "son", "su",
    ]),
}  # fmt: skip
_HAN = re.compile(r"[一-鿿]")
_WORD = re.compile(r"[^\W\d_]+")


def detect_language(text: str, default: str = "en") -> str:
    """``en``, ``pt``, ``es`` or ``zh``; ``default`` where there is too little text to tell."""
    sample = text[:20_000]
    if len(_HAN.findall(sample)) > 0.1 * max(1, len(sample)):
        return "zh"
    words = [w.lower() for w in _WORD.findall(sample)]
    if len(words) < 5:
        return default
    share = {code: sum(w in known for w in words) / len(words) for code, known in _WORDS.items()}
    best = max(share, key=lambda code: share[code])
    return best if share[best] >= 0.1 else default


_NAMES: Final = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian", "it": "Italian",
    "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip


def language_name(code: str) -> str:
    """The English name of an ISO 639-1 code ("zh", "zh-CN"); an unknown code is returned as it is."""
    return _NAMES.get(code.split("-")[0].split("_")[0].lower(), code)
