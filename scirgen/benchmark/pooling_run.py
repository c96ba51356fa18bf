"""Running pooled judgements: opens the judge, collects the pool, and writes judgements and graded qrels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from scirgen.benchmark.pooling import Pooled, judge, pool, write_judgements
from scirgen.benchmark.questions import questions_of_split
from scirgen.benchmark.retriever import complete_specs
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import Registry
from scirgen.core.release import Release
from scirgen.core.resources import Resources
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_sessions


async def run_pool(
    release: Release,
    model: str,
    registry: Registry,
    out: Path,
    *,
    retrievers: Sequence[str] = ("bm25", "tfidf"),
    setting: str = "with-paper",
    split: str = "test",
    depth: int = 10,
    limit: int | None = None,
    started: Callable[[int, int], None] = lambda questions, pairs: None,
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[Path, Pooled]:
    """Pool and judge; replies are kept in ``out/replies.db``, so that a second run asks only what is new.

    Args:
        release: an opened release.
        model: the judge's URI.
        registry: where retrievers and models are looked up.
        out: folder for judgements, qrels and replies.
        retrievers: whose first ``depth`` documents are pooled.
        setting: what of a dataset is indexed and judged.
        split: whose questions are asked.
        depth: documents of each retriever.
        limit: at most this many questions, spread over the split.
        started: gets the numbers of questions and of pairs before anything is judged.
        progress: gets the number of pairs judged so far.

    Returns:
        The graded qrels' path, and the judgements.

    Raises:
        InputError: the split has no questions.
        ConfigError: an unknown model; PluginError: an unknown retriever.
    """
    rows = questions_of_split(release, split, limit)
    documents = sorted(release.corpus(setting), key=lambda d: d.id)
    pooled = pool(rows, documents, list(complete_specs(retrievers).values()), registry, depth)
    started(len(rows), sum(map(len, pooled.values())))
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    prompts = PromptLibrary(Resources())
    config = Config.model_validate({"models": {"generator": model}})
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
