"""DataFinder (Viswanathan et al., ACL 2023) as a release with the task ``recommend``.

Its corpus has some names twice; the later record repeats the first, and a name's year is that of the last record, as in
the authors' script.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from scirgen.commands.import_tasks.reading import rows
from scirgen.core.errors import InputError
from scirgen.core.records import Dataset, Query, QueryForm
from scirgen.qa.release import ReleaseInfo, TaskInfo
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.tasks import TaskContent, TaskSet

_FORMS: tuple[tuple[QueryForm, str], ...] = (("sentence", "text"), ("keyphrases", "keyphrases"))
_FIELDS = ("task", "modality", "domain", "language", "training_style", "text_length")


def datafinder(src: Path) -> ReleaseContent:
    """Read ``documents`` (n, id, text, year) and ``topics`` (key, text, keyphrases, year, gold).

    Raises:
        InputError: a file is missing or damaged, or a topic has no gold.
    """
    found = sorted(rows(src, "documents", "n", "id"), key=lambda row: (str(row["id"]), int(row["n"])))
    years = {str(row["id"]): row["year"] for row in sorted(found, key=lambda row: int(row["n"]))}
    datasets: dict[str, Dataset] = {}
    same_as: dict[str, str] = {}
    for row in found:
        name = str(row["id"])
        first = _id(name)
        own = first if first not in datasets else f"{first}#{row['n']}"
        if own != first:
            same_as[own] = first
        datasets[own] = Dataset(
            id=own,
            title=name,
            description=str(row.get("text") or ""),
            fields=(("Introduced by", str(row.get("title") or "")),) if row.get("title") else (),
            year=years[name],
            source="datafinder",
        )
    queries, qrels = _queries(src)
    missing = sorted({d for found_ in qrels.values() for d in found_} - set(datasets))
    notes = [f"Gold that is not in the corpus: {', '.join(missing)}."] if missing else []
    task = TaskContent(
        name="recommend",
        info=TaskInfo(recipe="recommend", corpus="datasets", searched=("text",), profile="trec"),
        queries=queries,
        splits={q.id: "test" for q in queries},
        qrels=qrels,
    )
    return ReleaseContent(
        info=ReleaseInfo(
            name="DataFinder", origin="DataFinder", scirgen=version("scirgen"), domain="ml", notes=tuple(notes)
        ),
        datasets=datasets,
        splits=dict.fromkeys(datasets, "test"),
        keep_all=True,
        tasks=TaskSet((task,)),
        same_as=same_as,
    )


def _queries(src: Path) -> tuple[list[Query], dict[str, dict[str, int]]]:
    queries: list[Query] = []
    qrels: dict[str, dict[str, int]] = {}
    for row in rows(src, "topics", "key", "text", "gold"):
        gold = tuple(_id(str(name)) for name in row["gold"])
        if not gold:
            raise InputError(f"{src}: topic {row['key']} has no gold", hint="Remove it, since it cannot be evaluated.")
        entered = row.get("fields") or {}
        for form, column in _FORMS:
            if not row.get(column):
                continue
            query = Query(
                id=f"{row['key']}-{form}",
                recipe="recommend",
                form=form,
                text=str(row[column]),
                paper_id=str(row["key"]),
                gold=gold,
                fields=tuple((name, str(entered[name])) for name in _FIELDS if entered.get(name)),
                year=row.get("year"),
            )
            queries.append(query)
            qrels[query.id] = dict.fromkeys(gold, 1)
    return queries, qrels


def _id(name: str) -> str:
    """The id with underscores instead of blanks, as in its qrels, since run files are split at blanks."""
    return "_".join(name.split(" "))
