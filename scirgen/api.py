"""The public Python API: `generate` runs the pipeline, `merge` makes one release of several runs, `Run` reads what they left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scirgen.commands.estimate.command import estimate_run as estimate_run
from scirgen.commands.merge.command import Permitted, merge_runs
from scirgen.core.config import Config
from scirgen.core.domains import find_domain as find_domain
from scirgen.core.domains import resolve_config as resolve_config
from scirgen.core.records import QAPair, ReleaseFile
from scirgen.core.resources import Domain
from scirgen.core.runtime import blocking
from scirgen.pipeline.observer import Observer, Silent
from scirgen.pipeline.run import build_stages as build_stages
from scirgen.pipeline.run import execute
from scirgen.pipeline.runner import Outcome
from scirgen.pipeline.views.opening import open_view
from scirgen.report import write_report
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
        view = open_view(self.folder)
        try:
            yield from view.pairs()
        finally:
            view.close()

    def released(self) -> dict[str, int]:
        """Rows of the release by split; fewer than `rows` where a target or near-duplicates left some out."""
        view = open_view(self.folder)
        try:
            files = {Path(f.path): f.rows or 0 for f in view.records("release", ReleaseFile)}
        finally:
            view.close()
        return {split: files.get(Path("release") / f"{split}.jsonl", 0) for split in ("train", "dev", "test")}

    def funnel(self) -> dict[str, dict[str, int]]:
        """Stage by stage: done, failed, to do, outputs, rejected by code."""
        view = open_view(self.folder)
        try:
            return view.funnel()
        finally:
            view.close()


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


async def run_pipeline(
    folder: Path, config: Config, domain: Domain, *, source: Source | None = None, observer: Observer
) -> Run:
    """Run the pipeline with resolved settings, then write the report. The asynchronous heart of `generate`."""
    outcome = await execute(folder, config, domain, source=source, observer=observer)
    if outcome.status in ("success", "partial"):
        write_report(folder)
    return Run(folder, outcome)


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
    permitted = Permitted(mixed=mixed, partial=partial, first_wins=first_wins)
    file, folder = Path(config_file) if config_file else None, Path(out)
    outcome = merge_runs(folder, [Path(p) for p in parts], permitted, file, settings or {}, observer or Silent())
    if report:
        write_report(folder)
    return Run(folder, outcome)
