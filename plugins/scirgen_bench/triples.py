"""Release format ``triples``: a query, the documents that answer it and seven hard negatives, as DataFinder trains
on."""

from __future__ import annotations

from pathlib import Path

import scipy.sparse  # noqa: F401 - BM25 needs it when it writes, after all calls are paid for

from scirgen import Release
from scirgen.core.files.jsonl import write_rows
from scirgen.plugin import SPLITS
from scirgen_bench.lexical import BM25
from scirgen_bench.tasks.task_files import Task

_NEGATIVES = 7
_HITS = 500


class TriplesFormat:
    """``TASK.SPLIT.jsonl`` for each retrieval task over datasets: query, form, positives and negatives (ids), and the
    texts of both.

    Negatives are the first seven different documents among BM25's 500 hits (k1 0.9, b 0.4, lengths as in Lucene) that
    are not gold; if there are fewer, all are taken. A query without gold in the corpus is left out.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write a file for each task and split that has queries."""
        folder.mkdir(parents=True)
        for name, info in sorted(release.info.tasks.items()):
            if info.corpus != "datasets":
                continue
            task = Task(release, name)
            documents = task.documents()
            names = [d.same_as or d.id for d in documents]
            texts = dict(zip(names, (d.searched for d in documents), strict=True))
            model = BM25(norms="byte")
            model.index([d.searched for d in documents])
            for split in SPLITS:
                qrels = task.qrels(split)
                queries = [q for q in task.queries(split) if q.id in qrels]
                if not queries:
                    continue
                found = model.search([q.text for q in queries], min(_HITS, len(documents))).documents.tolist()
                rows = []
                for query, hits in zip(queries, found, strict=True):
                    gold = {d for d, grade in qrels[query.id].items() if grade > 0}
                    positives = sorted(gold & set(names))
                    near = dict.fromkeys(names[h] for h in hits if h >= 0 and names[h] not in gold)
                    negatives = list(near)[:_NEGATIVES]
                    if positives:
                        rows.append(
                            {
                                "query": query.text,
                                "form": query.form,
                                "positives": positives,
                                "negatives": negatives,
                                "positive_texts": [texts[d] for d in positives],
                                "negative_texts": [texts[d] for d in negatives],
                            }
                        )
                with (folder / f"{name}.{split}.jsonl").open("w", encoding="utf-8") as out:
                    write_rows(out, rows)
