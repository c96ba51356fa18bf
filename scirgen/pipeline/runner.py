"""Runs the plan: each dataset goes through its steps, datasets overlap, and finished work is not repeated."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from scirgen.core.config import Config, fingerprinted
from scirgen.core.errors import BudgetReachedError, RunStoppingError, ScirgenError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Failure, Provenance, Record, ReleaseFile
from scirgen.core.tracing import span
from scirgen.pipeline.dataset_scope import DatasetScope
from scirgen.pipeline.engines.base import Engine
from scirgen.pipeline.intake import Intake, intake_fingerprint, with_provenance
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import ALONE, PER_DATASET, PER_ROUND, TOGETHER
from scirgen.pipeline.rounds import next_round
from scirgen.pipeline.sharing import Sharing, sharing_fingerprint
from scirgen.pipeline.store import RUN, Store, StoredResult
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Source

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Status = Literal["success", "partial", "stopped", "budget"]


class Stopped(Exception):
    """The run is draining; no new work starts."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended. ``partial``: some items failed; running again retries them."""

    status: Status
    datasets: int
    failed_items: int
    message: str = ""


class Runner:
    """One run over one store. ``stop()`` drains; a second ``stop()`` cancels what is in flight.

    ``before_release`` can prevent the release by raising an exception.
    """

    def __init__(
        self,
        store: Store,
        ctx: StageContext,
        stages: dict[str, Stage],
        engine: Engine,
        source: Source,
        observer: Observer,
        before_release: Callable[[StoreView], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._before_release = before_release
        self._ctx = ctx
        self._stages = stages
        self._engine = engine
        self._observer = observer
        self._in_flight: dict[tuple[str, str, str], asyncio.Future[StoredResult]] = {}
        self._static = {name: stage_fingerprint(stage, ctx) for name, stage in stages.items()}
        self._plan_fingerprint = digest(
            [self._static[s.stage] for s in PER_DATASET],
            [stages[s.stage].definitions(ctx.at(s.stage, "", "")) for s in PER_DATASET],
            ctx.taxonomies.fingerprint,
        )
        self._stopping = False
        self._reason: Status = "stopped"
        self._message = ""
        self._task: asyncio.Task[None] | None = None
        self._failed: dict[tuple[str, str], str] = {}
        self._sharing = Sharing(store, ())
        self._intake = Intake(store, ctx, source, observer, intake_fingerprint(ctx))

    # -- the run ---------------------------------------------------------------------------------------------------

    async def run(self) -> Outcome:
        """Collect, process every dataset, repeat rounds while quotas are not met, and release.

        Raises:
            ScirgenError: a fatal error; all finished work is in the store.
        """
        self._task = asyncio.ensure_future(self._all())
        try:
            await self._task
        except Stopped:
            return self._outcome(self._reason, self._message)
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            return self._outcome(self._reason, self._message or "stopped at once")
        return self._outcome("partial" if self._failed or self._intake.failed else "success")

    def _outcome(self, status: Status, message: str = "") -> Outcome:
        return Outcome(status, self._intake.count, len(self._failed) + len(self._intake.failed), message)

    @property
    def stopping(self) -> bool:
        """Whether it is draining."""
        return self._stopping

    def stop(self) -> None:
        """Drain the run; when called again, cancel it."""
        if self._stopping and self._task is not None:
            self._task.cancel()
        self._stopping = True

    def spent(self, message: str) -> None:
        """Drain the run because a cap is reached."""
        self._stopping, self._reason, self._message = True, "budget", message

    async def _all(self) -> None:
        with self._store.grouped():
            await self._first_round()
            await self._later_rounds()
            await self._release()

    async def _first_round(self) -> None:
        run_number = int(self._store.meta("run") or 0) + 1
        self._store.set_meta("run", str(run_number))
        ids: list[str] = []

        async def collected() -> AsyncIterator[str]:
            async for dataset_id in self._intake.datasets(run_number, lambda: self._stopping):
                ids.append(dataset_id)
                yield dataset_id

        async def matched() -> AsyncIterator[str]:
            for dataset_id in ids:
                yield dataset_id

        await self._each(collected(), self._first_half)
        self._sharing = Sharing.of(self._store)
        await self._each(matched(), self._second_half)

    async def _each(self, datasets: AsyncIterator[str], work: Callable[[str], Coroutine[object, object, None]]) -> None:
        """Do ``work`` for every dataset, with as many in parallel as the settings say."""
        width = self._ctx.config.limits.datasets_in_flight
        queue: asyncio.Queue[str | None] = asyncio.Queue(maxsize=width)

        async def produce() -> None:
            try:
                async for dataset_id in datasets:
                    await queue.put(dataset_id)
                    await asyncio.sleep(0)  # a dataset's first calls go out before the next one's are prepared
            except RunStoppingError:  # a wait in a thread ended with the run
                if not self._stopping:
                    raise
            for _ in range(width):
                await queue.put(None)

        async def worker() -> None:
            while (dataset_id := await queue.get()) is not None:
                # While draining, the queue is emptied without work, so the producer never blocks.
                if not self._stopping:
                    with contextlib.suppress(Stopped):
                        await work(dataset_id)

        await _together([produce(), *(worker() for _ in range(width))])
        if self._stopping:
            raise Stopped

    async def _first_half(self, dataset_id: str) -> None:
        """The first half of a dataset's path: its papers, and its links to them."""
        collected = list(self._store.members(dataset_id, ("collect",)))
        if self._store.completed(dataset_id).startswith(self._own_fingerprint(collected)):
            return
        scope = DatasetScope(dataset_id)
        scope.add(collected)
        for step in ALONE:
            scope.add(await self._stage(step.stage, scope))

    async def _second_half(self, dataset_id: str) -> None:
        """The second half, which needs to know which datasets share a paper."""
        known = list(self._store.members(dataset_id, ("collect", *(s.stage for s in ALONE))))
        shared = self._sharing.of_dataset(dataset_id)
        fingerprint = self._own_fingerprint([r for r in known if r.stage == "collect"]) + sharing_fingerprint(shared)
        if self._store.completed(dataset_id) == fingerprint:
            return
        scope = DatasetScope(dataset_id, shared=shared)
        scope.add(known)
        clean = all(r.status == "done" for r in known if r.stage != "collect")
        for step in TOGETHER:
            results = await self._stage(step.stage, scope)
            scope.add(results)
            clean = clean and all(r.status == "done" for r in results)
        if clean:
            self._store.complete_dataset(dataset_id, fingerprint)

    def _own_fingerprint(self, collected: Sequence[StoredResult]) -> str:
        """Everything that a dataset's path depends on, except other datasets."""
        return digest(self._plan_fingerprint, [r.fingerprint for r in collected])

    async def _stage(self, name: str, scope: DatasetScope) -> list[StoredResult]:
        stage = self._stages[name]
        items = list(stage.items(scope, self._ctx.at(name, scope.dataset_id, "")))
        keys = [item.key for item in items]
        if scope.round:
            self._store.plan_more(scope.dataset_id, name, keys, scope.round)
        else:
            self._store.plan(scope.dataset_id, name, keys)
        self._observer.planned(name, len(items))
        return await _together([self._item(stage, item, scope) for item in items])

    async def _item(self, stage: Stage, item: WorkItem, scope: DatasetScope) -> StoredResult:
        """Get one item: from the store, from another dataset that is working on it, or by executing it."""
        fingerprint = scope.fingerprint(item, self._static[stage.name])
        identity = (stage.name, item.key, fingerprint)
        running = self._in_flight.get(identity)
        stored = await asyncio.shield(running) if running else self._store.get(*identity)
        # The next run tries a failed item again; further datasets of this run that share it do not.
        tried = self._failed.get((stage.name, item.key)) == fingerprint
        if stored is not None and (running or tried or stored.status == "done"):
            result, reused, seconds = stored, True, 0.0
            self._store.use(scope.dataset_id, stage.name, item.key, result.id)
        else:
            result, seconds = await self._work(stage, item, fingerprint, scope.dataset_id)
            reused = False
        self._observer.finished(result, reused=reused, seconds=seconds)
        if result.status != "done":
            self._failed[stage.name, item.key] = fingerprint
        return result

    async def _work(
        self, stage: Stage, item: WorkItem, fingerprint: str, dataset_id: str
    ) -> tuple[StoredResult, float]:
        if self._stopping:
            raise Stopped
        identity = (stage.name, item.key, fingerprint)
        future: asyncio.Future[StoredResult] = asyncio.get_running_loop().create_future()
        self._in_flight[identity] = future
        started = time.monotonic()
        try:
            outcome = await self._execute(stage, item, fingerprint)
            seconds = time.monotonic() - started
            stored = self._store.put(*identity, outcome, seconds, used_by=dataset_id)
            future.set_result(stored)
            return stored, seconds
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else Stopped())
            future.exception()  # retrieved here, since possibly no caller is waiting
            raise
        finally:
            del self._in_flight[identity]

    async def _execute(self, stage: Stage, item: WorkItem, fingerprint: str) -> StageResult:
        ctx = self._ctx.at(stage.name, item.key, fingerprint)
        try:
            with span(f"scirgen.{stage.name}", key=item.key, fingerprint=fingerprint), self._store.guarded():
                result = await self._engine.execute(stage, item, ctx)
        except BudgetReachedError as error:
            self.spent(error.message)
            raise Stopped from error
        except RunStoppingError as error:
            raise Stopped from error
        except ScirgenError as error:
            if error.fatal:
                raise
            return StageResult(failures=(Failure.of(stage.name, error),))
        except (Stopped, asyncio.CancelledError):
            raise
        except Exception as error:
            self._ctx.log.exception("%s %s", stage.name, item.key)
            failure = Failure(stage=stage.name, code="internal_error", message=f"{type(error).__name__}: {error}")
            return StageResult(failures=(failure,))
        return with_provenance(result, Provenance(stage=stage.name, key=item.key, fingerprint=fingerprint))

    # -- rounds and release ----------------------------------------------------------------------------------------

    async def _later_rounds(self) -> None:
        """Rounds of generate-filter-tag for the quota cells with too few pairs; none without a target."""
        self._store.forget_rounds()
        number = 1
        while not self._stopping and (wanted := next_round(StoreView(self._store), self._ctx, number)):
            await self._round(number, wanted)
            number += 1

    async def _round(self, number: int, wanted: dict[str, list[dict[str, object]]]) -> None:
        limit = asyncio.Semaphore(self._ctx.config.limits.datasets_in_flight)
        before = ("collect", *(s.stage for s in PER_DATASET))

        async def one(dataset_id: str) -> None:
            async with limit:
                shared = self._sharing.of_dataset(dataset_id)
                scope = DatasetScope(dataset_id, round=number, wanted=wanted[dataset_id], shared=shared)
                scope.add(list(self._store.members(dataset_id, before)))
                for step in PER_ROUND:
                    scope.add(await self._stage(step.stage, scope))

        await _together([one(d) for d in sorted(wanted)])

    async def _release(self) -> None:
        if self._stopping:
            raise Stopped
        stage = self._stages["release"]
        view = StoreView(self._store)
        current = view.state_digest()
        # Lets a merge detect that this run finished the catalogue; a later run that stops early leaves another state.
        self._store.set_meta("finished", current)
        self._before_release(view)
        self._ctx.run = view
        stored = await write_release(stage, self._store, self._ctx, self._observer, self._execute, current)
        if stored is not None and stored.status != "done":
            self._failed[stage.name, stored.key] = stored.fingerprint


async def write_release(
    stage: Stage,
    store: Store,
    ctx: StageContext,
    observer: Observer,
    execute: Callable[[Stage, WorkItem, str], Awaitable[StageResult]],
    *state: str,
) -> StoredResult | None:
    """Write the release of the context's view, unless the folder has it already. ``state`` stands for the view in its fingerprint."""
    scope = DatasetScope(RUN)
    item = next(iter(stage.items(scope, ctx.at(stage.name, "release", ""))), None)
    if item is None:  # an estimate's rehearsal has no release stage
        return None
    salted = WorkItem(item.key, item.inputs, item.parameters, digest(item.salt, *state))
    fingerprint = scope.fingerprint(salted, stage_fingerprint(stage, ctx))
    store.plan(RUN, stage.name, [item.key])
    observer.planned(stage.name, 1)
    stored = store.get(stage.name, item.key, fingerprint)
    if stored is not None and stored.status == "done" and not complete_on_disk(stored, ctx):
        store.forget(stored.id)
        stored = None
    started = time.monotonic()
    reused = stored is not None and stored.status == "done"
    if stored is None or not reused:
        result = await execute(stage, salted, fingerprint)
        stored = store.put(stage.name, item.key, fingerprint, result, time.monotonic() - started, used_by=RUN)
    else:
        store.use(RUN, stage.name, item.key, stored.id)
    observer.finished(stored, reused=reused, seconds=0.0 if reused else time.monotonic() - started)
    return stored


def complete_on_disk(stored: StoredResult, ctx: StageContext) -> bool:
    """Whether the release's folder has this release, since a later run with other settings may have written another
    one."""
    files = [r for r in stored.outputs() if isinstance(r, ReleaseFile)]
    if not all((ctx.folder / f.path).is_file() and (ctx.folder / f.path).stat().st_size == f.bytes for f in files):
        return False
    # It names the other files with their hashes, so the large files need not be read.
    lists = [f for f in files if f.path.endswith("/release.json")]
    return all(file_sha256(ctx.folder / f.path) == f.sha256 for f in lists)


def stage_fingerprint(stage: Stage, ctx: StageContext) -> str:
    """Hash of everything that a stage's results depend on, except its inputs."""
    config: Config = ctx.config
    uses: Uses = stage.uses(config)
    pack = ctx.chat_session.pack if ctx.chat_session else "standard"
    sessions = {"generator": ctx.chat_session, "scorer": ctx.score_session, "judge": ctx.judge_session}
    return digest(
        stage.name,
        stage.version,
        config.seed,
        config.language,
        {name: fingerprinted(getattr(config, name)) for name in uses.config},
        {name: ctx.prompts.get(name, pack).hash for name in uses.prompts},
        {name: ctx.taxonomies.hash(name) for name in uses.taxonomies},
        {role: str(s.identity) for role in uses.roles if (s := sessions[role]) is not None},
        uses.extra,
    )


async def _together(coroutines: Sequence[Coroutine[object, object, T]]) -> list[T]:
    """Results in order; the first exception cancels the others, waits for them, and is raised."""
    tasks = [asyncio.ensure_future(c) for c in coroutines]
    try:
        return await asyncio.gather(*tasks)
    except BaseException as error:
        draining = isinstance(error, Stopped)
        for task in tasks:
            if not draining:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
