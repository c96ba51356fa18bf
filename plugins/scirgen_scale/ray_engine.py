"""Work items on a Ray cluster: the same stages, unchanged, in actors; results return to the only writer, on the driver.

Each actor opens its own model sessions. It can read the run's reply cache if it can see the file. New replies return
with the result, so the driver's store is complete. It uses Ray Core rather than Ray Data, because scirgen caches,
resumes and retries single work items, while Ray Data works with blocks.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from scirgen import Config, ConfigError, ScirgenError, Stage, StageContext, StageResult, WorkItem
from scirgen.llm.cache import CachedReply, NewReply, ReplyCache
from scirgen.llm.open import Sessions
from scirgen.pipeline.plan import plan
from scirgen.pipeline.run import build_stages
from scirgen.plugin import (
    LimitsConfig,
    PromptLibrary,
    Registry,
    Resources,
    StoreError,
    Taxonomies,
    open_sessions,
    require,
)
from scirgen.stages.base import made_stage, roles_in, suited
from scirgen.stages.parse.readers import reader_in_use
from scirgen_scale.settings import RayConfig

ON_DRIVER = frozenset({"release"})
"""Stages that run in the driver's process, since they need its source, its store or the run's folder."""

CONNECT_S = 5.0
"""Time in seconds in which the head node must accept a connection."""


class FerryCache(ReplyCache):
    """Reads the run's replies if this actor can see the file, and keeps new ones until the driver takes them."""

    def __init__(self, run_db: Path) -> None:
        super().__init__(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), owned=True)
        self._new: list[NewReply] = []
        self._base: ReplyCache | None = None
        if run_db.is_file():
            with suppress(sqlite3.Error):
                shared = sqlite3.connect(f"file:{run_db}?mode=ro", uri=True, check_same_thread=False, timeout=5)
                self._base = ReplyCache(shared, owned=True)

    def peek(self, key: str) -> CachedReply | None:
        """Return a stored reply, of this actor or of the run."""
        found = super().peek(key)
        if found is None and self._base is not None:
            with suppress(StoreError):
                found = self._base.peek(key)
        return found

    def keep(self, new: NewReply) -> None:
        """Keep a reply, here and for the driver."""
        super().keep(new)
        self._new.append(new)

    def hand_over(self) -> tuple[NewReply, ...]:
        """Return the replies since the last call."""
        replies, self._new = tuple(self._new), []
        return replies


class Worker:
    """Runs inside an actor, with its own sessions; executes any stage by name."""

    def __init__(self, config: Config, registry: Registry, resources: Resources, folder: Path, reader: str) -> None:
        self._reader = reader
        self._config, self._registry, self._resources, self._folder = config, registry, resources, folder
        self._by = {step.stage: step.by for step in plan(registry, config) if step.by}
        self._cache = FerryCache(folder / "run.db")
        self._opened: StageContext | None = None
        self._opening = asyncio.Lock()
        self._stages: dict[str, Stage] = {}

    async def execute(
        self, stage: str, item: WorkItem, fingerprint: str
    ) -> tuple[StageResult | ScirgenError, tuple[NewReply, ...]]:
        """Execute one item. A `ScirgenError` is returned as a value, so it arrives unchanged."""
        ctx = await self._context()
        result: StageResult | ScirgenError
        try:
            self._check_reader()
            result = await self._stage(stage, ctx).process(item, ctx.at(stage, item.key, fingerprint))
        except ScirgenError as error:
            result = error
        return result, self._cache.hand_over()

    def _check_reader(self) -> None:
        if (here := reader_in_use(self._config.parse.reader)) != self._reader:
            raise ConfigError(
                f"this node reads PDFs with {here}, but the run uses {self._reader}",
                hint="Install the same version of the reader on each node of the cluster.",
            )

    async def _context(self) -> StageContext:
        """Return the context of all items of this actor: sessions are opened, and prompts read, only once."""
        async with self._opening:
            if self._opened is None:
                prompts = PromptLibrary(self._resources)
                stages = build_stages(self._registry, plan(self._registry, self._config)).values()
                sessions = await open_sessions(
                    self._config, self._registry, self._cache, prompts=prompts,
                    needs_scores="scorer" in roles_in(stages, self._config),
                )  # fmt: skip
                self._opened = StageContext(
                    self._config, self._resources, prompts, Taxonomies(self._resources), self._registry, self._folder,
                    sessions.chat, sessions.score, judge_session=sessions.judge,
                )  # fmt: skip
        return self._opened

    def _stage(self, name: str, ctx: StageContext) -> Stage:
        if name not in self._stages:
            made = made_stage(self._registry, self._by.get(name, name))
            self._stages[name] = made if name in self._by else suited(made, ctx)
        return self._stages[name]


