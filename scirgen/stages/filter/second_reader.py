"""A second reader answers a share of the kept pairs' questions from their evidence, without seeing the answers. How
often it disagrees is measured for the card; it rejects only if it reads all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, create_model

from scirgen.core.errors import ScirgenError
from scirgen.core.fingerprint import derived_seed
from scirgen.core.records import QAPair, Score
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.batches import Batch, batches

READER: Final = "second_reader"
PROMPTS: Final = ("reader", "agree")
_PAIRS: Final = 12
_PARTS: Final = 10_000


class _Reply(BaseModel):
    """One field for each pair of a call; a reply that leaves one out is invalid."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


def drawn(pairs: Sequence[QAPair], ctx: StageContext) -> list[QAPair]:
    """Return the share ``filter.second_reader`` of the pairs; a pair's id decides."""
    share = ctx.config.filter.second_reader
    return [p for p in pairs if derived_seed(ctx.config.seed, READER, p.id) % _PARTS < share * _PARTS]


async def read_again(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> dict[str, Score | Exception]:
    """Answer the questions and compare; by pair id 1 or 0 (another answer), which decides nothing by itself."""
    found: dict[str, Score | Exception] = {}
    for batch in batches(pairs, material, _PAIRS):
        try:
            found |= await _read(batch, ctx)
        except ScirgenError as error:
            if error.fatal:
                raise
            found |= dict.fromkeys((p.id for p in batch.pairs), error)
    return found


async def _read(batch: Batch, ctx: StageContext) -> dict[str, Score | Exception]:
    numbered = list(enumerate(batch.pairs, 1))
    asked = [
        {"number": n, "question": p.question, "passages": list(dict.fromkeys(cited))}
        for (n, p), cited in zip(numbered, batch.cited, strict=True)
    ]
    prompt = ctx.prompt("reader").render(passages=batch.lines, questions=asked)
    wanted: dict[str, Any] = {f"a{n}": (str, ...) for n, _ in numbered}
    seed = ctx.seed(READER, *(p.id for p in batch.pairs))
    answers = (await ctx.judge.ask(prompt, create_model("Answers", __base__=_Reply, **wanted), seed=seed)).value
    told = {n: " ".join(str(getattr(answers, f"a{n}")).split())[:1000] for n, _ in numbered}
    compared = ctx.prompt("agree").render(
        pairs=[
            {"number": n, "question": p.question, "one": p.answer, "other": told[n] or "nothing"} for n, p in numbered
        ]
    )
    verdicts: dict[str, Any] = {f"p{n}": (Literal["same", "differs"], ...) for n, _ in numbered}
    same = (await ctx.judge.ask(compared, create_model("Agreement", __base__=_Reply, **verdicts), seed=seed)).value
    return {
        p.id: Score(
            name=READER, value=float(getattr(same, f"p{n}") == "same"), model=str(ctx.judge.identity),
            prompt_hash=prompt.hash, detail=f"a second reader answers: {told[n][:200]}",
        )
        for n, p in numbered
    }  # fmt: skip
