from __future__ import annotations

import re

import pytest

from scirgen.core.errors import ReplyInvalidError
from scirgen.core.records import QAPair, Span
from scirgen.stages.release.rows import PassageIndex, release_row
from scirgen.stages.tag.stage import TagStage
from tests.support.questioning import FakeScope, make_context, pair

PAIRS = tuple(pair(f"What is term {n}?") for n in range(5))


async def tag(rule, pack="standard", size=10, pairs=PAIRS):
    ctx, chat = make_context(rule, pack=pack, stage="tag", tag={"batch_size": size})
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


async def test_batches_are_as_large_as_configured():
    _, chat = await tag(lambda p, n: {"q1": "C1", "q2": "C1"}, size=2)
    assert len(chat.prompts) == 3


async def test_a_reply_that_leaves_a_question_out_is_no_reply():
    with pytest.raises(ReplyInvalidError):
        await tag(lambda p, n: {"q1": "C1"})


async def test_the_small_pack_chooses_one_of_the_levels_typical_of_the_type():
    asked = tuple(pair(f"I'm unsure what term {n} is.", "assertion") for n in range(5))
    outputs, chat = await tag(lambda p, n: "Understanding", pack="small", pairs=asked)
    assert {p.bloom for p in outputs} == {"C2"}
    assert len(chat.prompts) == 5
    with pytest.raises(ReplyInvalidError, match=r"none of .*Understanding.*Analyzing"):
        await tag(lambda p, n: "Creating", pack="small", pairs=asked)
    # A type with a single level leaves nothing to choose.
    outputs, chat = await tag(lambda p, n: "", pack="small")
    assert {p.bloom for p in outputs} == {"C2"} and not chat.prompts


async def test_the_tagger_sees_the_answer_and_what_it_stands_on():
    _, chat = await tag(lambda p, n: {"q1": "C1"}, pairs=(pair("What is firn?", answer="Old snow."),))
    shown = chat.prompts[0].messages[-1][1]
    assert "q1 (Definition) What is firn?" in shown and "Answer: Old snow." in shown and "Evidence:" in shown


async def test_the_tagger_sees_the_evidence_of_the_answer_only():
    texts = ("What firn is called in the title " * 12, "Firn is old snow.")
    spans = tuple(Span(document_id="d", start=0, end=len(t), text=t) for t in texts)
    _, chat = await tag(lambda p, n: {"q1": "C1"}, pairs=(pair("What is firn?", answer="Old snow.", evidence=spans),))
    assert "Evidence: Firn is old snow.\n" in chat.prompts[0].messages[-1][1]


def test_pairs_of_other_rounds_are_left_alone():
    ctx, _ = make_context(stage="tag")
    later = pair("What is new?", round=1)
    items = list(TagStage().items(FakeScope({"filter": (*PAIRS, later)}, round=1), ctx))
    assert [i.of(QAPair) for i in items] == [(later,)]


def translating(reply):
    """Levels for the batch, and ``reply(prompt text)`` for every translation."""

    def rule(prompt, n):
        if prompt.id == "tag/bloom":
            return {f"q{i}": "C2" for i in range(1, 6)}
        return reply(prompt.messages[-1][1])

    return rule


def number_of(text):
    return re.search(r"What is term (\d)", text).group(1)


def chinese(text):
    return {"question": f"术语 {number_of(text)} 是什么？", "answer": "一个答案。"}


async def translated(reply, to=("zh",), pairs=PAIRS):
    ctx, chat = make_context(translating(reply), stage="tag", tag={"translate_to": to})
    (item,) = TagStage().items(FakeScope({"filter": pairs}), ctx)
    return await TagStage().process(item, ctx.at("tag", item.key, "fp")), chat


