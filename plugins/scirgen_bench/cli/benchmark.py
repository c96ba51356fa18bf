"""``scirgen benchmark``: measures retrievers and models on a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scirgen.plugin import parse_settings, settings_option
from scirgen_bench.cli.agree import agree
from scirgen_bench.cli.options import PATH, SPLIT, json_file_option, names_in, write_json
from scirgen_bench.cli.rag import rag

_SPLIT = click.Choice([*SPLIT.choices, "all"])


@click.group()
def benchmark() -> None:
    """Measure retrievers and models on a release."""


@benchmark.command(short_help="Measure how well retrievers find the dataset that a question is about.")
@click.argument("release", type=PATH)
@click.option(
    "--retrievers",
    default="bm25",
    show_default=True,
    help="Comma-separated: bm25, bm25:k1=1.2,b=0.75, bm25:tuned, bm25:norms=byte, tfidf, st:MODEL_OR_DIR, "
    "hybrid (BM25 and the st: model of the list, or hybrid:MODEL_OR_DIR), rerank:MODEL_OR_DIR, run:FILE (a TREC run).",
)
@click.option(
    "--setting",
    "settings",
    help="Comma-separated settings that say what is indexed; without-own-paper leaves out the papers that the "
    "question's evidence "
    "is from; with-paper-json has the extracts as JSON, as in the published BM25 row. "
    "[default: without-paper,with-paper,without-own-paper; with --task: without-paper]",
)
@click.option(
    "--unit",
    type=click.Choice(["dataset", "passage"]),
    default="dataset",
    show_default=True,
    help="Find the dataset that a question is about, or the passages that answer it.",
)
@click.option(
    "--distractors",
    multiple=True,
    type=PATH,
    metavar="RELEASE",
    help="With --unit passage: search its passages too; RUN/corpus: all that a run read, for your own use.",
)
@click.option("--split", type=_SPLIT, default="test", show_default=True)
@click.option("--limit", type=click.IntRange(min=1), help="Largest number of questions, spread over the split.")
@json_file_option
@click.option("--runs", type=PATH, help="Folder for TREC run files.")
@click.option("--qrels", type=PATH, help="Graded judgements (from: benchmark pool) instead of the gold ones.")
@click.option(
    "--by",
    type=click.Choice(["question_type", "bloom", "facts", "documents", "asked", "difficulty", "has_paper"]),
    help="Also show a table broken down by this (the --json file has all breakdowns).",
)
@click.option("--task", help="Measure on this retrieval task instead of the questions.")
@click.option("--profile", help="With --task: evaluation conventions: trec, csfcube or doris. [default: the task's]")
@click.option(
    "--form",
    type=click.Choice(["sentence", "keyphrases", "complex", "sub_query", "facet"]),
    help="With --task: use only queries of this form.",
)
@click.option(
    "--query-text",
    type=click.Choice(["facet", "abstract", "aspects"]),
    default="facet",
    show_default=True,
    help="With --task: search with the query's own text, its paper's title and abstract, or the texts of its aspects.",
)
@click.option(
    "--not-after-query",
    is_flag=True,
    help="With --task: leave out documents published after the query; undated ones stay.",
)
@click.option(
    "--cut",
    help="With --task: measure only the first N documents (N), or DataFinder's published list (datafinder[:N]).",
)
@click.option("--quiet", is_flag=True, help="Print only the table.")
def retrieval(
    release: Path,
    retrievers: str,
    settings: str | None,
    unit: str,
    distractors: tuple[Path, ...],
    split: str,
    limit: int | None,
    json_file: Path | None,
    runs: Path | None,
    qrels: Path | None,
    by: str | None,
    task: str | None,
    profile: str | None,
    form: str | None,
    query_text: str,
    not_after_query: bool,
    cut: str | None,
    quiet: bool,
) -> None:
    """Measure whether retrievers find the dataset that a question is about, or the passages that answer it: recall,
    MRR, NDCG and more, with intervals and tests."""
    by_passage = unit == "passage"
    if by_passage and (task or settings or qrels):
        raise click.UsageError("--unit passage takes no --task, --setting or --qrels")
    if distractors and not by_passage:
        raise click.UsageError("--distractors needs --unit passage")
    if task:
        from scirgen_bench.cli.tasks import measure
        from scirgen_bench.tasks.cut import parse_cut
        from scirgen_bench.tasks.evaluate import DEPTH, TaskSettings

        if qrels or by or limit or split == "all":
            raise click.UsageError("--qrels, --by, --limit and --split all apply to questions, not to --task")
        if not (named := names_in("without-paper" if settings is None else settings)):
            raise click.BadParameter("give at least one", param_hint="--setting")
        given = TaskSettings(
            split=split, profile=profile, setting=named[-1], form=form, query_text=query_text,
            not_after_query=not_after_query, cut=parse_cut(cut, DEPTH) if cut else None, runs=runs,
        )  # fmt: skip
        measure(release, task, retrievers, given, json_file, quiet=quiet)
        return
    if profile or form or cut or not_after_query:
        raise click.UsageError("--profile, --form, --cut and --not-after-query need a --task")
    from scirgen import Release
    from scirgen.plugin import load_registry
    from scirgen.release_files.release import read_qrels
    from scirgen_bench.passage_retrieval import evaluate_passages
    from scirgen_bench.retrieval import DEFAULT_SETTINGS, evaluate
    from scirgen_bench.retriever import split_specs
    from scirgen_bench.tables import breakdown_table, retrieval_table, shown_spec

    def progress(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    opened, specs, registry = Release(release), split_specs(retrievers), load_registry()
    if by_passage:
        others = [folder if (folder / "corpus.json").is_file() else Release(folder) for folder in distractors]
        report = evaluate_passages(
            opened, specs, registry=registry, split=split, distractors=others, runs=runs, limit=limit, progress=progress
        )
    else:
        named = names_in(DEFAULT_SETTINGS if settings is None else settings)
        graded = read_qrels(qrels) if qrels else None
        report = evaluate(
            opened, specs, registry=registry, settings=named, split=split, runs=runs, limit=limit, qrels=graded,
            progress=progress,
        )  # fmt: skip
    write_json(json_file, report.model_dump_json(indent=2))
    click.echo(f"{report.release}, {report.split}: {report.queries:,} questions, {report.documents:,} {unit}s\n")
    click.echo(retrieval_table(report.rows))
    if by:
        click.echo(f"\n{breakdown_table(report.breakdown, by)}\n")
    for test in report.tests:
        pair = f"{shown_spec(test.left)} - {shown_spec(test.right)}"
        click.echo(f"{test.setting}: {pair} = {test.difference:+.3f} {test.metric}, p = {test.p_holm:.4f} (Holm)")
    for note in report.notes:
        click.echo(f"note: {note}")


@benchmark.command(short_help="Have models grade what retrievers find.")
@click.argument("release", type=PATH)
@click.option(
    "--out",
    type=PATH,
    help="Folder for grades, qrels and replies.  [default: RELEASE-pool or RELEASE-TASK-pool, beside the release]",
)
@click.option(
    "--judges",
    "--model",
    required=True,
    help="One or more judges, comma-separated URIs (openai:NAME[@URL], hf:ID_OR_DIR, bundled:...); each grades "
    "every pair.",
)
@click.option(
    "--pool-with",
    "--retrievers",
    default="bm25,tfidf",
    show_default=True,
    help="Retrievers whose first documents are pooled: bm25, tfidf, st:MODEL_OR_DIR, ...",
)
@click.option("--task", help="Pool the queries of this retrieval task instead of the questions (docs/recipes.md).")
@click.option("--adjudicator", help="A model that settles facet pairs on which two judges differ.")
@click.option(
    "--reviewed",
    multiple=True,
    type=PATH,
    help="With --task aspects: folder of labels (scirgen label, task query); grade only needs "
    "that people kept, as they edited them.",
)
@click.option("--unreviewed", is_flag=True, help="With --task aspects: grade needs that nobody has reviewed.")
@click.option(
    "--labels",
    multiple=True,
    type=PATH,
    help="Folder of labels (task relevance) whose test a judge has passed; its grades then count as validated.",
)
@click.option("--sample", type=PATH, help="Grade only the pairs that this folder of labels holds.")
@click.option("--setting", default="without-paper", show_default=True)
@click.option("--split", type=SPLIT, default="test", show_default=True)
@click.option(
    "--depth", type=click.IntRange(min=1), default=10, show_default=True, help="New documents of each retriever."
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Questions, spread over the split."
)
@click.option("--dry-run", is_flag=True, help="Print the number of calls and tokens, and stop.")
def pool(release: Path, task: str | None, **given: Any) -> None:
    """Pool what retrievers find and have models grade it 0-3; use the result with: benchmark retrieval --qrels.

    With --task, the pool is a task's; its grades go into the next release by query.judgements.
    """
    from scirgen_bench.cli.tasks import PoolOptions, grade

    grade(release, task, PoolOptions(**given))


@benchmark.command(short_help="Answer the questions, without and with passages.")
@click.argument("release", type=PATH)
@click.option("--model", required=True, help="URI of the model: openai:NAME[@URL], hf:ID_OR_DIR, vllm:..., bundled:...")
@click.option("--retriever", default="bm25", show_default=True, help="Retriever that finds the passages.")
@click.option("--k", "depths", default="0,1,5", show_default=True, help="Numbers of passages; 0 is closed-book.")
@click.option("--split", type=_SPLIT, default="test", show_default=True)
@click.option(
    "--limit", type=click.IntRange(min=1), default=200, show_default=True, help="Questions, spread over the split."
)
@click.option("--entailment", default="lexical:words", show_default=True, help="hf:NLI_MODEL_OR_DIR, or lexical:words.")
@click.option("--nugget-judge", default="", help="URI of the model that decides which nuggets an answer supports.")
@click.option(
    "--out",
    type=PATH,
    help="Folder for replies, so a second run repeats no request. [default: RELEASE-qa, beside the release]",
)
@json_file_option
@click.option("--by", help="Also show tables broken down by these, comma-separated: form, bloom, question_type.")
@settings_option("limits.timeout_s=1200")
def qa(
    release: Path,
    model: str,
    retriever: str,
    depths: str,
    split: str,
    limit: int,
    entailment: str,
    nugget_judge: str,
    out: Path | None,
    json_file: Path | None,
    by: str | None,
    settings: tuple[str, ...],
) -> None:
    """Measure closed-book and retrieval-augmented answers, and the baselines always-Yes and copy-the-context."""
    import asyncio

    from scirgen import Release
    from scirgen.plugin import load_registry
    from scirgen_bench.cli.tasks import Count, beside
    from scirgen_bench.qa import BREAKDOWNS, METRICS, QASettings, run_qa
    from scirgen_bench.systems import systems_table

    try:
        ks = sorted({int(k) for k in depths.split(",")})
    except ValueError:
        raise click.BadParameter(f"{depths!r}: numbers, separated by commas", param_hint="--k") from None
    if ks[0] < 0:
        raise click.BadParameter(f"{depths!r}: a number of passages cannot be negative", param_hint="--k")
    wanted = names_in(by)
    if unknown := [name for name in wanted if name not in BREAKDOWNS]:
        raise click.BadParameter(f"{unknown[0]!r}: choose from {', '.join(BREAKDOWNS)}", param_hint="--by")
    opened = Release(release)
    count = Count("answers")
    report = asyncio.run(
        run_qa(
            opened,
            QASettings(model, retriever, ks, split, limit, entailment, nugget_judge, parse_settings(settings)),
            load_registry(),
            out or beside(opened, "qa"),
            started=count.start,
            progress=count,
            tell=lambda message: click.echo(message, err=True),
        )
    )
    write_json(json_file, report.model_dump_json(indent=2))
    click.echo(f"{report.release}, {report.split}; entailment by {report.entailment}, above {report.threshold}\n")
    click.echo(systems_table(report.rows, METRICS))
    for name in wanted:
        click.echo(f"\n{systems_table(report.cells, METRICS, name)}")
    if entailment.startswith("lexical"):
        click.echo(
            "note: lexical:words only counts shared words; for figures worth quoting, give --entailment an NLI model."
        )
    for note in report.notes:
        click.echo(f"note: {note}")
    for row in report.rows:
        if row.unjudged:
            click.echo(
                f"note: {row.unjudged} answer(s) of {row.system}, k = {row.k}, do not fit {report.entailment}: "
                "not in its accuracy."
            )
    if any(row.failed for row in report.rows):
        raise SystemExit(3)


benchmark.add_command(rag)
benchmark.add_command(agree)
