"""Asks the judge each question whose answer cites several documents once without each of them, to learn which it needs,
in which way they answer it together, and whether anybody would ask it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel

from scirgen.core.errors import ScirgenError
from scirgen.core.records import LINKED, LINKS, QAPair, Score
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import Ruling
from scirgen.stages.filter.faithfulness.batches import reply_to
from scirgen.stages.filter.second_reader import read_again

PROMPT: Final = "linked"


class Ways(BaseModel):
    """In ``w1``..., the way in which documents answer each pair together; in ``r1``..., if somebody could ask it."""


async def ask_without(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Ruling]:
    """Return the pairs. Answers that cite several documents get a score of what they need; pairs that were written for
    two documents are kept only if they need two, and somebody who has read neither could ask them."""
    scores = await _scores(pairs, material, ctx)
    return [_ruling(pair, scores.get(pair.id)) for pair in pairs]


def _ruling(pair: QAPair, score: Score | Exception | None) -> Ruling:
    if isinstance(score, Score):
        pair = pair.model_copy(update={"scores": (*pair.scores, score)})
    if pair.strategy != LINKED:
        return Ruling(pair)
    if isinstance(score, Exception):
        return Ruling(pair, error=score)
    if pair.link and score is not None:
        return Ruling(pair) if score.passed else Ruling(pair, "reject", "unasked", "nobody would ask it")
    return Ruling(pair, "reject", "one_document", "the judge answers it without one of its documents")


async def _scores(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> dict[str, Score | Exception]:
    """Return by pair id a score for each pair whose answer cites several documents.

    Its ``parts`` are 1 for the documents without which the judge gives another answer or none, its value is 1 if there
    are two of them, and its ``detail`` is then the way in which they answer together. It passes if the pair was written
    for two documents and somebody could ask it. A call shows no line of the document that its pairs are asked without.
    An exception stands for a pair that was not asked without each.
    """
    documents = {p.id: sorted({s.document_id for s in p.answer_evidence}) for p in pairs}
    several = [p for p in pairs if len(documents[p.id]) > 1]
    lost: dict[str, dict[str, float]] = {p.id: {} for p in several}
    found: dict[str, Score | Exception] = {}
    for document in sorted({d for p in several for d in documents[p.id]}):
        cut = [_without(p, document) for p in several if document in documents[p.id]]
        for id, read in (await read_again(cut, material, ctx)).items():
            if isinstance(read, Exception):
                found[id] = read
            else:
                lost[id][document] = 1.0 - read.value
    asked = [p for p in several if p.id not in found]
    linked = [p for p in asked if sum(lost[p.id].values()) > 1]
    try:
        ways = await _ways(linked, ctx)
    except ScirgenError as error:
        if error.fatal:
            raise
        return {**found, **{p.id: error for p in asked}}
    for pair in asked:
        parts, (way, passed) = tuple(sorted(lost[pair.id].items())), ways.get(pair.id, ("", None))
        found[pair.id] = Score(
            name=LINKED, value=float(bool(way)), passed=passed, model=str(ctx.judge.identity), parts=parts, detail=way
        )
    return found


def _without(pair: QAPair, document: str) -> QAPair:
    evidence = tuple(s for s in pair.evidence if s.document_id != document)
    return pair.model_copy(update={"evidence": evidence})


async def _ways(pairs: Sequence[QAPair], ctx: StageContext) -> dict[str, tuple[str, bool | None]]:
    """Return by pair id the way in which documents together answer it, and whether anybody would ask it; None for a
    question that somebody has asked."""
    if not pairs:
        return {}
    every = list(enumerate(pairs, 1))
    prompt = ctx.prompt(PROMPT).render(
        pairs=[{"number": n, "question": p.question, "answer": p.answer} for n, p in every],
        ways=[{"id": k, "meaning": v} for k, v in LINKS.items()],
    )
    wanted = reply_to(Ways, [n for n, _ in every], w=(Literal[tuple(LINKS)], ...), r=(bool, ...))
    reply = (await ctx.judge.ask(prompt, wanted, seed=ctx.seed(LINKED, *(p.id for p in pairs)))).value
    asked = (getattr(reply, f"r{n}") if p.strategy == LINKED else None for n, p in every)
    return {p.id: (getattr(reply, f"w{n}"), passed) for (n, p), passed in zip(every, asked, strict=True)}
