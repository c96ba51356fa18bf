"""Detects the language of a text (py3langid), and translates between names and codes of languages (python-iso639)."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from scirgen.core.registry.known_models import KnownModel, known_model

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

TELLABLE: Final = frozenset({"de", "en", "es", "fr", "pt", "zh"})
"""Languages that `detect_language` recognises: those that scirgen has rules for."""
_SAMPLE = 20_000
_HAN = re.compile(r"[一-鿿]")
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"[a-z]{2}(?:[-_][a-zA-Z]{2,4})?")


def detect_language(text: str, default: str = "en") -> str:
    """Return ``de``, ``en``, ``es``, ``fr``, ``pt`` or ``zh``; ``default`` if the text has fewer than five words and no
    Chinese characters, or if the detector cannot be loaded (it unpacks its model to a temporary file)."""
    sample = text[:_SAMPLE]
    if len(_WORD.findall(sample)) < 5 and not _HAN.search(sample):
        return default
    try:
        return str(_identifier().classify(sample)[0])
    except OSError:  # a full disk, a limit on the size of files: the run reports it where it writes
        return default


@lru_cache(maxsize=1)
def _identifier() -> LanguageIdentifier:
    # Imported on first use: loading the model takes 0.4 s.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # The package's functions share an instance, and another library may change its languages; so this module makes one.
    made = LanguageIdentifier.from_model_file(MODEL_FILE)
    made.set_languages(TELLABLE)
    return made


def language_code(said: str, default: str = "en") -> str:
    """Return the ISO 639 code of a language as catalogues give it: "ger", "de-DE", "German" and the EU's address
    ".../DEU" are "de". ``default`` if they give none.

    Two letters where the language has such a code, else three.
    """
    from iso639 import Language, LanguageNotFoundError

    plain = said.strip().lower().rstrip("/").rpartition("/")[2]
    for candidate in (plain, re.split(r"[-_]", plain)[0]):
        try:
            found = Language.match(candidate, strict_case=False)
        except LanguageNotFoundError:
            continue
        special = found.scope == "S"  # "undetermined", "multiple languages" and the like
        return default if special else found.part1 or found.part3
    return plain[:2] or default


def stated_language(said: str, *texts: str) -> str:
    """Return the code of the language that a record states or, if it states none, of its texts."""
    return language_code(said) if said.strip() else detect_language("\n".join(texts))


def by_language(value: object) -> dict[str, object]:
    """Return the translations in a value that holds a text in several languages, by their codes; empty for any other
    value.

    Catalogues write {"de": ..., "en": ...}, or a list of {"@language": ..., "@value": ...}.
    """
    found: dict[str, list[object]] = {}
    if isinstance(value, dict) and value and "id" not in value and all(_CODE.fullmatch(str(key)) for key in value):
        found = {str(key)[:2].lower(): [part] for key, part in value.items() if part}
    elif isinstance(value, list) and any(isinstance(part, dict) and "@language" in part for part in value):
        for part in value:
            said = str(part.get("@language", "")) if isinstance(part, dict) else ""
            found.setdefault(said[:2].lower(), []).append(part)
    return {code: parts[0] if len(parts) == 1 else parts for code, parts in found.items()}


def in_other_languages(languages: Counter[str], asked: str, of: str) -> str:
    """Return the number of records or papers in each language other than ``asked``; empty if none is."""
    others = [(code, n) for code, n in languages.most_common() if code != asked.lower().partition("-")[0]]
    number = sum(n for _, n in others)
    found = f"{number:,} of {languages.total():,} {of} {'is' if number == 1 else 'are'} in"
    if len(others) > 1:
        return f"{found} other languages: {', '.join(f'{language_name(c)} ({c}) {n:,}' for c, n in others)}"
    return f"{found} {language_name(others[0][0])} ({others[0][0]})" if others else ""


def base_language(code: str) -> str:
    """Return the language of a code without its region: "pt-BR" is "pt"."""
    return re.split(r"[-_]", code)[0].lower()


def language_name(code: str) -> str:
    """Return the English name of an ISO 639 code ("zh", "zh-CN"); an unknown code is returned unchanged."""
    from iso639 import Language, LanguageNotFoundError

    try:
        name: str = Language.match(base_language(code)).name
    except LanguageNotFoundError:
        return code
    return name.split(" (")[0].removeprefix("Modern ")


def cannot_write(uri: str, language: str) -> str:
    """Return a sentence saying that the model cannot write a language; empty if that is not known."""
    model = known_model(uri)
    if model is None or language.lower().partition("-")[0] in model.languages:
        return ""
    return f"{model.title} writes {languages_of(model)}, not {language!r}"


def languages_of(model: KnownModel) -> str:
    """Return the names of its languages."""
    return " and ".join(language_name(code) for code in model.languages)
