"""The public Python API: `generate` runs the pipeline, `merge` makes one release of several runs, `Run` reads what they left."""

from __future__ import annotations

import asyncio
import logging
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scirgen.core.blocking import blocking
from scirgen.core.config import Config, LoadedConfig, load_config
from scirgen.core.errors import InputError, PluginError, ScirgenError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair, ReleaseFile
from scirgen.core.registry import Registry
from scirgen.core.resources import Domain, Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.engines.base import Engine
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions, open_sessions
from scirgen.pipeline.estimate import Known, estimate
from scirgen.pipeline.expected import Estimate
from scirgen.pipeline.history import read_history
from scirgen.pipeline.joined import JoinedView, refuse_merged
from scirgen.pipeline.manifest import build_manifest, write_manifest
from scirgen.pipeline.merge import check_parts, merged_config, open_merged, remember_parts, write_merged_manifest
from scirgen.pipeline.merge import release as release_merged
from scirgen.pipeline.nothing_made import refuse_nothing
from scirgen.pipeline.observer import JsonLog, Observer, Several, Silent
from scirgen.pipeline.parts import open_parts, settle_overlap
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.plugins import load_registry
from scirgen.pipeline.rehearse import LEANS, draw_sample, model_facts, rehearse
from scirgen.pipeline.runner import Outcome, Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.view import StoreView
from scirgen.report import write_report
from scirgen.stages.base import Stage, StageContext
from scirgen.stages.collect.checked import checked
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.source import Source


@dataclass(frozen=True)
class Run:
    """A run's folder, for reading. ``outcome`` is set when this process made it."""

    folder: Path
    outcome: Outcome | None = None

    @property
    def release(self) -> Path:
        """The release's folder."""
        return self.folder / "release"

    def rows(self) -> Iterator[QAPair]:
        """Accepted and tagged pairs, in the order of dataset and pair ids."""
        view = StoreView.open(self.folder)
        try:
            yield from view.pairs()
        finally:
            view.close()

    def released(self) -> dict[str, int]:
        """Rows of the release by split; fewer than `rows` where a target or near-duplicates left some out."""
        view = StoreView.open(self.folder)
        try:
            files = {Path(f.path): f.rows or 0 for f in view.records("release", ReleaseFile)}
        finally:
            view.close()
        return {split: files.get(Path("release") / f"{split}.jsonl", 0) for split in ("train", "dev", "test")}

    def funnel(self) -> dict[str, dict[str, int]]:
        """Stage by stage: done, failed, to do, outputs, rejected by code."""
        view = StoreView.open(self.folder)
        try:
            return view.funnel()
        finally:
            view.close()


def find_domain(name: str, registry: Registry | None = None) -> Domain:
    """A domain by name.

    Raises:
        PluginError: no such domain ("did you mean"), or the plugin does not provide a `Domain`.
    """
    domain = (registry or load_registry()).get("domain", name)
    if not isinstance(domain, Domain):
        raise PluginError(f"domain {name!r} is a {type(domain).__name__}, not a scirgen.Domain")
    return domain


def resolve_config(
    *, domain: str | None = None, config_file: Path | None = None, flags: Mapping[str, object] | None = None
) -> tuple[LoadedConfig, Domain]:
    """Resolve all layers: defaults < domain < file < flags.

    Raises:
        ConfigError: and its subclasses, for wrong values, unknown keys, an unknown domain.
    """
    given = {**(flags or {}), "domain": domain}
    chosen = load_config(file=config_file, flags=given).config.domain
    pack = find_domain(chosen)
    layer = (pack.name, pack.config_file) if pack.config_file else None
    return load_config(domain_file=layer, file=config_file, flags=given), pack


def generate(
    out: str | Path,
    *,
    domain: str | None = None,
    input: str | Path | None = None,
    papers: str | Path | None = None,
    model: str | None = None,
    scorer: str | None = None,
    source: Source | None = None,
    limit: int | None = None,
    seed: int | None = None,
    config_file: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    observer: Observer | None = None,
) -> Run:
    """Make a dataset: records and papers in, a release out. Calling it again goes on where it stopped.

    Args:
        out: the run's folder.
        domain: a domain's name; its prompts, taxonomies and sample are used.
        input: folder or file of records; without one, the domain's sample.
        papers: folder of papers, when they are not beside the records.
        model: URI of the generator (``openai:NAME@URL``, ``hf:DIR``, ``bundled:smollm2-135m``).
        scorer: URI of the model that measures log-probabilities; by default the generator.
        source: a source object of your own, instead of a registered one.
        limit: at most this many datasets.
        seed: of sampling and splitting.
        config_file: a YAML file of settings.
        settings: dotted setting -> value, over everything else.
        observer: told what happens while it happens.

    Returns:
        The run; ``run.outcome`` says how it ended.

    Raises:
        ScirgenError: wrong input or settings (before any work), or a fatal fault (everything done before is kept).
    """
    flags = {
        "input": str(input) if input else None,
        "papers": str(papers) if papers else None,
        "models.generator": model,
        "models.scorer": scorer,
        "collect.limit": limit,
        "seed": seed,
        **(settings or {}),
    }
    loaded, pack = resolve_config(domain=domain, config_file=Path(config_file) if config_file else None, flags=flags)
    return blocking(run_pipeline(Path(out), loaded.config, pack, source=source, observer=observer or Silent()))


