"""Models that a plugin describes by their scheme, before one is opened (kind ``known_model``)."""

from __future__ import annotations

from typing import Protocol, cast

from scirgen.core.registry._registry import load_registry


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
    """Return the known model of a URI's scheme; None for any other scheme."""
    scheme, registry = uri.partition(":")[0], load_registry()
    return cast(KnownModel, registry.get("known_model", scheme)) if scheme in registry.names("known_model") else None
