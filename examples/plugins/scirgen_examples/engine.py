"""An engine: where work items run (``engine: counting``). The runner stays the only writer of the store."""

from collections import Counter

from scirgen import Config, Stage, StageContext, StageResult, WorkItem


class CountingEngine:
    """Runs items in this process and counts them by stage."""

    def __init__(self, config: Config) -> None:
        self.counts: Counter[str] = Counter()

    async def start(self, ctx: StageContext, sessions: object, replies: object) -> None:
        ctx.log.info("counting")

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        self.counts[stage.name] += 1
        return await stage.process(item, ctx)

    async def aclose(self) -> None:
        self.counts.clear()
