"""Samples for evaluating retrieval-augmented generation with LlamaIndex (`QueryResponseDataset`) and Ragas
(`EvaluationDataset`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from scirgen import Release, ReleaseRow
from scirgen.plugin import SPLITS, digest
from scirgen_bench.rowfiles import write_file

SAMPLE = 200


class RagFormat:
    """``llama_index_pairs.json`` and ``ragas.jsonl``: at most 200 answered questions, with the
    passages that hold the evidence.

    Drawn by the hash of ids from the test split, or from the last split that has questions.
    """

    def write(self, release: Release, folder: Path) -> None:
        folder.mkdir(parents=True)
        rows = sample(release)
        samples = (
            {"user_input": row.question, "reference": row.answer, "reference_contexts": held}
            for row, held in with_contexts(release, rows)
        )
        write_file(folder / "ragas.jsonl", samples)
        pairs = {"queries": {r.id: r.question for r in rows}, "responses": {r.id: r.answer for r in rows}}
        text = json.dumps(pairs, indent=1, ensure_ascii=False)
        (folder / "llama_index_pairs.json").write_text(text + "\n", encoding="utf-8")


def sample(release: Release, size: int = SAMPLE) -> list[ReleaseRow]:
    """Return the answered questions of the test split (or dev or train, if test has none), in the order of the hashes
    of their ids."""
    for split in reversed(SPLITS):
        keys = sorted((digest("rag", r.id), r.id) for r in release.rows(split) if r.answer)[:size]
        if keys:
            chosen = {key for _, key in keys}
            return [r for r in release.rows(split) if r.id in chosen]
    return []


def with_contexts(release: Release, rows: Sequence[ReleaseRow]) -> Iterator[tuple[ReleaseRow, list[str]]]:
    """Yield the rows, each with the passages that hold its evidence; for a row without evidence, the gold dataset's
    description."""
    wanted = {p for row in rows for p in row.passages}
    passages = {p.id: p.text for p in release.passages() if p.id in wanted}
    documents = {d.id: f"{d.title}\n{d.text}" for d in release.corpus()} if any(not r.passages for r in rows) else {}
    for row in rows:
        yield row, [passages[p] for p in row.passages if p in passages] or [documents[row.dataset_id]]
