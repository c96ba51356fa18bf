"""Runs the plan: each dataset goes through its steps, datasets overlap, and finished work is not repeated.

`Runner._run` is the loop. It reaches a stage's ``process`` through `_each`, `_dataset`, `_item`, `_make` and the
engine's ``execute``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from scirgen.core.config import Config, fingerprinted
from scirgen.core.errors import BudgetReachedError, RunStoppingError, ScirgenError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import Failure, Provenance, Record, ReleaseFile
from scirgen.core.registry import described, returned, returned_list
from scirgen.core.registry.plugincode import made_of
from scirgen.core.runtime.tracing import span
from scirgen.pipeline.dataset_scope import DatasetScope, Sharing, sharing_fingerprint
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.intake import Intake, intake_fingerprint, with_provenance
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN, Step, phases, repeated
from scirgen.pipeline.rounds import next_round
from scirgen.pipeline.store import RUN, Store, StoredResult
from scirgen.pipeline.subjects import chosen, requested
from scirgen.pipeline.views.view import MERGED, SUBJECTS, StoreView
from scirgen.stages.base import Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.pages import no_record
from scirgen.stages.collect.source import Source

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Status = Literal["success", "partial", "stopped", "budget"]
Wanted = Mapping[str, Sequence[dict[str, object]]]
"""Dataset id -> the quota cells that a round gives it."""

_READ = "read:"
"""Begins the stored fingerprint of a dataset whose path ends once it is read."""


class Stopped(Exception):
    """The run is draining; no new work starts."""


@dataclass(frozen=True)
class Outcome:
    """The end of a run. ``partial``: some items failed; running again retries them."""

    status: Status
    datasets: int
    failed_items: int
    message: str = ""


class Runner:
    """One run over one store. ``stop()`` drains; a second ``stop()`` cancels what is in flight.

    ``before_release`` can prevent the release by raising an exception. Without a source it only releases.
    """

    def __init__(
        self,
        store: Store,
        ctx: StageContext,
        stages: Mapping[str, Stage],
        engine: Engine,
        source: Source | None,
        observer: Observer,
        before_release: Callable[[StoreView], None] = lambda _: None,
        plan: Sequence[Step] = PLAN,
    ) -> None:
        self._store, self._ctx, self._stages, self._engine = store, ctx, stages, engine
        self._observer, self._before_release, self._plan = observer, before_release, tuple(plan)
        self._static = {name: stage_fingerprint(stage, ctx) for name, stage in stages.items()}
        self._plan_fingerprint = digest(
            [(s.stage, s.by, self._static[s.stage]) for s in self._plan[1:-1]],
            [stages[s.stage].definitions(ctx.at(s.stage, "", "")) for s in self._plan[1:-1]],
            ctx.taxonomies.fingerprint,
        )
        self._in_flight: dict[tuple[str, str, str], asyncio.Future[StoredResult]] = {}
        self._failed: dict[tuple[str, str], str] = {}
        self._counted: set[int] = set()
        self._stopping = False
        self._ended: tuple[Status, str] = ("stopped", "")
        self._task: asyncio.Task[None] | None = None
        self._sharing = Sharing(store, ())
        self._material = ""
        self._intake = Intake(store, ctx, source, observer, intake_fingerprint(ctx)) if source is not None else None

    # -- start, stop, end ------------------------------------------------------------------------------------------

    async def run(self) -> Outcome:
        """Take every dataset of the catalogue through the plan, and release. Without a source, only release.

        Raises:
            ScirgenError: a fatal error; all finished work is in the store.
        """
        self._task = asyncio.ensure_future(self._run(self._intake) if self._intake else self._release())
        status, message = self._ended
        try:
            await self._task
            status, message = "partial" if self._failures() else "success", ""
        except Stopped:
            status, message = self._ended
        except asyncio.CancelledError:
            if not self._stopping:
                raise
            status, message = self._ended[0], self._ended[1] or "stopped at once"
        return Outcome(status, self._intake.count if self._intake else 0, self._failures(), message)

    def _failures(self) -> int:
        return len(self._failed) + (len(self._intake.failed) if self._intake else 0)

    @property
    def stopping(self) -> bool:
        """True while the run is draining."""
        return self._stopping

    def stop(self) -> None:
        """Drain the run; when called again, cancel it."""
        if self._stopping and self._task is not None:
            self._task.cancel()
        self._stopping = True

    def spent(self, message: str) -> None:
        """Drain the run because a cap is reached."""
        self._stopping, self._ended = True, ("budget", message)

    # -- the loop: a phase, a dataset, an item -----------------------------------------------------------------------

    async def _run(self, intake: Intake) -> None:
        """Run the whole plan: phase by phase, then rounds while quotas are not met, then the release."""
        with self._store.grouped():
            run_number = self._begin()
            datasets = intake.datasets(run_number, lambda: self._stopping)
            for steps in phases(self._plan):
                ids = await self._each(datasets, steps)
                if steps[-1].stage == "parse":
                    ids = self._subjects(ids)
                self._sharing = Sharing.of(self._store)
                self._show_run()
                datasets = _each_of(ids)
            self._store.forget_rounds()
            for number in itertools.count(1):
                wanted = next_round(StoreView(self._store), self._ctx, number)
                if not wanted:
                    break
                await self._each(_each_of(sorted(wanted)), repeated(self._plan, "quota"), number, wanted)
            await self._release()

    def _subjects(self, ids: list[str]) -> list[str]:
        """Return the datasets that later steps are for (``generate.about``); the path of all others is complete."""
        config = self._ctx.config
        if not (wanted := requested(config.generate)):
            return ids
        view = StoreView(self._store)
        datasets = view.datasets() if isinstance(wanted, tuple) else ()
        subjects, missing = chosen(wanted, ids, datasets, config.seed)
        if missing:
            self._observer.note(no_record(missing))
        self._observer.subjects(len(subjects), len(ids))
        self._store.set_meta(SUBJECTS, json.dumps(sorted(subjects)))
        read: dict[str, str] = {}
        for dataset_id in set(ids) - set(subjects):
            known = list(self._store.members(dataset_id, ("collect", "parse")))
            fingerprint = _READ + self._fingerprint(known)
            if self._store.completed(dataset_id) != fingerprint:
                clean = all(r.status == "done" for r in known if r.stage != "collect")
                read[dataset_id] = fingerprint if clean else ""
        self._store.read_only(read, ("collect", "parse"))
        return subjects

    def _fingerprint(self, known: Iterable[StoredResult]) -> str:
        """Hash of the plan and of a dataset's record and candidates."""
        return digest(self._plan_fingerprint, [r.fingerprint for r in known if r.stage == "collect"])

    def _show_run(self) -> None:
        """Show stages that read the whole run each dataset's current record and papers."""
        if any(stage.reads_run for stage in self._stages.values()):
            view = StoreView(self._store)
            self._ctx = replace(self._ctx, run=view)
            self._material = view.content("collect", "parse", "match")

    def _begin(self) -> int:
        """Mark for redoing whatever a changed plan or re-read catalogue may affect; return the run's number."""
        number = self._store.next_run()
        self._store.set_meta("run", str(number))
        provider = self._ctx.registry.provider
        done_by = {s.stage: s.by and f"{s.by} (plugin {provider('stage', s.by)})" for s in self._plan}
        self._store.set_meta("steps", json.dumps(done_by))
        self._store.set_meta(MERGED, "")  # from now on the run is its own
        self._store.set_meta(SUBJECTS, "")
        if self._store.meta("plan") != self._plan_fingerprint:
            self._store.supersede(None, keep=("collect",))
            self._store.set_meta("plan", self._plan_fingerprint)
        self._store.supersede(RUN, keep=("collect",))
        self._store.forget_crashes()
        return number

    async def _each(
        self, datasets: AsyncIterator[str], steps: Sequence[Step], round: int = 0, wanted: Wanted | None = None
    ) -> list[str]:
        """Take each dataset through the steps, with as many in parallel as the settings say; returns their ids."""
        width = self._ctx.config.limits.datasets_in_flight
        queue: asyncio.Queue[str | None] = asyncio.Queue(maxsize=width)
        ids: list[str] = []

        async def produce() -> None:
            try:
                async for dataset_id in datasets:
                    ids.append(dataset_id)
                    await queue.put(dataset_id)
                    await asyncio.sleep(0)  # a dataset's first calls go out before the next one's are prepared
            except RunStoppingError:  # a wait in a thread ended with the run
                if not self._stopping:
                    raise
            for _ in range(width):
                await queue.put(None)

        async def work() -> None:
            while (dataset_id := await queue.get()) is not None:
                # While draining, the queue is emptied without work, so the producer never blocks.
                if not self._stopping:
                    with contextlib.suppress(Stopped):
                        await self._dataset(dataset_id, steps, round, (wanted or {}).get(dataset_id, ()))

        await _together([produce(), *(work() for _ in range(width))])
        if self._stopping:
            raise Stopped
        return ids

    async def _dataset(
        self, dataset_id: str, steps: Sequence[Step], round: int, wanted: Sequence[dict[str, object]]
    ) -> None:
        """Take one dataset through the steps of a phase or round, unless nothing has changed since it finished."""
        path = [step.stage for step in self._plan[:-1]]
        begins, ends = steps[0] is self._plan[1], steps[-1] is self._plan[-2]
        earlier = path if round else path[: path.index(steps[0].stage)]
        known = list(self._store.members(dataset_id, earlier))
        shared = self._sharing.of_dataset(dataset_id)
        own = self._fingerprint(known)
        fingerprint = f"{own} {sharing_fingerprint(shared)}{self._material}"
        if not round:
            complete = self._store.completed(dataset_id)
            # At the beginning of its path only its own part is known, not what other datasets add.
            unchanged = complete.partition(" ")[0] == own if begins else complete == fingerprint
            if unchanged or (steps[-1].stage == "parse" and complete == _READ + own):
                for stored in self._store.members(dataset_id, [step.stage for step in steps]):
                    self._count_planned(stored.stage, [stored.key])
                    self._count_finished(stored, reused=True)
                return
            self._store.supersede(dataset_id, keep=earlier)
        scope = DatasetScope(dataset_id, round=round, wanted=wanted, shared=shared)
        scope.add(known)
        clean = all(r.status == "done" for r in known if r.stage != "collect")
        for step in steps:
            stage = self._stages[step.stage]
            planned = stage.items(scope, self._ctx.at(step.stage, dataset_id, ""))
            items = returned_list(stage.items, planned, WorkItem, "a scirgen.WorkItem")
            self._store.plan(dataset_id, step.stage, [item.key for item in items], round)
            self._count_planned(step.stage, [item.key for item in items])
            results = await _together([self._item(step.stage, item, scope) for item in items])
            scope.add(results)
            clean = clean and all(r.status == "done" for r in results)
        if clean and ends and not round:
            self._store.complete_dataset(dataset_id, fingerprint)

    async def _item(self, name: str, item: WorkItem, scope: DatasetScope) -> StoredResult:
        """Get one item's result: from the store, from another dataset that is working on it, or by making it."""
        fingerprint = scope.fingerprint(item, self._static[name])
        identity = (name, item.key, fingerprint)
        running = self._in_flight.get(identity)
        stored = await asyncio.shield(running) if running else self._store.get(*identity)
        # The next run tries a failed item again; further datasets of this run that share it do not.
        tried = self._failed.get((name, item.key)) == fingerprint
        if stored is not None and (running or tried or stored.status == "done"):
            self._store.use(scope.dataset_id, name, item.key, stored.id)
            self._count_finished(stored, reused=True)
        else:
            stored = await self._make(name, item, fingerprint, scope.dataset_id)
        if stored.status != "done":
            self._failed[name, item.key] = fingerprint
        return stored

    async def _make(self, name: str, item: WorkItem, fingerprint: str, used_by: str) -> StoredResult:
        """Execute one item and store its result; datasets that share it wait for it meanwhile."""
        if self._stopping:
            raise Stopped
        identity = (name, item.key, fingerprint)
        future = self._in_flight[identity] = asyncio.get_running_loop().create_future()
        started = time.monotonic()
        try:
            try:
                with span(f"scirgen.{name}", key=item.key, fingerprint=fingerprint), self._store.guarded():
                    stage = self._stages[name]
                    execute = stage.process if stage.on_driver else partial(self._engine.execute, stage)
                    made = await execute(item, self._ctx.at(*identity))
                    result = returned(self._stages[name].process, made, StageResult, "a scirgen.StageResult")
            except Exception as error:
                result = self._failure(name, item, error)
            result = with_provenance(result, Provenance(stage=name, key=item.key, fingerprint=fingerprint))
            seconds = time.monotonic() - started
            stored = self._store.put(*identity, result, seconds, used_by=used_by)
            future.set_result(stored)
            self._count_finished(stored, reused=False, seconds=seconds)
            return stored
        except BaseException as error:
            if not future.done():
                future.set_exception(error if isinstance(error, Exception) else Stopped())
                future.exception()  # retrieved here, since possibly no caller is waiting
            raise
        finally:
            del self._in_flight[identity]

    def _failure(self, name: str, item: WorkItem, error: Exception) -> StageResult:
        """Return the result of an item that raised an error, unless the error ends the run.

        Raises:
            Stopped: the run is draining, or a cap is reached.
            ScirgenError: a fatal one.
        """
        if isinstance(error, BudgetReachedError):
            self.spent(error.message)
        if isinstance(error, Stopped | RunStoppingError | BudgetReachedError):
            raise Stopped from error
        if isinstance(error, ScirgenError):
            if error.fatal:
                raise error
            return StageResult(failures=(Failure.of(name, error),))
        place = self._ctx.registry.place_of(error)
        said, code = described(error, place), "plugin_fault" if place else "internal_error"
        self._ctx.log.error("%s %s: %s", name, item.key, said, exc_info=None if place else error)
        return StageResult(failures=(Failure(stage=name, code=code, message=said),))

    async def _release(self) -> None:
        """Write the release of the current state, unless the folder has it already."""
        if self._stopping:
            raise Stopped
        view = StoreView(self._store)
        state = view.state_digest()
        # Lets a merge detect that this run finished the catalogue; a later run that stops early leaves another state.
        self._store.set_meta("finished", state)
        self._before_release(view)
        name, scope = self._plan[-1].stage, DatasetScope(RUN)
        self._ctx = replace(self._ctx, run=view)
        for item in self._stages[name].items(scope, self._ctx.at(name, RUN, "")):
            salted = replace(item, salt=digest(item.salt, state, *view.notes()))
            self._store.plan(RUN, name, [item.key])
            self._count_planned(name, [item.key])
            stored = self._store.get(name, item.key, scope.fingerprint(salted, self._static[name]))
            if stored is not None and not complete_on_disk(stored, self._ctx):
                self._store.forget(stored.id)
            await self._item(name, salted, scope)

    # -- counts for observers: an item that datasets share counts once, as in `scirgen status` -------------------------

    def _count_planned(self, name: str, keys: Sequence[str]) -> None:
        fresh = {hash((name, key, "planned")) for key in keys} - self._counted
        self._counted |= fresh
        self._observer.planned(name, len(fresh))

    def _count_finished(self, result: StoredResult, *, reused: bool, seconds: float = 0.0) -> None:
        finished = hash((result.stage, result.key, "finished"))
        if not reused or finished not in self._counted:
            self._counted.add(finished)
            self._observer.finished(result, reused=reused, seconds=seconds)


