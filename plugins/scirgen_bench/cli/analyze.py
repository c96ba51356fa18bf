"""``scirgen analyze``: compares what question sets contain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from scirgen.cli.options import PATH, json_file_option, write_json


@click.command()
@click.argument("sets", nargs=-1, required=True, type=PATH)
@json_file_option
def analyze(sets: tuple[Path, ...], json_file: Path | None) -> None:
    """Compare types, Bloom levels, papers, aspects and words of question SETS: releases, BEIR folders, ScIRGen-Geo,
    JSONL."""
    from scirgen_bench.compare.profile import DIVERSITY, WORD, Analysis, profile, shares_side_by_side
    from scirgen_bench.compare.question_sets import read_question_set
    from scirgen_bench.tables import markdown, told_apart

    read = [read_question_set(path) for path in sets]
    names = told_apart(sets, [q.name for q in read])
    profiles = [profile(replace(questions, name=name)) for questions, name in zip(read, names, strict=True)]
    notes = [f"{p.name} has no types and levels; scirgen tag finds them" for p in profiles if p.labels == "none"]
    write_json(json_file, Analysis(sets=profiles, notes=notes).model_dump_json(indent=2))
    for p in profiles:
        click.echo(
            f"# {p.name} ({p.kind}): {p.questions:,} questions, {p.question_words:.1f} words each; labels: {p.labels}\n"
        )
        if p.table_3a:
            rows: list[list[object]] = [
                [
                    r.question_type,
                    r.count,
                    f"{r.share:.1%}",
                    r.question_words,
                    r.answer_words if p.answer_words else "-",
                ]
                for r in p.table_3a
            ]
            click.echo(markdown(["type", "questions", "share", "words asked", "words answered"], rows) + "\n")
        if p.table_3b:
            papers: list[list[object]] = [[n, c] for n, c in p.table_3b.by_number.items()]
            click.echo(markdown(["papers", "datasets"], [*papers, ["any", p.table_3b.datasets_with_papers]]) + "\n")
        if p.table_3c:
            aspects: list[list[object]] = [[a.aspect, a.count, f"{a.words:.2f}"] for a in p.table_3c]
            click.echo(markdown(["aspect", "statements", "words"], aspects) + "\n")
    index: list[object] = ["evenness", *(d if (d := p.diversity.bloom) is not None else "-" for p in profiles)]
    click.echo(markdown(["level", *names], [*shares_side_by_side(profiles), index]))
    click.echo(
        f"\nA word is {WORD}.\nEvenness: {DIVERSITY}. ScIRGen's figure 5 prints a diversity index; this table has "
        "evenness instead."
    )
    for note in notes:
        click.echo(f"note: {note}")
