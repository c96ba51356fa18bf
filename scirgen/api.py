"""The public Python API: `generate` runs the pipeline, `Run` reads what runs made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from inspect import Parameter, signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar, Unpack, get_type_hints

from scirgen.commands.tables import Table
from scirgen.core.config import Config
from scirgen.core.errors import ScirgenError
from scirgen.core.records import QAPair, Record
from scirgen.core.registry import suggest
from scirgen.core.registry.known_models import known_model
from scirgen.core.resources import Domain
from scirgen.core.resources import find_domain as find_domain
from scirgen.core.resources import resolve_config as resolve_config
from scirgen.core.runtime import blocking
from scirgen.pipeline.observer import EarlyYield, Observer, Several
from scirgen.pipeline.progress import NotebookObserver, ScreenObserver, in_notebook
from scirgen.pipeline.record_codec import record_id
from scirgen.pipeline.run import build_stages as build_stages
from scirgen.pipeline.run import execute
from scirgen.pipeline.runner import Outcome
from scirgen.pipeline.store import StoredResult
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.release import SPLITS, Release
from scirgen.report import write_report
from scirgen.report.profile import Profile, build_profile
from scirgen.stages.collect.source import Source

if TYPE_CHECKING:
    import pandas as pd

R = TypeVar("R", bound=Record)
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Run:
    """Reads a run's folder (a string or a path), also while the run is working; a path itself wherever one is taken.
    ``outcome`` is set when this process made it."""

    folder: Path
    outcome: Outcome | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def release(self) -> Path:
        """The release's folder."""
        return self.folder / "release"

    def rows(self) -> Iterator[QAPair]:
        """Yield the accepted and tagged pairs, in the order of dataset and pair ids."""
        with open_view(self.folder) as view:
            yield from view.pairs()

    def to_pandas(self) -> pd.DataFrame:
        """Return the released rows as a DataFrame of pandas, with the columns of the release's JSON Lines.

        Raises:
            InputError: the run has no release yet.
            MissingExtraError: pandas is not installed.
        """
        return Table([row.model_dump(mode="json") for row in Release(self.release).rows()], "rows").to_pandas()

    def released(self) -> dict[str, int]:
        """Return the number of rows of the release by split. There are fewer than `rows` if the target or
        near-duplicates left some out."""
        with open_view(self.folder) as view:
            rows = view.released_rows()
        return {split: rows.get(split, 0) for split in SPLITS}

    def queries(self) -> dict[str, int]:
        """Return the number of retrieval queries by recipe; empty without ``query.recipes``."""
        with open_view(self.folder) as view:
            return view.queries_by_recipe()

    def dropped_datasets(self) -> int:
        """Return the number of datasets of earlier runs that the catalogue, or the selection, no longer has."""
        with open_view(self.folder) as view:
            return view.dropped_datasets()

    def records(self, stage: str, kind: type[R]) -> Iterator[R]:
        """Yield the current records of a class that a step produced, also a plugin's step, by dataset."""
        with open_view(self.folder) as view:
            yield from view.records(stage, kind)

    def funnel(self) -> dict[str, dict[str, int]]:
        """Return the counts of each stage: done, failed, to do, outputs, and rejections by code."""
        with open_view(self.folder) as view:
            return view.funnel()

    def asked(self) -> dict[str, int]:
        """Count the questions asked first: asked, answered, narrowed, not here; empty if there are none."""
        with open_view(self.folder) as view:
            return view.asked()


class Options(TypedDict, total=False):
    """The arguments of `generate`, which describes them; each with the setting that it gives, if it is one."""

    domain: str | None
    input: Annotated[str | Path | None, "input"]
    papers: Annotated[str | Path | None, "papers"]
    model: Annotated[str | None, "models.generator"]
    scorer: Annotated[str | None, "models.scorer"]
    source: Source | str | None
    limit: Annotated[int | None, "collect.limit"]
    ids: Annotated[Sequence[str], "collect.ids"]
    language: Annotated[str | None, "language"]
    overrides: Annotated[str | Path | None, "overrides"]
    max_tokens: Annotated[int | None, "limits.max_tokens"]
    max_cost: Annotated[float | None, "limits.max_cost"]
    max_minutes: Annotated[float | None, "limits.max_minutes"]
    seed: Annotated[int | None, "seed"]
    config_file: str | Path | None
    settings: Mapping[str, object] | None
    observer: Observer | None


def takes_options(function: F) -> F:
    """Give a function with ``**given: Unpack[Options]`` its full signature, which notebooks use for completion."""
    own = signature(function)
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in get_type_hints(Options).items()
    ]
    kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    return function


@takes_options
def generate(out: str | Path, **given: Unpack[Options]) -> Run:
    """Make a dataset from records and papers. Call it again with the same folder to resume.

    Args:
        out: the run's folder.
        domain: name of the domain whose prompts, taxonomies and sample are used.
        input: folder of papers, of records, or of both, or one file; by default the domain's sample.
        papers: folder of papers, if they are not beside the records; alone: rows about papers.
        model: URI of the generator (``openai:NAME@URL``, ``hf:DIR``, ``bundled:smollm2-135m``).
        scorer: URI of the model that measures log-probabilities; by default the generator.
        source: the name of a registered source, or your own source object.
        limit: at most this many datasets.
        ids: only the datasets with these ids or DOIs.
        language: language of questions and answers.
        overrides: folder with your own prompts and taxonomies.
        max_tokens: stop cleanly after this many tokens.
        max_cost: stop cleanly at this cost.
        max_minutes: stop cleanly after this many minutes.
        seed: random seed for sampling and splits.
        config_file: a YAML file of settings.
        settings: dotted setting -> value; these override all other layers.
        observer: receives the events of the run, such as `scirgen.ScreenObserver()`, which shows progress as the
            command line does; None: a notebook shows its progress, anything else nothing.

    Returns:
        The run; ``run.outcome`` says how it ended.

    Raises:
        ScirgenError: wrong input or settings (before any work), or a fatal error (all finished work is kept).
    """
    return blocking(agenerate(out, **given))


