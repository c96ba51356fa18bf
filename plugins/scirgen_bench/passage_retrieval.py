"""Passage retrieval: measures whether retrievers find the passages that answer a question.

Grades are those of the release: 2 carries the answer or its main part, 1 adds to it, 0 was read and does not help; a
passage without a grade was not judged. Recall, MRR, MAP and precision count grade 2, NDCG uses the grades.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from scirgen import Release, ReleaseRow
from scirgen.plugin import Registry
from scirgen.release_files.release import FEWEST_OTHERS, Passage
from scirgen_bench.metrics import RELEVANT, too_few
from scirgen_bench.questions import ALL, is_answerable, questions_of_split
from scirgen_bench.retrieval import DEPTH, Measuring, Questions, RetrievalReport
from scirgen_bench.retriever import complete_specs, make_retriever
from scirgen_bench.rowfiles import read_records

SETTING = "passages"


class _Read(BaseModel):
    """A passage of a run's own corpus, without the places of its sentences."""

    id: str
    document_id: str
    start: int
    end: int
    text: str
    title: str = ""
    heading: str = ""


TESTED = ("R@20", "NDCG@10")


def passages_of(release: Release, distractors: Sequence[Release | Path] = ()) -> tuple[list[Passage], int]:
    """Return the passages of a release and of others that it lacks, by id, and the number of the others'.

    A passage of another release that repeats a text of this one is left out: it would answer the same questions. The
    folder ``RUN/corpus`` gives all passages that a run read; those that this release only quotes become whole.
    """
    own = {p.id: p for p in sorted(release.passages(), key=lambda p: p.id)}
    seen = {" ".join(p.text.split()) for p in own.values()}
    further: dict[str, Passage] = {}
    for other in distractors:
        for passage in other.passages() if isinstance(other, Release) else _read(other, release):
            text = " ".join(passage.text.split())
            if passage.id in own:
                if passage.whole and not own[passage.id].whole:
                    own[passage.id] = passage
            elif text not in seen:
                seen.add(text)
                further[passage.id] = passage
    return [*own.values(), *(further[id] for id in sorted(further))], len(further)


def _read(corpus: Path, release: Release) -> Iterator[Passage]:
    """Yield the passages of papers that a run read, with authors and year of the papers that the release has."""
    known = {p.document_id: {"authors": p.authors, "year": p.year} for p in release.passages()}
    for row in read_records(corpus / "passages" / "passages.jsonl", _Read):
        given = row.model_dump() | known.get(row.document_id, {})
        yield Passage(source="paper", dataset_ids=(), **given)


def evaluate_passages(
    release: Release,
    retrievers: Sequence[str],
    *,
    registry: Registry,
    split: str = "test",
    distractors: Sequence[Release | Path] = (),
    runs: Path | None = None,
    limit: int | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> RetrievalReport:
    """Index the passages with each retriever, ask every graded question of the split, and measure.

    Args:
        release: an opened release.
        retrievers: as in `scirgen_bench.retrieval.evaluate`.
        registry: where the names are looked up.
        split: ``train``, ``dev``, ``test`` or ``all``.
        distractors: releases (or ``RUN/corpus``) whose passages are searched as well; none of their questions is asked.
        runs: a folder for TREC run files, one for each retriever.
        limit: at most this many questions, evenly spaced over the split.
        progress: called with a line for each step.

    Raises:
        InputError: the split has no question with graded passages.
        PluginError: an unknown retriever.
    """
    questions = _load(release, split, limit)
    made = {spec: make_retriever(registry, named) for spec, named in complete_specs(retrievers).items()}
    passages, further = passages_of(release, distractors)
    ids, texts = [p.id for p in passages], [p.searched for p in passages]
    with_paper = {d.id for d in release.corpus() if d.papers}
    measuring = Measuring(release, made, questions, split, runs, progress, partial(_load, release), _best)
    measuring.measure(
        SETTING, texts, ids, with_paper, TESTED, graded=True,
        called=f"{SETTING} + {further:,}" if further else SETTING,
    )  # fmt: skip
    return measuring.report(len(ids), "passages, grades 0 to 2", _notes(measuring.rows, questions, passages))


def _load(release: Release, split: str, limit: int | None = None) -> Questions:
    qrels = release.passage_qrels(None if split == ALL else split)

    def keep(row: ReleaseRow) -> bool:
        return max(qrels.get(row.id, {}).values(), default=0) >= RELEVANT and is_answerable(row)

    return Questions(questions_of_split(release, split, limit, keep, "questions with graded passages"), qrels)


def _best(questions: Questions, row: ReleaseRow) -> str:
    grades = questions.qrels[row.id]
    return max(grades, key=lambda id: (grades[id], id))


def others_per_query(passages: int, qrels: Mapping[str, Mapping[str, int]]) -> float:
    """Return the passages that answer no question, per question."""
    gold = {p for grades in qrels.values() for p, grade in grades.items() if grade >= RELEVANT}
    return (passages - len(gold)) / max(1, len(qrels))


def _notes(rows: Sequence[Mapping[str, object]], questions: Questions, searched: Sequence[Passage]) -> list[str]:
    passages, quoted = len(searched), sum(not p.whole for p in searched)
    notes = list(too_few(len(questions.rows), len({r.dataset_id for r in questions.rows})))
    others = others_per_query(passages, {q: questions.qrels[q] for q in questions.ids})
    if others < FEWEST_OTHERS:
        notes.append(
            f"The corpus has {others:.1f} passages a question that answer none; below {FEWEST_OTHERS} figures say "
            "little: add passages with --distractors RELEASE."
        )
    if quoted:
        notes.append(
            f"{quoted} of {passages} passages hold only what is quoted: the licence of their paper is not known or not "
            "open. State licences in papers.csv and run again, or search all that was read: --distractors RUN/corpus."
        )
    if passages <= DEPTH:
        notes.append(f"The corpus has {passages} passages: recall at {passages} and beyond is meaningless.")
    known = sum(r.asked == "known_item" for r in questions.rows)
    if known:
        notes.append(
            f"{known} of {len(questions.rows)} questions were written from a passage; only that one is judged for "
            "them, and other passages may answer them too."
        )
    judged = [v for r in rows if isinstance(v := r["judged@10"], float)]
    if judged and known < len(questions.rows):
        ends = dict.fromkeys(f"{share:.1%}" for share in (min(judged), max(judged)))
        notes.append(f"{' to '.join(ends)} of the first ten passages are judged.")
    return notes
