"""The default engine: asyncio in this process. CPU-heavy stages bring their own worker processes."""

from __future__ import annotations

from scirgen.core.config import Config
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem


class LocalEngine:
    """Runs items on the event loop of this process."""

    def __init__(self, config: Config) -> None:
        self._config = config

    async def start(self, ctx: StageContext, sessions: Sessions, replies: ReplyCache) -> None:
        """Nothing to start."""

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """Await the stage itself."""
        return await stage.process(item, ctx)

    async def aclose(self) -> None:
        """Nothing to close."""