@takes_options
async def agenerate(out: str | Path, **given: Unpack[Options]) -> Run:
    """Generate in asynchronous code: ``run = await scirgen.agenerate("runs/first", domain="geo")``."""
    config, pack = resolved(given)
    observer = given.get("observer")
    watching = NotebookObserver() if observer is None and in_notebook() else observer or Observer()
    with watching if isinstance(watching, ScreenObserver) else nullcontext():
        return await run_pipeline(Path(out), config, pack, source=own_source(given), observer=watching)


@takes_options
async def astream(out: str | Path, **given: Unpack[Options]) -> AsyncGenerator[QAPair, None]:
    """Generate, and yield each accepted and tagged pair as soon as there is one; those of an earlier run come first.

    The release may still omit a pair if a question about another dataset repeats it. Leaving the loop stops the run;
    the next call resumes it.

    Args:
        out: the run's folder.
        given: as for `generate`.
    """
    pairs: asyncio.Queue[QAPair | None] = asyncio.Queue()
    passed_on = given.pop("observer", None)
    given["observer"] = Several(_Pairs(pairs), *([passed_on] if passed_on else []))
    work = asyncio.ensure_future(agenerate(out, **given))
    work.add_done_callback(lambda _: pairs.put_nowait(None))
    try:
        while (pair := await pairs.get()) is not None:
            yield pair
        await work
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])


class _Pairs(Observer):
    """Passes on the pairs that the tag stage produces."""

    def __init__(self, to: asyncio.Queue[QAPair | None]) -> None:
        self._to = to

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        if result.stage == "tag":
            for record in result.outputs():
                if isinstance(record, QAPair):
                    self._to.put_nowait(record)


def own_source(given: Options) -> Source | None:
    """Return the source object that was given; None if a source was named, or none given."""
    source = given.get("source")
    return None if isinstance(source, str) else source


def _plain(value: object) -> object:
    """Return the value of a setting as a file would give it; None if there is none."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence):
        return (value if isinstance(value, str) else list(value)) or None
    return value


def resolved(given: Options) -> tuple[Config, Domain]:
    """Return the settings and domain from the arguments of `generate`.

    Raises:
        TypeError: `generate` has no such argument.
    """
    hints = get_type_hints(Options, include_extras=True)
    if unknown := [name for name in given if name not in hints]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}. {suggest(unknown[0], hints)}")
    flags: dict[str, object] = {"collect.source": given.get("source") if isinstance(given.get("source"), str) else None}
    for name, value in given.items():
        for setting in getattr(hints[name], "__metadata__", ()):
            flags[setting] = _plain(value)
    file = given.get("config_file")
    loaded, pack = resolve_config(
        domain=given.get("domain"),
        config_file=Path(file) if file else None,
        flags={**flags, **(given.get("settings") or {})},
    )
    return loaded.config, pack


async def run_pipeline(
    folder: Path,
    config: Config,
    domain: Domain,
    *,
    source: Source | None = None,
    observer: Observer,
    notes: Sequence[str] = (),
) -> Run:
    """Run the pipeline with resolved settings, then write the report, however the run ended. The asynchronous part of
    `generate`; ``notes`` are shown to the user once the input is open.

    Raises:
        ScirgenError: wrong input or settings (before any work), or a fatal error (all finished work is kept).
    """
    if model := known_model(config.models.generator):
        notes = (*notes, model.note)
        observer = Several(observer, EarlyYield(observer.note))
    begun = _modified(folder)
    try:
        outcome = await execute(folder, config, domain, source=source, observer=observer, notes=notes)
    except ScirgenError:
        if _modified(folder) != begun:  # the run began; refused settings leave the folder's report alone
            with suppress(ScirgenError):
                write_report(folder)
        raise
    write_report(folder)
    return Run(folder, outcome)


def _modified(folder: Path) -> int:
    """Time of the run's manifest, which an ended run writes; 0 without one."""
    manifest = folder / "manifest.json"
    return manifest.stat().st_mtime_ns if manifest.is_file() else 0


def inspect(run: str | PathLike[str], id: str) -> list[Record]:
    """Return all records of a run whose id is or starts with ``id``, accepted and rejected, in the order of the
    stages."""
    with open_view(Path(run)) as view:
        return [
            record
            for kind, result in view.find(id)
            for record in (*result.outputs(), *result.rejections())
            if type(record).__name__ == kind and record_id(record).startswith(id)
        ]


def profile(run: str | PathLike[str], dataset: str) -> Profile:
    """Show what the papers of a dataset say about it; ``dataset`` is its id, the start of its id, or its DOI."""
    return build_profile(Path(run), dataset)
