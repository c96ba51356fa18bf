"""Models that a plugin describes by their scheme, before one is opened (kind ``known_model``)."""

from __future__ import annotations

from typing import Protocol, cast

from scirgen.core.registry import load_registry
from scirgen.core.text.language import language_name


class KnownModel(Protocol):
    """The models of one scheme, if all read and write the same few languages."""

    title: str
    """The subject of a sentence, such as "the embedded model"."""
    languages: tuple[str, ...]
    """Codes of ISO 639-1 of the languages that it reads and writes."""
    note: str
    """The expectation that a run states when it begins."""
    rows: str
    """The sentences of card and report about rows that it wrote."""


def known_model(uri: str) -> KnownModel | None:
    """Return what is known of a model by its URI's scheme; None for any other."""
    scheme, registry = uri.partition(":")[0], load_registry()
    return cast(KnownModel, registry.get("known_model", scheme)) if scheme in registry.names("known_model") else None


def cannot_write(uri: str, language: str) -> str:
    """Return in words that the model does not write a language; empty if nothing says so."""
    model = known_model(uri)
    if model is None or language.lower().partition("-")[0] in model.languages:
        return ""
    return f"{model.title} writes {languages_of(model)}, not {language!r}"


def languages_of(model: KnownModel) -> str:
    """Return the names of its languages."""
    return " and ".join(language_name(code) for code in model.languages)
