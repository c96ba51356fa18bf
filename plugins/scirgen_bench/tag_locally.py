"""The step ``tag_locally``: levels of revised Bloom by a local classifier instead of the generator, in place of
``tag``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.records import QAPair
from scirgen.pipeline.plan import Step
from scirgen.stages.base import StageContext, StageResult, Uses, WorkItem
from scirgen.stages.tag.stage import TagStage
from scirgen_bench.question_tagger import Labelled, QuestionTagger
from scirgen_bench.settings import ClassifierConfig

NAME = "tag_locally"
STEP = Step("tag", "accepted pairs", "QAPair with its Bloom level", "a batch of pairs", repeat="quota", by=NAME)


class LocalTagStage(TagStage):
    """Assigns the classifier's level to each accepted pair; asks no model."""

    def uses(self, config: Config) -> Uses:
        """The batches' size and the classifier's content."""
        return Uses(config=("tag",), extra=("tagger", _tagger(config).revision))

    def check(self, ctx: StageContext) -> None:
        """Open the classifier."""
        _tagger(ctx.config)

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """The same pairs with ``bloom`` set."""
        tagger, pairs = _tagger(ctx.config), item.of(QAPair)
        levels = tagger.predict([Labelled(p.question, p.question_type) for p in pairs])
        origin = ctx.provenance().model_copy(update={"model": f"tagger:{tagger.target}@{tagger.revision[:12]}"})
        made = (p.model_copy(update={"bloom": v, "provenance": origin}) for p, v in zip(pairs, levels, strict=True))
        return StageResult(tuple(made))


def _tagger(config: Config) -> QuestionTagger:
    """The classifier that the settings name.

    Raises:
        ConfigError: the section ``tag_locally`` is missing, or the folder has a classifier of types.
        InputError: the folder holds no usable classifier.
    """
    section = config.section_of(NAME)
    if not isinstance(section, ClassifierConfig):
        raise ConfigError("the step tag_locally needs a classifier", hint="Set tag_locally.tagger=DIR.")
    return _loaded(section.tagger)


@cache
def _loaded(folder: str) -> QuestionTagger:
    made = QuestionTagger.load(Path(folder).expanduser())
    if made.target != "level":
        raise ConfigError(
            f"{folder} has a tagger of {made.target}, not of levels", hint="Train one: scirgen tagger train."
        )
    return made
