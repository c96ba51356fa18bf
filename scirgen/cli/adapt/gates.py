"""``scirgen gates list``: every gate with its code, its threshold and what it rejects."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scirgen.api import resolve_config
from scirgen.cli.options import as_json_flag, config_option, parse_settings, settings_option
from scirgen.core.registry import load_registry
from scirgen.stages.filter.stage import describe_gates


@click.group()
def gates() -> None:
    """Show the gates that candidates must pass."""


@gates.command("list")
@click.option("--domain", help="Domain pack.")
@config_option
@settings_option()
@as_json_flag
def list_(domain: str | None, config_file: Path | None, settings: tuple[str, ...], as_json: bool) -> None:
    """List the gates in the order they run.

    Code, whether it is on, threshold, what it rejects.
    """
    loaded, _ = resolve_config(domain=domain, config_file=config_file, flags=parse_settings(settings))
    rows = describe_gates(loaded.config, load_registry())
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    click.echo(f"{'gate':28}{'on':5}{'threshold':>9}  rejects")
    for row in rows:
        limit = row["threshold"]
        threshold = f"{limit:g}" if isinstance(limit, float | int) else "-"
        model = f" [asks the {row['models']}]" if row["models"] else ""
        click.echo(f"{row['code']:28}{'yes' if row['on'] else 'no':5}{threshold:>9}  {row['explanation']}{model}")
