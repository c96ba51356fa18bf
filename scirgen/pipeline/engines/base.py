"""The engine's contract: execute one stage's work item somewhere and give its result back."""

from __future__ import annotations

from typing import Protocol

from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem


class Engine(Protocol):
    """Where items run. The runner stays the one writer; an engine never touches the store."""

    async def start(self, ctx: StageContext, sessions: Sessions, replies: ReplyCache) -> None:
        """Get ready (connect, start workers). Replies that workers got are put into ``replies`` and counted in ``sessions``."""
        ...

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """Run ``stage.process(item, ctx)``; exceptions come out as they were raised."""
        ...

    async def aclose(self) -> None:
        """Let go of workers."""
        ...
