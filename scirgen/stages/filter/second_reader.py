"""A second reader answers a share of the kept pairs' questions from their evidence, without seeing the answers. How
often it disagrees is measured for the card; it rejects only if it reads all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict

from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import QAPair, Score
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import Ruling
from scirgen.stages.filter.faithfulness.batches import Batch, Told, ask_each, evidence_batches, numbered, reply_to

READER: Final = "second_reader"
PROMPTS: Final = ("reader", "agree")
_PAIRS: Final = 12
_PARTS: Final = 10_000


class Answers(BaseModel):
    """A reader's answers, ``a1``...; a reply that leaves one out is invalid."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


class Agreement(Answers):
    """For each pair, in ``p1``..., whether two answers say the same."""


def drawn(pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
    """Return the share ``filter.second_reader`` of the pairs; a pair's id decides."""
    share = ctx.config.filter.second_reader
    return [p for p in pairs if derived_seed(ctx.config.seed, READER, p.id) % _PARTS < share * _PARTS]


async def read_again(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> dict[str, Score | Exception]:
    """Answer the questions and compare; by pair id 1 or 0 (another answer)."""
    return await ask_each(evidence_batches(pairs, material, _PAIRS), lambda batch: _read(batch, ctx))


async def read_share(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Ruling]:
    """Have a second reader answer a share of the pairs, which gain a score.

    Only a reader of all pairs rejects, and fails a pair that it could not read.
    """
    decides = ctx.config.filter.second_reader == 1
    read = await read_again(drawn(pairs, ctx), material, ctx)
    return [_ruling(pair, read.get(pair.id), decides) for pair in pairs]


def _ruling(pair: QAPair, score: Score | Exception | None, decides: bool) -> Ruling:
    if not isinstance(score, Score):
        return Ruling(pair, error=score if decides else None)
    pair = pair.model_copy(update={"scores": (*pair.scores, score)})
    differs = decides and not score.value
    return Ruling(pair, "reject", READER, score.detail, score.value) if differs else Ruling(pair)


async def _read(batch: Batch[Told], ctx: StageContext) -> dict[str, Score | Exception]:
    pairs = list(enumerate(batch.pairs, 1))
    numbers = [n for n, _ in pairs]
    asked = [
        {"number": n, "question": p.question, "passages": list(dict.fromkeys(cited))}
        for (n, p), cited in zip(pairs, batch.cited, strict=True)
    ]
    prompt = ctx.prompt("reader").render(passages=list(numbered(batch.texts)), questions=asked)
    seed = ctx.seed(READER, *(p.id for p in batch.pairs))
    answers = (await ctx.judge.ask(prompt, reply_to(Answers, numbers, a=(str, ...)), seed=seed)).value
    texts = {n: " ".join(str(getattr(answers, f"a{n}")).split())[:1000] for n, _ in pairs}
    compared = ctx.prompt("agree").render(
        pairs=[{"number": n, "question": p.question, "one": p.answer, "other": texts[n] or "nothing"} for n, p in pairs]
    )
    wanted = reply_to(Agreement, numbers, p=(Literal["same", "differs"], ...))
    same = (await ctx.judge.ask(compared, wanted, seed=seed)).value
    return {
        p.id: Score(
            name=READER, value=float(getattr(same, f"p{n}") == "same"), model=str(ctx.judge.identity),
            prompt_hash=prompt.hash, detail=f"a second reader answers: {texts[n][:200]}",
        )
        for n, p in pairs
    }  # fmt: skip
