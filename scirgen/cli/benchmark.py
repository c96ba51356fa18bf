"""``scirgen benchmark``: measure retrievers and models on a release."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def benchmark() -> None:
    """Measure retrievers and models on a release."""


@benchmark.command()
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--retrievers",
    default="bm25",
    show_default=True,
    help="Comma-separated: bm25, bm25:k1=1.2,b=0.75, bm25:tuned, tfidf, st:MODEL_OR_DIR, hybrid:MODEL_OR_DIR, rerank:MODEL.",
)
@click.option(
    "--setting",
    "settings",
    default="without-paper,with-paper",
    show_default=True,
    help="Comma-separated: what of a dataset is indexed.",
)
@click.option("--split", type=click.Choice(["train", "dev", "test"]), default="test", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions, spread over the split.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write all figures to this file.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder for TREC run files.")
@click.option("--quiet", is_flag=True, help="Only the table.")
def retrieval(
    release: Path,
    retrievers: str,
    settings: str,
    split: str,
    limit: int | None,
    json_file: Path | None,
    runs: Path | None,
    quiet: bool,
) -> None:
    """Which dataset was a question asked about? Recall, MRR, NDCG and more, with intervals and tests."""
    from scirgen.benchmark.retrieval import evaluate
    from scirgen.benchmark.retriever import split_specs
    from scirgen.benchmark.tables import retrieval_table
    from scirgen.core.release import Release
    from scirgen.pipeline.plugins import load_registry

    report = evaluate(
        Release(release),
        split_specs(retrievers),
        registry=load_registry(),
        settings=[s.strip() for s in settings.split(",") if s.strip()],
        split=split,
        runs=runs,
        limit=limit,
        progress=lambda line: None if quiet else click.echo(line, err=True),
    )
    if json_file:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    click.echo(f"{report.release}, {report.split}: {report.queries:,} questions, {report.documents:,} documents\n")
    click.echo(retrieval_table(report.rows))
    for test in report.tests:
        click.echo(
            f"{test.setting}: {test.left} - {test.right} = {test.difference:+.3f} {test.metric}, p = {test.p_holm:.4f} (Holm)"
        )
    for note in report.notes:
        click.echo(f"note: {note}")
