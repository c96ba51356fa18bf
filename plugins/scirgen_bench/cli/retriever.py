"""``scirgen retriever``: trains an embedding model for retrieval on a release, or writes the pairs to train one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from scirgen_bench.cli.options import PATH, SPLIT

F = TypeVar("F", bound=Callable[..., Any])


def number(name: str, default: int, text: str, *, least: int = 1) -> Callable[[F], F]:
    """Return an option with a whole number."""
    return click.option(name, type=click.IntRange(min=least), default=default, show_default=True, help=text)


@click.group()
def retriever() -> None:
    """Train a retriever on a release."""


@retriever.command(short_help="Train an embedding model on a release's train split.")
@click.argument("release", type=PATH)
@click.option("--base", required=True, help="The model to start from: a sentence-transformers folder or id.")
@click.option("--out", required=True, type=PATH, help="Folder for the trained model.")
@click.option("--task", type=click.Choice(["qa", "recommend"]), default="qa", show_default=True, help="Task to learn.")
@number("--steps", 500, "Optimiser steps.")
@number("--batch", 32, "Largest number of questions per step.", least=2)
@click.option("--learning-rate", type=click.FloatRange(min=0, min_open=True), default=5e-5, show_default=True)
@number("--max-tokens", 128, "Largest number of tokens of a text during training.", least=8)
@number("--frozen-layers", 0, "Number of lowest layers that stay frozen.", least=0)
@number("--evaluate-every", 50, "Steps between evaluations.")
@click.option(
    "--select-on",
    type=click.Choice(["dev", "train"]),
    default="dev",
    show_default=True,
    help="Choose the best step on dev, or on documents held out of train.",
)
@number("--dev-queries", 300, "Questions that are measured.")
@number("--dev-documents", 1000, "Documents that they are ranked among.")
@click.option(
    "--setting", type=click.Choice(["without-paper", "with-paper"]), default="without-paper", show_default=True
)
@click.option("--bf16", is_flag=True, help="Compute in bfloat16: faster where the processor has it.")
@click.option("--seed", default=0, show_default=True)
def train(release: Path, base: str, out: Path, **given: Any) -> None:
    """Train BASE on the train split of RELEASE and save the best step; use it as st:OUT.

    After an interruption, run the same command again to continue from the last checkpoint.
    """
    from scirgen import Release
    from scirgen_bench.train import TrainingSettings, train_retriever

    settings = TrainingSettings(**given)
    made = train_retriever(Release(release), base, out, settings, lambda line: click.echo(line, err=True))
    for name, after in made["dev_after"].items():
        click.echo(f"{name}: {made['dev_before'].get(name, 0.0):.3f} before, {after:.3f} after")
    click.echo(
        f"{out}: {made['steps_done']} steps. Measure: scirgen benchmark retrieval {release} --retrievers "
        f"bm25:tuned,st:{out}"
    )


@retriever.command(short_help="Write pairs for training: question, passages of grade 2, hard negatives.")
@click.argument("release", type=PATH)
@click.argument("out", type=PATH)
@click.option(
    "--retrievers",
    default="bm25",
    show_default=True,
    help="Retrievers that find negatives, comma-separated, e.g. bm25,st:MODEL_OR_DIR.",
)
@click.option("--split", type=SPLIT, default="train", show_default=True)
@click.option("--seed", default=0, show_default=True)
def pairs(release: Path, out: Path, retrievers: str, split: str, seed: int) -> None:
    """Write OUT, JSON Lines with query, pos, neg, their ids, and the scores of the negatives.

    Negatives are at ranks 10 to 50 of a retriever, have at most .95 of the best positive's score, and no grade.
    """
    from scirgen import Release
    from scirgen_bench.pairs import training_pairs, write_pairs
    from scirgen_bench.retriever import split_specs

    opened = Release(release)
    count = write_pairs(out, training_pairs(opened, split, split_specs(retrievers), seed=seed))
    click.echo(
        f"{count:,} of {opened.info.splits[split].rows:,} questions of {split} have graded passages"
        + (f": {out}" if count else "")
    )
