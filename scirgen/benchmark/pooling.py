"""Pooled judgements: what several retrievers found first is judged by a model on the scale 0 to 3, with a reason.

As in CSFCube (NeurIPS 2021) and DORIS-MAE (NeurIPS 2023); the judge is a model here, and its name is kept with every grade.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen.benchmark.metrics import RELEVANT
from scirgen.benchmark.questions import questions_of_split
from scirgen.benchmark.retriever import complete_specs, make_retriever
from scirgen.core.config import Config
from scirgen.core.errors import ModelError
from scirgen.core.fingerprint import derived_seed
from scirgen.core.prompts import PromptLibrary, unfenced
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_sessions
from scirgen.llm.session import ChatSession
from scirgen.qa.release import CorpusDocument, Release, ReleaseRow

_WORDS = 400


class Grade(BaseModel):
    """The judge's reply."""

    model_config = ConfigDict(extra="forbid")

    reason: str
    grade: Literal[0, 1, 2, 3]


class ShortGrade(Grade):
    """The reply of a small model, which would go on about its reason until the reply is cut.

    Not for every judge: some servers refuse schemas that limit the length of a text.
    """

    reason: str = Field(max_length=200)


class Judgement(BaseModel):
    """One judged (question, dataset)."""

    model_config = ConfigDict(frozen=True)

    query: str
    document: str
    grade: int
    reason: str
    gold: bool
    found_by: tuple[str, ...]
    model: str
    reply: str


@dataclass(frozen=True)
class Pooled:
    """Judgements by query and document, and the pairs the model gave no usable reply for."""

    judgements: list[Judgement]
    failed: list[tuple[str, str, str]]


def pool(
    rows: Sequence[ReleaseRow],
    documents: Sequence[CorpusDocument],
    retrievers: Sequence[str],
    registry: Registry,
    depth: int,
) -> dict[str, dict[str, list[str]]]:
    """query -> document -> the retrievers that had it among their first ``depth``; gold datasets are always there."""
    ids = [d.id for d in documents]
    texts = [f"{d.title} {d.text}" for d in documents]
    table: dict[str, dict[str, list[str]]] = {r.id: {d: [] for d in r.dataset_ids or (r.dataset_id,)} for r in rows}
    for spec in retrievers:
        retriever = make_retriever(registry, spec)
        retriever.index(texts)
        found = retriever.search([r.question for r in rows], depth).documents.tolist()
        for row, positions in zip(rows, found, strict=True):
            for position in positions:
                if position >= 0:
                    table[row.id].setdefault(ids[position], []).append(spec)
    return table


async def judge(
    pooled: Mapping[str, Mapping[str, Sequence[str]]],
    rows: Sequence[ReleaseRow],
    documents: Sequence[CorpusDocument],
    chat: ChatSession,
    prompts: PromptLibrary,
    *,
    seed: int = 0,
    concurrency: int = 8,
    progress: Callable[[int], None] = lambda done: None,
) -> Pooled:
    """Have the model grade every pooled pair. Replies are cached, so a second call asks only what is new.

    A pair without a usable reply is left unjudged and reported; it never gets a default grade.
    """
    texts = {d.id: d for d in documents}
    gate = asyncio.Semaphore(concurrency)
    schema = ShortGrade if chat.pack == "small" else Grade
    done = 0

    async def one(row: ReleaseRow, document: str, found_by: Sequence[str]) -> Judgement | tuple[str, str, str]:
        nonlocal done
        prompt = prompts.get("benchmark/relevance", chat.pack).render(
            question=row.question,
            title=texts[document].title,
            text=" ".join(texts[document].text.split()[:_WORDS]),
        )
        async with gate:
            try:
                answer = await chat.ask(prompt, schema, seed=derived_seed(seed, "relevance", row.id, document))
            except ModelError as error:
                if error.fatal:
                    raise
                return row.id, document, f"{error.error_code}: {error.message}"
            finally:
                done += 1
                progress(done)
        return Judgement(
            query=row.id,
            document=document,
            grade=answer.value.grade,
            reason=unfenced(answer.value.reason),
            gold=document in (row.dataset_ids or (row.dataset_id,)),
            found_by=tuple(found_by),
            model=str(chat.identity),
            reply=answer.reply_key,
        )

    found = await asyncio.gather(*(one(r, d, by) for r in rows for d, by in sorted(pooled[r.id].items())))
    return Pooled([f for f in found if isinstance(f, Judgement)], [f for f in found if not isinstance(f, Judgement)])


