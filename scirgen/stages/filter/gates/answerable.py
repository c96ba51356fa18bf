"""A gate in which the generator answers the question without context: a right answer shows that the question does not
need the dataset.

Off by default: a model of 135M parameters knows too little for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from scirgen.claims.conformance import matches, polarity
from scirgen.core.errors import ModelError, ResourceError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import QAPair
from scirgen.core.taxonomy import LanguageWording, QuestionType
from scirgen.core.text.textmatch import content_words, coverage, normalise, numbers, states_number
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Gate, Material, Verdict

_FORMS = {
    "yes_no": "Yes or No",
    "number": "a number and its unit",
    "option": "one of the options named in it",
    "phrase": "a short phrase",
    "text": "one to three sentences",
}
_ENOUGH = 0.5


class AnswerableWithoutContextGate(Gate):
    """The model gives the reference answer without any context."""

    code: ClassVar[str] = "answerable_without_context"
    explanation: ClassVar[str] = (
        "The generator gives the answer without any context (threshold: least share of three sampled replies "
        "that agree "
        "with the answer; a lucky Yes is not enough)."
    )
    on_by_default: ClassVar[bool] = False
    order: ClassVar[int] = 120
    default_threshold: ClassVar[float | None] = 1.0
    needs: ClassVar[tuple[str, ...]] = ("answer", "type", "generator")
    prompts: ClassVar[tuple[str, ...]] = ("answer_alone",)
    samples: ClassVar[int] = 3

    async def check(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Verdict]:
        return list(await asyncio.gather(*(self._judge(p, ctx) for p in pairs)))

    async def _judge(self, pair: QAPair, ctx: StageContext) -> Verdict:
        prompt = ctx.prompt("answer_alone").render(question=pair.question, form=_form(pair, ctx))
        try:
            replies = [await _ask(prompt, pair, ctx, n) for n in range(self.samples)]
        except ModelError as error:
            return Verdict(False, error=error)
        share = sum(agrees(pair, reply, ctx) for reply in replies) / len(replies)
        if share >= self.threshold(ctx.config):
            return Verdict(
                False, f"{share:.0%} of the replies without context give the answer: {replies[0][:80]!r}", share
            )
        return Verdict(True, score=share)


async def _ask(prompt: RenderedPrompt, pair: QAPair, ctx: StageContext, sample: int) -> str:
    answer = await ctx.chat.ask_text(prompt, seed=ctx.seed(prompt.id, pair.id, sample), sample=sample)
    return answer.text.strip()


def _kind(pair: QAPair, ctx: StageContext) -> QuestionType | None:
    try:
        return ctx.taxonomies.question_type(pair.question_type, pair.language)
    except ResourceError:
        return None


def _form(pair: QAPair, ctx: StageContext) -> str:
    kind = _kind(pair, ctx)
    return _FORMS[kind.answer.kind if kind else "text"]


def agrees(pair: QAPair, reply: str, ctx: StageContext) -> bool:
    """Tells whether a free reply gives the pair's answer, as far as their words show.

    It has the same yes or no, all of the answer's numbers, or else at least half of its content words (words of the
    question count only if the answer has no others).
    """
    wording: LanguageWording = ctx.taxonomies.wording.of(pair.language)
    if matches(wording.placeholders, normalise(reply), normalised=True):
        return False
    said = polarity(pair.answer, wording)
    kind = _kind(pair, ctx)
    if said is not None and kind is not None and kind.polar:
        return polarity(reply, wording) == said
    wanted, given = numbers(pair.answer), numbers(reply)
    if any(not states_number(n, given) for n in wanted):
        return False
    stop = wording.stop
    answer, asked = set(content_words(pair.answer, stop)), set(content_words(pair.question, stop))
    plain = {w for w in answer if not w[0].isdigit()}
    new = plain - asked or (set() if wanted else plain)
    return coverage(new, content_words(reply, stop)) >= _ENOUGH
