"""``scirgen doctor RUN``: checks a store and repairs a damaged one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from scirgen.cli.options import PATH
from scirgen.commands.doctor import diagnose, repair


@click.command()
@click.argument("run", type=PATH)
@click.option(
    "--repair", "repair_store", is_flag=True, help="Copy intact data into a new store; the next run redoes the rest."
)
def doctor(run: Path, repair_store: bool) -> None:
    """Check a run's store; --repair keeps what is intact."""
    problems = diagnose(run)
    if not problems:
        click.echo(f"{run}: the store is sound")
        return
    for problem in problems[:20]:
        click.echo(f"problem: {problem}")
    if not repair_store:
        click.echo(f"hint: scirgen doctor {run} --repair")
        sys.exit(1)
    saved = repair(run)
    click.echo("kept " + ", ".join(f"{n} {table}" for table, n in saved.kept.items()))
    for table, rows in saved.lost.items():
        click.echo(f"lost {len(rows)} {table}: {', '.join(rows[:20])}{', ...' if len(rows) > 20 else ''}")
    click.echo(f"{'' if saved.lost else 'lost nothing; '}the damaged file is {saved.damaged}")
    click.echo("Run `scirgen generate` again with the same --out to redo what is missing.")
