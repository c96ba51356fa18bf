from __future__ import annotations

import pytest
from questioning import FakeScope, make_context, pair

from scirgen.core.errors import ReplyInvalidError
from scirgen.core.records import QAPair
from scirgen.stages.tag.stage import TagStage

PAIRS = tuple(pair(f"What is term {n}?") for n in range(5))


async def tag(rule, pack="standard", size=10):
    ctx, chat = make_context(rule, pack=pack, stage="tag", tag={"batch_size": size})
    scope = FakeScope({"filter": PAIRS})
    outputs = []
    for item in TagStage().items(scope, ctx):
        outputs += (await TagStage().process(item, ctx.at("tag", item.key, "fp"))).outputs
    return outputs, chat


async def test_a_batch_is_tagged_in_one_call_and_only_bloom_and_provenance_change():
    outputs, chat = await tag(lambda p, n: {f"q{i}": f"C{i}" for i in range(1, 6)})
    assert len(chat.prompts) == 1
    assert [p.bloom for p in outputs] == ["C1", "C2", "C3", "C4", "C5"]
    originals = {p.id: p for p in PAIRS}
    for tagged in outputs:
        assert isinstance(tagged, QAPair)
        assert tagged.model_copy(update={"bloom": None, "provenance": None}) == originals[tagged.id]


async def test_batches_are_as_large_as_configured():
    _, chat = await tag(lambda p, n: {"q1": "C1", "q2": "C1"}, size=2)
    assert len(chat.prompts) == 3


async def test_a_reply_that_leaves_a_question_out_is_no_reply():
    with pytest.raises(ReplyInvalidError):
        await tag(lambda p, n: {"q1": "C1"})


async def test_the_small_pack_chooses_one_of_the_levels_typical_of_the_type():
    outputs, chat = await tag(lambda p, n: "Understanding", pack="small")
    assert {p.bloom for p in outputs} == {"C2"}
    assert len(chat.prompts) == 5
    with pytest.raises(ReplyInvalidError, match=r"none of .*Remembering.*Understanding"):
        await tag(lambda p, n: "Creating", pack="small")


def test_pairs_of_other_rounds_are_left_alone():
    ctx, _ = make_context(stage="tag")
    later = pair("What is new?", round=1)
    items = list(TagStage().items(FakeScope({"filter": (*PAIRS, later)}, round=1), ctx))
    assert [i.of(QAPair) for i in items] == [(later,)]
