"""``scirgen generate``: the main job."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.progress import make_observer
from scirgen.pipeline.plugins import load_registry
from scirgen.pipeline.preview import Preview, preview


def parse_settings(values: tuple[str, ...]) -> dict[str, object]:
    """``--set a.b=value`` pairs; values are YAML scalars or lists."""
    import yaml

    found: dict[str, object] = {}
    for text in values:
        key, sign, value = text.partition("=")
        if not sign:
            raise click.BadParameter(f"{text!r}: expected KEY=VALUE", param_hint="--set")
        found[key] = yaml.safe_load(value)
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--domain", help="Domain pack: prompts, taxonomies and a sample corpus.  [default: geo]")
@click.option(
    "--input", "input_", type=click.Path(), help="Folder or file of dataset records. Without: the domain's sample."
)
@click.option("--papers", type=click.Path(), help="Folder of papers, when it is not inside the input.")
@click.option("--source", help="Registered source adapter (see: scirgen plugins list).")
@click.option("--model", help="Generator: openai:NAME[@URL], hf:ID_OR_DIR, vllm:ID_OR_DIR, bundled:smollm2-135m.")
@click.option("--scorer", help="Model that measures log-probabilities.  [default: the generator]")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("runs/latest"), show_default=True, help="The run's folder."
)
@click.option("--limit", type=click.IntRange(min=1), help="At most this many datasets.")
@click.option("--ids", multiple=True, metavar="ID", help="Only the dataset with this id or DOI; may be repeated.")
@click.option("--licences", metavar="NAMES", help="Only what may be redistributed, e.g. cc-by,cc0.  [default: all]")
@click.option("--query", help="What to search the catalogue for, where the source searches.")
@click.option("--papers-from", metavar="NAMES", help="Paper services, e.g. openalex,unpaywall.")
@click.option("--dry-run", is_flag=True, help="Count what would be read, and stop.")
@click.option("--seed", type=int, help="Of sampling and splitting.  [default: 0]")
@click.option("--language", help="Language of questions and answers (en, zh, ...).")
@click.option("--engine", help="Where items run: local, ray.")
@click.option("--ray-address", help="Address of a running Ray cluster (engine ray); without: Ray on this machine.")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Stop cleanly once this many tokens were used.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), help="Stop cleanly at this cost (needs prices in the config)."
)
@click.option("--max-minutes", type=click.FloatRange(min=0), help="Stop cleanly after this many minutes.")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="YAML file of settings.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any setting, e.g. generate.pairs_per_type=1."
)
@click.option("--quiet", is_flag=True, help="Only the closing summary.")
def generate(
    out: Path, config_file: Path | None, settings: tuple[str, ...], quiet: bool, dry_run: bool, **given: Any
) -> None:
    """Make a dataset: records and papers in, a release out.

    Running it again on the same --out goes on where it stopped and redoes only what changed.
    """
    flags = {
        "input": given["input_"],
        "papers": given["papers"],
        "collect.source": given["source"],
        "collect.limit": given["limit"],
        "collect.ids": list(given["ids"]) or None,
        "collect.licences": names_in(given["licences"]),
        "collect.options.query": given["query"],
        "collect.papers_from": names_in(given["papers_from"]),
        "models.generator": given["model"],
        "models.scorer": given["scorer"],
        "seed": given["seed"],
        "language": given["language"],
        "engine": given["engine"],
        "ray.address": given["ray_address"],
        "limits.max_tokens": given["max_tokens"],
        "limits.max_cost": given["max_cost"],
        "limits.max_minutes": given["max_minutes"],
        **parse_settings(settings),
    }
    loaded, domain = resolve_config(domain=given["domain"], config_file=config_file, flags=flags)
    if dry_run:
        show_preview(asyncio.run(preview(loaded.config, load_registry(), domain, out)))
        return
    observer = make_observer(quiet=quiet)
    with observer:
        run = asyncio.run(run_pipeline(out, loaded.config, domain, observer=observer))
    sys.exit(summarise(run))


def names_in(listed: str | None) -> list[str] | None:
    """The names in a comma-separated list; None when it was not given."""
    return [n.strip() for n in listed.split(",") if n.strip()] if listed else None


def show_preview(found: Preview) -> None:
    """Print the counts of a dry run."""
    click.echo(
        f"source    {found.source}" + (f", which holds {found.total} records" if found.total is not None else "")
    )
    click.echo(f"datasets  {found.wanted}")
    for name, counted in (("rejected", found.rejected), ("licences", found.licences)):
        if counted:
            click.echo(f"{name:9} " + ", ".join(f"{k} {n}" for k, n in counted.most_common(8)))
    of = f"of the first {found.papers_of} datasets, before any is fetched"
    click.echo(f"papers    {', '.join(f'{k} {n}' for k, n in found.found_by.most_common()) or 'none'} ({of})")
    for title in found.titles[:5]:
        click.echo(f"  {title}")


def summarise(run: Run) -> int:
    """Print what came out and where it is; returns the exit code."""
    assert run.outcome is not None
    funnel = run.funnel()
    accepted = funnel["tag"]["outputs"]
    candidates = funnel["generate"]["outputs"]
    click.echo(
        f"{run.outcome.status}: {accepted} accepted of {candidates} candidates, from {run.outcome.datasets} datasets"
    )
    for stage, row in funnel.items():
        reasons = sorted(
            ((k.split(":", 1)[1], n) for k, n in row.items() if k.startswith("rejected:")), key=lambda kn: -kn[1]
        )
        if reasons:
            click.echo(f"  {stage:9} rejected " + ", ".join(f"{code} {n}" for code, n in reasons[:6]))
    if run.outcome.message:
        click.echo(f"  stopped: {run.outcome.message}")
    if run.outcome.status in ("success", "partial"):
        splits = ", ".join(f"{split} {rows}" for split, rows in run.released().items())
        click.echo(f"release  {run.release}  ({splits})")
        if (run.folder / "report.html").is_file():
            click.echo(f"report   {run.folder / 'report.html'}")
    click.echo(f"next     scirgen status {run.folder}; scirgen inspect {run.folder} ROW_ID")
    if run.outcome.status == "partial":
        click.echo(f"{run.outcome.failed_items} items failed; run the same command again to retry them.", err=True)
    return {"success": 0, "partial": 3, "budget": 4, "stopped": 130}[run.outcome.status]
