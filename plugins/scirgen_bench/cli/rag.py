"""``scirgen benchmark rag``: scores the chunks and answers of any system."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from scirgen_bench.cli.options import PATH, json_file_option, names_in, write_json


@click.command(short_help="Score the chunks and answers of your own system.")
@click.argument("release", type=PATH)
@click.argument("answers", type=PATH, nargs=-1, required=True)
@click.option("--judge", default="", help="URI of a model that judges support by the chunks, and nuggets.")
@click.option(
    "--entailment", default="", help="Compare answers with references: hf:NLI_MODEL_OR_DIR, or lexical:words."
)
@click.option(
    "--by", help="Also show tables broken down by these, comma-separated: question_type, bloom, asked, difficulty."
)
@click.option("--out", type=PATH, help="Folder for the judge's replies. [default: RELEASE-rag, beside the release]")
@json_file_option
def rag(
    release: Path, answers: tuple[Path, ...], judge: str, entailment: str, by: str | None, out: Path | None,
    json_file: Path | None,
) -> None:  # fmt: skip
    """Score ANSWERS.jsonl, one file per system, with lines {"id", "chunks": [{"text", "document"}], "answer"}.

    "id" is a question's in the release, "chunks" what the system found for it, best first. Chunks of any parser and
    size are aligned with the release's answer spans by their letters and digits. An answer with the word UNANSWERABLE
    refuses.
    """
    from scirgen import Release
    from scirgen.plugin import load_registry
    from scirgen_bench.cli.tasks import beside
    from scirgen_bench.rag.evaluate import BREAKDOWNS, FOUND, SAID, asked_rows, evaluate_rag, read_systems
    from scirgen_bench.rag.judging import judge_systems
    from scirgen_bench.systems import systems_table

    wanted = names_in(by)
    if unknown := [name for name in wanted if name not in BREAKDOWNS]:
        raise click.BadParameter(f"{unknown[0]!r}: choose from {', '.join(BREAKDOWNS)}", param_hint="--by")
    opened, systems = Release(release), read_systems(answers)
    rows = asked_rows(opened, systems)
    judged = asyncio.run(
        judge_systems(
            rows, {s.name: s.given for s in systems}, load_registry(), out or beside(opened, "rag"), judge=judge,
            entailment=entailment,
        )
    )  # fmt: skip
    report = evaluate_rag(opened, systems, rows, judged)
    write_json(json_file, report.model_dump_json(indent=2))
    click.echo(f"{report.release}: {len(rows):,} questions\n\n{systems_table(report.rows, FOUND + SAID)}")
    for name in wanted:
        click.echo(f"\n{systems_table(report.breakdown, FOUND + SAID, name)}")
    for test in report.tests:
        p = f"p = {test.p_holm:.4f} (Holm)"
        click.echo(f"{test.left} - {test.right} = {test.difference:+.3f} {test.metric}, {p}")
    for note in report.notes:
        click.echo(f"note: {note}")
