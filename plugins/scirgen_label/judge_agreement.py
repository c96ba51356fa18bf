"""Measures how well the judges of a task agree, before and after adjudication, as medians over queries.

The layout is that of CSFCube's table 2: before compares the two raters, after each of them with the adjudicated grade.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import click

from scirgen import InputError, Release
from scirgen.plugin import grouped
from scirgen_bench.cli.options import PATH
from scirgen_bench.tables import markdown
from scirgen_bench.tasks.records import Grade
from scirgen_bench.tasks.task_files import ADJUDICATED, TaskQuery, open_task, read_pools
from scirgen_label.agreement import alpha, exact, kappa, spearman

Column = list[int | None]
STATISTICS: Mapping[str, Callable[[Column, Column], float | None]] = {
    "rho": lambda a, b: spearman(a, b),
    "alpha": lambda a, b: alpha([a, b], level="ordinal"),
    "kappa": lambda a, b: kappa(a, b),
    "exact": lambda a, b: exact(a, b),
}
"""Spearman's rho, Krippendorff's alpha (ordinal), Cohen's kappa (unweighted), share of equal grades."""


@dataclass(frozen=True)
class AgreementRow:
    """One facet, form or all queries.

    Attributes:
        group: the facet, the form, or "all".
        queries: number of queries with two judges.
        before: statistic -> median over the queries for which it is defined.
        after: the same against the adjudicated grades; empty if there are none.
        exact_pooled: share of equal grades over all pairs.
        overruled: mean over queries of the share of pairs whose adjudicated grade neither judge gave.
    """

    group: str
    queries: int
    before: dict[str, float]
    after: dict[str, float]
    exact_pooled: float
    overruled: float


@dataclass(frozen=True)
class _Query:
    group: str
    before: dict[str, float]
    after: dict[str, float]
    equal: int
    pairs: int
    overruled: float


def judge_agreement(grades: Iterable[Grade], queries: Iterable[TaskQuery]) -> list[AgreementRow]:
    """Return a row for each facet (for each form, if the queries have no facets), then one for all queries. Queries
    with fewer than two judges do not count."""
    group_of = {q.id: q.facet or q.form for q in queries}
    by_query = grouped((grade.query_id, grade) for grade in grades if grade.query_id in group_of)
    measured = [m for q, found in by_query.items() if (m := _measured(group_of[q], found))]
    groups = sorted({m.group for m in measured})
    rows = [_row(g, [m for m in measured if m.group == g]) for g in groups]
    return [*rows, _row("all", measured)] if len(groups) > 1 else rows


def _measured(group: str, grades: Sequence[Grade]) -> _Query | None:
    columns: dict[str, dict[str, int]] = defaultdict(dict)
    for grade in grades:
        columns[grade.judge][grade.document_id] = grade.grade
    adjudicated = columns.pop(ADJUDICATED, {})
    raters = sorted(columns)
    if len(raters) < 2:
        return None
    documents = sorted(columns[raters[0]].keys() & columns[raters[1]].keys())
    if not documents:
        return None
    a, b = ([columns[r].get(d) for d in documents] for r in raters[:2])
    after: dict[str, float] = {}
    overruled = 0.0
    if adjudicated:
        # A pair that only one rater graded counts only in comparing that rater with the settled grade.
        everything = sorted({d for r in raters[:2] for d in columns[r]} | adjudicated.keys())
        final: Column = [adjudicated.get(d, columns[raters[0]].get(d)) for d in everything]
        given = [[columns[r].get(d) for d in everything] for r in raters[:2]]
        for name, measure in STATISTICS.items():
            values = [v for rater in given if (v := measure(rater, final)) is not None]
            if values:
                after[name] = fmean(values)
        overruled = fmean(f not in (x, y) for f, x, y in zip(final, *given, strict=True))
    before = {name: v for name, measure in STATISTICS.items() if (v := measure(list(a), list(b))) is not None}
    return _Query(group, before, after, sum(x == y for x, y in zip(a, b, strict=True)), len(documents), overruled)


def _row(group: str, measured: Sequence[_Query]) -> AgreementRow:
    def medians(of: Callable[[_Query], Mapping[str, float]]) -> dict[str, float]:
        found = {name: [of(m)[name] for m in measured if name in of(m)] for name in STATISTICS}
        return {name: median(values) for name, values in found.items() if values}

    pairs = sum(m.pairs for m in measured)
    return AgreementRow(
        group=group,
        queries=len(measured),
        before=medians(lambda m: m.before),
        after=medians(lambda m: m.after),
        exact_pooled=sum(m.equal for m in measured) / pairs if pairs else 0.0,
        overruled=fmean(m.overruled for m in measured) if measured else 0.0,
    )


@click.command(short_help="Measure how well the judges of a task agree.")
@click.argument("release", type=PATH)
@click.option("--task", required=True, help="A retrieval task of the release.")
@click.option("--grades", type=PATH, help="Folder of: benchmark pool --task.  [default: the release's grades]")
def agreement(release: Path, task: str, grades: Path | None) -> None:
    """Measure agreement: Spearman, Krippendorff's alpha, Cohen's kappa and exact agreement, as medians over queries,
    before and after adjudication."""
    opened = open_task(Release(release), task)
    queries = list(opened.queries())
    found = read_pools([grades], {q.id for q in queries})[0] if grades else list(opened.grades())
    rows = judge_agreement(found, queries)
    if not rows:
        raise InputError(
            f"no query of {task} has grades by two judges",
            hint="Grade with two: scirgen benchmark pool --judges URI,URI",
        )
    header = ["group", "queries", *STATISTICS, *(f"{s} after" for s in STATISTICS), "exact, pooled", "overruled"]
    body = [
        [
            r.group, r.queries, *(r.before.get(s, "-") for s in STATISTICS), *(r.after.get(s, "-") for s in STATISTICS),
            r.exact_pooled, r.overruled,
        ]
        for r in rows
    ]  # fmt: skip
    click.echo("Medians over queries: rho (Spearman), alpha (Krippendorff, ordinal), kappa (Cohen), exact\n")
    click.echo(markdown(header, body))