def write_judgements(folder: Path, judgements: Sequence[Judgement]) -> Path:
    """Write judgements.jsonl and qrels.tsv (graded); returns the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    ordered = sorted(judgements, key=lambda j: (j.query, j.document))
    (folder / "judgements.jsonl").write_text("".join(j.model_dump_json() + "\n" for j in ordered), encoding="utf-8")
    qrels = folder / "qrels.tsv"
    lines = "".join(f"{j.query}\t{j.document}\t{j.grade}\n" for j in ordered)
    qrels.write_text("query-id\tcorpus-id\tscore\n" + lines, encoding="utf-8")
    return qrels


def agreement(judgements: Sequence[Judgement]) -> dict[str, float]:
    """Mean grade of gold and of other datasets, and how many of each are judged relevant: does the judge see the gold?"""
    shares: dict[str, float] = {}
    for name, group in (
        ("gold", [j.grade for j in judgements if j.gold]),
        ("other", [j.grade for j in judgements if not j.gold]),
    ):
        if group:
            shares[f"{name}_mean_grade"] = round(sum(group) / len(group), 4)
            shares[f"{name}_relevant"] = round(sum(g >= RELEVANT for g in group) / len(group), 4)
    return shares


@dataclass(frozen=True)
class PoolSettings:
    """What ``scirgen benchmark pool`` pools and judges.

    Attributes:
        model: the judge's URI.
        retrievers: whose first ``depth`` documents are pooled.
        setting: what of a dataset is indexed and judged.
        split: whose questions are asked.
        depth: documents of each retriever.
        limit: at most this many questions, spread over the split; None: all.
    """

    model: str
    retrievers: Sequence[str] = ("bm25", "tfidf")
    setting: str = "with-paper"
    split: str = "test"
    depth: int = 10
    limit: int | None = None


async def run_pool(
    release: Release,
    settings: PoolSettings,
    registry: Registry,
    out: Path,
    *,
    started: Callable[[int, int], None] = lambda questions, pairs: None,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[Path, Pooled]:
    """Pool and judge; replies are kept in ``out/replies.db``, so that a second run asks only what is new.

    Args:
        release: an opened release.
        settings: what is pooled and who judges it.
        registry: where retrievers and models are looked up.
        out: folder for judgements, qrels and replies.
        started: gets the numbers of questions and of pairs before anything is judged.
        progress: gets the number of pairs judged so far.

    Returns:
        The graded qrels' path, and the judgements.

    Raises:
        InputError: the split has no questions.
        ConfigError: an unknown model; PluginError: an unknown retriever.
    """
    rows = questions_of_split(release, settings.split, settings.limit)
    documents = sorted(release.corpus(settings.setting), key=lambda d: d.id)
    pooled = pool(rows, documents, list(complete_specs(settings.retrievers).values()), registry, settings.depth)
    started(len(rows), sum(map(len, pooled.values())))
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    prompts = PromptLibrary(Resources())
    config = Config.model_validate({"models": {"generator": settings.model}})
    sessions = await open_sessions(
        config, registry, ReplyCache.open(out / "replies.db"), prompts=prompts, needs_scores=False
    )
    try:
        result = await judge(
            pooled, rows, documents, sessions.chat, prompts, concurrency=config.limits.concurrency, progress=progress
        )
    finally:
        await sessions.aclose()
    return write_judgements(out, result.judgements), result
