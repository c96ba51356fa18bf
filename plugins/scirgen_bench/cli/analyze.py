"""``scirgen analyze``: compares what question sets contain."""

from __future__ import annotations

import json
from pathlib import Path

import click

from scirgen_bench.cli.options import PATH, json_file_option, write_json


@click.command()
@click.argument("sets", nargs=-1, required=True, type=PATH)
@click.option("--rows", is_flag=True, help="Show two sets row by row instead: what is changed, removed and added.")
@click.option("--most", type=click.IntRange(min=0), default=20, show_default=True, help="Rows of each kind to show.")
@json_file_option
def analyze(sets: tuple[Path, ...], rows: bool, most: int, json_file: Path | None) -> None:
    """Compare types, Bloom levels, papers, aspects and words of question SETS: releases, BEIR folders, ScIRGen-Geo,
    JSONL. With --rows, compare two of them row by row, such as two runs."""
    if rows:
        if len(sets) != 2:
            raise click.UsageError("--rows compares two sets")
        _row_by_row(*sets, most, json_file)
        return
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


def _row_by_row(old: Path, new: Path, most: int, json_file: Path | None) -> None:
    from scirgen.plugin import open_qa
    from scirgen_bench.differences import KINDS, counts, differences

    found = list(differences(open_qa(old, None, ""), open_qa(new, None, "")))
    click.echo(", ".join(f"{n:,} {kind}" for kind, n in counts(found).items()))
    for kind in KINDS[1:]:
        some = [one for one in found if one.kind == kind]
        for one in some[:most]:
            row = one.new or one.old
            assert row is not None
            click.echo(f"\n{kind}  {row.question_type}  {one.dataset_id}")
            for sign, side in (("-", one.old), ("+", one.new)):
                if side is not None:
                    click.echo(f"  {sign} Q {side.question}\n  {sign} A {side.answer or ''}")
        if len(some) > most:
            click.echo(f"\n{kind}: {len(some) - most:,} more; --most shows them")
    told = [
        {
            "kind": one.kind, "dataset_id": one.dataset_id,
            **{
                name: row and {"id": row.id, "question": row.question, "answer": row.answer, "type": row.question_type}
                for name, row in (("old", one.old), ("new", one.new))
            },
        }
        for one in found
    ]  # fmt: skip
    write_json(json_file, json.dumps({"counts": counts(found), "rows": told}, indent=2, ensure_ascii=False))