def merge(
    out: str | Path,
    parts: Sequence[str | Path],
    *,
    mixed: bool = False,
    partial: bool = False,
    first_wins: bool = False,
    config_file: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    report: bool = True,
    observer: Observer | None = None,
) -> Run:
    """Make one release of several finished runs, as if they had been one. No model is asked; the parts are only read.

    Args:
        out: the merged run's folder: release, manifest, report; what is in the parts stays there.
        parts: folders of runs, or of merged runs, which stand for their parts.
        mixed: allow parts that were made with different models, prompts, settings or seeds; the card says so.
        partial: allow parts that are unfinished or have failed items; the card says so.
        first_wins: take a dataset that several parts have with different results from the part named first.
        config_file: a YAML file of settings; those of the release count.
        settings: dotted setting -> value, of the release (``release.*``, ``generate.quota.*``, ``seed``, ``overrides``).
        report: write report.html too.
        observer: told what happens while it happens.

    Returns:
        The merged run; everything that reads a run's folder reads it too, as long as the parts are where they were.

    Raises:
        ScirgenError: parts that cannot be one release, or only with one of the permissions above; nothing is written then.
    """
    folder, registry, observer = Path(out), load_registry(), observer or Silent()
    with ExitStack() as closing:
        opened = open_parts([Path(p) for p in parts], closing)
        notes = check_parts(opened, mixed=mixed, partial=partial)
        config = merged_config(opened, Path(config_file) if config_file else None, settings or {})
        elsewhere = settle_overlap(opened, first_wins=first_wins)
        stage = build_stages(registry)["release"]
        resources = Resources(
            find_domain(config.domain, registry), Path(config.overrides) if config.overrides else None
        )
        store = closing.enter_context(open_merged(folder, opened))
        view = JoinedView(store, opened, notes)
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), registry, folder,
            log=logging.getLogger("scirgen"),
        )  # fmt: skip
        observer.note(f"{len(opened)} part(s) with {len(view.dataset_ids()):,} datasets: writing their release")
        outcome = blocking(release_merged(store, view, ctx, stage, observer))
        remember_parts(folder, store, view, elsewhere)
        write_merged_manifest(folder, store, view, ctx, stage)
    if report:
        write_report(folder)
    return Run(folder, outcome)


async def run_pipeline(
    folder: Path, config: Config, domain: Domain, *, source: Source | None = None, observer: Observer
) -> Run:
    """Open what a run needs, refuse what cannot work, run, close. The asynchronous heart of `generate`."""
    registry = load_registry()
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    stages = build_stages(registry)
    async with AsyncExitStack() as closing:
        opened = open_source(config, registry, domain, folder) if source is None else checked(source)
        store = closing.enter_context(Store(folder / "run.db"))
        refuse_merged(store)
        prompts = PromptLibrary(resources)
        replies = ReplyCache(store.writer)
        sessions = await open_sessions(config, registry, replies, prompts=prompts)
        closing.push_async_callback(sessions.aclose)
        config = _wide_enough(config, sessions)
        log = JsonLog(folder / "log.jsonl")
        closing.callback(log.close)
        ctx = StageContext(
            config, resources, prompts, Taxonomies(resources), registry, folder,
            sessions.chat, sessions.score, log=logging.getLogger("scirgen"),
        )  # fmt: skip
        engine = build_engine(config, registry)
        await engine.start(ctx, sessions, replies)
        closing.push_async_callback(engine.aclose)
        runner = Runner(store, ctx, stages, engine, opened, Several(observer, log), partial(refuse_nothing, folder))
        sessions.tell(Several(observer, log).note)
        _stop_on_signals(runner, sessions, observer, closing)
        _stop_in_time(runner, sessions, closing)
        log.began(sessions.identities())
        try:
            outcome = await runner.run()
            if outcome.status in ("budget", "stopped"):
                outcome = replace(
                    outcome, message=f"{outcome.message or 'on request'}; bought {sessions.meter.bought()}"
                )
        except ScirgenError as error:
            log.ended("error", code=error.error_code, message=error.message)
            raise
        finally:
            with suppress(ScirgenError):
                write_manifest(folder, store, build_manifest(config, ctx, stages, sessions.usage()))
        log.ended(outcome.status, datasets=outcome.datasets, failed_items=outcome.failed_items, message=outcome.message)
    if outcome.status in ("success", "partial"):
        write_report(folder)
    return Run(folder, outcome)


