"""The part of ``scirgen benchmark`` for the retrieval tasks of a release."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scirgen_bench.cli.options import names_in, write_json

if TYPE_CHECKING:
    from scirgen import Release
    from scirgen_bench.tasks.evaluate import TaskSettings
    from scirgen_bench.tasks.pool_run import PoolResult


@dataclass(frozen=True)
class PoolOptions:
    """The options of ``scirgen benchmark pool``."""

    out: Path | None
    judges: str
    pool_with: str
    adjudicator: str | None
    reviewed: tuple[Path, ...]
    unreviewed: bool
    labels: tuple[Path, ...]
    sample: Path | None
    setting: str
    split: str
    depth: int
    limit: int
    dry_run: bool


class Count:
    """Reports the progress of a long job on stderr, about twenty times."""

    def __init__(self, what: str) -> None:
        self._what, self._total, self._step = what, 0, 1

    def start(self, total: int) -> None:
        self._total, self._step = total, max(1, total // 20)

    def __call__(self, done: int) -> None:
        if done % self._step == 0 or done == self._total:
            click.echo(f"{done} of {self._total} {self._what}", err=True)


def beside(release: Release, name: str) -> Path:
    """Return the default folder for results about a release: next to it, since a release contains only the files it
    lists."""
    place = release.folder.resolve()
    return place.with_name(f"{place.name}-{name}")


def measure(
    release: Path, task: str, retrievers: str, settings: TaskSettings, json_file: Path | None, *, quiet: bool
) -> None:
    """Measure retrievers on a task, print the table and write the figures."""
    from scirgen import Release
    from scirgen.plugin import load_registry
    from scirgen_bench.retriever import split_specs
    from scirgen_bench.tables import shown_spec, task_table
    from scirgen_bench.tasks.evaluate import evaluate_task
    from scirgen_bench.tasks.task_files import Task

    report = evaluate_task(
        Task(Release(release), task),
        split_specs(retrievers),
        settings,
        load_registry(),
        progress=lambda line: None if quiet else click.echo(line, err=True),
    )
    write_json(json_file, report.model_dump_json(indent=2))
    click.echo(
        f"{report.release}, task {report.task}, {report.split}, by the conventions of {report.profile}; percent\n"
    )
    click.echo(task_table(report.rows))
    for test in report.tests:
        pair = f"{shown_spec(test.left)} - {shown_spec(test.right)}"
        click.echo(f"{pair} = {100 * test.difference:+.2f} {test.metric}, p = {test.p_holm:.4f} (Holm)")
    for note in report.notes:
        click.echo(f"note: {note}")


def grade(release: Path, task: str | None, options: PoolOptions) -> None:
    """Pool and grade a task, and print the result. Exit code 3: some pairs could not be graded."""
    from scirgen import Release
    from scirgen.plugin import load_registry
    from scirgen_bench.labels.labelset import LabelSet
    from scirgen_bench.retriever import split_specs
    from scirgen_bench.tasks.pool_run import run_task_pool
    from scirgen_bench.tasks.pools import PoolSettings
    from scirgen_bench.tasks.reviews import reviewed_drafts, validated_judges
    from scirgen_bench.tasks.task_files import open_task

    opened = open_task(Release(release), task)
    out = options.out or beside(opened.release, f"{task}-pool" if task else "pool")
    passed = reviewed_drafts(options.reviewed) if options.reviewed else None
    settings = PoolSettings(
        split=options.split,
        pool_with=tuple(split_specs(options.pool_with)),
        depth=options.depth,
        limit=options.limit,
        reviewed=passed if passed is not None or options.unreviewed or not opened.info.needs_review else {},
        setting=options.setting,
    )
    sampled = (i.record.partition("|") for i in LabelSet(options.sample).items) if options.sample else None
    count, judges = Count("grades"), names_in(options.judges)
    if len(judges) > len({*judges}):
        raise click.UsageError("--judges names a model twice: its second grades would repeat its first")

    def started(queries: int, calls: dict[str, int], tokens: int) -> None:
        total = sum(calls.values())
        forms = ", ".join(f"{form} {n:,}" for form, n in sorted(calls.items()))
        bill = f"{queries} queries, {total:,} calls ({forms}), about {tokens:,} tokens in"
        click.echo(bill, err=not options.dry_run)
        count.start(total)

    result = asyncio.run(
        run_task_pool(
            opened,
            judges,
            settings,
            load_registry(),
            out,
            adjudicator=options.adjudicator,
            only={(query, document) for query, _, document in sampled} if sampled else None,
            validated=validated_judges(options.labels),
            dry_run=options.dry_run,
            started=started,
            progress=count,
        )
    )
    if options.dry_run:
        return
    _show_grades(result, out)
    if task:
        click.echo(f"Take them into the next release: scirgen generate ... --set query.judgements='[{out}]'")
    else:
        click.echo(
            f"Measure with them: scirgen benchmark retrieval {release} --split {options.split} --qrels "
            f"{out / 'qrels.tsv'}"
        )
    if result.graded.failed:
        raise SystemExit(3)


def _show_grades(result: PoolResult, out: Path) -> None:
    """Count the grades by judge; say whether judges see the gold, and which judges are unvalidated."""
    from scirgen_bench.tasks.pool_run import gold_seen

    graded = result.graded
    click.echo(f"{out}: {len(graded.grades):,} grades of {len(result.queries)} queries, {len(graded.failed)} failed")
    for query, document, judge, why in graded.failed[:3]:
        click.echo(f"  {query}, {document}, {judge}: {why}")
    by_judge: dict[str, Counter[int]] = {}
    for found in graded.grades:
        by_judge.setdefault(found.judge, Counter())[found.grade] += 1
    seen = gold_seen(graded.grades)
    for judge, grades in sorted(by_judge.items()):
        means = ", ".join(
            f"mean of {k} {seen[f'{judge}, {k}']:.2f}" for k in ("gold", "other") if f"{judge}, {k}" in seen
        )
        click.echo(f"{judge}: " + ", ".join(f"{g}: {grades[g]}" for g in sorted(grades, reverse=True)) + f"; {means}")
        if seen.get(f"{judge}, gold", 9.0) <= seen.get(f"{judge}, other", 0.0):
            click.echo(
                "note: it grades gold datasets no higher than the others; take a stronger model before using this"
            )
    if result.open:
        click.echo(
            f"{result.open} pair(s) differ between judges; settle them with --adjudicator URI or have a person do it"
        )
    if result.info.unvalidated:
        names = ", ".join(result.info.unvalidated)
        click.echo(
            f"note: the grades of {names} are unvalidated: no test against people's labels was passed (--labels)"
        )
