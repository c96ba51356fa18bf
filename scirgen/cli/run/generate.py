"""``scirgen generate``: makes a dataset."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import click

from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.options import counted, echo_json, run_options, settings_of
from scirgen.commands.preview import Preview, fields_of, preview, write_list
from scirgen.core.config import Config
from scirgen.core.registry import load_registry
from scirgen.core.text.shown import shown
from scirgen.pipeline.intake import input_identity
from scirgen.pipeline.plan import WRITERS
from scirgen.pipeline.progress import make_observer
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.release import Release


@click.command()
@run_options
@click.option("--dry-run", is_flag=True, help="Show what would be read, and stop.")
@click.option("--list", "listed", is_flag=True, help="With --dry-run: every record and paper as CSV.")
@click.option("--full", is_flag=True, help="With --dry-run: all fields, unread keys and whole texts.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: machine-readable.")
@click.option("--quiet", is_flag=True, help="Print only the final summary.")
def generate(
    out: Path | None,
    config_file: Path | None,
    quiet: bool,
    dry_run: bool,
    listed: bool,
    full: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Make a dataset from records and papers.

    PATH is a folder of papers, of dataset records, or of both, or one file; without it, the domain's sample is used, if
    it has one (--domain geo has). Run the command again with the same --out to resume; it redoes only what changed.
    """
    if listed and not dry_run:
        raise click.UsageError("--list needs --dry-run")
    loaded, domain = resolve_config(domain=given["domain"], config_file=config_file, flags=settings_of(given))
    out = out or default_folder(loaded.config)
    if dry_run:
        found = asyncio.run(preview(loaded.config, load_registry(), domain, out, whole=listed))
        if listed:
            for warning in found.warnings:
                click.echo(f"warning   {warning}", err=True)
            write_list(found, sys.stdout)
        elif as_json:
            echo_json(as_plain(found))
        else:
            show_preview(found, full=full)
        return
    notes = []
    if not quiet and loaded.origins.get("models.generator", "default") == "default":
        notes = [
            f"model     {loaded.config.models.generator} (no --model given: the embedded one, "
            "which needs no key or server; scirgen models shows others)"
        ]
    observer = make_observer(quiet=quiet)
    with observer:
        run = asyncio.run(run_pipeline(out, loaded.config, domain, observer=observer, notes=notes))
    sys.exit(summarise(run))


def default_folder(config: Config, runs: Path = Path("runs")) -> Path:
    """Return ``runs/latest``, or the first of ``runs/latest-2`` ... without a run of other input."""
    for number in count(1):
        folder = runs / ("latest" if number == 1 else f"latest-{number}")
        if not (folder / "run.db").is_file():
            return folder
        with open_view(folder) as view:
            if view.store.meta("input") in (None, input_identity(config)):
                return folder
    raise AssertionError("endless")


_SHOWN = 16


def show_preview(found: Preview, *, full: bool = False) -> None:
    """Print the counts of a dry run; ``full``: all keys and whole texts."""
    most = None if full else 8
    holds = "" if found.total is None else f", which holds {counted(found.total, 'record')}"
    click.echo(f"source    {found.source}{holds}")
    click.echo(f"datasets  {found.wanted}")
    for name, numbers in (("rejected", found.rejected), ("languages", found.languages), ("filled", found.filled)):
        if numbers:
            more = f", and {len(numbers) - most} more (--full)" if most and len(numbers) > most else ""
            guessed = f" ({found.guessed} guessed from the text)" if name == "languages" and found.guessed else ""
            click.echo(f"{name:9} " + ", ".join(f"{k} {n}" for k, n in numbers.most_common(most)) + guessed + more)
    for line in _unread(found, most):
        click.echo(f"not read  {line}")
    papers = f"{found.papers_read} of {counted(len(found.papers), 'paper')} read"
    of = f"of the first {counted(found.papers_of, 'dataset')}; {papers}"
    click.echo(f"papers    {', '.join(f'{k} {n}' for k, n in found.found_by.most_common()) or 'none'} ({of})")
    for line in found.publishing.as_text():
        click.echo(f"          {line}")
    for reason in found.reasons:
        click.echo(f"  rejected: {_cropped(reason)}")
    for warning in found.warnings:
        click.echo(f"warning   {warning}")
    for dataset in found.first:
        click.echo(f"record    {dataset.id}")
        for name, value in fields_of(dataset)[: None if full else _SHOWN]:
            click.echo(f"  {name:12} {' '.join(value.split()) if full else _cropped(value or '(empty)')}")


