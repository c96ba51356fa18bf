"""Opens sessions from the settings: finds the backends in the registry, and refuses settings that cannot work before
any work is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal, cast

from scirgen.core.config import Config
from scirgen.core.errors import CannotScoreError, ConfigError, PluginError
from scirgen.core.files.writer import Writer
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import Registry, suggest
from scirgen.core.resources import Resources
from scirgen.core.text.untrusted import know_special_tokens
from scirgen.llm.base import Backend, BackendT, ChatModel, ScoringModel
from scirgen.llm.cache import ReplyCache
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.score_session import CachedScoreSession
from scirgen.llm.server.keys import refuse_unused_addresses
from scirgen.llm.services import Price, price_of
from scirgen.llm.tokens.special import special_tokens
from scirgen.llm.uri import FORMS, ModelURI
from scirgen.llm.usage import UsageMeter

Kind = Literal["chat_model", "scoring_model"]
_OWN_SCORER: Final = "bundled:smollm2-135m"
"""The scorer of a run whose generator gives no log-probabilities, unless the user names one."""


@dataclass
class Sessions:
    """The sessions of a run, and their usage.

    Attributes:
        datasets: number of datasets in flight that keeps the generator busy; None for the setting's value.
        judge: session of ``models.judge``; None if the generator judges.
        notes: lines for the user about the models that were chosen.
        outlives: the generator's calls continue after this process ends, so a stop does not wait for them.
    """

    chat: CachedChatSession
    score: CachedScoreSession | None
    meter: UsageMeter
    datasets: int | None = None
    outlives: bool = False
    judge: CachedChatSession | None = None
    notes: Sequence[str] = ()

    @property
    def _opened(self) -> dict[str, CachedChatSession | CachedScoreSession]:
        roles = {"generator": self.chat, "scorer": self.score, "judge": self.judge}
        return {role: session for role, session in roles.items() if session is not None}

    def usage(self) -> Mapping[str, object]:
        """Return the calls, tokens, cost and cache hits by role; unknown values are None."""
        # Backends count their own retries; those that do not count them have none.
        for role, session in self._opened.items():
            self.meter.role(role).retries = session.retried
        return self.meter.summary()

    def identities(self) -> dict[str, str]:
        return {role: str(session.identity) for role, session in self._opened.items()}

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages to the user; equal messages of several models about one server are reported
        once."""
        for note in self.notes:
            to(note)
        last: list[str] = []

        def once(message: str) -> None:
            # The rest of the message gives the reason, which may differ between models.
            subject = message.partition(" (")[0]
            if last != [subject]:
                last[:] = [subject]
                to(message)

        for session in self._opened.values():
            session.tell(once)

    def waiting(self) -> int:
        """Return the number of requests that no model has answered yet."""
        return sum(session.waiting for session in self._opened.values())

    def drain(self) -> None:
        """Stop retrying, since the run ends; calls in flight finish."""
        for session in self._opened.values():
            session.drain()

    async def aclose(self) -> None:
        for session in self._opened.values():
            await session.aclose()

    async def __aenter__(self) -> Sessions:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()


