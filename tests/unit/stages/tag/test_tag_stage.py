from __future__ import annotations

import pytest

from scirgen.core.errors import ReplyInvalidError
from scirgen.core.records import QAPair, Score, Span
from scirgen.stages.tag.stage import TagStage
from tests.support.questioning import FakeScope, make_context, pair

PAIRS = tuple(pair(f"What is term {n}?") for n in range(5))


async def tag(rule, size=10, pairs=PAIRS):
    ctx, chat = make_context(rule, stage="tag", tag={"batch_size": size})
    scope = FakeScope({"filter": pairs})
    outputs = []
    for item in TagStage().items(scope, ctx):
        outputs += (await TagStage().process(item, ctx.at("tag", item.key, "fp"))).outputs
    return outputs, chat


async def test_batch_is_tagged_in_one_call_and_only_bloom_changes():
    outputs, chat = await tag(lambda p, n: {f"q{i}": f"C{i}" for i in range(1, 6)})
    assert len(chat.prompts) == 1
    assert [p.bloom for p in outputs] == ["C1", "C2", "C3", "C4", "C5"]
    originals = {p.id: p for p in PAIRS}
    for tagged in outputs:
        assert isinstance(tagged, QAPair)
        assert tagged.model_copy(update={"bloom": None, "provenance": None}) == originals[tagged.id]


async def test_a_level_that_the_judge_named_is_not_asked_for_again():
    judged = Score(name="llm_judge", value=1.0, level="C5")
    pairs = (PAIRS[0].model_copy(update={"scores": (judged,)}), PAIRS[1])
    outputs, chat = await tag(lambda p, n: {"q1": "C2"}, pairs=pairs)
    assert {p.id: p.bloom for p in outputs} == {pairs[0].id: "C5", pairs[1].id: "C2"}
    assert len(chat.prompts) == 1 and pairs[0].question not in chat.prompts[0].messages[-1][1]
    _, silent = await tag(lambda p, n: {}, pairs=pairs[:1])
    assert not silent.prompts


async def test_batches_are_as_large_as_configured():
    _, chat = await tag(lambda p, n: {"q1": "C1", "q2": "C1"}, size=2)
    assert len(chat.prompts) == 3


async def test_a_reply_that_leaves_a_question_out_is_no_reply():
    with pytest.raises(ReplyInvalidError):
        await tag(lambda p, n: {"q1": "C1"})


async def test_the_tagger_sees_the_answer_and_what_it_stands_on():
    _, chat = await tag(lambda p, n: {"q1": "C1"}, pairs=(pair("What is firn?", answer="Old snow."),))
    shown = chat.prompts[0].messages[-1][1]
    assert "q1 (Definition) What is firn?" in shown and "Answer: Old snow." in shown and "Evidence:" in shown


async def test_the_tagger_sees_the_cited_lines_whole():
    texts = ("What firn is called in the title of the record, " * 12, "Firn is old snow.")
    spans = tuple(Span(document_id="d", start=0, end=len(t), text=t) for t in texts)
    _, chat = await tag(lambda p, n: {"q1": "C1"}, pairs=(pair("What is firn?", answer="Old snow.", evidence=spans),))
    assert f"Evidence: {texts[0].strip()} {texts[1]}\n" in chat.prompts[0].messages[-1][1]


def test_pairs_of_other_rounds_are_left_alone():
    ctx, _ = make_context(stage="tag")
    later = pair("What is new?", round=1)
    items = list(TagStage().items(FakeScope({"filter": (*PAIRS, later)}, round=1), ctx))
    assert [i.of(QAPair) for i in items] == [(later,)]
