"""What ``scirgen benchmark`` shows of a release's retrieval tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scirgen.benchmark.tasks.evaluate import TaskSettings


def measure(
    release: Path, task: str, retrievers: str, settings: TaskSettings, json_file: Path | None, *, quiet: bool
) -> None:
    """Measure retrievers on a task, print the table and write the figures."""
    from scirgen.benchmark.retriever import split_specs
    from scirgen.benchmark.tables import shown_spec, task_table
    from scirgen.benchmark.tasks.evaluate import evaluate_task
    from scirgen.core.registry import load_registry
    from scirgen.qa.release import Release
    from scirgen.qa.tasks import Task

    report = evaluate_task(
        Task(Release(release), task),
        split_specs(retrievers),
        settings,
        load_registry(),
        progress=lambda line: None if quiet else click.echo(line, err=True),
    )
    if json_file:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    click.echo(
        f"{report.release}, task {report.task}, {report.split}, by the conventions of {report.profile}; percent\n"
    )
    click.echo(task_table(report.rows))
    for test in report.tests:
        pair = f"{shown_spec(test.left)} - {shown_spec(test.right)}"
        click.echo(f"{pair} = {100 * test.difference:+.2f} {test.metric}, p = {test.p_holm:.4f} (Holm)")
    for note in report.notes:
        click.echo(f"note: {note}")
