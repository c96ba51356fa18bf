"""``scirgen label``: collects labels by people, from the sample to the test of a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from scirgen.pipeline.views.view import open_view
from scirgen.plugin import (
    PromptLibrary,
    Resources,
    Taxonomies,
    echo_json,
    load_registry,
    parse_settings,
    resolve_config,
    settings_option,
)
from scirgen_bench.cli.options import PATH, SPLIT, as_json_flag, names_in
from scirgen_bench.labels.labelset import TASKS, LabelSet, Part, TaskName
from scirgen_bench.retriever import split_specs
from scirgen_bench.tasks.pools import PoolSettings
from scirgen_bench.tasks.taxonomies import facets_of
from scirgen_label.agree import as_text, keep_earlier, measure, verdicts, write
from scirgen_label.draw import Request
from scirgen_label.draw import draw as draw_sample
from scirgen_label.judge import ask_judges
from scirgen_label.links import FacetSource, LinkSource
from scirgen_label.merge import merge as merge_files
from scirgen_label.pages import MAILABLE, write_pages
from scirgen_label.plan import pilot_figures, plan_text
from scirgen_label.sources import FileSource, QueryFile, RunSource, Source, TaskSource, counted

_TASK = click.Choice(list(TASKS))


@click.group()
def label() -> None:
    """Collect labels from people: draw a sample, label it on a page, merge, measure agreement, test a judge.

    L/ is a folder with one frozen sample and all its labels.
    """


@dataclass(frozen=True)
class _Population:
    """The options that say what is labelled."""

    source: Path
    task: TaskName
    of: str | None
    pool_with: str
    depth: int
    limit: int
    split: str | None
    domain: str | None
    overrides: Path | None

    @property
    def resources(self) -> Resources:
        """Guidelines and taxonomies."""
        _, pack = resolve_config(domain=self.domain)
        return Resources(pack, self.overrides)

    @contextmanager
    def opened(self) -> Iterator[Source]:
        """Open the source of its candidates."""
        path, task, taxonomies = self.source, self.task, Taxonomies(self.resources)
        if self.of and task != "relevance":
            raise click.UsageError("--of names a retrieval task whose pool is graded: it needs --task relevance")
        if task == "relevance":
            specs = tuple(split_specs(self.pool_with))
            settings = PoolSettings(self.split or "test", specs, self.depth, limit=self.limit)
            yield TaskSource(path, self.of, facets_of(taxonomies), settings, load_registry())
        elif task in ("link", "facet"):
            if not (path / "run.db").is_file():
                raise click.UsageError(f"--task {task} needs a run")
            with open_view(path) as view:
                yield LinkSource(view) if task == "link" else FacetSource(view)
        elif task == "query" and path.is_file():
            yield QueryFile(path)
        elif (path / "run.db").is_file() and self.split is None:
            with open_view(path) as view:
                yield RunSource(view, taxonomies, load_registry().names("faithfulness"))
        else:
            yield FileSource(path, taxonomies, self.split)


_margin = click.option(
    "--margin",
    default=0.075,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Largest gap a judge may have.",
)
_folder = click.argument("folder", metavar="L/", type=click.Path(path_type=Path, exists=True, file_okay=False))
_domain = click.option("--domain", help="Domain whose guidelines and taxonomies are used.")
_overrides = click.option("--overrides", type=PATH, help="Folder with your own prompts and taxonomies.")
_POPULATION = (
    click.argument("source", type=click.Path(path_type=Path, exists=True)),
    click.option("--task", required=True, type=_TASK, help="What the annotators decide."),
    click.option(
        "--of",
        help="relevance: a retrieval task of the release (facets, aspects, recommend). [default: its questions]",
    ),
    click.option(
        "--pool-with", default="bm25,tfidf", show_default=True, help="relevance: whose first documents are pooled."
    ),
    click.option("--depth", default=10, show_default=True, help="relevance: documents of each retriever for a query."),
    click.option("--limit", default=50, show_default=True, help="relevance: number of queries, spread over the split."),
    click.option("--split", type=SPLIT, help="Use only this split of a release or file."),
    _domain,
    _overrides,
)


def _population_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_POPULATION):
        command = option(command)
    return command


@label.command()
@_population_options
@_margin
@click.option("--pilot", type=PATH, help="agreement.json of a pilot, whose spread and gap are used.")
def plan(margin: float, pilot: Path | None, **given: Any) -> None:
    """Show how many labels are needed, and why. SOURCE is a run, or any file that `scirgen audit` reads."""
    figures, population = pilot_figures(pilot) if pilot else None, _Population(**given)
    with population.opened() as source:
        verdicts = counted(source.candidates(), "verdict")
    click.echo(plan_text(str(population.source), verdicts, population.task, margin, figures))


@label.command()
@_population_options
@click.option("--n", "test", required=True, type=click.IntRange(min=1), help="Number of items in the test part.")
@click.option(
    "--dev",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Number of items in the dev part, in addition to --n.",
)
@click.option(
    "--strata", default="verdict,question_type", show_default=True, help="Stratify by these, most important first."
)
@click.option(
    "--annotators", default="A,B", show_default=True, help="Names of the annotators; each one labels all items."
)
@click.option("--language-models", default="", help="Those of the annotators that are language models, not people.")
@click.option("--out", required=True, type=PATH, help="New folder L/.")
@click.option("--seed", default=0, show_default=True, help="Random seed for the sample.")
@click.option(
    "--power",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Allocation over strata: 1 in proportion to size, 0 equal.",
)
@_margin
@click.option(
    "--follow",
    type=click.Path(path_type=Path, exists=True),
    help="Earlier L/ whose items become dev; the test part is new.",
)
def draw(
    test: int, dev: int, strata: str, annotators: str, language_models: str, out: Path, seed: int, power: float,
    margin: float, follow: Path | None, **given: Any,
) -> None:  # fmt: skip
    """Draw a sample and freeze it. SOURCE is a run, or any file that `scirgen audit` reads."""
    population = _Population(**given)
    request = Request(
        population.task, test, dev, tuple(names_in(strata)), tuple(names_in(annotators)), seed, power, margin,
        LabelSet(follow) if follow else None, tuple(names_in(language_models)),
    )  # fmt: skip
    guideline = PromptLibrary(population.resources).get(f"label/{population.task}")
    with population.opened() as source:
        made = draw_sample(source, population.source.name, request, guideline, out)
    sample = made.sample
    click.echo(f"{out}: sample {sample.id}, task {sample.task}, guideline {sample.guideline}")
    width = max(len("stratum"), *(len(s.name) for s in sample.strata))
    click.echo(f"{'stratum':{width}}{'population':>12}{'test':>7}{'dev':>6}")
    for s in sample.strata:
        click.echo(f"{s.name:{width}}{s.population:>12,}{s.test:>7}{s.dev:>6}")
    click.echo(f"Next: scirgen label page {out}")


@label.command()
@_folder
@click.option("--no-pictures", is_flag=True, help="Leave out the pictures of PDF pages, for a smaller file.")
def page(folder: Path, no_pictures: bool) -> None:
    """Write one self-contained page per annotator: L/A.html, L/B.html. A page needs no network and can be mailed."""
    labels = LabelSet(folder)
    for path in write_pages(labels, pictures=not no_pictures):
        size = path.stat().st_size
        click.echo(f"{path}: {len(labels.items)} items, {size / 1e6:.1f} MB")
        if size > MAILABLE:
            click.echo("  too large for many mail servers: share it another way, or use --no-pictures")
    click.echo("Each person opens their page in a browser, labels, downloads NAME.jsonl, and sends it back. Then:")
    click.echo(f"  scirgen label merge {folder} " + " ".join(f"{a}.jsonl" for a in labels.sample.annotators))


@label.command()
@_folder
@click.argument("files", nargs=-1, required=True, type=PATH)
def merge(folder: Path, files: tuple[Path, ...]) -> None:
    """Check and merge labels; write L/adjudicate.html with the items on which the annotators disagree.

    FILES come from the page's Download button, also on the adjudicator's page.
    """
    labels = LabelSet(folder)
    result = merge_files(labels, files)
    for bad in result.aside:
        click.echo(f"set aside: {bad}", err=True)
    for annotator, count in sorted(result.taken.items()):
        more = f", {n} not finished" if (n := result.unfinished.get(annotator)) else ""
        click.echo(f"{annotator}: {count} labels of {len(labels.items)} items{more}")
    if result.page:
        click.echo(f"{len(result.disputed)} items are disputed: a third person labels them on {result.page}, then:")
        click.echo(f"  scirgen label merge {folder} adjudicator.jsonl")
    else:
        click.echo(f"No item is disputed. Next: scirgen label agree {folder}")


@label.command()
@_folder
@click.option(
    "--judge",
    "judges",
    multiple=True,
    help="Judge to test: a model's URI, a score (shift, llm_judge), labels:FILE, or grades:POOL (the judges of a "
    "graded pool). May be repeated.",
)
@click.option(
    "--test",
    "open_test",
    is_flag=True,
    help="Test the judges on the test part, which can be opened only once. [default: dev]",
)
@as_json_flag
@settings_option("models.judge=URI")
@_domain
@_overrides
def agree(
    folder: Path,
    judges: tuple[str, ...],
    open_test: bool,
    settings: tuple[str, ...],
    domain: str | None,
    overrides: Path | None,
    as_json: bool,
) -> None:
    """Measure how well the annotators agree, and whether a judge agrees with them as well as they do with each other.

    Writes L/agreement.json, which `release.labels` and the dataset card read.
    """
    labels = LabelSet(folder)
    found = measure(labels)
    if judges:
        loaded, pack = resolve_config(domain=domain, flags=parse_settings(settings))
        part: Part = "test" if open_test else "dev"
        items = labels.part(part)
        registry = load_registry()
        judged = ask_judges(labels, judges, items, loaded.config, Resources(pack, overrides), registry)
        found["judges"] = verdicts(labels, judged, part)
    keep_earlier(labels, found)
    write(labels, found)
    if as_json:
        echo_json(found)
    else:
        click.echo(as_text(found))