async def _each_of(ids: Iterable[str]) -> AsyncIterator[str]:
    for dataset_id in ids:
        yield dataset_id


def complete_on_disk(stored: StoredResult, ctx: StageContext) -> bool:
    """Return whether the release's folder has this release; a later run with other settings may have written another
    one."""
    files = [r for r in stored.outputs() if isinstance(r, ReleaseFile)]
    if not all((ctx.folder / f.path).is_file() and (ctx.folder / f.path).stat().st_size == f.bytes for f in files):
        return False
    # It names the other files with their hashes, so the large files need not be read.
    lists = [f for f in files if f.path.endswith("/release.json")]
    return all(file_sha256(ctx.folder / f.path) == f.sha256 for f in lists)


def stage_fingerprint(stage: Stage, ctx: StageContext) -> str:
    """Return the hash of everything that a stage's results depend on, except its inputs."""
    config: Config = ctx.config
    uses: Uses = stage.uses(config)
    pack = ctx.chat_session.pack if ctx.chat_session else "standard"
    sessions = {"generator": ctx.chat_session, "scorer": ctx.score_session, "judge": ctx.judge_session}
    return digest(
        stage.name,
        made_of(stage),
        config.seed,
        config.language,
        {name: fingerprinted(config.section_of(name)) for name in uses.config},
        {name: ctx.prompts.get(name, pack).hash for name in uses.prompts},
        {name: ctx.taxonomies.hash(name) for name in uses.taxonomies},
        {role: str(s.identity) for role in uses.roles if (s := sessions[role]) is not None},
        uses.extra,
    )


async def _together(coroutines: Sequence[Coroutine[object, object, T]]) -> list[T]:
    """Return the results in order; the first exception cancels the others, waits for them, and is raised."""
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
