"""Executes one run from its settings: opens models, store, source and engine, runs the plan, closes everything."""

from __future__ import annotations

import asyncio
import logging
import math
import shlex
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from scirgen.core.config import CollectConfig, Config
from scirgen.core.errors import ConfigError, InputError, PluginError, ScirgenError
from scirgen.core.prompts import Prompt, PromptLibrary
from scirgen.core.records import Dataset, Rejection
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Domain, Resources
from scirgen.core.runtime import allow_waits, end_waits, rare_collections
from scirgen.core.taxonomy import Taxonomies
from scirgen.core.text.language import cannot_write
from scirgen.core.text.shown import shown
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions, open_sessions
from scirgen.llm.usage import whole_usage
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.intake import input_identity, open_input
from scirgen.pipeline.manifest import build_manifest, write_manifest
from scirgen.pipeline.observer import JsonLog, Observer, Several
from scirgen.pipeline.plan import PLAN, Step, plan
from scirgen.pipeline.runner import Outcome, Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.subjects import requested
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import Stage, StageContext, made_stage, roles_in, suited
from scirgen.stages.collect.pages import NO_ID, absent, no_record
from scirgen.stages.collect.source import Source
from scirgen.stages.collect.validated_source import checked
from scirgen.stages.parse.readers import with_reader
from scirgen.stages.release.write import refuse_foreign


async def execute(
    folder: Path,
    config: Config,
    domain: Domain,
    *,
    source: Source | None = None,
    observer: Observer,
    notes: Sequence[str] = (),
) -> Outcome:
    """Open what a run needs, check that it can work, run it, and close everything. The caller writes the report.
    ``notes`` are shown to the user once the input is open.

    Raises:
        ScirgenError: wrong input or settings (before any work), or a fatal error (all finished work is kept).
    """
    refuse_foreign(folder / "release")
    allow_waits()
    async with AsyncExitStack() as closing:
        closing.enter_context(rare_collections())
        registry = load_registry()
        resources = check_settings(config, registry, domain)
        config = with_reader(config)
        steps = plan(registry, config)
        stages = build_stages(registry, steps)
        opened = open_input(config, registry, domain, folder) if source is None else checked(source)
        for note in (*notes, *(f"prompt {p.id} {slip}" for p in own_prompts(resources) for slip in p.slips)):
            observer.note(note)
        store = closing.enter_context(Store(folder / "run.db", shared=config.shared))
        log = JsonLog(folder / "log.jsonl", shared=config.shared)
        closing.push(log.leave)
        store.set_meta("input", input_identity(config))
        prompts = PromptLibrary(resources)
        replies = ReplyCache(store.writer)
        needs_scores = "scorer" in roles_in(stages.values(), config)
        observer.models(lambda: 1)  # a server may take long to answer for the first time
        sessions = await open_sessions(config, registry, replies, prompts=prompts, needs_scores=needs_scores)
        closing.push_async_callback(sessions.aclose)
        observer.models(sessions.waiting)
        config = _wide_enough(config, sessions)
        ctx = StageContext(
            config, resources, prompts, Taxonomies(resources), registry, folder,
            sessions.chat, sessions.score, log=logging.getLogger("scirgen"), judge_session=sessions.judge,
        )  # fmt: skip
        replaced = {step.stage for step in steps if step.by}
        stages = {name: stage if name in replaced else suited(stage, ctx) for name, stage in stages.items()}
        for stage in stages.values():
            for note in stage.notes(ctx):
                observer.note(note)
            stage.check(ctx)
        engine = build_engine(config, registry)
        await engine.start(ctx, sessions, replies)
        closing.push_async_callback(engine.aclose)
        refuse = partial(refuse_nothing, folder, config.collect, stages, observer)
        runner = Runner(store, ctx, stages, engine, opened, Several(observer, log), refuse, steps)
        sessions.tell(Several(observer, log).note)
        _stop_on_signals(runner, sessions, observer, closing)
        _stop_in_time(runner, sessions, closing)
        log.began(sessions.identities())
        try:
            outcome = await runner.run()
            if outcome.status in ("budget", "stopped"):
                outcome = replace(outcome, message=f"{outcome.message or 'on request'}; used {sessions.meter.used()}")
        finally:
            with suppress(ScirgenError):
                whole = whole_usage(replies.spent(), sessions.meter, sessions.identities())
                write_manifest(folder, store, build_manifest(config, ctx, stages, whole, sessions.usage()))
        log.ended(outcome.status, datasets=outcome.datasets, failed_items=outcome.failed_items, message=outcome.message)
    return outcome


