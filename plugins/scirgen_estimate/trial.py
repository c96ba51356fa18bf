"""The trial of an estimate: a few datasets go through the plan with made-up replies, and each call is recorded."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scirgen import (
    Backend,
    Candidate,
    Capabilities,
    ChatReply,
    ChatRequest,
    Config,
    Dataset,
    Domain,
    ModelIdentity,
    ModelURI,
    Observer,
    ScirgenError,
    ScoreReply,
    ScoreRequest,
    Source,
    Stage,
    StageContext,
    StageResult,
    Step,
    Usage,
    WorkItem,
)
from scirgen.core.runtime import rare_collections
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.open import backend_of, open_chat
from scirgen.llm.plausible import Plausible, word_logprobs
from scirgen.llm.score_session import CachedScoreSession
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.plan import WRITERS, plan
from scirgen.pipeline.run import build_stages
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import StoreView
from scirgen.plugin import ChatModel, Message, PromptLibrary, Registry, Resources, ScoringModel, Taxonomies, digest
from scirgen.stages.base import suited

STAGE: ContextVar[str] = ContextVar("scirgen_fake_stage", default="")
"""The stage that calls; set by whoever wants calls by stage."""

CHARACTERS_A_TOKEN: Final = 4.2
"""Characters per token of English text with numbers and JSON."""

_LEAST_S: Final = 0.001
_TURN: Final = 5  # tokens a chat template puts around a message


@dataclass(frozen=True)
class Call:
    """One request that a real model would be paid for. A scorer reads its reply tokens instead of writing them."""

    stage: str
    role: str
    prompt_tokens: int
    reply_tokens: int


def rough_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text: 4.2 characters each, or 1.4 in scripts without spaces."""
    wide = sum(1 for c in text if c >= "\u2e80")
    return max(1, round((len(text) - wide) / CHARACTERS_A_TOKEN + wide / 1.4))


class _Fake(Backend):
    """Has the identity of the model that it stands for, marked as fake, and records calls under its role."""

    def __init__(self, identity: ModelIdentity, capabilities: Capabilities, role: str, calls: list[Call]) -> None:
        self._identity = ModelIdentity(identity.backend, identity.name, "fake")
        self._capabilities, self._role, self._calls = capabilities, role, calls

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def _note(self, prompt_tokens: int, reply_tokens: int) -> None:
        self._calls.append(Call(STAGE.get(), self._role, prompt_tokens, reply_tokens))


class FakeChat(_Fake, ChatModel):
    """Writes plausible replies."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return a valid instance of the schema, or a sentence of the prompt's data."""
        prompt = "\n".join(m.content for m in request.messages)
        plausible = Plausible(_asked(request.messages), random.Random(digest(prompt, request.sampling.seed)))
        schema = request.schema
        if schema is None:
            text = plausible.plain()
        elif schema.get("type") == "string" and isinstance(options := schema.get("enum"), list):
            text = str(plausible.choice(options))
        else:
            text = json.dumps(plausible.instance(schema, schema, "reply"), ensure_ascii=False)
        read = sum(rough_tokens(m.content) + _TURN for m in request.messages)
        usage = Usage(read, min(request.sampling.max_tokens, rough_tokens(text)))
        self._note(read, usage.completion_tokens or 0)
        return ChatReply(text, usage=usage)


def _asked(messages: Sequence[Message]) -> str:
    """Return the text that the reply is about: the last turn with data. Earlier turns are worked examples."""
    with_data = [n for n, m in enumerate(messages) if m.role == "user" and "<data-" in m.content]
    first = with_data[-1] if with_data else 0
    return "\n".join(m.content for n, m in enumerate(messages) if n >= first or m.role == "system")


class FakeScores(_Fake, ScoringModel):
    """Scores a continuation higher the more of its words the prompt has."""

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        return [self._one(request) for request in requests]

    def _one(self, request: ScoreRequest) -> ScoreReply:
        given = request.prompt
        prompt = given if isinstance(given, str) else "\n".join(m.content for m in given)
        tokens, logprobs, offsets = word_logprobs(prompt + request.continuation)
        first = next((n for n, at in enumerate(offsets) if at >= len(prompt)), len(offsets) - 1)
        read = rough_tokens(prompt)
        self._note(read, rough_tokens(request.continuation))
        return ScoreReply(tuple(tokens[first:]), tuple(logprobs[first:]), read)


class _ByStage(Engine):
    """Tells the fake models which stage makes a request."""

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        token = STAGE.set(stage.name)
        try:
            return await super().execute(stage, item, ctx)
        finally:
            STAGE.reset(token)


class _Drawn:
    """The datasets that were drawn, with the papers that their source finds, and others that are only searched."""

    def __init__(self, source: Source, datasets: Sequence[Dataset], others: Sequence[Dataset]) -> None:
        self.name, self.fetch, self._source = source.name, source.fetch, source
        self._datasets, self._ids = (*datasets, *others), {d.id for d in datasets}

    def revision(self, cursor: str | None) -> None:
        return None

    def datasets(self, cursor: str | None = None) -> Iterable[Dataset]:
        return self._datasets

    def papers(self, dataset: Dataset) -> Iterable[Candidate] | AsyncIterator[Candidate]:
        return self._source.papers(dataset) if dataset.id in self._ids else ()


class _NoRelease(Stage):
    """Does nothing: a trial has no release."""

    name = "release"

    def items(self, scope: object, ctx: StageContext) -> Iterable[WorkItem]:
        return ()

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        return StageResult()


