"""``scirgen plugins list``: lists every plugin and the package it comes from."""

from __future__ import annotations

import json

import click

from scirgen.cli.options import as_json_flag
from scirgen.core.registry import load_registry


@click.group()
def plugins() -> None:
    """List the installed plugins."""


@plugins.command("list")
@click.option("--kind", help="Only this kind (source, gate, domain, ...).")
@as_json_flag
def list_(kind: str | None, as_json: bool) -> None:
    """List the plugins, one per line: kind, name, plugin package, description."""
    rows = [
        {"kind": k, "name": name, "plugin": plugin, "summary": item.summary, "extra": item.extra}
        for (k, name), (plugin, item) in sorted(load_registry().entries().items())
        if kind in (None, k)
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        extra = f" [needs scirgen[{row['extra']}]]" if row["extra"] else ""
        click.echo(f"{row['kind']:20} {row['name']:22} {row['plugin']:14} {row['summary']}{extra}")
