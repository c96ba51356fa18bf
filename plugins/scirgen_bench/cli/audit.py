"""``scirgen audit FILE|RUN``: measures the defect rates of a question-answer set with the gates that need no model."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import shorten

import click

from scirgen.plugin import echo_json, parse_settings, settings_option
from scirgen_bench.cli.options import (
    PATH,
    SPLIT,
    config_option,
    counted,
    write_json,
)
from scirgen_bench.defects import Audit, audit_rows

_SHOWN = 2  # rows for each defect; the JSON has five


@click.command()
@click.argument("file", type=PATH)
@click.option("--split", type=SPLIT, help="Use only this split.")
@click.option("--domain", help="Domain whose gates and taxonomies are used; of a run or release by default its own.")
@config_option
@settings_option("a gate's threshold")
@click.option(
    "--json",
    "json_file",
    type=PATH,
    is_flag=False,
    flag_value="-",
    help="Print JSON; with a path after it, write it there.",
)
def audit(
    file: Path,
    split: str | None,
    domain: str | None,
    config_file: Path | None,
    settings: tuple[str, ...],
    json_file: Path | None,
) -> None:
    """Find defects in any question-answer set.

    FILE is a release or run folder, a folder or file of ScIRGen-Geo records, a BEIR folder, or a table (JSON Lines,
    CSV, Parquet, a Hugging Face folder) with 'question' and 'answer'. A row may have several defects; doubts about rows
    that a judge read and kept are counted apart. Rows that state
    no language are judged in the detected language, or in that of --set language=CODE.
    """
    found = audit_rows(file, split=split, domain=domain, config_file=config_file, flags=parse_settings(settings))
    if json_file == Path("-"):
        echo_json(found.as_json())
        return
    click.echo(as_text(found))
    write_json(json_file, json.dumps(found.as_json(), indent=2, ensure_ascii=False))


def as_text(found: Audit) -> str:
    """Return the findings as a table with examples."""
    rows = found.rows
    of = f"{counted(found.rows, 'row')} about {counted(found.datasets, 'dataset')}"
    lines = [f"{found.path} ({found.kind}, domain {found.domain}): {of}"]
    wide = max(map(len, ("no defect", *found.defects, *found.not_checked))) + 1
    if set(found.languages) - {"en"}:
        lines.append("languages: " + ", ".join(f"{code} {n}" for code, n in found.languages.most_common()))
    lines.append(f"{'defect':{wide}}{'rows':>8}{'share':>9}")
    for code, count in found.defects.most_common():
        lines.append(f"{code:{wide}}{count:>8}{count / rows:>9.2%}")
        for _, question, reason in found.examples.get(code, [])[:_SHOWN]:
            lines.append(f"    {shorten(question, 110, placeholder=' ...')!r}: {reason}")
    lines += [f"{code:{wide}}not checked: {why}" for code, why in sorted(found.not_checked.items())]
    if found.overruled:
        doubts = ", ".join(f"{code} {count}" for code, count in found.overruled.most_common())
        lines.append(f"overruled by the judge, who read these rows and kept them: {doubts}")
    lines.append(f"{'no defect':{wide}}{found.clean_rows:>8}{found.clean_rows / rows:>9.2%}")
    if found.yes_share is not None:
        answers = ", ".join(f"{found.verification[k]} {k}" for k in ("yes", "no", "other"))
        lines.append(f"Verification answers: {answers} (yes: {found.yes_share:.1%})")
    if found.pointing_phrases:
        pointing = counted(found.pointing_phrases, "row")
        lines.append(f"phrases like 'the study', 'this dataset', 'the context': {pointing}, most of them innocent")
    lines.append(f"questions repeated word for word with another gold dataset: {found.repeated_questions}")
    if found.most_repeated[1]:
        lines.append(f"  the most repeated, with {found.most_repeated[1]} datasets: {found.most_repeated[0]!r}")
    return "\n".join(lines)
