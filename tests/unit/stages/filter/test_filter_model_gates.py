"""The gate that lets a model answer, with a scripted one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from scirgen.core.errors import ServerUnavailableError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import QAPair
from scirgen.llm.base import Capabilities, ModelIdentity
from scirgen.llm.session import TextAnswer
from scirgen.stages.base import StageContext
from scirgen.stages.filter.gates.answerable import AnswerableWithoutContextGate
from scirgen.stages.filter.stage import select_gates
from tests.support.filtering import pair, verdict

Make = Callable[..., StageContext]
NUMBER = pair("How many gauges are merged?", "2,400 gauges", "quantification")
YES = pair("Are gauges merged with satellites?", "Yes", "verification")
WHY = pair()


class ScriptedChat:
    """Replies in turn, and remembers what it was asked."""

    identity = ModelIdentity("scripted", "chat")
    capabilities = Capabilities()
    pack = "standard"

    def __init__(self, *replies: str | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, int, int]] = []

    async def ask_text(self, prompt: RenderedPrompt, *, seed: int, sample: int = 0, **_: object) -> TextAnswer:
        self.asked.append((prompt.messages[-1][1], seed, sample))
        reply = self.replies[(len(self.asked) - 1) % len(self.replies)]
        if isinstance(reply, Exception):
            raise reply
        return TextAnswer(reply, "key")


def talking(make_ctx: Make, *replies: str | Exception) -> StageContext:
    return replace(make_ctx(), chat_session=ScriptedChat(*replies))


@pytest.mark.parametrize(
    ("one", "replies", "accept"),
    [
        (NUMBER, ["About 2,400 gauges."], False),
        (NUMBER, ["2400", "2400", "500"], True),
        (NUMBER, ["I do not know"], True),
        (YES, ["Yes."], False),
        (YES, ["Yes.", "No.", "Yes."], True),
        (WHY, ["Because satellites fail to see and miss snowfall."], False),
        (WHY, ["To make the product look nicer."], True),
    ],
)
async def test_answerable_without_context_rejects_what_every_reply_gets_right(
    make_ctx: Make, one: QAPair, replies: list[str], accept: bool
) -> None:
    found = await verdict(AnswerableWithoutContextGate, one, talking(make_ctx, *replies))
    assert found.accept is accept, found


async def test_answerable_without_context_never_shows_the_context(make_ctx: Make) -> None:
    ctx = talking(make_ctx, "I do not know")
    await verdict(AnswerableWithoutContextGate, NUMBER, ctx)
    chat = ctx.chat
    assert isinstance(chat, ScriptedChat)
    assert len({seed for _, seed, _ in chat.asked}) == len(chat.asked) == 3
    assert not any("Daily precipitation" in text for text, _, _ in chat.asked)


async def test_the_gate_gives_no_verdict_when_the_model_fails(make_ctx: Make) -> None:
    found = await verdict(AnswerableWithoutContextGate, NUMBER, talking(make_ctx, ServerUnavailableError("gone")))
    assert isinstance(found.error, ServerUnavailableError)
    assert not found.accept


def test_model_gates_are_off_unless_named(make_ctx: Make) -> None:
    def codes(**settings: object) -> set[str]:
        ctx = make_ctx(**settings)
        return {g.code for g in select_gates(ctx.config, ctx.registry)}

    assert "answerable_without_context" not in codes()
    assert codes(gates=["schema", "answerable_without_context"]) == {"schema", "answerable_without_context"}
    assert "pointing" in codes(gate_options={"answerable_without_context": {"enabled": True}})
    assert "answerable_without_context" in codes(gate_options={"answerable_without_context": {"enabled": True}})
