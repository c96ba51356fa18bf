"""``scirgen init``: a plugin package for a new domain."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.plugin import PATH, load_registry
from scirgen_adapt.scaffold import OVERRIDES, scaffold


@click.command()
@click.argument("domain")
@click.option("--into", type=PATH, default=Path(), help="Folder to write it into.  [default: here]")
@click.option(
    "--override", "overrides", multiple=True, metavar="ID", default=OVERRIDES, show_default=True,
    help="Built-in file to copy, as 'prompts list' prints it.",
)  # fmt: skip
@click.option("--gate", "parts", flag_value="gate", multiple=True, help="Also a gate, with its tests.")
@click.option(
    "--scorer", "parts", flag_value="scorer", multiple=True, help="Also a faithfulness scorer, with its tests."
)
@click.option("--recipe", "parts", flag_value="recipe", multiple=True, help="Also a query recipe, with its tests.")
def init(domain: str, into: Path, overrides: tuple[str, ...], parts: tuple[str, ...]) -> None:
    """Write a plugin package for DOMAIN: an adapter, prompts, a sample, and tests that pass.

    It changes no package that exists. To give one a gate, make a new package with --gate and copy gate.py, its test and
    its line of __init__.py.
    """
    made = scaffold(domain, into, load_registry(), overrides, parts)
    click.echo(f"wrote {made}")
    click.echo("next:")
    click.echo(f"  pip install -e '{made}[test]'")
    click.echo(f"  pytest {made}")
    click.echo(f"  scirgen domains show {domain}")
    click.echo(f"  scirgen generate --domain {domain} --out runs/{domain}")
