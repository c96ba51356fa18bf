"""``scirgen config show``: shows the resolved settings and where each comes from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scirgen.api import resolve_config
from scirgen.cli.options import as_json_flag, config_option, parse_settings, settings_option


@click.group()
def config() -> None:
    """Show the resolved settings."""


@config.command(short_help="Print every setting with the layer that set it.")
@click.option("--domain", help="Domain pack.")
@config_option
@settings_option()
@as_json_flag
def show(domain: str | None, config_file: Path | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Print every setting with the layer that set it: default < domain < file < flag."""
    loaded, _ = resolve_config(domain=domain, config_file=config_file, flags=parse_settings(settings))
    if as_json:
        click.echo(loaded.config.model_dump_json(indent=2))
        return
    for key, value, origin in loaded.rows():
        click.echo(
            f"{key} = {json.dumps(value, ensure_ascii=False)}" + (f"  # {origin}" if origin != "default" else "")
        )
