"""Running the question-answering benchmark: opens models, answers for every k, scores systems and baselines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from scirgen.benchmark.qa import (
    Answered,
    QAReport,
    SystemRow,
    answers,
    baselines,
    question_entails,
    questions_of,
    score,
)
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import Registry
from scirgen.core.release import Release
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.cache import ReplyCache
from scirgen.llm.entailment import open_entailment
from scirgen.llm.open import open_sessions


async def run_qa(
    release: Release,
    model: str,
    registry: Registry,
    out: Path,
    *,
    retriever: str = "bm25",
    ks: Sequence[int] = (0, 1, 5),
    split: str = "test",
    limit: int | None = None,
    entailment: str = "lexical:words",
    started: Callable[[int], None] = lambda answers: None,
    progress: Callable[[int], None] = lambda done: None,
) -> QAReport:
    """Answer a split's questions with each number of passages; replies are kept in ``out/replies.db``.

    ``started`` gets the number of answers that will be asked for, ``progress`` how many there are.

    Raises:
        InputError: the split has no answered questions.
        ConfigError: an unknown model, retriever or entailment model.
        ModelAccessError: the entailment model cannot be loaded; nothing was asked then.
    """
    resources = Resources()
    prompts = PromptLibrary(resources)
    forms = {t.id: t.answer_form for t in Taxonomies(resources).graesser.types}
    config = Config.model_validate({"models": {"generator": model}})
    judge = open_entailment(entailment, registry, config.models.options, None, prompts.get("filter/entail", "standard"))
    # Loads it: one that cannot be loaded should not be found out after the answers were paid for.
    await question_entails([("Is it so?", "Yes", "Yes")], judge)
    questions = questions_of(release, split, limit, forms, retriever, registry, max(*ks, 1))
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    started(len(questions) * len(ks))
    done = count(1)
    rows: list[SystemRow] = []
    given: list[Answered] = []
    sessions = await open_sessions(
        config, registry, ReplyCache.open(out / "replies.db"), prompts=prompts, needs_scores=False
    )
    try:
        for k in ks:
            replies = await answers(
                questions,
                k,
                sessions.chat,
                prompts,
                concurrency=config.limits.concurrency,
                progress=lambda: progress(next(done)),
            )
            row, found = await score(str(sessions.chat.identity), k, questions, replies, judge)
            rows.append(row)
            given += found
    finally:
        await sessions.aclose()
    for name, said in baselines(questions).items():
        row, _ = await score(name, 0 if name == "always Yes" else 1, questions, said, judge)
        rows.append(row)
    return QAReport(release=release.info.name, split=split, entailment=judge.identity, rows=rows, answers=given)
