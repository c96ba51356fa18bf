"""``scirgen tagger``: trains a fast local classifier of Bloom levels or question types."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Literal

import click

from scirgen.api import find_domain
from scirgen.cli.options import PATH, json_file_option, write_json
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies


@click.group()
def tagger() -> None:
    """Train a fast local tagger of Bloom levels or question types."""


@tagger.command()
@click.option("--labels", required=True, type=PATH, help="JSON Lines with question, question_type and level.")
@click.option(
    "--test",
    "test_file",
    type=PATH,
    help="Labels in the same format to measure on. [default: a held-out tenth of LABELS]",
)
@click.option("--out", required=True, type=PATH, help="Folder for the tagger.")
@json_file_option
@click.option(
    "--target",
    type=click.Choice(["level", "question_type"]),
    default="level",
    show_default=True,
    help="Label to learn.",
)
@click.option("--domain", default="geo", show_default=True, help="Domain whose taxonomy names the types.")
def train(
    labels: Path,
    test_file: Path | None,
    out: Path,
    json_file: Path | None,
    target: Literal["level", "question_type"],
    domain: str,
) -> None:
    """Fit a tagger, measure it, and save it without pickle.

    OUT also gets disagreements.tsv: the questions on which tagger and label differ, most confident first.
    """
    from scirgen_bench.tagger import evaluate, fit, hold_out, read_labels

    taxonomies = Taxonomies(Resources(find_domain(domain)))
    examples, skipped = read_labels(labels, target, taxonomies)
    train_on, test = (examples, read_labels(test_file, target, taxonomies)[0]) if test_file else hold_out(examples)
    made = fit(train_on, target)
    report, differing = evaluate(made, train_on, test)
    report["tested_on"] = test_file.name if test_file else "a held-out tenth of the labels"
    report["skipped"] = skipped
    if test_file is None:
        made = fit(examples, target)
    made.meta["measured"] = {k: report[k] for k in ("accuracy", "macro_f1", "kappa", "test", "tested_on")}
    made.save(out)
    with (out / "disagreements.tsv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t", lineterminator="\n")
        rows.writerow(["margin", "label", "predicted", "question_type", "question"])
        rows.writerows([d.margin, d.label, d.predicted, d.question_type, d.question] for d in differing)
    write_json(json_file, json.dumps(report, indent=2, ensure_ascii=False))
    _show(report, out)


def _show(report: dict[str, Any], out: Path) -> None:
    click.echo(
        f"{report['target']}: trained on {report['train']}, measured on {report['test']} ({report['tested_on']})"
    )
    click.echo(f"{'':12}{'accuracy':>10}{'macro F1':>10}{'kappa':>10}")
    for name, row in (("tagger", report), *report["baselines"].items()):
        click.echo(f"{name:12}{row['accuracy']:>10.4f}{row['macro_f1']:>10.4f}{row['kappa']:>10.4f}")
    click.echo(f"{report['questions_per_s']} questions per second")
    click.echo(f"saved in {out}; {report['disagreements']} disagreements in {out / 'disagreements.tsv'}")
