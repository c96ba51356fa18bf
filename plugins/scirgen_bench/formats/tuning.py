"""For fine-tuning: chats in the styles of ShareGPT and Alpaca, and preference pairs. They contain only data from the
release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from scirgen import InputError, Release, ReleaseRow
from scirgen.core.text.textmatch import jaccard
from scirgen.plugin import SPLITS, content_words, grouped
from scirgen.release_files.release import UnfaithfulRow
from scirgen_bench.formats.rag import with_contexts
from scirgen_bench.rowfiles import write_file


def _with_context(release: Release, split: str) -> Iterator[tuple[ReleaseRow, str]]:
    """Yield the answered rows of a split, each with the passages that hold its evidence."""
    for row, held in with_contexts(release, [row for row in release.rows(split) if row.answer]):
        yield row, "\n\n".join(held)


class ShareGPTFormat:
    """``SPLIT.jsonl``: ``conversations`` of two turns, ``from`` human (context and question) and gpt (answer)."""

    def write(self, release: Release, folder: Path) -> None:
        folder.mkdir(parents=True)
        for split in SPLITS:
            write_file(folder / f"{split}.jsonl", (self._chat(*found) for found in _with_context(release, split)))

    def _chat(self, row: ReleaseRow, context: str) -> dict[str, object]:
        turns = [("human", f"{context}\n\n{row.question}"), ("gpt", row.answer)]
        return {"id": row.id, "conversations": [{"from": by, "value": text} for by, text in turns], **row.added()}


class AlpacaFormat(ShareGPTFormat):
    """``SPLIT.jsonl``: ``instruction`` (question), ``input`` (the passages that hold the evidence), ``output``
    (answer)."""

    def _chat(self, row: ReleaseRow, context: str) -> dict[str, object]:
        return {"instruction": row.question, "input": context, "output": row.answer, "id": row.id, **row.added()}


class PreferenceFormat:
    """``SPLIT.jsonl``: ``prompt`` (the dataset's title and description), ``chosen`` and ``rejected``: a question with
    its answer.

    ``rejected`` is a candidate that failed a faithfulness score; ``chosen`` is the row of the same dataset and question
    type with the most similar question. A rejected candidate without such a row gives no pair.
    """

    def write(self, release: Release, folder: Path) -> None:
        """Write the files.

        Raises:
            InputError: the release does not hold the rejected candidates.
        """
        if not (release.folder / "unfaithful.jsonl").is_file():
            raise InputError(
                f"{release.folder} has no rejected candidates",
                hint="Write the release with --set release.formats='[preference]'.",
            )
        folder.mkdir(parents=True)
        documents = {d.id: f"{d.title}\n{d.text}" for d in release.corpus()}
        refused = list(release.unfaithful())
        for split in SPLITS:
            accepted = grouped(((r.dataset_id, r.question_type), r) for r in release.rows(split) if r.answer)
            write_file(folder / f"{split}.jsonl", self._pairs(refused, accepted, documents))

    @staticmethod
    def _pairs(
        refused: list[UnfaithfulRow], accepted: dict[tuple[str, str], list[ReleaseRow]], documents: dict[str, str]
    ) -> Iterator[dict[str, object]]:
        for bad in refused:
            rows = accepted.get((bad.dataset_id, bad.question_type), [])
            if not rows:
                continue
            asked = content_words(bad.question)
            good = max(rows, key=lambda r: (jaccard(asked, content_words(r.question)), r.id))
            yield {
                "prompt": documents[bad.dataset_id],
                "chosen": f"{good.question}\n{good.answer}",
                "rejected": f"{bad.question}\n{bad.answer}",
                "chosen_id": good.id,
                "rejected_id": bad.id,
                "score": bad.score,
                "rejected_because": bad.score_name,
            }


class SquadFormat:
    """``SPLIT.json`` in the layout of SQuAD 2: passages, and questions with the answer's text and its offset in the
    passage.

    If the passage contains the answer word for word, the span is the answer; otherwise it is the evidence (``answer``
    holds the answer as it was written). A row is left out if no passage contains its whole evidence. A row without an
    answer is impossible in its nearest passage.
    """

    def write(self, release: Release, folder: Path) -> None:
        folder.mkdir(parents=True)
        titles = {d.id: d.title for d in release.corpus()}
        for split in SPLITS:
            rows = list(release.rows(split))
            wanted = {p for row in rows for p in row.passages}
            passages = {p.id: p.text for p in release.passages() if p.id in wanted}
            data: dict[str, dict[str, list[dict[str, object]]]] = {}
            for row in rows:
                for passage in row.passages:
                    if (found := _span(row, passages.get(passage, ""))) is not None:
                        data.setdefault(row.dataset_id, {}).setdefault(passage, []).append(found)
                        break
            articles = [
                {
                    "title": titles.get(dataset, dataset),
                    "paragraphs": [{"context": passages[p], "qas": qas} for p, qas in sorted(found.items())],
                }
                for dataset, found in sorted(data.items())
            ]
            text = json.dumps({"version": "v2.0", "data": articles}, indent=1, ensure_ascii=False)
            (folder / f"{split}.json").write_text(text + "\n", encoding="utf-8")


def _span(row: ReleaseRow, context: str) -> dict[str, object] | None:
    """Return the entry of a question, with the answer's place in the context; None if the context contains neither
    answer nor evidence."""
    if not row.answer:
        return {"id": row.id, "question": row.question, "answers": [], "is_impossible": True, **row.added()}
    start = (
        context.lower().find(row.answer.lower()) if len(context.lower()) == len(context) else context.find(row.answer)
    )
    length = len(row.answer)
    if start < 0:
        start, length = next(
            ((at, len(e.text)) for e in row.evidence if e.role == "answer" and (at := context.find(e.text)) >= 0),
            (-1, 0),
        )
    if start < 0:
        return None
    return {
        "id": row.id,
        "question": row.question,
        "answers": [{"text": context[start : start + length], "answer_start": start}],
        "is_impossible": False,
        "answer": row.answer,
        **row.added(),
    }
