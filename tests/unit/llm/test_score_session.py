from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from scirgen.core.errors import ModelError
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.score_session import CachedScoreSession


class Counting:
    """A scorer that takes a turn of the loop and counts what it is asked."""

    identity = ModelIdentity("counting", "c")
    capabilities = Capabilities(logprobs=True, separate_scores=True)

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        await asyncio.sleep(0)
        self.asked += [r.continuation for r in requests]
        return [ScoreReply((r.continuation,), (-1.0,)) for r in requests]

    async def aclose(self) -> None:
        pass


async def test_same_scores_wanted_at_the_same_time_are_measured_once() -> None:
    model = Counting()
    session = CachedScoreSession(model)
    first = [ScoreRequest("p", f" {n}") for n in range(5)]
    second = [ScoreRequest("p", f" {n}") for n in range(3, 8)]
    found = await asyncio.gather(session.score(first), session.score(second))
    assert [[r.tokens[0] for r in part] for part in found] == [
        [r.continuation for r in part] for part in (first, second)
    ]
    assert sorted(model.asked) == [f" {n}" for n in range(8)]


class Odd(Counting):
    """Gives what no model can have measured."""

    def __init__(self, reply: ScoreReply) -> None:
        super().__init__()
        self.reply = reply

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | Exception]:
        return [self.reply for _ in requests]


@pytest.mark.parametrize(
    "reply",
    [
        ScoreReply((" a",), (0.5,)),
        ScoreReply((" a",), (float("nan"),)),
        ScoreReply((" a",), (float("-inf"),)),
        ScoreReply((" a", " b"), (-1.0,)),
        ScoreReply((), ()),
        ScoreReply((" a",), (-1.0,), prompt_tokens=10**30),
    ],
)
async def test_a_score_that_cannot_be_one_fails_its_request_alone(reply: ScoreReply) -> None:
    (found,) = await CachedScoreSession(Odd(reply)).score([ScoreRequest("p", " a")])
    assert isinstance(found, ModelError) and found.error_code == "bad_logprobs"
