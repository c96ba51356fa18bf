"""Release format ``triples``: a query, the documents that answer it and seven hard negatives, as DataFinder trains
on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy.sparse  # noqa: F401 - BM25 needs it when it writes, after all calls are paid for

from scirgen import Release
from scirgen.plugin import SPLITS
from scirgen_bench.lexical import BM25
from scirgen_bench.pairs import write_pairs
from scirgen_bench.questions import is_answerable
from scirgen_bench.tasks.task_files import Task

_NEGATIVES = 7
_HITS = 500


@dataclass(frozen=True)
class _Query:
    id: str
    text: str
    form: str


class TriplesFormat:
    """``TASK.SPLIT.jsonl`` for each retrieval task over datasets, and ``questions.SPLIT.jsonl``: query, form, positives
    and negatives (ids), and the texts of both.

    Negatives are the first seven different documents among BM25's 500 hits (k1 0.9, b 0.4, lengths as in Lucene) that
    are not gold; if there are fewer, all are taken. A query without gold in the corpus is left out.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write a file for each task and split that has queries, and for the questions of each split."""
        folder.mkdir(parents=True)
        for name, info in sorted(release.info.tasks.items()):
            if info.corpus != "datasets":
                continue
            task = Task(release, name)
            index = _Index([(d.same_as or d.id, d.searched) for d in task.documents()])
            for split in SPLITS:
                queries = [_Query(q.id, q.text, q.form) for q in task.queries(split)]
                write_pairs(folder / f"{name}.{split}.jsonl", index.triples(queries, task.qrels(split)))
        documents = [(d.same_as or d.id, f"{d.title} {d.text}") for d in release.corpus()]
        if release.info.counts.get("rows") and len(documents) > 1:
            index = _Index(documents)
            for split in SPLITS:
                rows = (row for row in release.rows(split) if is_answerable(row))
                queries = [_Query(row.id, row.question, row.form) for row in rows]
                write_pairs(folder / f"questions.{split}.jsonl", index.triples(queries, release.qrels(split)))


class _Index:
    """The documents of a corpus, (id, text), several of which may count as one."""

    def __init__(self, documents: Sequence[tuple[str, str]]) -> None:
        self._names = [name for name, _ in documents]
        self._texts = dict(documents)
        self._model = BM25(norms="byte")
        self._model.index([text for _, text in documents])

    def triples(self, queries: Sequence[_Query], qrels: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, object]]:
        """Yield one line for each query with gold in the corpus."""
        judged = [query for query in queries if query.id in qrels]
        depth = min(_HITS, len(self._names))
        found = self._model.search([query.text for query in judged], depth).documents.tolist()
        for query, hits in zip(judged, found, strict=True):
            gold = {d for d, grade in qrels[query.id].items() if grade > 0}
            positives = sorted(gold & set(self._names))
            near = dict.fromkeys(self._names[h] for h in hits if h >= 0 and self._names[h] not in gold)
            negatives = list(near)[:_NEGATIVES]
            if positives:
                yield {
                    "query": query.text,
                    "form": query.form,
                    "positives": positives,
                    "negatives": negatives,
                    "positive_texts": [self._texts[d] for d in positives],
                    "negative_texts": [self._texts[d] for d in negatives],
                }