async def estimate_run(
    folder: Path,
    config: Config,
    domain: Domain,
    *,
    sample: int = 8,
    history: Path | None = None,
    tokens_per_second: float | None = None,
    source: Source | None = None,
) -> Estimate:
    """Predict what `run_pipeline` would take, from rehearsals on ``sample`` datasets. No model is asked, nothing is spent.

    Args:
        folder: the run's; downloaded papers are kept in it for the run.
        config: as for the run.
        domain: as for the run.
        sample: datasets to rehearse on, drawn evenly by the seed.
        history: a run's folder of before with the same model.
        tokens_per_second: new tokens a second that the model gives in all.
        source: as for the run.

    Raises:
        ScirgenError: wrong input or settings.
    """
    registry = load_registry()
    resources = Resources(domain, Path(config.overrides) if config.overrides else None)
    opened = open_source(config, registry, domain, folder) if source is None else checked(source)
    drawn = await draw_sample(opened, config, sample)
    if not drawn.ids:
        raise InputError("there is no dataset to estimate from", hint="Look at: scirgen generate --dry-run.")
    facts = await model_facts(config, registry)
    learnt = read_history(history) if history else None
    if learnt is not None and not any(m.startswith(str(facts.generator[0])) for m in learnt.models):
        facts.notes.append(
            f"{history} was made with {', '.join(sorted(learnt.models)) or 'no model'}, not with this one."
        )
    stages, rehearsals = build_stages(registry), []
    with tempfile.TemporaryDirectory(prefix="scirgen-estimate-") as scratch:
        for lean in LEANS:
            made = await rehearse(config, registry, resources, stages, opened, facts, drawn, lean, Path(scratch))
            rehearsals.append(made)
    pack = facts.generator[1].pack if config.models.pack == "auto" else config.models.pack
    return estimate(rehearsals, Known(config, drawn, learnt, tokens_per_second, pack == "small", facts.notes))


def build_stages(registry: Registry) -> dict[str, Stage]:
    """The plan's stages, through the registry.

    Raises:
        PluginError: one is missing or is not a `Stage`.
    """
    stages: dict[str, Stage] = {}
    for step in PLAN:
        made = registry.get("stage", step.stage)
        if not (isinstance(made, type) and issubclass(made, Stage)):
            raise PluginError(f"stage {step.stage!r} is not a Stage subclass")
        stages[step.stage] = made()
    return stages


def build_engine(config: Config, registry: Registry) -> Engine:
    """The engine of ``config.engine``, through the registry."""
    made = registry.get("engine", config.engine)
    if not isinstance(made, type):
        raise PluginError(f"engine {config.engine!r} is not a class")
    engine: Engine = made(config)
    return engine


def _wide_enough(config: Config, sessions: Sessions) -> Config:
    """With a generator that answers many requests together, many datasets must be in flight, unless the user says how many."""
    if sessions.datasets is None or "datasets_in_flight" in config.limits.model_fields_set:
        return config
    limits = config.limits.model_copy(update={"datasets_in_flight": sessions.datasets})
    return config.model_copy(update={"limits": limits})


def _stop_in_time(runner: Runner, sessions: Sessions, closing: AsyncExitStack) -> None:
    """``limits.max_minutes`` holds while no model is asked, too; each call checks it for itself."""
    minutes = sessions.meter.limits.max_minutes
    if minutes is None:
        return

    def stop() -> None:
        runner.spent(f"budget reached: {minutes:g} minutes")
        sessions.drain()
        if sessions.outlives:
            runner.stop()

    closing.callback(asyncio.get_running_loop().call_later(minutes * 60, stop).cancel)


def _stop_on_signals(runner: Runner, sessions: Sessions, observer: Observer, closing: AsyncExitStack) -> None:
    """Ctrl-C and SIGTERM drain; a second one stops at once, and the first where what is in flight goes on without us."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if runner.stopping:
            observer.note("stopping at once")
        elif sessions.outlives:
            observer.note("stopping: what was asked goes on at the server; the same command collects it")
            runner.stop()
        else:
            observer.note("stopping: finishing what is in flight (again to stop at once)")
        runner.stop()
        sessions.drain()

    for number in (signal.SIGINT, signal.SIGTERM):
        # Not in the main thread (a notebook, a server): the caller handles signals.
        with suppress(ValueError, RuntimeError, NotImplementedError):
            loop.add_signal_handler(number, stop)
            closing.callback(loop.remove_signal_handler, number)
