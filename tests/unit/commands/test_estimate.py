"""The arithmetic of an estimate: how a sample is scaled up, what an earlier run teaches, how ranges come about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scirgen.commands.estimate.estimate import Known, estimate, scale
from scirgen.commands.estimate.history import read_history
from scirgen.commands.estimate.rehearsal import Call, chat_shape, rough_tokens
from scirgen.commands.estimate.rehearse import Rehearsal, Sample
from scirgen.core.config import Config, load_config
from scirgen.llm.base import ChatRequest, Message, Sampling, Usage
from scirgen.llm.cache import ReplyCache
from scirgen.pipeline.store import Store
from scirgen.stages.base import StageResult


def sample(of: int, ids: int = 4) -> Sample:
    return Sample(tuple(f"d{n}" for n in range(ids)), of)


def call(key: str, *, prompt: int = 100, reply: int = 20, kind: str = "chat") -> Call:
    request = ChatRequest((Message("user", "q"),), None, Sampling(max_tokens=50))
    shape = chat_shape(None, 50) if kind == "chat" else "score"
    return Call("generate", key, kind, shape, prompt * 4, prompt, reply, 50, request)


def rehearsal(calls: list[Call], lean: str = "usual", datasets: int = 4) -> Rehearsal:
    owners = {"generate": {f"d{n}|t": {f"d{n}"} for n in range(datasets)}}
    return Rehearsal(lean, owners, calls, {"generate": len(calls)}, len(calls), {}, {"generate": 1.0}, 2.0)


def test_items_of_one_dataset_grow_with_the_datasets() -> None:
    assert scale({f"k{n}": {f"d{n}"} for n in range(4)}, sample(40)) == 10


def test_items_that_all_datasets_share_do_not_grow() -> None:
    everyone = {f"d{n}" for n in range(4)}
    assert scale({"p1": everyone, "p2": everyone}, sample(40)) == 1


@given(st.lists(st.sets(st.sampled_from(["d0", "d1", "d2", "d3"]), min_size=1), min_size=1), st.integers(4, 400))
def test_shared_items_never_shrink_and_never_grow_faster_than_the_datasets(owners: list[set[str]], total: int) -> None:
    factor = scale({f"k{n}": o for n, o in enumerate(owners)}, sample(total))
    assert 1 <= factor <= total / 4 + 1e-9


def test_sampling_the_whole_catalogue_has_no_sampling_error() -> None:
    found = estimate([rehearsal([call(f"d{n}|t") for n in range(4)])], Known(Config(), sample(4)))
    assert (found.calls.low, found.calls.usual, found.calls.high) == (4, 4, 4)
    assert found.prompt_tokens.usual == 400
    assert found.completion_tokens.low < found.completion_tokens.usual == 80 < found.completion_tokens.high


def test_uneven_datasets_widen_the_range_and_a_larger_sample_narrows_it() -> None:
    even = estimate([rehearsal([call(f"d{n}|t") for n in range(4)])], Known(Config(), sample(100)))
    calls = [call(f"d{n}|t", prompt=100 * (n + 1)) for n in range(4)]
    uneven = estimate([rehearsal(calls)], Known(Config(), sample(100)))
    assert even.calls.low == even.calls.high == 100
    assert uneven.calls.low < 100 < uneven.calls.high


def test_sparse_and_rich_rehearsals_span_the_range() -> None:
    few, some, many = ([call(f"d{n % 4}|t") for n in range(count)] for count in (2, 4, 9))
    found = estimate([rehearsal(some), rehearsal(few, "sparse"), rehearsal(many, "rich")], Known(Config(), sample(4)))
    assert (found.calls.low, found.calls.usual, found.calls.high) == (2, 4, 9)


def test_cost_needs_the_price_of_every_model_used() -> None:
    prices: dict[str, object] = {"models.generator": "openai:m@http://h/v1", "models.prices": {"m": [1.0, 2.0]}}
    config = load_config(flags=prices).config
    found = estimate([rehearsal([call("d0|t")])], Known(config, sample(4)))
    assert found.cost is not None and found.cost.usual == pytest.approx((100 * 1 + 20 * 2) / 1e6)
    assert found.ceiling_cost is not None and found.ceiling_cost > found.cost.high
    scored = [call("d0|t"), call("d0|t", kind="score")]
    other = load_config(flags={**prices, "models.scorer": "openai:other@http://h/v1"}).config
    assert estimate([rehearsal(scored)], Known(other, sample(4))).cost is None


def test_hours_are_unknown_without_a_speed_and_follow_from_one() -> None:
    calls = [call(f"d{n}|t", prompt=0, reply=36) for n in range(4)]
    assert estimate([rehearsal(calls)], Known(Config(), sample(4))).hours is None
    found = estimate([rehearsal(calls)], Known(Config(), sample(4), tokens_per_second=0.1))
    assert found.hours is not None and found.hours.usual == pytest.approx(4 * 36 / 0.1 / 3600)


def test_a_cap_on_requests_a_minute_is_a_floor_for_the_hours() -> None:
    config = load_config(flags={"limits.requests_per_minute": 1}).config
    found = estimate([rehearsal([call(f"d{n}|t") for n in range(4)])], Known(config, sample(60)))
    assert found.hours is not None and found.hours.usual == pytest.approx(1.0)


def test_history_teaches_reply_lengths_tokens_and_repairs(tmp_path: Path) -> None:
    with Store(tmp_path / "run.db") as store:
        store.put("generate", "k", "f", StageResult(), 10.0)
        cache = ReplyCache(store.writer)
        sampling = {"max_tokens": 50}
        # A worked example is not a repair turn; a turn after one's own reply is.
        turns = [["user", "like"], ["assistant", "this"], ["user", "x" * 100]]
        for n, messages in enumerate(
            [turns, [*turns[:2], ["user", "y" * 100]], [*turns, ["assistant", "?"], ["user", "again"]]]
        ):
            body = {"messages": messages, "sampling": sampling, "schema": None}
            cache.put(f"k{n}", body, "reply", model="openai:m", usage=Usage(50, 30))
    learnt = read_history(tmp_path)
    shape = learnt.shapes[chat_shape(None, 50)]
    assert shape.replies == 3 and shape.completion_tokens == 30 and shape.repairs == 0.5
    assert learnt.units_per_second == pytest.approx((3 * 30 + 3 * 50 * 0.1) / 10.0)
    found = estimate([rehearsal([call("d0|t")])], Known(Config(), sample(4), learnt))
    assert found.completion_tokens.usual == pytest.approx(30 * 1.5)
    assert found.hours is not None


def test_a_target_may_use_its_whole_budget_of_candidates() -> None:
    config = load_config(flags={"generate.quota.total": 10}).config
    found = estimate([rehearsal([call(f"d{n}|t") for n in range(4)])], Known(config, sample(4)))
    assert found.calls.usual == 4 and found.calls.high == 40
    assert any("budget of 40" in note for note in found.notes)


def test_scripts_without_spaces_have_more_tokens_a_character() -> None:
    assert rough_tokens("雪深" * 50) > 2 * rough_tokens("snow depth" * 10)
