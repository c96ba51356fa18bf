"""The wing's request in the calls that write pairs, and the records of its part of the reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from scirgen import GenerationTask as Task
from scirgen import StageContext, StageResult
from scirgen.plugin import Further, FurtherRequest, content_id, language_name
from scirgen_probe.records import Unanswerable
from scirgen_probe.settings import settings

_QUESTION_TOKENS = 60


class Asked(BaseModel):
    """A question without an answer."""

    model_config = ConfigDict(extra="ignore")
    type: str = ""
    lacks: str = "missing"
    differs: str = ""
    question: str = ""


class ProbeReply(BaseModel):
    """The part of the reply."""

    model_config = ConfigDict(extra="ignore")
    unanswerable: list[Asked] = []


class ProbeRequest(FurtherRequest):
    """Asks for questions that the lines do not answer."""

    name: ClassVar[str] = "probe"
    prompt: ClassVar[str] = "probe/asking"
    reply: ClassVar[type[BaseModel]] = ProbeReply

    def variables(self, max_pairs: int, turn: int, ctx: StageContext) -> Mapping[str, object] | None:
        """Ask for the share of questions in the first round alone; a fraction is rounded at random."""
        exact = 0.0 if turn else max_pairs * settings(ctx.config).unanswerable
        wanted = int(exact) + (ctx.seed("probe", max_pairs) % 1000 < exact % 1 * 1000)
        return {"unanswerable": wanted, "language": language_name(ctx.config.language)} if wanted else None

    def tokens(self, max_pairs: int) -> int:
        """Estimate the tokens of the questions."""
        return max_pairs * _QUESTION_TOKENS

    def read(self, further: Further, task: Task, ctx: StageContext) -> StageResult:
        """Make a record of each question."""
        assert isinstance(further.value, ProbeReply)
        return StageResult(tuple({r.id: r for r in _questions(further, task, ctx)}.values()))


def _questions(further: Further, task: Task, ctx: StageContext) -> Iterator[Unanswerable]:
    assert isinstance(further.value, ProbeReply)
    if task.round or not settings(ctx.config).unanswerable:
        return
    kinds = [kind.id for kind in task.kinds]
    for asked in further.value.unanswerable:
        if question := " ".join(asked.question.split()):
            yield Unanswerable(
                id=content_id("una", task.dataset.id, question),
                dataset_id=task.dataset.id,
                question=question,
                question_type=asked.type if asked.type in kinds else kinds[0],
                lacks="near_miss" if asked.lacks == "near_miss" else "missing",
                differs=" ".join(asked.differs.split())[:200],
                language=ctx.config.language,
                provenance=ctx.provenance(further.prompt, further.replies),
            )
