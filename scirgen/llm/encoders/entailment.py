"""Decides whether one text entails another. The plugin kind ``entailment``: a model of Hugging Face's, a decision model
on a server, or the run's scorer.

A URI names one: ``hf:ID_OR_DIR``, ``decision:NAME[@URL]``, ``score:yes-no``, or a plugin's scheme. The callers decide
how to use the answer.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, cast, runtime_checkable

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelError
from scirgen.core.prompts import Prompt, PromptLibrary
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.llm.base import Message, ScoreReply, ScoreRequest
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.encoders.verifiers import Verifier, load_verifier
from scirgen.llm.local.loading import weights_hash
from scirgen.llm.server.decisions import DecisionChat, decide
from scirgen.llm.session import ChatSession, ScoreSession
from scirgen.llm.uri import ModelURI

FORMS = (
    "hf:ID_OR_DIR (a classifier for natural language inference, MiniCheck, FactCG, HHEM-2.1-open, Granite Guardian), "
    "decision:NAME[@URL] or score:yes-no"
)


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
        """One result per pair, in order; a failure gives an error in its place, never a default."""
        ...


def open_entailment(
    uri: str, registry: Registry, options: Mapping[str, object], scorer: ScoreSession | None, prompt: Prompt
) -> EntailmentModel:
    """The entailment model of a URI.

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


@cache
def content_identity(uri: str) -> str:
    """The URI of an entailment model, without a server's address, and with a hash of its files in the place of a
    folder's path."""
    scheme, _, name = uri.partition(":")
    folder = Path(name).expanduser()
    if scheme == "decision":
        return f"{scheme}:{ModelURI.parse(uri).name}"
    return f"{scheme}:{weights_hash(folder)}" if scheme == "hf" and folder.is_dir() else uri


class _Entailment:
    counts_words: ClassVar[bool] = False

    def __init__(
        self, uri: ModelURI, options: Mapping[str, object], scorer: ScoreSession | None, prompt: Prompt
    ) -> None:
        self.uri, self.options, self.scorer, self.prompt = uri, options, scorer, prompt

    @property
    def identity(self) -> str:
        return str(self.uri)


class ClassifierEntailment(_Entailment):
    """A model of Hugging Face's: any classifier for natural language inference, MiniCheck, FactCG, HHEM-2.1-open or
    Granite Guardian (`verifiers`)."""

    _loaded: dict[str, Verifier] = {}  # noqa: RUF012 - shared on purpose: weights are loaded once a process

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """See `EntailmentModel`. Pairs that do not fit the model's window are refused, not cut."""
        return await asyncio.to_thread(self._entail, list(pairs))

    def _entail(self, pairs: list[tuple[str, str]]) -> list[Entailment | ModelError]:
        if self.uri.name not in self._loaded:
            self._loaded[self.uri.name] = load_verifier(self.uri.name, self.options)
        model = self._loaded[self.uri.name]
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        found: dict[int, Entailment | ModelError] = {}
        for at in range(0, len(order), 16):
            fitting = []
            for i in order[at : at + 16]:
                if len(model.encode([pairs[i]])["input_ids"][0]) <= model.window:
                    fitting.append(i)
                else:
                    found[i] = ModelError("a text does not fit the entailment model's window", code="context_too_long")
            if not fitting:
                continue
            rows = model.read(model.encode([pairs[i] for i in fitting]))
            for i, (entailed, against) in zip(fitting, rows, strict=True):
                found[i] = Entailment(entailed, max(0.0, 1.0 - entailed - against), against, model.only)
        return [found[i] for i in range(len(pairs))]


class ScorerEntailment(_Entailment):
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


class DecisionEntailment(_Entailment):
    """A decision model on a server: the premise is the evidence, each hypothesis a statement about it.

    ``session``: that of the run, which counts its usage; without one each call opens its own.
    """

    session: ChatSession | None = None

    @property
    def identity(self) -> str:
        """The model's name, without the server's address."""
        return f"decision:{self.uri.name}"

    async def entail(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment | ModelError]:
        """See `EntailmentModel`. All hypotheses about one premise are asked in one request."""
        prompts = PromptLibrary(Resources())
        prompt = prompts.get("filter/decide")
        asked = [prompt.render(premise=premise, hypothesis=hypothesis) for premise, hypothesis in pairs]
        if self.session is not None:
            found = await decide(self.session, asked)
        else:
            model = DecisionChat(self.uri, ModelsConfig(options=dict(self.options)), LimitsConfig())
            own = CachedChatSession(model, prompts=prompts)
            try:
                await model.start()
                found = await decide(own, asked)
            finally:
                await own.aclose()
        return [f if isinstance(f, ModelError) else Entailment(f["yes"], f["no"], only="entailment") for f in found]


def _yes_no(yes: ScoreReply | ModelError, no: ScoreReply | ModelError) -> Entailment | ModelError:
    if isinstance(yes, ModelError):
        return yes
    if isinstance(no, ModelError):
        return no
    share = 1.0 / (1.0 + math.exp(sum(no.logprobs) - sum(yes.logprobs)))
    return Entailment(share, 1.0 - share, only="entailment")
