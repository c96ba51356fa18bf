"""Decides whether one text entails another. Entailment models are plugins of kind ``entailment``, named by their URIs.
The callers decide how to use the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from scirgen.core.errors import ConfigError, ModelError
from scirgen.core.registry import Registry
from scirgen.llm.uri import ModelURI

FORMS = "hf:ID_OR_DIR (a classifier for natural language inference)"


@dataclass(frozen=True)
class Entailment:
    """Probabilities that sum to 1. A model that only detects entailment puts the rest into ``neutral``."""

    entailment: float
    neutral: float
    contradiction: float = 0.0


@runtime_checkable
class EntailmentModel(Protocol):
    """Judges (premise, hypothesis) pairs. Constructed as ``cls(uri, options)``; cheap until first used.

    A class method ``content_identity(uri)`` may give the identity for fingerprints; without one, the URI is used.

    Attributes:
        counts_words: whether it only counts words. Words that both texts repeat, such as a question before two answers,
            would make such a model agree with anything.
    """

    counts_words: ClassVar[bool]

    @property
    def identity(self) -> str:
        """The identity stored with a score: the URI and, if known, the revision."""

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """Return one result per pair, in order; a failure gives an error in its place, never a default."""


def open_entailment(uri: str, registry: Registry, options: Mapping[str, object]) -> EntailmentModel:
    """Return the entailment model of a URI.

    Args:
        uri: see `FORMS`.
        registry: where the scheme is looked up.
        options: ``config.models.options``.

    Raises:
        ConfigError: no URI, or an unknown scheme.
    """
    if not uri:
        raise ConfigError(
            "an entailment model is needed and none is configured", hint=f"Set filter.entailment: {FORMS}."
        )
    parsed = ModelURI.parse(uri)
    factory: Any = registry.get("entailment", parsed.scheme)
    return cast(EntailmentModel, factory(parsed, options))


def content_identity(uri: str, registry: Registry) -> str:
    """Return the URI of an entailment model, without a server's address or a folder's path."""
    if not uri:
        return ""
    parsed = ModelURI.parse(uri)
    own = getattr(registry.get("entailment", parsed.scheme), "content_identity", None)
    return str(own(parsed)) if own is not None else uri