async def test_translations_are_added_under_the_same_ids():
    result, chat = await translated(chinese)
    assert {p.id for p in result.outputs} == {p.id for p in PAIRS}
    for made in result.outputs:
        assert (made.question, made.bloom) == (f"What is term {number_of(made.question)}?", "C2")
        assert made.translations == (
            ("zh", "question", f"术语 {number_of(made.question)} 是什么？"),
            ("zh", "answer", "一个答案。"),
        )
        assert len(made.provenance.replies) == 2
    assert result.failures == ()
    assert len(chat.prompts) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": "术语是什么？", "answer": "一个答案。"},
        {"question": "术语 3 是什么？", "answer": " "},
        {"question": "What is term 3?", "answer": "An answer."},
        {"question": "What is the third term, term 3, of the list?", "answer": "An answer."},
        {"question": "<data-0a1b2c3d>", "answer": "<data-0a1b2c3d>"},
        {"question": "term 3: ?", "answer": "一个答案。"},
        {"question": "3 ？", "answer": "一"},
        {"question": "术语 3 是什么？", "answer": "术语 3 是什么？"},
        "I cannot do that.",
    ],
    ids=[
        "number lost",
        "empty",
        "unchanged",
        "other language",
        "tags",
        "no characters",
        "no words",
        "question again",
        "no reply",
    ],
)
async def test_a_failed_translation_is_a_failure_and_its_pair_is_kept_without_it(wrong):
    result, _ = await translated(lambda text: wrong if number_of(text) == "3" else chinese(text))
    (failure,) = result.failures
    without = [p for p in result.outputs if not p.translations]
    assert [p.question for p in without] == ["What is term 3?"]
    assert failure.record_id == without[0].id
    assert failure.retryable
    assert len(result.outputs) == 5


@pytest.mark.parametrize(
    ("answer", "said", "kept"),
    [
        ("Access is hard in winter, so gauges are rare.", "冬季难以进入，因此雨量计稀少。", True),
        ("Access is hard in winter, so gauges are rare.", "Access is hard in winter, so gauges are rare.", False),
        ("Access is hard in winter, so gauges are rare.", "Access is difficult, so gauges are rare 的.", False),
        ("Access is hard in winter, so gauges are rare.", "雪", False),
        ("SMMR and AMSR-E", "SMMR 和 AMSR-E", True),
        ("MODIS", "MODIS", True),
    ],
)
async def test_an_answer_must_be_in_the_other_language_unless_it_is_a_name(answer, said, kept):
    one = (pair("Why are gauges rare in the mountains?", "causal_antecedent", answer),)
    result, _ = await translated(lambda text: {"question": "山区的雨量计为何稀少？", "answer": said}, pairs=one)
    assert [bool(p.translations) for p in result.outputs] == [kept]
    assert len(result.failures) == (not kept)


async def test_tags_that_came_along_with_a_translation_are_taken_off():
    def reply(text):
        made = chinese(text)
        return {"question": f"<data-0a1b2c3d>\n{made['question']}\n</data-0a1b2c3d>", "answer": made["answer"]}

    result, _ = await translated(reply)
    assert result.failures == ()
    assert all("data-" not in text for p in result.outputs for _, _, text in p.translations)


async def test_a_wrong_translation_is_asked_for_once_more():
    asked = []

    def reply(text):
        asked.append(number_of(text))
        return chinese(text) if asked.count(number_of(text)) == 2 else {"question": "？", "answer": "一"}

    result, _ = await translated(reply)
    assert result.failures == ()
    assert all(p.translations for p in result.outputs)


async def test_a_pair_is_not_translated_into_its_own_language():
    result, chat = await translated(chinese, to=("en",))
    assert len(chat.prompts) == 1
    assert all(p.translations == () for p in result.outputs)


async def test_a_translation_is_released_with_its_row():
    result, _ = await translated(chinese)
    row = release_row(result.outputs[0], "train", "g", {}, {}, {}, PassageIndex())
    assert [(t.language, t.field) for t in row.translations] == [("zh", "question"), ("zh", "answer")]


def test_only_a_wanted_translation_changes_what_the_stage_depends_on():
    plain = TagStage().uses(make_context(stage="tag")[0].config)
    wanted = TagStage().uses(make_context(stage="tag", tag={"translate_to": ("zh",)})[0].config)
    assert "tag/translate" in wanted.prompts
    assert "tag/translate" not in plain.prompts
    assert wanted.extra != plain.extra
