"""``scirgen merge RUN...``: makes one release from several runs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from scirgen import Observer
from scirgen.cli.options import counted
from scirgen.cli.run.generate import summarise
from scirgen.plugin import PATH, parse_settings
from scirgen_scale.merging.merge import merge as merge_runs
from scirgen_scale.merging.merge import write_corpus


@click.command()
@click.argument("runs", nargs=-1, required=True, type=PATH)
@click.option("--out", type=PATH, help="The merged run's folder.")
@click.option(
    "--corpus",
    type=PATH,
    help="Instead of a run, write one corpus of all that RUNS have read to this folder; each run can search it with "
    "--set search.corpus=FOLDER.",
)
@click.option("--partial", is_flag=True, help="Accept runs that are unfinished or have failed items.")
@click.option("--mixed", is_flag=True, help="Accept runs made with different models, prompts, settings or seeds.")
@click.option(
    "--first-wins",
    is_flag=True,
    help="If several runs have different results for a dataset, take those of the first run.",
)
@click.option("--config", "config_file", type=PATH, help="YAML file with settings of the release.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="release.*, generate.quota.*, seed or overrides."
)
@click.option("--report/--no-report", default=True, help="Also write report.html.")
@click.option("--quiet", is_flag=True, help="Print only the final summary.")
def merge(
    runs: tuple[Path, ...],
    out: Path | None,
    corpus: Path | None,
    partial: bool,
    mixed: bool,
    first_wins: bool,
    config_file: Path | None,
    settings: tuple[str, ...],
    report: bool,
    quiet: bool,
) -> None:
    """Make one release from several finished RUNS, as if they had been one run.

    Near-duplicates, splits, targets and decontamination are computed over all of them. The command calls no model, only
    reads the runs, and copies their results. It shows their own release settings but does not use them. OUT is an
    ordinary run, which `scirgen generate` resumes.
    """
    if (out is None) == (corpus is None):
        raise click.UsageError("give either --out or --corpus")
    observer = Observer() if quiet else Lines()
    if corpus is not None:
        with _stopped_at_once():
            read = write_corpus(corpus, runs, partial=partial, observer=observer)
        of = f"{counted(len(read.datasets), 'dataset')} and {counted(len(read.users), 'paper')}"
        click.echo(f"corpus   {corpus}  ({of} of {len(runs)} runs)")
        click.echo(f"next     scirgen generate ... --set search.corpus={corpus}, for each of them; then merge them")
        return
    assert out is not None
    with _stopped_at_once():
        run = merge_runs(
            out, runs, mixed=mixed, partial=partial, first_wins=first_wins, config_file=config_file,
            settings=parse_settings(settings), report=report, observer=observer,
        )  # fmt: skip
    status = summarise(run, again="finish the runs and merge again")
    click.echo(f"parts    {run.folder / 'parts.tsv'} says which run each dataset is from")
    sys.exit(status)


@contextmanager
def _stopped_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process instead of waiting for the release: partial output stays in a temporary file that
    nothing reads."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Lines(Observer):
    """Notes as lines on standard error."""

    def note(self, message: str) -> None:
        """One line."""
        click.echo(message, err=True)
