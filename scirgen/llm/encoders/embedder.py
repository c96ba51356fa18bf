"""The interface of embedding models, the plugin kind ``embedder``; ``SCHEME:MODEL_OR_DIR`` names one.

The callers decide what to compare, and from which cosine texts count as the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from scirgen.core.errors import ConfigError
from scirgen.core.registry import Registry

Role = Literal["query", "document"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model that embeds texts. Its class is registered; `identify` and `describe` load no weights."""

    @classmethod
    def open(cls, name: str) -> Self:
        """Load the model of an id or folder; equal names may give the same object.

        Raises:
            MissingExtraError: a package that it needs is not installed.
            ModelAccessError: no such model.
        """

    @classmethod
    def identify(cls, name: str, setting: str) -> str:
        """Return the model's identity for a fingerprint. ``setting`` names it, for messages.

        Raises:
            ConfigError: a folder that does not exist.
            MissingExtraError: a package that it needs is not installed.
        """

    @classmethod
    def describe(cls, name: str) -> str:
        """Name the model for a card."""

    def embed(self, texts: Sequence[str], role: Role = "document") -> Vectors:
        """Return vectors of length 1, shape (len(texts), dimensions)."""


def embedder_of(uri: str, registry: Registry) -> tuple[type[Embedder], str]:
    """Return the class and the model that a URI names.

    Raises:
        ConfigError: it is not of the form SCHEME:MODEL_OR_DIR, or no plugin has the scheme.
    """
    scheme, _, name = uri.partition(":")
    if not name or scheme not in registry.names("embedder"):
        raise ConfigError(
            f"{uri!r} does not name an embedding model", hint="Write st:MODEL_OR_DIR, e.g. st:models/minilm."
        )
    return cast(type[Embedder], registry.get("embedder", scheme)), name
