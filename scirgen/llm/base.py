"""The base classes for all model access, and their data. The backends are in the neighbouring modules."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Literal, TypeVar

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.files.writer import Writer
from scirgen.llm.uri import ModelURI

Schema = dict[str, object]
"""A JSON schema."""


@dataclass(frozen=True)
class ModelIdentity:
    """The model that answered; part of fingerprints and cache keys.

    ``revision`` is a commit, a file hash or what the server reports; "" if unknown.
    """

    backend: str
    name: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.backend}:{self.name}" + (f"@{self.revision}" if self.revision else "")


@dataclass(frozen=True)
class Capabilities:
    """The abilities of a backend with this model.

    ``pack`` is the default prompt pack: models below about 1.5B parameters follow only the ``small`` pack (one question
    at a time, plain text).
    """

    structured: bool = False
    logprobs: bool = False
    context_tokens: int | None = None
    pack: Literal["standard", "small"] = "standard"
    parameters: int | None = None
    separate_scores: bool = False
    """Each score is a separate call: passing requests together gains nothing, and each result is kept as it arrives."""


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
    """The messages, and the JSON schema that the reply must follow (None for plain text).

    A schema ``{"type": "string", "enum": [...]}`` is a plain choice: the reply is one of the strings, without quotes.
    """

    messages: tuple[Message, ...]
    schema: Schema | None = field(default=None, hash=False)
    sampling: Sampling = Sampling()


MAX_COUNT: Final = 2**53
"""The largest credible number of tokens: the largest integer that a JSON number represents exactly."""


LEAST_LOGPROB: Final = -1e5
"""A smaller log-probability is no measurement; servers write -9,999 for a token that they do not list."""


@dataclass(frozen=True)
class Usage:
    """Tokens as counted by the backend; None if it does not count them.

    ``cached_tokens`` are the prompt tokens from a server's prefix cache, and part of ``prompt_tokens``;
    ``reasoning_tokens`` are those of the model's thinking, and part of ``completion_tokens``.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    def believable(self) -> Usage:
        """Return the same counts, with None for a count that is negative or above 2^53, and for a part that is larger
        than its whole."""

        def within(part: int | None, whole: int | None) -> int | None:
            return part if part is not None and 0 <= part <= (whole or 0) else None

        prompt, completion = within(self.prompt_tokens, MAX_COUNT), within(self.completion_tokens, MAX_COUNT)
        return Usage(prompt, completion, within(self.cached_tokens, prompt), within(self.reasoning_tokens, completion))


@dataclass(frozen=True)
class ChatReply:
    """A raw reply. ``finish_reason`` is "stop", "length" or the backend's own word."""

    text: str
    finish_reason: str = "stop"
    usage: Usage = Usage()


@dataclass(frozen=True)
class ScoreRequest:
    """Measure log p(continuation | prompt).

    The continuation owns its leading white space: callers write ``prompt="Answer:"`` and ``continuation=" Yes"``.
    Prompt and continuation are encoded together; a token that overlaps the boundary belongs to the continuation.
    ``prompt`` may be chat messages; then the model's chat template is applied with its generation prompt, and the
    continuation follows it directly.
    """

    prompt: str | tuple[Message, ...]
    continuation: str


