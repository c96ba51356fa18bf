"""``scirgen analyze``: compares what question sets contain."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scirgen.cli.options import PATH, json_file_option, write_json


@click.command()
@click.argument("sets", nargs=-1, required=True, type=PATH)
@json_file_option
def analyze(sets: tuple[Path, ...], json_file: Path | None) -> None:
    """Compare types, Bloom levels, papers, aspects and words of question SETS: releases, BEIR folders, ScIRGen-Geo,
    JSONL."""
    from scirgen_bench.analysis import profile, shares_side_by_side
    from scirgen_bench.tables import markdown, told_apart

    profiles = [profile(path) for path in sets]
    names = told_apart(sets, [p["name"] for p in profiles])
    for p, name in zip(profiles, names, strict=True):
        p["name"] = name
        about = f"{p['questions']:,} questions, {p['question_words']:.1f} words each; labels: {p['labels']}"
        click.echo(f"# {name} ({p['kind']}): {about}\n")
        if p["table_3a"]:
            types: list[list[object]] = [
                [r["question_type"], r["count"], f"{r['share']:.1%}", r["question_words"], r["answer_words"] or "-"]
                for r in p["table_3a"]
            ]
            click.echo(markdown(["type", "questions", "share", "words asked", "words answered"], types) + "\n")
        if p["table_3b"]:
            papers = [[n, count] for n, count in p["table_3b"]["by_number"].items()]
            click.echo(
                markdown(["papers", "datasets"], [*papers, ["any", p["table_3b"]["datasets_with_papers"]]]) + "\n"
            )
        if p["table_3c"]:
            aspects = [[a["aspect"], a["count"], f"{a['words']:.2f}"] for a in p["table_3c"]]
            click.echo(markdown(["aspect", "statements", "words"], aspects) + "\n")
    index = ["evenness", *("-" if p["evenness"] is None else p["evenness"] for p in profiles)]
    click.echo(markdown(["level", *names], [*shares_side_by_side(profiles), index]))
    click.echo(
        "\nA word is what str.split and wc -w count. Evenness: Shannon entropy of the levels' shares divided by log 6. "
        "ScIRGen's figure 5 prints a diversity index; this table has evenness instead."
    )
    notes = [f"{p['name']} has no types and levels; scirgen tag finds them" for p in profiles if p["labels"] == "none"]
    for note in notes:
        click.echo(f"note: {note}")
    write_json(json_file, json.dumps({"sets": profiles, "notes": notes}, indent=2, ensure_ascii=False))
