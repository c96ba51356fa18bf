"""``scirgen leaderboard``: compares several benchmark results."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen_bench.cli.options import PATH


@click.command()
@click.argument("results", nargs=-1, required=True, type=PATH, metavar="FILE...")
def leaderboard(results: tuple[Path, ...]) -> None:
    """Print results of `benchmark retrieval|qa --json` side by side, as Markdown tables."""
    from scirgen_bench.leaderboard import leaderboard as compared

    click.echo(compared(results))