async def open_sessions(
    config: Config,
    registry: Registry,
    store: Writer | ReplyCache | Path | None = None,
    *,
    prompts: PromptLibrary | None = None,
    needs_scores: bool = True,
) -> Sessions:
    """Open the generator's and the scorer's session: ``async with await open_sessions(...) as sessions``.

    Args:
        config: the settings; ``models`` and ``limits`` are read.
        registry: registry for looking up backends by their URI's scheme.
        store: storage for replies: a file of their own, or for instance a run's `Store.writer`; None for memory.
        prompts: library with the repair prompt; None for the built-in one.
        needs_scores: whether the run measures log-probabilities; False opens no scorer.

    Raises:
        ConfigError: a malformed URI, an unknown backend or option, a folder without a tokenizer.
        CannotScoreError: the plan needs log-probabilities, the chosen model gives none, and the bundled scorer, which
            is taken for a generator that cannot score, is not installed.
        ModelAccessError, ServerUnavailableError: see `Backend.start`.
    """
    folder = _tokenizer_folder(config)
    know_special_tokens(special_tokens(folder) if folder else ())
    if store is None or isinstance(store, Path):
        store = ReplyCache.open(store or ":memory:")
    cache = store if isinstance(store, ReplyCache) else ReplyCache(store)
    meter = UsageMeter(config.limits)
    scorer_uri = config.models.scorer or config.models.generator
    used: list[tuple[Kind, str]] = [("chat_model", config.models.generator)]
    if needs_scores:
        used.append(("scoring_model", scorer_uri))
    if config.models.judge:
        used.append(("chat_model", config.models.judge))
    _check_options(config, registry, used)
    prompts = prompts or PromptLibrary(Resources())
    async with AsyncExitStack() as opened:

        async def ready(model: BackendT, role: str) -> BackendT:
            opened.push_async_callback(model.aclose)
            _refuse_unpriced(config, model)
            meter.role(role, _price(config, model))
            return model

        scoring, notes = None, list[str]()
        if needs_scores:
            scoring = await ready(await _open_scorer(scorer_uri, config, registry, notes), "scorer")
        made: dict[str, CachedChatSession] = {}
        for role, uri in {"generator": config.models.generator, "judge": config.models.judge}.items():
            if not uri:
                continue
            chat = await ready(await open_chat(uri, config, registry, journal=cache.writer), role)
            await chat.check()
            limits = config.limits
            if role == "generator":
                limits = limits.model_copy(update={"concurrency": chat.IN_FLIGHT or limits.concurrency})
                meter.slow, datasets = chat.OUTLIVES, chat.DATASETS
            made[role] = CachedChatSession(
                chat, prompts=prompts, cache=cache, usage=meter, limits=limits, pack=config.models.pack, role=role
            )
        opened.pop_all()
    score = None
    if scoring is not None:
        score = CachedScoreSession(scoring, cache=cache, usage=meter, limits=config.limits)
    chat_session = made.pop("generator")
    return Sessions(chat_session, score, meter, datasets, meter.slow, made.get("judge"), notes)


async def _open_scorer(uri: str, config: Config, registry: Registry, notes: list[str]) -> ScoringModel:
    """Start the scorer; the bundled one in place of a generator that gives no log-probabilities."""
    try:
        return await open_scoring(uri, config, registry)
    except CannotScoreError as error:
        if config.models.scorer or config.engine != "local" or "bundled" not in registry.names("scoring_model"):
            raise
        missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
        if missing:
            raise CannotScoreError(
                f"{error.message}, and the bundled scorer is not installed ({', '.join(missing)})",
                hint=f"Install it with: pip install 'scirgen[local]'. {error.hint}",
            ) from None
    notes.append(
        f"{uri} gives no log-probabilities of a prompt: {_OWN_SCORER}, on this machine, measures how much likelier "
        "each answer is with its evidence than without (--scorer names another)"
    )
    return await open_scoring(_OWN_SCORER, config, registry)


def _tokenizer_folder(config: Config) -> Path | None:
    """Return the folder with the generator's tokenizer: the one that the settings name, or of a model in a folder."""
    if config.models.tokenizer:
        return Path(config.models.tokenizer)
    uri = ModelURI.parse(config.models.generator)
    folder = Path(uri.name)
    return folder if uri.scheme in ("hf", "vllm") and (folder / "tokenizer.json").is_file() else None


async def open_chat(uri: str, config: Config, registry: Registry, *, journal: Writer | None = None) -> ChatModel:
    """Start the chat backend of a URI. ``journal``: storage for backends that keep state between processes."""
    return cast(ChatModel, await _open("chat_model", uri, config, registry, journal))