class RayEngine:
    """Distributes items over actors; an item whose actor or node died runs again on another one."""

    ATTEMPTS = 5

    def __init__(self, config: Config) -> None:
        with require("ray", "the engine ray"):
            self._ray: Any = import_module("ray")
        self._config = config
        self._actors: list[Any] = []
        self._busy: list[int] = []
        self._failures: list[int] = []
        self._replies: ReplyCache | None = None
        self._sessions: Sessions | None = None
        self._started_here = False

    async def start(self, ctx: StageContext, sessions: Sessions, replies: ReplyCache) -> None:
        """Connect (or start Ray on this machine) and make the actors."""
        wanted = self._config.part("ray", RayConfig)
        self._replies, self._sessions = replies, sessions
        if not self._ray.is_initialized():
            self._started_here = True
            try:
                # Ray itself tries for minutes if no server listens, and prints to the terminal meanwhile.
                await _answers(wanted.address)
                self._ray.init(
                    address=wanted.address, log_to_driver=False, include_dashboard=False, logging_level="ERROR"
                )
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"no Ray cluster at {wanted.address}: {error or 'no answer'}",
                    hint="Check --ray-address (HOST:6379 of the head node, or auto); ray status shows a running "
                    "cluster.",
                ) from error
        count = wanted.actors or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        limits = share(self._config.limits, count)
        config = self._config.model_copy(update={"limits": limits})
        remote = self._ray.remote(num_cpus=1, num_gpus=wanted.gpus, max_restarts=-1)(Worker)
        arguments = (config, ctx.registry, ctx.resources, ctx.folder.resolve(), reader_in_use(config.parse.reader))
        self._actors = [
            remote.options(max_concurrency=256, scheduling_strategy="SPREAD").remote(*arguments) for _ in range(count)
        ]
        self._busy = [0] * count
        self._failures = [0] * count

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """Run an item on the least busy actor."""
        if stage.name in ON_DRIVER:
            return await stage.process(item, ctx)
        assert self._sessions is not None
        self._sessions.meter.check()
        for attempt in range(1, self.ATTEMPTS + 1):
            place = self._place()
            self._busy[place] += 1
            try:
                result, replies = await self._actors[place].execute.remote(stage.name, item, ctx.fingerprint)
            except self._ray.exceptions.RayError as error:
                ctx.log.warning(
                    "%s %s: attempt %d on ray failed: %s", stage.name, item.key, attempt, type(error).__name__
                )
                self._failures[place] += 1
                if attempt == self.ATTEMPTS:
                    raise ScirgenError(f"{self.ATTEMPTS} Ray actors died on this item", code="worker_died") from error
                await asyncio.sleep(0.2 * attempt)
                continue
            finally:
                self._busy[place] -= 1
            self._failures[place] = 0
            self._take(replies)
            if isinstance(result, ScirgenError):
                raise result
            assert isinstance(result, StageResult)
            return result
        raise AssertionError("unreachable")

    def _place(self) -> int:
        """Return the least busy of the actors with the fewest consecutive failures, since a dead actor is idle and must
        not attract all work."""
        return min(range(len(self._actors)), key=lambda n: (self._failures[n], self._busy[n], n))

    def _take(self, replies: tuple[NewReply, ...]) -> None:
        assert self._replies is not None and self._sessions is not None
        for b in replies:
            self._replies.keep(b)
            self._sessions.meter.add("generator" if b.kind == "chat" else "scorer", b.usage)

    async def aclose(self) -> None:
        """Release the actors; shut Ray down if this engine started it."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        self._actors = []
        if self._started_here:
            self._ray.shutdown()


async def _answers(address: str | None) -> None:
    """Raise OSError if no server listens at HOST:PORT; Ray checks other forms of address itself."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return
    _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), CONNECT_S)
    writer.close()


def share(limits: LimitsConfig, count: int) -> LimitsConfig:
    """Return the limits of one of ``count`` actors, so that all together keep them; the driver keeps the budgets."""
    shared = {
        name: max(1, value // count)
        for name in ("concurrency", "requests_per_minute", "tokens_per_minute")
        if (value := getattr(limits, name)) is not None
    }
    return limits.model_copy(update={**shared, "max_tokens": None, "max_cost": None, "max_minutes": None})
