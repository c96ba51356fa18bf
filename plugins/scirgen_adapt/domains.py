"""``scirgen domains``: lists the domains and shows what each provides."""

from __future__ import annotations

import json

import click

from scirgen import Domain
from scirgen.core.config import load_config
from scirgen.core.resources import find_domain
from scirgen.plugin import Resources, as_json_flag, echo_json, load_registry


@click.group()
def domains() -> None:
    """List the domains, or show what one provides."""


@domains.command("list")
@as_json_flag
def list_(as_json: bool) -> None:
    """List the domains, one per line: name, plugin, title."""
    registry = load_registry()
    entries = registry.entries()
    rows = [
        {"name": n, "plugin": entries[("domain", n)][0], "title": d.title, "sample": d.sample is not None}
        for n in registry.names("domain")
        for d in [find_domain(n, registry)]
    ]
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row['name']:20} {row['plugin']:24} {row['title']}")


@domains.command(short_help="Show what a domain provides and replaces.")
@click.argument("name")
@as_json_flag
def show(name: str, as_json: bool) -> None:
    """Show what domain NAME provides: sources, settings, and the files that replace built-in ones."""
    registry = load_registry()
    domain = find_domain(name, registry)
    entries = registry.entries()
    plugin = entries[("domain", name)][0]
    brought = [
        f"{kind} {n}" for (kind, n), (owner, _) in sorted(entries.items()) if owner == plugin and kind != "domain"
    ]
    layer = (name, domain.config_file) if domain.config_file else None
    settings = {k: v for k, v, origin in load_config(domain_file=layer).rows() if origin != "default"}
    told = {
        "name": name,
        "title": domain.title,
        "description": domain.description,
        "plugin": plugin,
        "folder": str(domain.root),
        "sample": str(domain.sample) if domain.sample else None,
        "provides": brought,
        "settings": settings,
        "files": _files(domain),
    }
    if as_json:
        echo_json(told)
        return
    for key in ("title", "description", "plugin", "folder", "sample"):
        click.echo(f"{key:12} {told[key] or '-'}")
    click.echo(f"{'provides':12} {', '.join(brought) or '-'}")
    click.echo("settings")
    for setting, value in settings.items():
        click.echo(f"  {setting} = {json.dumps(value, ensure_ascii=False)}")
    click.echo("files")
    for file in _files(domain):
        click.echo(f"  {file['id']:36} {file['effect']}")


def _files(domain: Domain) -> list[dict[str, str]]:
    """Return the domain's prompts and taxonomies, each with its effect on the built-in file with the same id."""
    found = []
    for folder in ("prompts", "taxonomies"):
        builtin = Resources().find(folder)
        for identity, resource in sorted(Resources(domain).find(folder).items()):
            if resource.origin == domain.name:
                same = identity in builtin and builtin[identity].path.read_bytes() == resource.path.read_bytes()
                changes = "replaces the built-in file" if folder == "prompts" else "is merged into the built-in file"
                effect = "adds a file" if identity not in builtin else changes
                found.append({"id": f"{folder}/{identity}", "effect": "same as the built-in file" if same else effect})
    return found