@dataclass
class Trial:
    """The plan's steps, the calls that they made, and the results of the items.

    Attributes:
        datasets: how many were tried.
        first: the calls and the candidates of the first one alone. Papers that datasets share are read with it.
        first_s: scirgen's own time for the first dataset, with all that a run does once at its start.
        each_s: its time for each further one.
    """

    steps: tuple[Step, ...]
    calls: list[Call]
    failed: Counter[str]
    candidates: int = 0
    datasets: int = 0
    first: tuple[list[Call], int] = ([], 0)
    first_s: float = 0.0
    each_s: float = 0.0

    def grown(self, first: float, tried: float, total: int) -> float:
        """Return a figure of all datasets, from those of the first and of all that were tried: each other dataset adds
        as much as those after the first did on average."""
        each = max(0.0, tried - first) / (self.datasets - 1) if self.datasets > 1 else tried
        return tried + each * (total - self.datasets)


async def tried(
    config: Config,
    registry: Registry,
    domain: Domain,
    source: Source,
    drawn: Sequence[Dataset],
    total: int,
    notes: list[str],
    others: Sequence[Dataset] = (),
) -> Trial:
    """Run the plan on the first dataset that was drawn from ``total``, then on all; ``others`` are searched too."""
    identity, capabilities = await _generator(config, registry, notes)
    config = config.model_copy(update={"generate": config.generate.model_copy(update={"questions": ""})})
    none = {"max_tokens": None, "max_cost": None, "max_minutes": None}
    quota = config.generate.quota.model_copy(update={"max_rounds": 0})
    others = others if config.generate.asks else ()
    about = tuple(d.id for d in drawn) if others else ()
    changed = {
        "limits": config.limits.model_copy(update=none),
        "generate": config.generate.model_copy(update={"quota": quota, "about": about}),
    }
    everything, config = config, config.model_copy(update=changed)
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    prompts, taxonomies = PromptLibrary(resources), Taxonomies(resources)
    trial = Trial(plan(registry, config), [], Counter())
    scorer = ModelURI.parse(config.models.scorer or config.models.generator)
    scores = Capabilities(logprobs=True, separate_scores=scorer.scheme not in ("hf", "vllm", "bundled"))

    def chat(role: str) -> CachedChatSession:
        fake = FakeChat(identity, capabilities, role, trial.calls)
        return CachedChatSession(fake, prompts=prompts, limits=config.limits, pack=config.models.pack)

    async def run(datasets: Sequence[Dataset], scratch: Path, steps: Sequence[Step]) -> float:
        """Run the steps on these datasets, searching in the others too; return the seconds it took."""
        began = time.monotonic()
        generate = config.generate.model_copy(update={"about": tuple(d.id for d in datasets) if others else ()})
        fake = FakeScores(ModelIdentity(scorer.scheme, scorer.name), scores, "scorer", trial.calls)
        ctx = StageContext(
            config.model_copy(update={"generate": generate}), resources, prompts, taxonomies, registry, scratch,
            chat_session=chat("generator"),
            score_session=CachedScoreSession(fake, limits=config.limits),
            judge_session=chat("judge") if config.models.judge else None,
        )  # fmt: skip
        stages = {name: suited(stage, ctx) for name, stage in build_stages(registry, steps).items()}
        stages[steps[-1].stage] = _NoRelease()
        if "ask" in stages:  # the others are searched, but papers that no dataset uses are asked about as in a run
            items = stages["ask"].items
            stages["ask"].items = lambda *of: items(of[0], replace(of[1], config=everything))  # type: ignore[method-assign]
        with rare_collections(), Store(scratch / "run.db") as store:
            given = _Drawn(source, datasets, others)
            await Runner(store, ctx, stages, _ByStage(config), given, Observer(), plan=steps).run()
            funnel = StoreView(store).funnel()
        trial.datasets = len(datasets)
        trial.candidates = sum(funnel[step]["outputs"] for step in WRITERS if step in funnel)
        trial.failed = Counter({stage: n for stage, row in funnel.items() if (n := row["failed"] + row["partial"])})
        return time.monotonic() - began

    with tempfile.TemporaryDirectory(prefix="scirgen-estimate-") as scratch:
        trial.first_s = await run(drawn[:1], Path(scratch, "first"), trial.steps)
        if total > 1:
            trial.first = trial.calls.copy(), trial.candidates
            trial.calls.clear()
            reading = [s for s in trial.steps if s.stage in ("collect", "parse", "release")]
            # A run reads each record once, not again with each that is tried.
            others_s = await run((), Path(scratch, "others"), reading) if others else 0.0
            seconds = await run(drawn, Path(scratch, "all"), trial.steps)
            trial.each_s = max(_LEAST_S, (seconds - others_s) / len(drawn))
    return trial


async def _generator(config: Config, registry: Registry, notes: list[str]) -> tuple[ModelIdentity, Capabilities]:
    """Return the identity and capabilities of the generator. A server is only asked for its list of models."""
    uri = config.models.generator
    try:
        chat = await open_chat(uri, config, registry)
        await chat.aclose()
        return chat.identity, chat.capabilities
    except ScirgenError as error:
        if error.exit_status == 2 and error.error_code != "model_access":
            raise
        notes.append(f"{uri} did not answer ({error.message}); its prompt pack is derived from its name.")
    made = backend_of("chat_model", uri, registry)[1](ModelURI.parse(uri), config.models, config.limits)
    return made.identity, made.capabilities
