"""``scirgen leaderboard``: compares several benchmark results."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.cli.options import PATH


@click.command()
@click.argument("results", nargs=-1, required=True, type=PATH, metavar="FILE...")
@click.option("--out", required=True, type=PATH, help="Folder for leaderboard.md and .html.")
def leaderboard(results: tuple[Path, ...], out: Path) -> None:
    """Compare results of `benchmark retrieval|qa --json` in a Markdown table and one HTML page."""
    from scirgen_bench.leaderboard import write_leaderboard

    for path in write_leaderboard(results, out):
        click.echo(path)
