"""A step that replaces one of the plan: levels of revised Bloom by the question's first word, without a model."""

from collections.abc import Iterable

from scirgen import Config, QAPair, Scope, Stage, StageContext, StageResult, Step, Uses, WorkItem

STEP = Step("tag", "accepted pairs", "QAPair with its Bloom level", "a dataset", by="first_words")
LEVELS = {"why": "C4", "how": "C2"}


class FirstWordStage(Stage):
    """Assigns C4 to "Why", C2 to "How", and C1 to any other question."""

    name = "tag"

    def uses(self, config: Config) -> Uses:
        """Neither settings nor models."""
        return Uses()

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """The pairs of a round of one dataset."""
        if pairs := tuple(p for p in scope.outputs("filter", QAPair) if p.round == scope.round):
            yield WorkItem(f"{scope.dataset.id}|{scope.round}", pairs)

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """The same pairs with ``bloom`` set."""
        pairs = item.of(QAPair)
        levels = (LEVELS.get(p.question.partition(" ")[0].lower(), "C1") for p in pairs)
        return StageResult(tuple(p.model_copy(update={"bloom": v}) for p, v in zip(pairs, levels, strict=True)))
