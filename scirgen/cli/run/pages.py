"""``scirgen report`` and ``scirgen profile``: pages about a run, and about one of its datasets."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.cli.options import PATH
from scirgen.report import write_report
from scirgen.report.profile import as_html, as_markdown, build_profile


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--out",
    type=PATH,
    help="Folder for the two files.  [default: the run's folder; for a release, NAME-report beside it]",
)
@click.option("--pages", is_flag=True, help="Also write a page for each dataset that has rows, with its PDF pages.")
def report(run: Path, out: Path | None, pages: bool) -> None:
    """Write report.html and report.json of RUN: a run's folder, or a release that was imported."""
    click.echo(write_report(run, out, pages=pages))


@click.command()
@click.argument("run", type=PATH)
@click.argument("dataset")
@click.option("--format", "kind", type=click.Choice(["md", "html"]), default="md", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file instead of the screen.")
def profile(run: Path, dataset: str, kind: str, out: Path | None) -> None:
    """Show the profile of a dataset, with each sentence linked to its page.

    DATASET is an id, the start of an id, or a DOI. The HTML also shows the pages with the evidence of its rows, framed.
    """
    text = (as_html if kind == "html" else as_markdown)(build_profile(run, dataset))
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        click.echo(str(out))
