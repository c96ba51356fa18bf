"""``scirgen report RUN``: regenerate the report."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.report import write_report


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the two files.  [default: the run's folder; for a release, NAME-report beside it]",
)
def report(run: Path, out: Path | None) -> None:
    """Write report.html and report.json of RUN: a run's folder, or a release that was imported."""
    click.echo(write_report(run, out))
