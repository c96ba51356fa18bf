"""The base classes through which all model access goes, and their plain data. Backends live beside this module."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.files.writer import Writer
from scirgen.llm.uri import ModelURI

Schema = dict[str, object]
"""A JSON schema."""


@dataclass(frozen=True)
class ModelIdentity:
    """Which model answered; part of fingerprints and cache keys.

    ``revision`` is a commit, a file hash or what the server reports; "" where nothing is known.
    """

    backend: str
    name: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.backend}:{self.name}" + (f"@{self.revision}" if self.revision else "")


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do with this model.

    ``pack`` names the prompt pack it gets unless the user says otherwise: models below about 1.5B parameters follow
    only the ``small`` pack (one question at a time, plain text).
    """

    structured: bool = False
    logprobs: bool = False
    context_tokens: int | None = None
    pack: Literal["standard", "small"] = "standard"
    parameters: int | None = None
    separate_scores: bool = False
    """Each score is a call of its own: nothing is gained by passing requests together, and each is kept as it arrives."""


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters; all of them are part of the cache key. ``max_tokens`` counts new tokens."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 512
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChatRequest:
    """Messages in, and the JSON schema the reply must follow (None: plain text).

    A schema ``{"type": "string", "enum": [...]}`` is a plain choice: the reply is one of the strings, without quotes.
    """

    messages: tuple[Message, ...]
    schema: Schema | None = field(default=None, hash=False)
    sampling: Sampling = Sampling()


MAX_COUNT: Final = 2**53
"""The largest number of tokens that is believed: what a JSON number holds exactly."""


@dataclass(frozen=True)
class Usage:
    """Tokens as the backend counted them; None where it does not say.

    ``cached_tokens`` are those of the prompt that a server had in its prefix cache; they are part of ``prompt_tokens``.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None

    def believable(self) -> Usage:
        """The same counts, None for one that is negative or larger than 2^53, or for cached tokens beyond those of the prompt."""
        cached = self.cached_tokens
        if cached is not None and not 0 <= cached <= (self.prompt_tokens or 0):
            return Usage(self.prompt_tokens, self.completion_tokens).believable()
        counts = (self.prompt_tokens, self.completion_tokens, cached)
        if all(n is None or 0 <= n <= MAX_COUNT for n in counts):
            return self
        return Usage(*(n if n is not None and 0 <= n <= MAX_COUNT else None for n in counts))


@dataclass(frozen=True)
class ChatReply:
    """A raw reply. ``finish_reason`` is "stop", "length" or the backend's own word."""

    text: str
    finish_reason: str = "stop"
    usage: Usage = Usage()


@dataclass(frozen=True)
class ScoreRequest:
    """Measure log p(continuation | prompt).

    The continuation owns its leading white space: callers write ``prompt="Answer:"`` and ``continuation=" Yes"``. Prompt
    and continuation are encoded together, and the boundary is where the tokenizer puts it: a token that overlaps the
    boundary belongs to the continuation. ``prompt`` may be chat messages; then the model's chat template is applied with
    its generation prompt, and the continuation follows it directly.
    """

    prompt: str | tuple[Message, ...]
    continuation: str


@dataclass(frozen=True)
class ScoreReply:
    """Natural-log probabilities of the continuation's tokens, in order, at temperature 1.

    ``truncated`` says that the prompt was cut (from its left) to fit; backends refuse rather than cut unless asked to.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    prompt_tokens: int = 0
    truncated: bool = False

    def fault(self) -> str | None:
        """Why these cannot be log-probabilities; None: they can. Above 0 by a rounding error (1e-3) passes."""
        if not self.logprobs or len(self.tokens) != len(self.logprobs):
            return "the tokens and the log-probabilities do not belong together"
        if not all(math.isfinite(value) for value in self.logprobs):
            return "a log-probability is not a finite number"
        if max(self.logprobs) > 1e-3:
            return "a log-probability is above 0"
        return None if 0 <= self.prompt_tokens <= MAX_COUNT else "the number of the prompt's tokens cannot be right"

    @property
    def mean(self) -> float:
        """Mean log-probability per continuation token, in nats."""
        return sum(self.logprobs) / len(self.logprobs)


class Backend:
    """How a model is reached. The registry's kinds ``chat_model`` and ``scoring_model`` hold subclasses under a URI's scheme.

    `scirgen.llm.open` calls ``cls(uri, models, limits)``, which must be cheap and touch neither network nor weights, and
    then awaits `start`, once, before anything else. ``identity`` and ``capabilities`` are right from then on. A backend
    that can put off loading weights until the first call should: a finished run is run again without loading them.
    Derive from `ChatModel` or `ScoringModel`, and override what does not fit.

    Attributes:
        OPTIONS: the keys of ``models.options`` it reads, and what they mean; a key no chosen backend reads is an error.
        IN_FLIGHT: calls it wants in flight; None: ``limits.concurrency``.
        DATASETS: datasets it wants in flight; None: ``limits.datasets_in_flight``.
        OUTLIVES: calls go on without this process, so that a stop need not wait for them.
        LOCAL_ONLY: works with the local engine only.
        PAID: calls cost money by token, so that a cap on the cost needs a price.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = {}
    IN_FLIGHT: ClassVar[int | None] = None
    DATASETS: ClassVar[int | None] = None
    OUTLIVES: ClassVar[bool] = False
    LOCAL_ONLY: ClassVar[bool] = False
    PAID: ClassVar[bool] = False

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        self.uri = uri
        self.options = models.options
        self.models = models
        self.limits = limits

    @property
    def identity(self) -> ModelIdentity:
        """Which model answers."""
        return ModelIdentity(self.uri.scheme, self.uri.name)

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities()

    @property
    def retried(self) -> int:
        """Calls it made again after a fault of the transport."""
        return 0

    def keep_journal_in(self, writer: Writer) -> None:
        """Called before `start` with the run's file, for a backend that must remember something between processes."""

    async def start(self) -> None:
        """Check what can be checked before any work is done: the key, the model's name, that it can score.

        Raises:
            ModelAccessError: no such model, or no permission.
            CannotScoreError: a scoring model that gives no log-probabilities.
            ServerUnavailableError: nobody answers at the address.
            ConfigError: an option's value is not allowed.
        """

    def tell(self, to: Callable[[str], None]) -> None:
        """Called with whom to tell what a person should know, e.g. that a server stopped responding."""

    def drain(self) -> None:
        """The run is stopping: calls in flight finish, nothing is tried again."""

    async def aclose(self) -> None:
        """Close connections and threads."""


class ChatModel(Backend, ABC):
    """Generates replies. Implementations are safe for concurrent ``chat`` calls and do their own batching.

    They raise the `ModelError` subclasses of `scirgen.core.errors` and nothing else, never retry a reply's content, and may
    retry the transport a bounded number of times.
    """

    @abstractmethod
    async def chat(self, request: ChatRequest) -> ChatReply:
        """One request, one reply. ``request.schema`` constrains decoding where ``capabilities.structured``."""


class ScoringModel(Backend, ABC):
    """Measures log-probabilities. The order and the company of requests never change a score (within float tolerance)."""

    @abstractmethod
    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """One reply a request, in order; what could not be scored is a `ModelError` in its place, never a default.

        Requests that share a prefix should be passed together: backends compute a shared prefix once.
        """
