"""The engine's contract: execute one stage's work item somewhere and return its result."""

from __future__ import annotations

from typing import Protocol

from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem


class Engine(Protocol):
    """Runs items. The runner remains the only writer; an engine never touches the store."""

    async def start(self, ctx: StageContext, sessions: Sessions, replies: ReplyCache) -> None:
        """Prepare (connect, start workers). Replies from workers are put into ``replies`` and counted in
        ``sessions``."""
        ...

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """Run ``stage.process(item, ctx)``; exceptions are passed on unchanged."""
        ...

    async def aclose(self) -> None:
        """Release the workers."""
        ...
