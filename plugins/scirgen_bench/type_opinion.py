"""A second opinion on a question's type, from a local classifier that was trained on labelled questions (``scirgen
tagger train --target question_type``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.records import QAPair
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Gate, Material, Verdict
from scirgen_bench.settings import ClassifierConfig

if TYPE_CHECKING:  # numpy is loaded only if a classifier is configured
    from scirgen_bench.question_tagger import QuestionTagger


class TypeOpinionGate(Gate):
    """The classifier is sure that the question is of another type. It runs if the settings have a section
    ``type_opinion``."""

    code: ClassVar[str] = "type_opinion"
    explanation: ClassVar[str] = (
        "A trained classifier (type_opinion.tagger) prefers another type by more than the threshold, in the "
        "unit of its "
        "decision values; off without one."
    )
    order: ClassVar[int] = 65
    default_threshold: ClassVar[float | None] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("type",)

    def in_force(self, config: Config) -> bool:
        """Only with a classifier."""
        return _folder(config) is not None

    def identity(self, ctx: StageContext) -> str:
        """The classifier's content."""
        folder = _folder(ctx.config)
        return type_tagger(folder).revision if folder else ""

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        folder = _folder(ctx.config)
        if not folder or not pairs:
            return [ACCEPT] * len(pairs)
        from scirgen_bench.question_tagger import Labelled

        tagger = type_tagger(folder)
        limit, column = self.threshold(ctx.config), {label: i for i, label in enumerate(tagger.labels)}
        verdicts = []
        for pair, row in zip(pairs, tagger.scores([Labelled(p.question) for p in pairs]), strict=True):
            own = column.get(pair.question_type)
            if own is None:
                verdicts.append(ACCEPT)  # a user's own type, which the classifier does not know
                continue
            best = int(row.argmax())
            margin = float(row[best] - row[own])
            if margin <= limit:
                verdicts.append(Verdict(True, score=margin))
            else:
                verdicts.append(Verdict(False, f"reads like a question of type {tagger.labels[best]}", margin))
        return verdicts


def _folder(config: Config) -> str | None:
    section = config.section_of(TypeOpinionGate.code)
    return section.tagger if isinstance(section, ClassifierConfig) else None


@cache
def type_tagger(folder: str) -> QuestionTagger:
    """The classifier in a folder, loaded once.

    Raises:
        InputError: the folder holds no usable tagger.
        ConfigError: it tags levels.
    """
    from scirgen_bench.question_tagger import QuestionTagger

    made = QuestionTagger.load(Path(folder).expanduser())
    if made.target != "question_type":
        raise ConfigError(
            f"type_opinion.tagger: {folder} has a tagger of {made.target}, not of types",
            hint="Train one: scirgen tagger train --target question_type.",
        )
    return made