async def open_scoring(uri: str, config: Config, registry: Registry) -> ScoringModel:
    """Start the scoring backend of a URI.

    Raises:
        CannotScoreError: no backend scores it, or the backend gives no log-probabilities.
    """
    scheme = ModelURI.parse(uri).scheme
    if scheme in registry.names("chat_model") and scheme not in registry.names("scoring_model"):
        raise CannotScoreError(
            f"{uri} gives no log-probabilities, and filtering needs them", hint=f"Pass --scorer as {FORMS}."
        )
    return cast(ScoringModel, await _open("scoring_model", uri, config, registry))


def backend_of(kind: Kind, uri: str, registry: Registry) -> tuple[ModelURI, type[Backend]]:
    """Return the parts of a URI, and the backend's class.

    Raises:
        ConfigError: a malformed URI, or a scheme without a backend.
        PluginError: a plugin registered something other than a `Backend`.
    """
    parsed = ModelURI.parse(uri)
    if parsed.scheme not in registry.names(kind):
        raise ConfigError(
            f"{uri!r}: unknown backend {parsed.scheme!r}",
            hint=f"{suggest(parsed.scheme, registry.names(kind))} Write it as {FORMS}.",
        )
    found = registry.get(kind, parsed.scheme)
    if not (isinstance(found, type) and issubclass(found, Backend)):
        raise PluginError(
            f"{kind} {parsed.scheme!r} is not a Backend",
            hint="Derive it from scirgen.llm.base.Backend; see docs/models.md.",
        )
    return parsed, found


async def _open(
    kind: Kind,
    uri: str,
    config: Config,
    registry: Registry,
    journal: Writer | None = None,
) -> Backend:
    parsed, factory = backend_of(kind, uri, registry)
    if config.models.reasoning and uri == config.models.generator and kind == "chat_model" and not factory.REASONS:
        raise ConfigError(
            f"{uri} does not support models.reasoning", hint="It is for reasoning models on a server; remove it."
        )
    if factory.LOCAL_ONLY and config.engine != "local":
        raise ConfigError(f"{uri} does not work with engine {config.engine!r}", hint="Use --engine local.")
    backend = factory(parsed, config.models, config.limits)
    if journal is not None:
        backend.keep_journal_in(journal)
    try:
        await backend.start()
    except BaseException:
        await backend.aclose()
        raise
    return backend


def price_of_uri(uri: str, config: Config, registry: Registry) -> Price | None:
    """Return the price of a model before it is opened, if it is known."""
    parsed, factory = backend_of("chat_model", uri, registry)
    return _price(config, factory(parsed, config.models, config.limits))


def _price(config: Config, model: Backend) -> Price | None:
    """Return the model's price, if it is known; a model in this process costs nothing."""
    return price_of(config.models, model.identity.name, model.address if model.PAID else "", paid=model.PAID)


def _refuse_unpriced(config: Config, model: Backend | None) -> None:
    """Raise an error if a cap on the cost has no prices."""
    if config.limits.max_cost is None or model is None or not model.PAID:
        return
    name = model.identity.name
    if _price(config, model) is None:
        raise ConfigError(
            f"a cap on the cost needs a price for {name}",
            hint=f"--set 'models.prices={{{name}: [0.25, 2.00]}}' (per million prompt and reply tokens; [0, 0] for "
            "your own model).",
        )


def _check_options(config: Config, registry: Registry, used: Sequence[tuple[Kind, str]]) -> None:
    known: set[str] = set()
    if config.filter.entailment:
        known.add("non_commercial")
    for kind, uri in used:
        scheme = ModelURI.parse(uri).scheme
        if kind == "scoring_model" and scheme not in registry.names(kind):
            continue  # `open_scoring` reports why it cannot be used
        known |= backend_of(kind, uri, registry)[1].OPTIONS.keys()
    refuse_unused_addresses(config.models, config.filter.entailment)
    for name in config.models.options:
        if name not in known:
            raise ConfigError(f"models.options: no chosen model reads {name!r}", hint=suggest(name, known))