@dataclass(frozen=True)
class ScoreReply:
    """Natural-log probabilities of the continuation's tokens, in order, at temperature 1.

    ``truncated`` says that the prompt was cut from its left to fit; by default backends refuse instead.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    prompt_tokens: int = 0
    truncated: bool = False

    def fault(self) -> str | None:
        """Return why these cannot be log-probabilities, or None if they can. Values above 0 by a rounding error (1e-3)
        pass."""
        if not self.logprobs or len(self.tokens) != len(self.logprobs):
            return "the numbers of tokens and log-probabilities differ"
        if not all(math.isfinite(value) for value in self.logprobs):
            return "a log-probability is not a finite number"
        if max(self.logprobs) > 1e-3 or min(self.logprobs) < LEAST_LOGPROB:
            return f"a log-probability is above 0 or below {LEAST_LOGPROB:,.0f}"
        return None if 0 <= self.prompt_tokens <= MAX_COUNT else "the number of prompt tokens is impossible"

    @property
    def mean(self) -> float:
        """Mean log-probability per continuation token, in nats."""
        return sum(self.logprobs) / len(self.logprobs)


class Backend:
    """A way to reach a model. The registry's kinds ``chat_model`` and ``scoring_model`` hold subclasses under a URI's
    scheme.

    `scirgen.llm.open` calls ``cls(uri, models, limits)``, which must be cheap and touch neither network nor weights,
    and then awaits `start`, once, before anything else. ``identity`` and ``capabilities`` are valid from then on. If
    possible, load weights only on the first call, so repeating a finished run does not load them. Derive from
    `ChatModel` or `ScoringModel`, and override what does not fit.

    Attributes:
        OPTIONS: the keys of ``models.options`` that it reads, with descriptions; a key that no chosen backend reads is
            an error.
        IN_FLIGHT: wanted number of calls in flight; None for ``limits.concurrency``.
        DATASETS: wanted number of datasets in flight; None for ``limits.datasets_in_flight``.
        OUTLIVES: calls continue without this process, so a stop does not wait for them.
        LOCAL_ONLY: works only with the local engine.
        PAID: calls cost money per token, so a cap on the cost needs a price.
        REASONS: it passes on ``models.reasoning``.
    """

    OPTIONS: ClassVar[Mapping[str, str]] = {}
    IN_FLIGHT: ClassVar[int | None] = None
    DATASETS: ClassVar[int | None] = None
    OUTLIVES: ClassVar[bool] = False
    LOCAL_ONLY: ClassVar[bool] = False
    PAID: ClassVar[bool] = False
    REASONS: ClassVar[bool] = False

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        self.uri = uri
        self.options = models.options
        self.models = models
        self.limits = limits

    @property
    def address(self) -> str:
        """The server's address; "" for a model in this process."""
        return self.uri.urls[0] if self.uri.urls else ""

    @property
    def identity(self) -> ModelIdentity:
        """The identity of the model."""
        return ModelIdentity(self.uri.scheme, self.uri.name)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the model."""
        return Capabilities()

    @property
    def retried(self) -> int:
        """Number of calls repeated after a transport error."""
        return 0

    def keep_journal_in(self, writer: Writer) -> None:
        """Keep state between processes in the run's file; called before `start`."""

    async def start(self) -> None:
        """Check what can be checked before any work is done: the key, the model's name, that it can score.

        Raises:
            ModelAccessError: no such model, or no permission.
            CannotScoreError: a scoring model that gives no log-probabilities.
            ServerUnavailableError: no server answers at the address.
            ConfigError: an option's value is not allowed.
        """

    async def check(self) -> None:
        """Ask for as little as possible where `start` cannot tell that the model answers; awaited once before a run's
        work, and not for an estimate.

        Raises:
            ModelAccessError: as for `start`.
        """

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages to the user, e.g. that a server stopped responding."""

    def drain(self) -> None:
        """Stop retrying, since the run ends; calls in flight finish."""

    async def aclose(self) -> None:
        """Close connections and threads."""


class ChatModel(Backend, ABC):
    """Generates replies. Implementations are safe for concurrent ``chat`` calls and do their own batching.

    They raise only `ModelError` subclasses of `scirgen.core.errors`, never retry because of a reply's content, and may
    retry transport errors a limited number of times.
    """

    @abstractmethod
    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request and return its reply. ``request.schema`` constrains decoding if
        ``capabilities.structured``."""


class ScoringModel(Backend, ABC):
    """Measures log-probabilities. A score does not depend on the order of requests or on other requests (within float
    tolerance)."""

    @abstractmethod
    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        """Return one reply per request, in order; a failed request gives a `ModelError` in its place, never a default.

        Pass requests that share a prefix together, since backends compute a shared prefix once.
        """


BackendT = TypeVar("BackendT", bound=Backend)


class BackendSession(Generic[BackendT]):
    """A session over a chat or a scoring model; it passes these members on to its backend."""

    def __init__(self, model: BackendT) -> None:
        self._model = model
        self._in_flight: dict[str, Any] = {}
        """Cache key -> the future of its reply."""

    @property
    def waiting(self) -> int:
        """Number of requests that the model has not answered yet."""
        return len(self._in_flight)

    @property
    def identity(self) -> ModelIdentity:
        return self._model.identity

    @property
    def capabilities(self) -> Capabilities:
        return self._model.capabilities

    @property
    def retried(self) -> int:
        """Number of calls that the backend repeated after a transport error."""
        return self._model.retried

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages to the user."""
        self._model.tell(to)

    def drain(self) -> None:
        """Stop retrying, since the run ends."""
        self._model.drain()

    async def aclose(self) -> None:
        await self._model.aclose()
