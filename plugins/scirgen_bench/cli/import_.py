"""``scirgen import``: imports published datasets as releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scirgen_bench.cli.options import PATH, SPLIT, names_in

if TYPE_CHECKING:
    from scirgen import Release
    from scirgen.plugin import ReleaseContent


@click.group("import")
def import_() -> None:
    """Import a published dataset as a release."""


@import_.command("scirgen-geo", short_help="Import the published ScIRGen-Geo.")
@click.argument("src", type=PATH)
@click.argument("out", type=PATH)
@click.option("--formats", default="jsonl", show_default=True, help="Comma-separated release formats to write.")
@click.option("--resplit", is_flag=True, help="Make new splits without leakage instead of keeping the published ones.")
@click.option(
    "--split",
    "rest",
    type=SPLIT,
    help="Split for records that state none. [default: new splits, or train if other records state one]",
)
@click.option("--seed", default=0, show_default=True, help="Random seed for new splits.")
def scirgen_geo(
    src: Path,
    out: Path,
    formats: str,
    resplit: bool,
    rest: str | None,
    seed: int,
) -> None:
    """Import ScIRGen-Geo: SRC is a folder as released (full/train/dev/test, or flat), or records.jsonl[.gz]."""
    from scirgen_bench.published.scirgen_geo import scirgen_geo as read

    if resplit and rest:
        raise click.UsageError("--resplit makes new splits and --split keeps everything in one: give only one of them")
    content = read(src, rest)
    if resplit:
        content.splits = None
    release = _written(content, out, formats, seed=seed)
    counts = release.info.counts
    sizes = ", ".join(f"{split} {count.rows:,}" for split, count in release.info.splits.items())
    click.echo(f"{release.folder}: {counts['rows']:,} questions ({sizes}) about {counts['datasets']:,} datasets")
    if content.splits is None and not resplit:
        click.echo("note: the records state no splits, so new ones were made. To keep all in one, use --split test")
    for note in release.info.notes:
        click.echo(f"note: {note}")


def _written(content: ReleaseContent, out: Path, formats: str, seed: int = 0) -> Release:
    """Write an imported release."""
    from scirgen.plugin import Resources, Taxonomies, load_registry
    from scirgen.stages.release.write import ReleaseSettings, write_release

    wording = Taxonomies(Resources()).wording.of(content.info.language)
    settings = ReleaseSettings(wording=wording, registry=load_registry(), seed=seed, formats=names_in(formats))
    return write_release(content, out, settings)[0]


def _import_task(name: str, summary: str, text: str) -> None:
    """Add ``scirgen import NAME SRC OUT`` for a published retrieval dataset."""

    @import_.command(name, short_help=summary, help=text)
    @click.argument("src", type=PATH)
    @click.argument("out", type=PATH)
    @click.option("--formats", default="jsonl", show_default=True, help="Comma-separated release formats to write.")
    def command(src: Path, out: Path, formats: str) -> None:
        from importlib import import_module

        content = getattr(import_module(f"scirgen_bench.published.{name}"), name)(src)
        release = _written(content, out, formats)
        for task, info in release.info.tasks.items():
            sizes = ", ".join(f"{split} {n:,}" for split, n in info.queries.items() if n)
            click.echo(
                f"{release.folder}: task {task}, queries with grades or gold: {sizes}; {info.grades:,} graded pairs"
            )
            profile = f"scirgen benchmark retrieval {out} --task {task} --profile {info.profile}"
            split = max(info.queries, key=lambda s: info.queries[s])
            click.echo(f"Measure on it: {profile} --split {split}")
        for note in release.info.notes:
            click.echo(f"note: {note}")


_import_task(
    "datafinder",
    "Import DataFinder (ACL 2023) as a release with the task recommend.",
    "Import DataFinder. SRC is a clone of its repository: data/dataset_search_collection.jsonl, test_data.jsonl, ...",
)
_import_task(
    "csfcube",
    "Import CSFCube (NeurIPS 2021) as a release with the task facets.",
    "Import CSFCube. SRC is its repository or release: abstracts-csfcube-preds.jsonl, "
    "test-pid2anns-csfcube-FACET.json, ...",
)
_import_task(
    "dorismae",
    "Import DORIS-MAE (NeurIPS 2023) as a release with the task aspects.",
    "Import DORIS-MAE. SRC is a folder with DORIS-MAE_dataset_v1.json.",
)
