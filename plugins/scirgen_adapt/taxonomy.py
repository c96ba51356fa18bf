"""``scirgen taxonomy``: shows the files that define question types, levels, aspects, sections and wording."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from scirgen.core.resources import find_domain
from scirgen.plugin import PATH, Resources, Taxonomies, as_json_flag, echo_json

_DOMAIN = click.option("--domain", default="general", show_default=True, help="Domain whose overrides apply.")
_OVERRIDES = click.option("--overrides", type=PATH, help="Your own folder of overrides.")


@click.group()
def taxonomy() -> None:
    """List, show and copy question types, levels and wording."""


@taxonomy.command("list")
@_DOMAIN
@_OVERRIDES
@as_json_flag
def list_(domain: str, overrides: Path | None, as_json: bool) -> None:
    """List the files, one per line: id, where it comes from, the ids of its entries."""
    resources = Resources(find_domain(domain), overrides)
    rows = [{"id": r.id, "origin": r.origin, "path": str(r.path)} for r in resources.find("taxonomies").values()]
    entries = _entries(Taxonomies(resources))
    if as_json:
        echo_json([{**r, "entries": entries.get(r["id"], [])} for r in rows])
        return
    for row in rows:
        click.echo(f"{row['id']:12} {row['origin']:9} {', '.join(entries.get(row['id'], []))}")


def _entries(taxonomies: Taxonomies) -> dict[str, list[str]]:
    return {
        "graesser": [t.id for t in taxonomies.graesser.types],
        "bloom": [x.id for x in taxonomies.bloom.levels],
        "aspects": [str(a.id.value) for a in taxonomies.aspects.aspects],
        "sections": [str(s.id.value) for s in taxonomies.sections.sections],
        "wording": sorted(taxonomies.wording.languages),
    }


@taxonomy.command()
@click.argument("name")
@click.argument("entry", required=False)
@_DOMAIN
@_OVERRIDES
@click.option("--language", default="en", show_default=True, help="Language of a question type's wording.")
def show(name: str, entry: str | None, domain: str, overrides: Path | None, language: str) -> None:
    """Print a taxonomy's file, or one question type with all layers merged."""
    resources = Resources(find_domain(domain), overrides)
    if entry is None:
        found = resources.get("taxonomies", name)
        click.echo(f"# {found.path}  ({found.origin})")
        click.echo(found.path.read_text(encoding="utf-8"), nl=False)
        return
    taxonomies = Taxonomies(resources)
    if name == "graesser":
        record = taxonomies.question_type(entry, language)
    elif name == "bloom":
        record = taxonomies.bloom_level(entry)  # type: ignore[assignment]
    else:
        raise click.BadParameter(
            "only graesser and bloom have single entries to show; omit ENTRY to see the file", param_hint="ENTRY"
        )
    plain = record.model_dump(mode="json", exclude_defaults=True)
    click.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120), nl=False)


@taxonomy.command()
@click.argument("name")
@_DOMAIN
@click.option("--into", type=PATH, required=True, help="Your folder of overrides.")
def copy(name: str, domain: str, into: Path) -> None:
    """Copy a taxonomy's file into your folder of overrides. Only what differs needs to stay in it."""
    from scirgen_adapt.scaffold import copy_override

    click.echo(f"wrote {copy_override(Resources(find_domain(domain)), 'taxonomies', name, into)}")
