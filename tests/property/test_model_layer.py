"""Properties of the pure parts of the model layer."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from scirgen.core.safety.http import retry_after_s
from scirgen.core.text.tame import visible
from scirgen.llm.base import ChatRequest, Message, ModelIdentity, Sampling, ScoreRequest
from scirgen.llm.cache import ReplyCache
from scirgen.llm.chat_session import chat_key
from scirgen.llm.score_session import score_key
from scirgen.llm.server.limits import AdaptiveLimit
from scirgen.llm.structured import UnparsableReply, parse_reply, reply_schema
from scirgen.testing.replies import word_logprobs

TEXT = st.text(max_size=40)
REQUESTS = st.builds(
    ChatRequest,
    st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXT), min_size=1, max_size=3
    ).map(tuple),
    st.none() | st.dictionaries(TEXT, st.integers(), max_size=2),
    st.builds(
        Sampling, st.sampled_from([0.0, 0.7]), st.sampled_from([1.0, 0.9]), st.integers(1, 9),
        st.none() | st.integers(0, 3), st.lists(TEXT, max_size=2).map(tuple),
    ),
)  # fmt: skip
IDENTITIES = st.builds(ModelIdentity, TEXT, TEXT, TEXT)


@given(REQUESTS, REQUESTS, IDENTITIES, IDENTITIES, st.integers(0, 2), st.integers(0, 2))
def test_chat_keys_are_equal_exactly_when_everything_that_matters_is(
    a: ChatRequest, b: ChatRequest, one: ModelIdentity, two: ModelIdentity, m: int, n: int
) -> None:
    same = (a, one, m) == (b, two, n)
    assert (chat_key(one, a, m) == chat_key(two, b, n)) is same


@given(TEXT, TEXT, TEXT, TEXT)
def test_score_keys_keep_the_boundary(a: str, b: str, c: str, d: str) -> None:
    identity = ModelIdentity("x", "y")
    same = score_key(identity, ScoreRequest(a, b)) == score_key(identity, ScoreRequest(c, d))
    assert same is ((a, b) == (c, d))


class Item(BaseModel):
    text: str
    count: int
    flags: list[bool]


class Items(BaseModel):
    items: list[Item]


PROSE = st.text(alphabet=st.characters(exclude_characters="{}[]`"), max_size=30)


ITEM = st.builds(Item, text=TEXT.map(visible), count=st.integers(), flags=st.lists(st.booleans(), max_size=2))


@given(st.builds(Items, items=st.lists(ITEM, max_size=3)), PROSE, PROSE)
def test_parse_reply_finds_any_value_inside_any_prose(value: Items, before: str, after: str) -> None:
    plain = value.model_dump_json()
    assert parse_reply(plain, Items) == value
    assert parse_reply(f"{before}\n```json\n{plain}\n```\n{after}", Items) == value
    assert parse_reply(f"{before} {plain} {after}", Items) == value


@given(st.text(max_size=200))
def test_parse_reply_of_anything_is_a_value_or_one_kind_of_error(text: str) -> None:
    try:
        assert isinstance(parse_reply(text, Items), Items)
    except UnparsableReply as problem:
        assert str(problem)


@given(st.integers(0, 400))
def test_a_cut_reply_is_never_taken_for_a_whole_one(at: int) -> None:
    whole = Items(items=[Item(text=f"t{n}", count=n, flags=[True]) for n in range(8)]).model_dump_json()
    cut = whole[: min(at, len(whole) - 1)]
    try:
        parse_reply(cut, Items, fix=False)
    except UnparsableReply:
        return
    raise AssertionError(cut)


@given(st.lists(st.tuples(st.text(max_size=10), st.text(max_size=200)), max_size=20))
def test_cache_gives_back_the_last_reply_put_under_a_key(rows: list[tuple[str, str]]) -> None:
    cache = ReplyCache.open()
    for key, text in rows:
        cache.put(key, {}, text)
    for key, text in dict(rows).items():
        found = cache.get(key)
        assert found is not None and found.text == text
    cache.close()


@given(st.integers(1, 300), st.lists(st.tuples(st.booleans(), st.floats(0, 100)), max_size=600))
def test_adaptive_limit_stays_between_one_and_its_maximum(most: int, calls: list[tuple[bool, float]]) -> None:
    limit = AdaptiveLimit(most)
    for refused, latency in calls:
        limit.in_flight += 1
        limit.release(latency, refused=refused)
        assert 1 <= limit.limit <= most
    assert limit.in_flight == 0


@given(st.text(max_size=30) | st.floats().map(str))
def test_retry_after_is_never_negative_nor_an_error(value: str) -> None:
    seconds = retry_after_s(value)
    assert seconds is None or seconds >= 0


@given(st.text(max_size=200))
def test_fake_log_probabilities_cover_the_text_and_are_negative(text: str) -> None:
    tokens, logprobs, offsets = word_logprobs(text)
    assert "".join(tokens) == text
    assert all(value < 0 for value in logprobs)
    assert offsets == sorted(offsets)


def test_reply_schema_is_json_and_stable() -> None:
    first: Any = json.dumps(reply_schema(Items), sort_keys=True)
    assert first == json.dumps(reply_schema(Items), sort_keys=True)
