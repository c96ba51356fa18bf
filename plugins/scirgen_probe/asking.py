"""The wing's request in the calls that write pairs, and the records of its part of the reply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from scirgen import Draft, QAPair, Record, Rejection, StageContext, StageResult
from scirgen import GenerationTask as Task
from scirgen.plugin import Further, FurtherRequest, content_id, language_name
from scirgen.stages.generate.locate import locate
from scirgen_probe.records import Nugget, Unanswerable
from scirgen_probe.settings import settings

MOST_NUGGETS = 6
_NUGGETS_A_PAIR = 2
_QUESTION_TOKENS, _NUGGET_TOKENS = 60, 70
_SHOWN = re.compile(r"^\s*(?:\[\d+\]\s*)?(?:\([a-z ]+\)\s*)?")
"""A line's number and aspect, which a model may copy with the line."""


class Asked(BaseModel):
    """A question without an answer."""

    model_config = ConfigDict(extra="ignore")
    type: str = ""
    lacks: str = "missing"
    differs: str = ""
    question: str = ""


class Fact(BaseModel):
    """A fact of the answer of pair number ``pair``, and the words of one line that say it."""

    model_config = ConfigDict(extra="ignore")
    pair: int = 0
    fact: str = ""
    quote: str = ""


class ProbeReply(BaseModel):
    """The part of the reply; lists that were not asked for stay empty."""

    model_config = ConfigDict(extra="ignore")
    unanswerable: list[Asked] = []
    nuggets: list[Fact] = []


class ProbeRequest(FurtherRequest):
    """Asks for questions that the lines do not answer, and for the facts of answers."""

    name: ClassVar[str] = "probe"
    prompt: ClassVar[str] = "probe/asking"
    reply: ClassVar[type[BaseModel]] = ProbeReply

    def variables(self, max_pairs: int, turn: int, ctx: StageContext) -> Mapping[str, object] | None:
        """Ask for the share of questions in the first round alone; a fraction is rounded at random."""
        chosen = settings(ctx.config)
        exact = 0.0 if turn else max_pairs * chosen.unanswerable
        wanted = int(exact) + (ctx.seed("probe", max_pairs) % 1000 < exact % 1 * 1000)
        if not wanted and not chosen.nuggets:
            return None
        return {"unanswerable": wanted, "nuggets": chosen.nuggets, "language": language_name(ctx.config.language)}

    def tokens(self, max_pairs: int) -> int:
        """Estimate the tokens of questions and facts together."""
        return max_pairs * (_QUESTION_TOKENS + _NUGGETS_A_PAIR * _NUGGET_TOKENS)

    def read(self, further: Further, task: Task, ctx: StageContext) -> StageResult:
        """Make a record of each question, and of each fact whose quotation is in the material verbatim."""
        assert isinstance(further.value, ProbeReply)
        made = [*_questions(further, task, ctx), *_nuggets(further, task, ctx)]
        return StageResult(
            tuple({getattr(r, "id", ""): r for r in made if not isinstance(r, Rejection)}.values()),
            tuple(r for r in made if isinstance(r, Rejection)),
        )


def _questions(further: Further, task: Task, ctx: StageContext) -> Iterator[Record]:
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


def _nuggets(further: Further, task: Task, ctx: StageContext) -> Iterator[Record]:
    assert isinstance(further.value, ProbeReply)
    counts: Counter[str] = Counter()
    for found in further.value.nuggets if settings(ctx.config).nuggets else ():
        draft = further.written[found.pair - 1] if 0 < found.pair <= len(further.written) else None
        fact = " ".join(found.fact.split())
        if not isinstance(draft, Draft) or not fact:
            continue  # its pair was discarded
        question, answer = " ".join(draft.question.split()), " ".join(draft.answer.split())
        pair_id = QAPair.make_id(task.dataset.id, draft.kind.id, question, answer)
        counts[pair_id] += 1
        about = "Nugget", content_id("nug", pair_id, fact)
        origin = ctx.provenance(further.prompt, further.replies)
        span = locate(_SHOWN.sub("", found.quote), task.passages, task.dataset)
        if span is None or counts[pair_id] > MOST_NUGGETS:
            code, why = (
                ("not_verbatim", f"not in the material word for word: {found.quote!r}")
                if span is None
                else ("surplus", f"an answer has at most {MOST_NUGGETS} facts")
            )
            yield ctx.reject(code, why, about, dataset_id=task.dataset.id, record=fact, provenance=origin)
            continue
        yield Nugget(id=about[1], dataset_id=task.dataset.id, pair_id=pair_id, fact=fact, span=span, provenance=origin)
