"""The engine: asyncio in this process. CPU-heavy stages bring their own worker processes."""

from __future__ import annotations

from scirgen.core.config import Config
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import Sessions
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem


class Engine:
    """Runs items on the event loop of this process; a plugin's engine has the same methods and runs them elsewhere.

    The runner remains the only writer; an engine never touches the store.
    """

    def __init__(self, config: Config) -> None:
        """Take the run's settings."""

    async def start(self, ctx: StageContext, sessions: Sessions, replies: ReplyCache) -> None:
        """Prepare (connect, start workers). Replies from workers are put into ``replies`` and counted in
        ``sessions``."""

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """Run ``stage.process(item, ctx)``; exceptions are passed on unchanged."""
        return await stage.process(item, ctx)

    async def aclose(self) -> None:
        """Release the workers."""