def _unread(found: Preview, most: int | None) -> Iterator[str]:
    """Yield the keys whose values nothing reads: those of all records in a line, each other one with the records that
    have it."""
    unread = sorted((found.unread or {}).items(), key=lambda e: -len(e[1]))
    whole = [key for key, ids in unread if len(ids) >= found.wanted]
    if whole:
        yield f"of each record: {shown(whole, most or len(whole))}"
    some = unread[len(whole) :]
    for key, ids in some[:most]:
        yield f"{key} of {counted(len(ids), 'record')}: {shown(ids, 3 if most else len(ids))}"
    if most and len(unread) > most:
        yield f"{len(unread)} keys in all (--full)"


def as_plain(found: Preview) -> dict[str, object]:
    """Return a preview's counts and first records as JSON values."""
    left_out = ("publishing", "records", "papers", "whole")
    plain = {name: value for name, value in vars(found).items() if name not in left_out}
    return {
        **plain,
        "licences": [row._asdict() for row in found.publishing.rows],
        "first": [d.model_dump(mode="json", exclude_defaults=True) for d in found.first],
    }


def _cropped(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def summarise(run: Run, again: str = "run the same command again to retry") -> int:
    """Print the result and its place; return the exit code. ``again`` says what to do about failed items."""
    assert run.outcome is not None
    funnel = run.funnel()
    accepted, released = funnel["tag"]["outputs"], run.released()
    candidates = sum(funnel[name]["outputs"] for name in WRITERS if name in funnel)
    queries = queries_made(run)
    pairs = f"{accepted} accepted of {counted(candidates, 'candidate')}" if candidates or not queries else ""
    ended = run.outcome.status in ("success", "partial")
    if pairs and ended and sum(released.values()) != accepted:
        pairs += f", {sum(released.values())} released"
    made = " and ".join(filter(None, (pairs, queries)))
    click.echo(f"{run.outcome.status}: {made}, from {counted(run.outcome.datasets, 'dataset')}")
    for stage, row in funnel.items():
        reasons = sorted(
            ((k.split(":", 1)[1], n) for k, n in row.items() if k.startswith("rejected:")), key=lambda kn: -kn[1]
        )
        if reasons:
            more = f", and {len(reasons) - 6} more" if len(reasons) > 6 else ""
            click.echo(f"  {stage:9} rejected " + ", ".join(f"{code} {n}" for code, n in reasons[:6]) + more)
    if asked := run.asked():
        click.echo("  people   " + ", ".join(f"{name} {count}" for name, count in asked.items()))
    if run.outcome.message:
        click.echo(f"  stopped: {run.outcome.message.removeprefix('stopped ')}")
    if left := run.dropped_datasets():
        click.echo(f"  {counted(left, 'dataset')} of earlier runs left the catalogue or the selection, and the release")
    if ended:
        splits = ", ".join(f"{split} {rows}" for split, rows in released.items())
        click.echo(f"release  {run.release}  ({splits if pairs else 'no questions; queries in tasks/'})")
        short = len(_notes(run, "Shortfall in "))
        for note in _notes(run, "The format ", "Target: ", "Questions of people"):
            more = f" {counted(short, 'shortfall')}: see the card." if short and note.startswith("Target") else ""
            click.echo(f"  {note}{more}")
    if (run.folder / "report.html").is_file():
        click.echo(f"report   {run.folder / 'report.html'}")
    folder = shlex.quote(str(run.folder))
    inspect = f"; scirgen inspect {folder} ROW_ID" if ended and any(released.values()) else ""
    click.echo(f"next     scirgen status {folder}{inspect}")
    if not ended:
        click.echo("The same command continues; it repeats no finished work.", err=True)
    if run.outcome.status == "partial":
        failing = next((stage for stage, row in funnel.items() if row["failed"] + row["partial"]), "STAGE")
        click.echo(
            f"{counted(run.outcome.failed_items, 'item')} failed; {again}. "
            f"Why: scirgen status {folder} --reasons {failing}",
            err=True,
        )
    return {"success": 0, "partial": 3, "budget": 4, "stopped": 130}[run.outcome.status]


def _notes(run: Run, *starts: str) -> list[str]:
    written = (run.release / "release.json").is_file()
    return [n for n in (Release(run.release).info.notes if written else ()) if n.startswith(starts)]


def queries_made(run: Run) -> str:
    """Format ``6 queries (facets 6)``; empty if no recipe ran."""
    queries = run.queries()
    recipes = ", ".join(f"{recipe} {n:,}" for recipe, n in queries.items())
    return f"{counted(sum(queries.values()), 'query', 'queries')} ({recipes})" if queries else ""