def check_settings(config: Config, registry: Registry, domain: Domain | None, *, writes: bool = True) -> Resources:
    """Refuse settings that no run can work with; it opens neither model nor input. Return the prompts and taxonomies.

    Raises:
        ConfigError: a plugin is broken, a gate, scorer or stage does not exist, or the model, if it is to write,
            is known not to write the language, or a prompt or question type does not load.
        InputError: a file that the settings name cannot be read.
    """
    if writes and (said := cannot_write(config.models.generator, config.language)):
        raise ConfigError(
            said,
            hint="Pass --model with a model that writes it. To try scirgen without a model: "
            "python -m scirgen.testing serve.",
        )
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    own_prompts(resources)
    registry.refuse_broken()
    registry.verify(config.texts())
    requested(config.generate)
    for stage in build_stages(registry, plan(registry, config)).values():
        stage.check_settings(config, registry)
    Taxonomies(resources).wanted_types(config.generate.types, "standard")
    return resources


def own_prompts(resources: Resources) -> list[Prompt]:
    """Return the prompts of the domain and the overrides.

    Raises:
        ResourceError: one does not load.
    """
    prompts, shipped = PromptLibrary(resources), Resources().find("prompts")
    return [prompts.get(id) for id, found in resources.find("prompts").items() if found != shipped.get(id)]


def build_stages(registry: Registry, steps: Sequence[Step] = PLAN) -> dict[str, Stage]:
    """Return the plan's stages after the intake, by name, through the registry.

    Raises:
        PluginError: one is missing or is not a `Stage`.
    """
    return {step.stage: made_stage(registry, step.by or step.stage) for step in steps[1:]}


def build_engine(config: Config, registry: Registry) -> Engine:
    """Return the engine of ``config.engine``, through the registry."""
    made = registry.get("engine", config.engine)
    if not isinstance(made, type):
        raise PluginError(
            f"plugin {registry.provider('engine', config.engine)!r} must register a class as engine {config.engine!r}"
        )
    engine: Engine = made(config)
    return engine


def _wide_enough(config: Config, sessions: Sessions) -> Config:
    """Put more datasets in flight for a generator that answers many requests together, unless the user sets the
    number."""
    if sessions.datasets is None or "datasets_in_flight" in config.limits.model_fields_set:
        return config
    limits = config.limits.model_copy(update={"datasets_in_flight": sessions.datasets})
    return config.model_copy(update={"limits": limits})


def _stop_in_time(runner: Runner, sessions: Sessions, closing: AsyncExitStack) -> None:
    """Enforce ``limits.max_minutes`` also while no model is called; each call checks it separately."""
    minutes = sessions.meter.limits.max_minutes
    if minutes is None:
        return

    def stop() -> None:
        runner.spent(f"budget reached: {minutes:g} minutes")
        sessions.drain()
        end_waits()
        if sessions.outlives:
            runner.stop()
        else:  # a call in flight may take longer than a user would wait
            closing.callback(loop.call_later(GRACE_S, runner.stop).cancel)

    loop = asyncio.get_running_loop()
    closing.callback(loop.call_later(minutes * 60, stop).cancel)


GRACE_S = 20.0
"""Time in seconds that a stop waits for calls in flight. A slow model's reply can take minutes, but a user would kill
the run earlier."""


