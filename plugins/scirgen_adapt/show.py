"""``scirgen config show``, ``gates list``, ``plugins list`` and ``context``: what is set, installed and possible
here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from scirgen import Config, Run, __version__
from scirgen.cli.options import config_option
from scirgen.plugin import (
    PATH,
    as_json_flag,
    echo_json,
    load_registry,
    parse_settings,
    resolve_config,
    settings_option,
    suggest,
)


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


@click.group()
def gates() -> None:
    """Show the gates that candidates must pass."""


@gates.command("list")
@click.option("--domain", help="Domain pack.")
@config_option
@settings_option()
@as_json_flag
def list_gates(domain: str | None, config_file: Path | None, settings: tuple[str, ...], as_json: bool) -> None:
    """List the gates in the order they run.

    Each line has the code, whether the gate is on (alone: only if no judge reads the pairs), the threshold, and what it
    rejects.
    """
    from scirgen.stages.filter.stage import describe_gates

    loaded, _ = resolve_config(domain=domain, config_file=config_file, flags=parse_settings(settings))
    rows = describe_gates(loaded.config, load_registry())
    if as_json:
        echo_json(rows)
        return
    click.echo(f"{'gate':28}{'on':7}{'threshold':>9}  rejects")
    for row in rows:
        limit = row["threshold"]
        threshold = f"{limit:g}" if isinstance(limit, float | int) else "-"
        model = f" [asks the {row['models']}]" if row["models"] else ""
        on = "no" if not row["on"] else "yes" if row["beside_judge"] else "alone"
        click.echo(f"{row['code']:28}{on:7}{threshold:>9}  {row['explanation']}{model}")


@click.group()
def plugins() -> None:
    """List the installed plugins."""


@plugins.command("list")
@click.option("--kind", help="Only this kind (source, gate, domain, ...).")
@as_json_flag
def list_plugins(kind: str | None, as_json: bool) -> None:
    """List the plugins, one per line: kind, name, plugin package, description."""
    known = {k for k, _ in load_registry().entries()}
    if kind is not None and kind not in known:
        raise click.UsageError(f"there is no kind {kind!r}. {suggest(kind, known)}")
    rows = [
        {"kind": k, "name": name, "plugin": plugin, "summary": item.summary, "extra": item.extra}
        for (k, name), (plugin, item) in sorted(load_registry().entries().items())
        if kind in (None, k)
    ]
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        extra = f" [needs scirgen[{row['extra']}]]" if row["extra"] else ""
        click.echo(f"{row['kind']:20} {row['name']:22} {row['plugin']:14} {row['summary']}{extra}")


@click.command()
@click.argument("run", type=PATH, required=False)
@as_json_flag
@click.option("--skill", is_flag=True, help="Print a skill file for agents instead (SKILL.md).")
@click.pass_context
def context(ctx: click.Context, run: Path | None, as_json: bool, skill: bool) -> None:
    """Print all that a program needs to use scirgen, in one document.

    It lists commands with options, settings with defaults, plugins by kind, and the state of RUN if one is given.
    """
    if skill:
        click.echo(Path(__file__).with_name("skill.md").read_text("utf-8"), nl=False)
        return
    found: dict[str, Any] = {
        "version": __version__,
        "exit_codes": {"0": "success", "1": "error", "2": "wrong input or settings", "3": "partial: run again",
                       "4": "stopped at a budget", "130": "interrupted"},
        "commands": dict(_commands(ctx.find_root().command, ctx)),
        "settings": dict(_settings(Config)),
        "plugins": {kind: load_registry().names(kind) for kind in sorted({k for k, _ in load_registry().entries()})},
    }  # fmt: skip
    if run is not None:
        found["run"] = {"folder": str(run), "funnel": Run(run).funnel(), "released": Run(run).released()}
    if as_json:
        echo_json(found)
        return
    for title, entries in found.items():
        click.echo(f"\n## {title}" if isinstance(entries, dict) else f"# scirgen {entries}")
        for name, value in entries.items() if isinstance(entries, dict) else ():
            click.echo(f"{name}: {value if isinstance(value, str) else json.dumps(value, default=str)}")


def _commands(group: click.Command, ctx: click.Context, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (command, its help and options), subcommands after their group."""
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is None:
            continue
        if isinstance(command, click.Group):
            yield from _commands(command, ctx, f"{before}{name} ")
            continue
        given = [p.make_metavar(ctx) if isinstance(p, click.Argument) else p.opts[0] for p in command.params]
        yield f"{before}{name}", f"{command.get_short_help_str(200)} {' '.join(given)}".strip()


def _settings(section: type[BaseModel], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (dotted setting, its default and description)."""
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _settings(kind, f"{before}{name}.")
        else:
            default = json.dumps(field.get_default(call_default_factory=True), default=str)
            yield f"{before}{name}", f"{default}  {field.description or ''}".strip()
