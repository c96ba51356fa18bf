"""DataFinder (Viswanathan et al., ACL 2023) as a release with the task ``recommend``, from its repository's ``data``.

The collection has some names twice; the later record repeats the first, and a name's year is that of the last record,
as in the authors' scripts. The qrels name a query by its words, joined with underscores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scirgen import Dataset
from scirgen.plugin import ReleaseContent, TaskInfo
from scirgen_bench.published.reading import find, imported, listed, needed, rows, table
from scirgen_bench.tasks.records import Query, QueryForm
from scirgen_bench.tasks.release_tasks import TaskContent
from scirgen_bench.tasks.task_files import CITATIONS

_FIELDS = ("task", "modality", "domain", "language", "training_style", "text_length")
_DOCUMENT_FIELDS = (
    ("title", "Introduced by"),
    ("abstract", "Abstract"),
    ("structured_info", "Structured information"),
    ("citances", "Citances"),
)
_FORMS: tuple[QueryForm, ...] = ("sentence", "keyphrases")


def datafinder(src: Path) -> ReleaseContent:
    """Read ``dataset_search_collection.jsonl``, ``test_data.jsonl`` and, where they exist, ``train_data.jsonl``,
    ``test_dataset_collection.qrels`` and ``scirex_queries_and_datasets.json``.

    Without the qrels, a test query's gold is its ``documents``. The qrels also judge queries that ``test_data.jsonl``
    lacks; ``scirex_queries_and_datasets.json`` has their keyphrases and years (the ``.jsonl`` of that name is a copy of
    ``test_data.jsonl``).

    Raises:
        InputError: a file is missing or damaged.
    """
    datasets, same_as = _collection(needed(src, "dataset_search_collection.jsonl", "documents.jsonl"))
    queries: dict[str, Query] = {}
    splits: dict[str, str] = {}
    for split, found in (("test", _test(src)), ("train", _train(src))):
        for query in found:
            if query.id not in queries:
                queries[query.id], splits[query.id] = query, split
            elif splits[query.id] == split == "train":
                gold = dict.fromkeys((*queries[query.id].gold, *query.gold))
                queries[query.id] = query.model_copy(update={"gold": tuple(gold)})
    asked = {q.id: q for q in queries.values() if q.gold}
    task = TaskContent(
        name="recommend",
        info=TaskInfo(
            recipe="recommend", follows=CITATIONS["recommend"], corpus="datasets", searched=("text",), profile="trec"
        ),
        queries=list(asked.values()),
        splits={name: splits[name] for name in asked},
        qrels={q.id: dict.fromkeys(q.gold, 1) for q in asked.values()},
    )
    return imported("DataFinder", "ml", _notes(queries, datasets), task, (), datasets, same_as)


def _collection(path: Path) -> tuple[dict[str, Dataset], dict[str, str]]:
    found = list(enumerate(rows(path, "id")))
    years = {str(row["id"]): row.get("year") for _, row in found}
    datasets: dict[str, Dataset] = {}
    same_as: dict[str, str] = {}
    for place, row in sorted(found, key=lambda numbered: (str(numbered[1]["id"]), numbered[0])):
        name = str(row["id"])
        first = _id(name)
        own = first if first not in datasets else f"{first}#{place}"
        if own != first:
            same_as[own] = first
        variants = [str(v) for v in row.get("variants") or () if v != name]
        datasets[own] = Dataset(
            id=own,
            title=name,
            description=str(row.get("contents") or ""),
            keywords=tuple(variants),
            fields=tuple((label, str(row[key])) for key, label in _DOCUMENT_FIELDS if row.get(key)),
            year=years[name],
            source="datafinder",
        )
    return datasets, same_as


def _test(src: Path) -> Iterator[Query]:
    stated: dict[str, Mapping[str, Any]] = {}
    every = find(src, "scirex_queries_and_datasets.json")
    for row in (*(listed(every) if every else ()), *rows(needed(src, "test_data.jsonl"))):
        stated["_".join(_text(row).split())] = row
    gold = {name: [_id(str(d)) for d in row.get("documents") or ()] for name, row in stated.items()}
    if qrels := find(src, "test_dataset_collection.qrels"):
        gold = {}
        for cells in table(qrels, "\t"):
            gold.setdefault(cells[0], [])
            if len(cells) == 4 and cells[2].strip() and cells[3].strip() not in ("", "0"):
                gold[cells[0]].append(_id(cells[2]))
    for name, found in gold.items():
        row = stated.get(name, {})
        yield from _queries(_text(row) or name.replace("_", " "), row, found)


def _train(src: Path) -> Iterator[Query]:
    path = find(src, "train_data.jsonl")
    for row in rows(path, "positives") if path else ():
        yield from _queries(_text(row), row, [_id(str(name)) for name in row["positives"]])


def _text(row: Mapping[str, Any]) -> str:
    return str(row.get("query") or row.get("tldr") or row.get("text") or "")


def _queries(text: str, row: Mapping[str, Any], gold: list[str]) -> Iterator[Query]:
    key = hashlib.sha256("_".join(text.split()).encode()).hexdigest()[:12]
    texts = {"sentence": text, "keyphrases": str(row.get("keyphrase_query") or "")}
    for form in _FORMS:
        if texts[form].strip():
            yield Query(
                id=f"{key}-{form}",
                recipe="recommend",
                form=form,
                text=texts[form],
                paper_id=key,
                gold=tuple(dict.fromkeys(gold)),
                fields=tuple((name, str(row[name])) for name in _FIELDS if row.get(name)),
                year=row.get("year"),
            )


def _notes(queries: Mapping[str, Query], datasets: Mapping[str, Dataset]) -> Iterator[str]:
    missing = sorted({d for q in queries.values() for d in q.gold} - set(datasets))
    if missing:
        more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
        yield f"Gold that is not in the corpus: {', '.join(missing[:20])}{more}."
    if without := {q.paper_id for q in queries.values() if not q.gold}:
        yield f"{len(without)} queries without gold are left out."
    if undated := {q.paper_id for q in queries.values() if q.gold and q.year is None}:
        yield (
            f"{len(undated)} queries have no year, since scirex_queries_and_datasets.json is missing or lacks them; "
            "--not-after-query leaves nothing out for them."
        )
    if not any(d.year for d in datasets.values()):
        yield "The collection states no years; --not-after-query leaves nothing out."
    yield "train_data.jsonl states negatives for its queries; --formats triples finds its own by the same rule."


def _id(name: str) -> str:
    """Join a name's words with underscores as the qrels do, since run files are split at blanks."""
    return "_".join(name.split(" "))
