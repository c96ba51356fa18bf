"""``scirgen benchmark agree``: measures whether two sets of queries rank retrieval systems alike."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen_bench.cli.options import PATH, json_file_option, write_json


@click.command(short_help="Tell whether two sets of queries rank retrieval systems alike.")
@click.argument("corpus", type=PATH)
@click.argument("people", type=PATH)
@click.argument("queries", type=PATH)
@click.option(
    "--more",
    help="Semicolon-separated retrievers in addition to ten of bm25 and tfidf, as in benchmark retrieval; SPEC@title "
    "and SPEC@text index one field.",
)
@click.option("--quiet", is_flag=True, help="Print only the result.")
@json_file_option
def agree(corpus: Path, people: Path, queries: Path, more: str | None, quiet: bool, json_file: Path | None) -> None:
    """Rank retrieval systems by PEOPLE's queries and by QUERIES over the same CORPUS: Kendall's tau and Spearman's rho.

    CORPUS is a release, a BEIR folder, or JSON Lines with id, title and text. The sets of queries are releases, BEIR
    folders, or JSON Lines with question and gold (ids of the corpus).
    """
    from scirgen.plugin import load_registry
    from scirgen_bench.rank_agreement import SYSTEMS, measure_agreement, read_corpus, read_queries
    from scirgen_bench.tables import markdown, shown_spec

    chosen = [*SYSTEMS, *filter(None, (more or "").split(";"))]
    documents, first, second = read_corpus(corpus), read_queries(people), read_queries(queries)
    found = measure_agreement(
        documents, first, second, registry=load_registry(), systems=chosen,
        progress=lambda line: None if quiet else click.echo(line, err=True),
    )  # fmt: skip
    write_json(json_file, found.model_dump_json(indent=2))
    click.echo(f"{found.documents:,} documents, {found.queries[0]:,} and {found.queries[1]:,} queries\n")
    click.echo(
        markdown(["system", "people", "queries"], [[shown_spec(s.system), s.first, s.second] for s in found.systems])
    )
    for name, value, interval in (
        ("Kendall's tau", found.kendall, found.kendall_95), ("Spearman's rho", found.spearman, found.spearman_95),
    ):  # fmt: skip
        between = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
        click.echo(
            f"{name} {value:.2f}{between}" if value is not None else f"{name}: not defined, all scores are equal"
        )
    if found.halves is not None:
        click.echo(f"two halves of the first set: Kendall's tau {found.halves:.2f}")
    known = {document.id for document in documents}
    for name, asked in (("first", first), ("second", second)):
        if lost := [query for query in asked if known.isdisjoint(query.gold)]:
            click.echo(
                f"note: {len(lost)} queries of the {name} set have no gold document in the corpus; their ids must be "
                f"the corpus's own: {', '.join(lost[0].gold[:2]) or 'no gold'} is not in it"
            )
