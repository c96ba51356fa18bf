"""Decides whether one text entails another. Entailment models are plugins of kind ``entailment``; this module provides
the one that asks the run's scorer.

A URI names one: ``score:yes-no``, or a plugin's scheme. The callers decide how to use the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, cast, runtime_checkable

from scirgen.core.errors import ConfigError, ModelError
from scirgen.core.prompts import Prompt
from scirgen.core.registry import Registry
from scirgen.llm.base import Message, ScoreReply, ScoreRequest
from scirgen.llm.session import ScoreSession
from scirgen.llm.uri import ModelURI

FORMS = "hf:ID_OR_DIR (a classifier for natural language inference) or score:yes-no"


@dataclass(frozen=True)
class Entailment:
    """Probabilities that sum to 1. A model that only detects entailment, or only contradiction (``only``), puts the
    rest into ``neutral``."""

    entailment: float
    neutral: float
    contradiction: float = 0.0
    only: Literal["", "entailment", "contradiction"] = ""


@runtime_checkable
class EntailmentModel(Protocol):
    """Judges (premise, hypothesis) pairs. Constructed as ``cls(uri, options, scorer, prompt)``; cheap until first used.

    A class method ``content_identity(uri)`` may give the identity for fingerprints; without one, the URI is used.

    Attributes:
        counts_words: whether it only counts words. Words that both texts repeat, such as a question before two answers,
            would make such a model agree with anything.
    """

    counts_words: ClassVar[bool]

    @property
    def identity(self) -> str:
        """The identity stored with a score: the URI and, if known, the revision."""
        ...

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """Return one result per pair, in order; a failure gives an error in its place, never a default."""
        ...


def open_entailment(
    uri: str, registry: Registry, options: Mapping[str, object], scorer: ScoreSession | None, prompt: Prompt
) -> EntailmentModel:
    """Return the entailment model of a URI.

    Args:
        uri: see `FORMS`.
        registry: where the scheme is looked up.
        options: ``config.models.options``.
        scorer: the run's scorer, for models that use it.
        prompt: the prompt of such models; its variables are ``premise`` and ``hypothesis``.

    Raises:
        ConfigError: no URI, or an unknown scheme.
    """
    if not uri:
        raise ConfigError(
            "an entailment model is needed and none is configured", hint=f"Set filter.entailment: {FORMS}."
        )
    parsed = ModelURI.parse(uri)
    factory: Any = registry.get("entailment", parsed.scheme)
    return cast(EntailmentModel, factory(parsed, options, scorer, prompt))


def content_identity(uri: str, registry: Registry) -> str:
    """Return the URI of an entailment model, without a server's address or a folder's path."""
    if not uri:
        return ""
    parsed = ModelURI.parse(uri)
    own = getattr(registry.get("entailment", parsed.scheme), "content_identity", None)
    return str(own(parsed)) if own is not None else uri


class NamedEntailment:
    """An entailment model that is known by its URI."""

    counts_words: ClassVar[bool] = False

    def __init__(
        self, uri: ModelURI, options: Mapping[str, object], scorer: ScoreSession | None, prompt: Prompt
    ) -> None:
        self.uri, self.options, self.scorer, self.prompt = uri, options, scorer, prompt

    @property
    def identity(self) -> str:
        return str(self.uri)


class ScorerEntailment(NamedEntailment):
    """The run's scorer, asked whether the hypothesis follows from the premise: p(yes) / (p(yes) + p(no)) for the next
    words."""

    @property
    def identity(self) -> str:
        return f"{self.uri} ({self.scorer.identity if self.scorer else 'no scorer'})"

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        if self.scorer is None:
            raise ConfigError(f"{self.uri} needs a scorer, and none is configured", hint="Pass --scorer URI.")
        requests = []
        for premise, hypothesis in pairs:
            rendered = self.prompt.render(premise=premise, hypothesis=hypothesis)
            messages = tuple(Message(role, text) for role, text in rendered.messages)
            requests += [ScoreRequest(messages, "Yes"), ScoreRequest(messages, "No")]
        replies = await self.scorer.score(requests)
        return [_yes_no(*replies[i : i + 2]) for i in range(0, len(replies), 2)]


def _yes_no(yes: ScoreReply | ModelError, no: ScoreReply | ModelError) -> Entailment | ModelError:
    if isinstance(yes, ModelError):
        return yes
    if isinstance(no, ModelError):
        return no
    share = 1.0 / (1.0 + math.exp(sum(no.logprobs) - sum(yes.logprobs)))
    return Entailment(share, 1.0 - share, only="entailment")