def _stop_on_signals(runner: Runner, sessions: Sessions, observer: Observer, closing: AsyncExitStack) -> None:
    """Drain for at most `GRACE_S` on Ctrl-C, SIGTERM or SIGHUP; a second signal stops at once. With a batch backend the
    first signal already stops scirgen, since the server keeps working."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if runner.stopping:
            said = "stopping at once"
        elif sessions.outlives:
            said = "stopping: batches continue at the server; the same command collects them"
            runner.stop()
        else:
            said = f"stopping: calls in flight have {GRACE_S:.0f} s to finish (press Ctrl-C again to stop at once)"
            closing.callback(loop.call_later(GRACE_S, hurry).cancel)
        runner.stop()
        sessions.drain()
        end_waits()
        with suppress(OSError):  # after SIGHUP the terminal may be gone
            observer.note(said)

    def hurry() -> None:
        observer.note(f"{GRACE_S:.0f} s have passed: calls in flight are dropped; the next run requests them again")
        runner.stop()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
            continue  # started with nohup
        # Not in the main thread (a notebook, a server): the caller handles signals.
        with suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, stop)
            closing.callback(loop.remove_signal_handler, number)


def refuse_nothing(
    folder: Path, collect: CollectConfig, stages: Mapping[str, Stage], observer: Observer, view: StoreView
) -> None:
    """Raise an error if a stage that must not (`Stage.refuse_empty`) produced nothing for every item, or the catalogue
    has no dataset; note requested ids that no record has.

    Called before the release, so an empty release does not replace a good one.
    """
    kept = "; the release of an earlier run is kept" if (folder / "release" / "release.json").is_file() else ""
    funnel = view.funnel()
    missing = collect.ids
    collected: Iterator[Dataset | Rejection] = chain(view.datasets(), view.rejections("collect"))
    for entry in collected if missing else ():
        missing = absent(missing, entry)
    if missing and missing != collect.ids and (collect.limit or math.inf) > len(view.dataset_ids()):
        observer.note(no_record(missing))
    added = set(view.stages()) - {step.stage for step in PLAN}
    must = [name for name, made in stages.items() if made.refuse_empty]
    for stage in ("collect", *must):
        row = funnel[stage]
        worked = row["done"] + row["partial"] + row["failed"]
        if row["outputs"] or not (worked or stage == "collect"):
            continue
        # A later one had something to work on; what a plugin's step made (retrieval queries) is a result, too.
        later = (*must[must.index(stage) + 1 :], *added) if stage != "collect" else ()
        if any(funnel[name]["outputs"] for name in later if name in funnel):
            continue
        codes = sorted((k for k in row if ":" in k), key=lambda k: -row[k])
        seen = shown(f"{k.split(':')[1]} {row[k]}" for k in codes)
        if stage == "collect":
            if missing and missing == collect.ids:
                raise InputError(f"{no_record(missing)}{kept}", hint=NO_ID, code="no_such_id")
            of_most = (r.reason for r in view.rejections(stage) if f"rejected:{r.code}" in codes[:1])
            first = next((f"; first reason: {reason}" for reason in of_most), "")
            said, hint = f"the source has none of the requested datasets{kept}", "Check --input, --query and --ids."
            if seen:
                said = f"collected no dataset: {seen}{first}{kept}"
                hint = f"Look at: scirgen status {shlex.quote(str(folder))} --reasons collect"
            raise InputError(said, hint=hint, code="nothing_made")
        raise ConfigError(
            f"stage {stage} produced no output ({seen or 'nothing to work on'}){kept}",
            hint=f"Look at: scirgen status {shlex.quote(str(folder))} --reasons {stage}."
            + ("" if "internal_error" in seen or "plugin_fault" in seen else " Try a stronger --model or other input."),
            code="nothing_made",
        )


@asynccontextmanager
async def opened_context(
    config: Config, pack: Domain, stage: str, *, needs_scores: bool
) -> AsyncIterator[StageContext]:
    """Open the context of a stage, without a run's folder.

    Args:
        config: the settings.
        pack: the domain.
        stage: the stage's name, which its prompts have.
        needs_scores: open the scorer too.

    Raises:
        ScirgenError: a model cannot be opened.
    """
    registry, resources = load_registry(), Resources(pack, Path(config.overrides) if config.overrides else None)
    prompts = PromptLibrary(resources)
    async with await open_sessions(config, registry, prompts=prompts, needs_scores=needs_scores) as sessions:
        yield StageContext(
            config, resources, prompts, Taxonomies(resources), registry, Path(), chat_session=sessions.chat,
            score_session=sessions.score, judge_session=sessions.judge,
            stage=stage, key="rows",
        )  # fmt: skip
