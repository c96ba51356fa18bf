"""Rival: the generator answers every question again, from its evidence alone, and the two answers are compared.

A scorer that cannot decide whether an answer is true can often decide which of two answers is likelier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from scirgen.core.errors import ModelError, ResourceError, ScirgenError
from scirgen.core.records import QAPair, Score
from scirgen.core.taxonomy import LanguageWording
from scirgen.llm.base import ScoreReply
from scirgen.qa.claims.support import content, share_known, worded
from scirgen.qa.conformance import polarity
from scirgen.qa.repeats.neardup import answers_agree
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.batches import Batch, batches
from scirgen.stages.filter.faithfulness.framing import PROMPTS, Framing, measured
from scirgen.stages.filter.faithfulness.shift import relative_shift
from scirgen.stages.filter.faithfulness.windows import Window, chosen_window

_FORMS = {
    "yes_no": "Yes or No",
    "number": "a number and its unit",
    "option": "one of the options it names",
    "phrase": "a short phrase",
    "text": "one to three sentences",
}


class RivalAnswer(BaseModel):
    """One answer of the reply."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(description="the question's number")
    answer: str = Field(description='the answer; "" where the texts do not answer the question')


class RivalReply(BaseModel):
    """The answers to all questions of a call."""

    model_config = ConfigDict(extra="forbid")
    answers: list[RivalAnswer]


@dataclass(frozen=True)
class Rival:
    """The second answer to a question ("" if the evidence does not answer it), and the call that gave it."""

    text: str
    reply_key: str


class RivalScorer(Faithfulness):
    """The candidate's relative shift less the rival's, in about [-1, 1]; for Yes and No, 1 if both say the same, else -1.

    ``parts`` holds both shifts, ``covered`` (share of the candidate's words that evidence, question or rival have),
    ``in_rival`` (that question or rival have) and ``agrees``. If both answers say the same, the stage sets
    ``answered_twice`` on the pair.
    """

    name: ClassVar[str] = "rival"
    needs: ClassVar[tuple[Need, ...]] = ("generator", "scorer")
    default_threshold: ClassVar[float] = -0.3
    prompts: ClassVar[tuple[str, ...]] = (*PROMPTS, "rival")
    version: ClassVar[int] = 1

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        return await self.compared(pairs, await rival_answers(pairs, material, ctx), material, ctx)

    async def compared(
        self, pairs: Sequence[QAPair], rivals: Mapping[str, Rival | ScirgenError], material: Material, ctx: StageContext
    ) -> list[Score | Exception]:
        """Compare pairs with existing second answers, by pair id."""
        framing = Framing(ctx)
        windows = [chosen_window("evidence", p, material) for p in pairs]
        requests = []
        for pair, window in zip(pairs, windows, strict=True):
            rival = rivals[pair.id]
            texts = [pair.answer, rival.text] if isinstance(rival, Rival) and rival.text else []
            requests.append([framing.request(pair.question, t, c) for t in texts for c in (window.text, "")])
        replies = [measured(r) for r in await ctx.scorer.score([r for rs in requests for r in rs])]
        scores: list[Score | Exception] = []
        at = 0
        for pair, window, mine in zip(pairs, windows, requests, strict=True):
            rows = replies[at : at + len(mine)]
            at += len(mine)
            rival = rivals[pair.id]
            failed = next((r for r in rows if isinstance(r, Exception)), None)
            if isinstance(rival, Exception) or failed is not None:
                scores.append(rival if isinstance(rival, Exception) else failed or ModelError("no score"))
                continue
            known = [r for r in rows if isinstance(r, ScoreReply)]
            scores.append(self._score(pair, rival, known, window, ctx))
        return scores

    def _score(
        self, pair: QAPair, rival: Rival, rows: Sequence[ScoreReply], window: Window, ctx: StageContext
    ) -> Score:
        wording = ctx.taxonomies.wording.of(pair.language)
        model = f"{ctx.chat.identity} answers, {ctx.scorer.identity} compares"
        if not rival.text:
            # The generator found no answer in the evidence, so the candidate gets the lowest value.
            return Score(
                name=self.name, value=-1.0, model=model, parts=(("covered", 0.0), ("agrees", 0.0)),
                detail=f"the evidence alone gave no second answer (reply {rival.reply_key})",
            )  # fmt: skip
        mine = relative_shift(rows[0].logprobs, rows[1].logprobs)
        theirs = relative_shift(rows[2].logprobs, rows[3].logprobs)
        agrees = same_answer(pair.answer, rival.text, wording)
        covered = rival_coverage(pair, f"{window.text}\n{rival.text}", wording)
        in_rival = rival_coverage(pair, rival.text, wording)
        value = mine - theirs
        if polarity(pair.answer, wording) and len(content(pair.answer, wording.stop)) <= 1:
            value = 1.0 if agrees else -1.0
        return Score(
            name=self.name,
            value=value,
            model=model,
            prompt_hash=ctx.prompt("rival").hash,
            parts=(
                ("candidate", mine),
                ("rival", theirs),
                ("covered", covered),
                ("in_rival", in_rival),
                ("agrees", float(agrees)),
            ),
            detail=f"rival: {rival.text[:300]} (reply {rival.reply_key})",
        )


def same_answer(first: str, second: str, wording: LanguageWording) -> bool:
    """Whether a candidate and its rival say the same, as far as their words show."""
    return answers_agree(first, second, wording)


def rival_coverage(pair: QAPair, text: str, wording: LanguageWording) -> float:
    """Share of the candidate's content words that a text or the question has."""
    said = list(dict.fromkeys(content(worded(pair.answer), wording.unclaiming)))
    return share_known(said, frozenset(content(f"{text}\n{pair.question}", wording.unclaiming)))


async def rival_answers(
    pairs: Sequence[QAPair], material: Material, ctx: StageContext
) -> Mapping[str, Rival | ScirgenError]:
    """A second answer to each question, by pair id, in as few calls as ``filter.rival_batch`` allows.

    An error of one call is the result of its pairs; fatal errors are raised.
    """
    found: dict[str, Rival | ScirgenError] = {}
    for batch in batches(pairs, material, ctx.config.filter.rival_batch):
        try:
            found.update(await _answered(batch, ctx))
        except ScirgenError as error:
            if error.fatal:
                raise
            found.update({pair.id: error for pair in batch.pairs})
    return found


async def _answered(batch: Batch, ctx: StageContext) -> dict[str, Rival | ScirgenError]:
    questions = [
        {"number": n, "question": pair.question, "form": _form(pair, ctx), "evidence": list(cited)}
        for n, (pair, cited) in enumerate(zip(batch.pairs, batch.cited, strict=True), 1)
    ]
    prompt = ctx.prompt("rival").render(evidence=batch.evidence, questions=questions)
    reply = await ctx.chat.ask(prompt, RivalReply, seed=ctx.seed("rival", *(p.id for p in batch.pairs)))
    given = {a.number: a.answer.strip() for a in reply.value.answers}
    return {
        pair.id: Rival(given[n], reply.reply_key)
        if n in given
        else ModelError(f"the reply gave no second answer to question {n}", code="no_rival")
        for n, pair in enumerate(batch.pairs, 1)
    }


def _form(pair: QAPair, ctx: StageContext) -> str:
    try:
        return _FORMS[ctx.taxonomies.question_type(pair.question_type).answer.kind]
    except ResourceError:
        return _FORMS["text"]
