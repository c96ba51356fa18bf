"""``scirgen parse``, ``match``, ``score`` and ``tag``: the pipeline's parts alone, on any files."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen import InputError, Table
from scirgen.cli.options import names_in
from scirgen.plugin import PATH, as_json_flag, parse_settings, settings_option
from scirgen_parts import parts

_domain = click.option("--domain", help="Domain whose prompts, taxonomies and settings are used.")
_model = click.option("--model", help="Model URI, as in generate.")


def _show(found: Table, as_json: bool) -> None:
    click.echo(found.to_json() if as_json else repr(found))


@click.command()
@click.argument("files", type=PATH, nargs=-1, required=True)
@_domain
@settings_option("parse.ocr=true")
@click.option("--markdown", is_flag=True, help="Print the text as Markdown.")
@as_json_flag
def parse(
    files: tuple[Path, ...], domain: str | None, settings: tuple[str, ...], markdown: bool, as_json: bool
) -> None:
    """Read papers (PDF, JATS, TEI, LaTeX, HTML, Markdown).

    FILES are papers or folders of papers. --json prints one line per paper with front matter and all blocks, their
    pages and boxes.
    """
    found = parts.parse(files, domain=domain, settings=parse_settings(settings))
    unread = [row for row in found if "error" in row]
    if markdown:
        click.echo("\n\n".join(parts.as_markdown(row) for row in found if row not in unread))
    else:
        short = [{k: v for k, v in row.items() if k != "blocks"} for row in found]
        _show(found if as_json else Table(short, "papers"), as_json)
    for row in found:
        for said in [str(row["reason"])] if markdown and row in unread else parts.refused_tables(row):
            click.echo(f"{row['file']}: {said}", err=True)
    if len(unread) == len(found):
        raise InputError("none of the files can be read", hint="The reasons are above.", code="no_papers")


@click.command()
@click.argument("records", type=PATH)
@click.argument("papers", type=PATH, required=False)
@_model
@_domain
@settings_option("match.strategy=mention")
@as_json_flag
def match(
    records: Path, papers: Path | None, model: str | None, domain: str | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Decide which papers use which datasets.

    RECORDS is a folder or file of dataset records, PAPERS a folder of papers if it is not inside it.
    """
    given = parse_settings(settings)
    _show(parts.match(records, papers, model=model, domain=domain, settings=given), as_json)


@click.command()
@click.argument("file", type=PATH)
@click.option(
    "--scorers", default="shift", show_default=True, metavar="NAMES", help="Faithfulness scorers, with commas."
)
@click.option("--model", "--scorer", "model", help="URI of the model that measures and judges, as in generate.")
@_domain
@settings_option("filter.window=evidence")
@as_json_flag
def score(
    file: Path, scorers: str, model: str | None, domain: str | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Measure how much a context supports an answer.

    FILE is a run, a release, or a table (CSV, JSON Lines, Parquet, a folder of them) with question, answer and context.
    """
    given = parse_settings(settings)
    _show(parts.score(file, scorers=names_in(scorers), model=model, domain=domain, settings=given), as_json)


@click.command()
@click.argument("file", type=PATH)
@_model
@_domain
@settings_option("tag.batch_size=10")
@as_json_flag
def tag(file: Path, model: str | None, domain: str | None, settings: tuple[str, ...], as_json: bool) -> None:
    """Find the question types whose form a question has, and its Bloom level.

    FILE is a run, a release, or a table (CSV, JSON Lines, Parquet, a folder of them) with question and answer.
    """
    _show(parts.tag(file, model=model, domain=domain, settings=parse_settings(settings)), as_json)
