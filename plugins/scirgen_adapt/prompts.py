"""``scirgen prompts``: tools for people who edit YAML. The work is done in `prompt_lint` and `prompt_tryout`."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from scirgen import Dataset, Record
from scirgen.cli.options import config_option
from scirgen.core.corpus.questions import Question
from scirgen.core.records import SectionLabel
from scirgen.core.resources import find_domain
from scirgen.plugin import (
    PATH,
    Aspect,
    Link,
    PromptLibrary,
    Resources,
    Taxonomies,
    as_json_flag,
    echo_json,
    grouped,
    load_registry,
    parse_settings,
    resolve_config,
    settings_option,
)
from scirgen_adapt.scaffold import copy_override, place

if TYPE_CHECKING:
    from scirgen_adapt.prompt_tryout import Tried

_DOMAIN = click.option("--domain", default="general", show_default=True, help="Domain whose overrides apply.")
_OVERRIDES = click.option("--overrides", type=PATH, help="Your own folder of overrides.")


@click.group()
def prompts() -> None:
    """List, show, copy, render, check and try prompts; list, show and copy taxonomies."""


@prompts.command("list")
@_DOMAIN
@_OVERRIDES
@as_json_flag
def list_(domain: str, overrides: Path | None, as_json: bool) -> None:
    """List the prompts, one per line: id, version, where it comes from, what it does; then the taxonomies."""
    resources = Resources(find_domain(domain), overrides)
    library = PromptLibrary(resources)
    found = [library.get(id) for id in library.ids()]
    taxonomies = resources.find("taxonomies").values()
    if as_json:
        rows = [
            {"id": p.id, "version": p.file.version, "hash": p.hash, "origin": p.origin, "path": p.path} for p in found
        ]
        echo_json([*rows, *({"id": t.id, "origin": t.origin, "path": str(t.path)} for t in taxonomies)])
        return
    for prompt in found:
        click.echo(f"{prompt.id:24} v{prompt.file.version:<3} {prompt.origin:9} {prompt.file.description}")
    for taxonomy in taxonomies:
        click.echo(f"{taxonomy.id:24} {'':4} {taxonomy.origin:9} taxonomy")


@prompts.command()
@click.argument("name")
@_DOMAIN
@_OVERRIDES
def show(name: str, domain: str, overrides: Path | None) -> None:
    """Print the file of a prompt or taxonomy, and its path."""
    found = Resources(find_domain(domain), overrides).get(*place(name))
    click.echo(f"# {found.path}  ({found.origin})")
    click.echo(found.path.read_text(encoding="utf-8"), nl=False)


@prompts.command()
@click.argument("name")
@_DOMAIN
@click.option("--into", type=PATH, required=True, help="Your folder of overrides.")
def copy(name: str, domain: str, into: Path) -> None:
    """Copy the file of a prompt or taxonomy into your folder of overrides. Of a taxonomy, only what differs needs to
    stay."""
    made = copy_override(Resources(find_domain(domain)), *place(name), into)
    click.echo(f"wrote {made}")
    click.echo(f"next: edit it, then scirgen prompts lint --overrides {into}")


@prompts.command()
@click.argument("prompt")
@_DOMAIN
@_OVERRIDES
@click.option("--type", "kind", default="quantification", show_default=True, help="Question type to render it for.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Value of a variable.")
@click.option("--language", default="en", show_default=True, help="Language of questions and answers.")
def render(
    prompt: str, domain: str, overrides: Path | None, kind: str, variables: tuple[str, ...], language: str
) -> None:
    """Print the messages as they are sent to the model under the default settings.

    A value that no taxonomy gives is shown as <name>; --var sets it: --var most=3.
    """
    from scirgen_adapt.prompt_lint import sample_variables

    if place(prompt)[0] == "taxonomies":
        raise click.UsageError(f"{prompt} is a taxonomy: scirgen prompts show {prompt}")
    resources = Resources(find_domain(domain), overrides)
    taxonomies = Taxonomies(resources)
    found = PromptLibrary(resources).get(prompt)
    values = sample_variables(found, taxonomies, domain, taxonomies.question_type(kind, language), language)
    rendered = found.render(**{**values, **parse_settings(variables)})
    click.secho(f"--- {rendered.reference}", dim=True)
    for role, text in rendered.messages:
        click.secho(f"[{role}]", bold=True)
        click.echo(text)


@prompts.command(short_help="Find mistakes that loading does not detect; exits with 2 on an error.")
@_DOMAIN
@_OVERRIDES
@click.option("--language", default="en", show_default=True, help="Language of the examples.")
@click.option("--context", type=click.IntRange(min=256), help="The model's context, in tokens.")
@as_json_flag
def lint(domain: str, overrides: Path | None, language: str, context: int | None, as_json: bool) -> None:
    """Find undefined variables, missing examples, examples that violate their own type, and prompts that are too long.

    The exit code is 2 if there is an error; warnings alone do not change it.
    """
    from scirgen_adapt.prompt_lint import lint as check

    resources = Resources(find_domain(domain), overrides)
    library = PromptLibrary(resources)
    found = check(library, Taxonomies(resources), domain=domain, language=language, context_tokens=context)
    if as_json:
        echo_json([{"level": f.level, "where": f.where, "message": f.message} for f in found])
    else:
        for finding in found:
            click.echo(f"{finding.level}: {finding.where}: {finding.message}")
        errors = sum(f.level == "error" for f in found)
        click.echo(f"{len(library.ids())} prompts: {errors} errors, {len(found) - errors} warnings")
    if any(f.level == "error" for f in found):
        sys.exit(2)


@prompts.command("try")
@click.argument("prompt")
@click.option(
    "--dataset", "datasets", required=True, multiple=True, help="Id of a dataset, or the start of one; may be repeated."
)
@click.option("--input", "input_", type=click.Path(), help="Records to search. [default: the domain's sample]")
@click.option("--run", type=PATH, help="A run to take the dataset and its kept aspects from.")
@click.option("--type", "types", multiple=True, help="Question type; may be repeated. [default: all in turn]")
@click.option("--model", help="Generator.")
@click.option("--n", "count", type=click.IntRange(min=1), default=5, show_default=True, help="Number of pairs.")
@_DOMAIN
@_OVERRIDES
@config_option
@settings_option()
@click.option("--beside", is_flag=True, help="Show what the prompts without --overrides give, side by side.")
@as_json_flag
def try_(prompt: str, datasets: tuple[str, ...], count: int, beside: bool, as_json: bool, **given: object) -> None:
    """Request a few pairs and show which gates they pass. For ask, match, section, extract, verify and tag, show their
    output.

    Without --run, only the metadata is used, and you cannot try prompts that read papers.
    """
    from scirgen_adapt import prompt_tryout as tryout

    if beside and not given["overrides"]:
        raise click.UsageError("--beside needs --overrides")
    flags = {
        "input": given["input_"],
        "models.generator": given["model"],
        "overrides": str(given["overrides"]) if given["overrides"] else None,
        **parse_settings(given["settings"]),  # type: ignore[arg-type]
    }
    loaded, domain = resolve_config(domain=str(given["domain"]), config_file=given["config_file"], flags=flags)  # type: ignore[arg-type]
    registry = load_registry()
    run = given["run"]
    if not (run or loaded.config.input or domain.sample):
        raise click.UsageError(f"domain {domain.name} has no sample: pass --input or --run")
    types: tuple[str, ...] = given["types"]  # type: ignore[assignment]
    builtin = {kind.id for kind in Taxonomies(Resources(domain)).graesser.types}
    added = [name for name in types if name not in builtin] if beside else []
    beside = beside and not added
    configs = [loaded.config, *([loaded.config.model_copy(update={"overrides": None})] if beside else [])]

    async def work(dataset: str) -> tuple[Dataset, list[tryout.Tried]]:
        known = {"config": loaded.config, "registry": registry, "domain": domain}
        found, records = await tryout.find_dataset(dataset, run=run if isinstance(run, Path) else None, **known)  # type: ignore[arg-type]
        return found, [
            await tryout.try_prompt(
                prompt, found, {k: list(v) for k, v in records.items()}, config=config, registry=registry,
                domain=domain, count=count, types=types,
            )
            for config in configs
        ]  # fmt: skip

    made = [asyncio.run(work(dataset)) for dataset in datasets]
    if added:
        click.echo(f"without --overrides there is no type {', '.join(added)}: only the new side is shown", err=True)
    if as_json:
        echo_json([
            {"dataset": found.id, **_plain(tried[0]), **({"without_overrides": _plain(tried[1])} if beside else {})}
            for found, tried in made
        ])  # fmt: skip
        return
    for found, tried in made:
        click.secho(f"{found.id}  {found.title}", bold=True)
        if beside:
            _show_beside(*tried)
        else:
            _show_tried(tried[0])


def _plain(tried: Tried) -> dict[str, object]:
    """Return a trial as plain data."""
    parts = {"accepted": tried.pairs or tried.records, "rejected": tried.rejections}
    return {name: [r.model_dump(mode="json", exclude_defaults=True) for r in part] for name, part in parts.items()}


def _show_beside(new: Tried, old: Tried) -> None:
    """Print what two sets of prompts gave as two columns, row by row for each question type."""
    table = RichTable("", "without overrides", "with --overrides", show_lines=True, expand=True)
    sides = [_by_type(tried) for tried in (old, new)]
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        for cells in zip_longest(*(side.get(name, []) for side in sides), fillvalue=""):
            table.add_row(name, *map(Text, cells))
    table.add_row("", *map(Text, (_counts(old), _counts(new))))
    Console(width=max(80, shutil.get_terminal_size().columns)).print(table)


def _by_type(tried: Tried) -> dict[str, list[str]]:
    return grouped((
        *((pair.question_type, f"Q {pair.question}\nA {pair.answer}") for pair in tried.pairs),
        *((type(record).__name__, _as_line(record)) for record in tried.records),
        *((r.question_type or r.record_kind, f"{_shown(r.record)}\n{r.code}: {r.reason}") for r in tried.rejections),
    ))  # fmt: skip


def _show_tried(tried: Tried) -> None:
    for pair in tried.pairs:
        level = f" {pair.bloom}" if pair.bloom else ""
        click.secho(f"\n{pair.question_type}{level}: passes every gate that needs no model", fg="green")
        click.echo(f"  Q  {pair.question}\n  A  {pair.answer}")
        for span in pair.evidence:
            click.echo(f"  <- {span.text}")
        if pair.note:
            click.echo(f"  ({pair.note})")
    for record in tried.records:
        click.echo(_as_line(record))
    for rejection in tried.rejections:
        click.secho(
            f"\n{rejection.question_type or rejection.record_kind}: {rejection.stage} {rejection.code}: "
            f"{rejection.reason}",
            fg="red",
        )
        click.echo("  " + _shown(rejection.record))
    click.echo(f"\n{_counts(tried)}")


def _counts(tried: Tried) -> str:
    kept = f"{len(tried.pairs) + len(tried.records)} pass, {len(tried.rejections)} do not; {len(tried.prompts)} calls"
    return kept if tried.prompts else f"{kept}: rules decided, or nothing was to decide; the prompt was not used"


def _as_line(record: Record) -> str:
    """Return a stage's record as one line."""
    if isinstance(record, Link):
        return f"{record.paper_id}: {'used' if record.used else 'not used'}. {record.explanation}"
    if isinstance(record, SectionLabel):
        return f"{record.label.value:22} {record.heading or '(no heading)'}  [{record.decided_by}]"
    if isinstance(record, Aspect):
        return f"{record.category.value:20} {record.span.text}"
    if isinstance(record, Question):
        return f"{record.form:9} {record.need:20} {record.text}"
    return record.model_dump_json(exclude_defaults=True)


def _shown(record: str) -> str:
    try:
        found = json.loads(record)
        if text := found.get("text"):
            return str(text)
        return f"Q  {found['question']}\n  A  {found['answer']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return record[:400]
