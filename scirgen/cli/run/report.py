"""``scirgen report RUN``: regenerate the report."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.cli.options import PATH
from scirgen.report import write_report


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--out",
    type=PATH,
    help="Folder for the two files.  [default: the run's folder; for a release, NAME-report beside it]",
)
def report(run: Path, out: Path | None) -> None:
    """Write report.html and report.json of RUN: a run's folder, or a release that was imported."""
    click.echo(write_report(run, out))
