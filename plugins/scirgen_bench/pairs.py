"""Pairs for training retrievers: a question, the passages of grade 2, and hard negatives that are not likely to answer.

Negatives come from ranks 10 to 50 of each retriever: those above them often answer the question too. One whose score
is above .95 of the best positive's is left out (Moreira et al. 2024, NV-Retriever, arXiv:2407.15831), and so is every
passage that has a grade.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scirgen import Release, ReleaseRow
from scirgen.plugin import SPLITS, derived_seed, load_registry
from scirgen.release_files.release import GRADES
from scirgen_bench.passage_retrieval import passages_of
from scirgen_bench.questions import is_answerable
from scirgen_bench.retriever import make_retriever
from scirgen_bench.rowfiles import write_file

_FIRST, _LAST = 10, 50
_DEPTH = 1000
"""The depth to which the positive's own score is looked for; below it, no negative can be told from a better answer."""
_MAX_OF_POSITIVE = 0.95
_EACH = 4
"""Negatives of each retriever."""


@dataclass(frozen=True)
class _Found:
    """A negative: its position, the retriever that found it, and its score as a share of the best positive's."""

    position: int
    by: str
    share: float


def training_pairs(
    release: Release,
    split: str,
    retrievers: Sequence[str] = ("bm25",),
    *,
    seed: int = 0,
) -> Iterator[dict[str, object]]:
    """Yield the lines ``query, pos, neg, pos_ids, neg_ids, neg_by, neg_scores`` for each question with a passage of
    grade 2.

    Args:
        release: an opened release.
        split: ``train``, ``dev`` or ``test``.
        retrievers: which find negatives, as in `scirgen_bench.retrieval.evaluate`.
        seed: of the choice among the negatives of a retriever.
    """
    qrels = release.passage_qrels(split)
    best = max(GRADES)
    rows = [r for r in release.rows(split) if is_answerable(r) and best in qrels.get(r.id, {}).values()]
    if not rows:
        return
    passages, _ = passages_of(release)
    place = {p.id: n for n, p in enumerate(passages)}
    negatives: dict[str, list[_Found]] = {row.id: [] for row in rows}
    registry = load_registry()
    for spec in retrievers:
        retriever = make_retriever(registry, spec)
        retriever.index([p.searched for p in passages])
        ranking = retriever.search([row.question for row in rows], min(_DEPTH, len(passages)))
        ranked = zip(rows, ranking.documents.tolist(), ranking.scores.tolist(), strict=True)
        for row, found, scores in ranked:
            graded = {place[id]: grade for id, grade in qrels[row.id].items() if id in place}
            negatives[row.id] += _negatives(row, spec, found, scores, graded, seed)
    for row in rows:
        gold = [id for id, grade in qrels[row.id].items() if grade == best and id in place]
        chosen = {one.position: one for one in reversed(negatives[row.id])}
        yield {
            "query": row.question,
            "pos": [passages[place[id]].searched for id in gold],
            "neg": [passages[n].searched for n in sorted(chosen)],
            "pos_ids": gold,
            "neg_ids": [passages[n].id for n in sorted(chosen)],
            "neg_by": [chosen[n].by for n in sorted(chosen)],
            "neg_scores": [round(chosen[n].share, 4) for n in sorted(chosen)],
        }


def _negatives(
    row: ReleaseRow, spec: str, found: Sequence[int], scores: Sequence[float], graded: dict[int, int], seed: int
) -> list[_Found]:
    best = max(GRADES)
    positive = max((s for d, s in zip(found, scores, strict=True) if graded.get(d) == best), default=0.0)
    if positive <= 0:
        return []
    usable = [
        _Found(d, spec, s / positive)
        for d, s in list(zip(found, scores, strict=True))[_FIRST - 1 : _LAST]
        if d >= 0 and d not in graded and s <= _MAX_OF_POSITIVE * positive
    ]
    draw = random.Random(derived_seed(seed, "pairs", row.id, spec))
    return sorted(draw.sample(usable, min(_EACH, len(usable))), key=lambda one: -one.share)


class PairsFormat:
    """Release format ``pairs``: ``SPLIT.jsonl`` with negatives of BM25; ``scirgen retriever pairs`` takes others."""

    def write(self, release: Release, folder: Path) -> None:
        """Write a file for each split that has such questions."""
        folder.mkdir(parents=True)
        for split in SPLITS:
            write_pairs(folder / f"{split}.jsonl", training_pairs(release, split))


def write_pairs(file: Path, rows: Iterator[dict[str, object]]) -> int:
    """Write the lines, if there are any; return their number."""
    if lines := list(rows):
        write_file(file, lines)
    return len(lines)
