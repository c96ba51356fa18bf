from __future__ import annotations

import gc
import weakref

import pytest
from pydantic import BaseModel, Field, create_model

from scirgen.llm.structured import UnparsableReply, parse_reply, reply_schema


class Pair(BaseModel):
    question: str
    answer: str | None = None
    tags: list[str] = Field(default=[])


class Pairs(BaseModel):
    pairs: list[Pair]


GOOD = '{"pairs": [{"question": "Why?", "answer": null, "tags": []}]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here you are:\n```\n{GOOD}\n```\nAnything else?",
        f"Sure! {GOOD} I hope this helps {{really}}.",
        f"<think>The answer {{is}} hard.</think>\n{GOOD}",
        GOOD[GOOD.index("[") : GOOD.rindex("]") + 1],
        '{"pairs": [{"question": "Why?", "answer": null, "tags": [],}]}',
        "{'pairs': [{'question': 'Why?'}]}",
        '{"pairs": [{"question": "Why?"}]',
    ],
    ids=[
        "plain",
        "fenced",
        "fenced-in-prose",
        "in-prose",
        "thinking",
        "bare-list",
        "commas",
        "quotes",
        "missing-brace",
    ],
)
def test_parse_reply_of_what_models_write_finds_the_value(text: str) -> None:
    assert parse_reply(text, Pairs).pairs[0].question == "Why?"


def test_parse_reply_holds_nothing_that_a_terminal_obeys() -> None:
    text = r'{"pairs": [{"question": "\u001b[2JWhy\u0000\u202e?", "answer": "So."}]}'
    for written in (text, text.encode().decode("unicode_escape")):
        assert parse_reply(written, Pairs).pairs[0].question == "[2JWhy?"


@pytest.mark.parametrize("text", ["", "  ", "I cannot answer that.", "<think>hm</think>"])
def test_parse_reply_of_prose_is_never_guessed_at(text: str) -> None:
    with pytest.raises(UnparsableReply, match=r"empty|no JSON"):
        parse_reply(text, Pairs)


def test_parse_reply_of_a_wrong_shape_names_the_field_and_not_the_text() -> None:
    with pytest.raises(UnparsableReply) as caught:
        parse_reply('{"pairs": [{"question": 7, "answer": "SECRET"}]}', Pairs)
    assert "pairs.0.question" in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_parse_reply_without_repair_does_not_take_half_a_reply() -> None:
    half = '{"pairs": [{"question": "Why?"}, {"question": "Ho'
    assert len(parse_reply(half, Pairs).pairs) == 2
    with pytest.raises(UnparsableReply):
        parse_reply(half, Pairs, fix=False)


def test_reply_schema_is_strict_at_every_level() -> None:
    schema = reply_schema(Pairs)
    pair = schema["$defs"]["Pair"]
    assert schema["additionalProperties"] is False and pair["additionalProperties"] is False
    assert pair["required"] == ["question", "answer", "tags"]
    assert "default" not in str(schema)


def test_reply_schema_does_not_keep_the_models_of_single_items_alive() -> None:
    made = create_model("Made", x=(int, ...))
    reply_schema(made)
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None
