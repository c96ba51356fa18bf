"""``scirgen report RUN``: draw the report anew."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.report import write_report


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("run", type=click.Path(path_type=Path))
def report(run: Path) -> None:
    """Write report.html and report.json of a run."""
    click.echo(write_report(run))
