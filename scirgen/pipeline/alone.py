"""Opens a stage's context with its models, as in a run, for a part that works alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Domain, Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.open import open_sessions
from scirgen.stages.base import StageContext


@asynccontextmanager
async def opened_context(
    config: Config, pack: Domain, stage: str, *, needs_scores: bool
) -> AsyncIterator[StageContext]:
    """Open the context of a stage, without a run's folder.

    Args:
        config: the settings.
        pack: the domain.
        stage: the stage's name, which its prompts have.
        needs_scores: open the scorer too.

    Raises:
        ScirgenError: a model cannot be opened.
    """
    registry, resources = load_registry(), Resources(pack, Path(config.overrides) if config.overrides else None)
    prompts = PromptLibrary(resources)
    sessions = await open_sessions(config, registry, prompts=prompts, needs_scores=needs_scores)
    try:
        yield StageContext(
            config, resources, prompts, Taxonomies(resources), registry, Path(), chat_session=sessions.chat,
            score_session=sessions.score, judge_session=sessions.judge,
            entailment_session=sessions.entailment, stage=stage, key="rows",
        )  # fmt: skip
    finally:
        await sessions.aclose()
