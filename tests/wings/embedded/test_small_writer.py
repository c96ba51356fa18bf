from __future__ import annotations

import pytest

from scirgen.core.records import Aspect, AspectCategory, Dataset, SectionClass, Span
from scirgen.core.text.textmatch import words
from scirgen.stages.base import WorkItem
from scirgen_embedded.stages.generate import SmallGenerateStage
from tests.support.questioning import ASPECTS, SOURCES, FakeScope, make_context


async def write(type_id, rule, count=3, seed=42):
    config = {"generate": {"pairs_per_type": count, "types": (type_id,)}, "seed": seed}
    ctx, chat = make_context(rule, pack="small", **config)
    (item,) = SmallGenerateStage().items(FakeScope({"verify": ASPECTS}), ctx)
    result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
    return result, chat


def fact_of(prompt):
    return prompt.messages[-1][1].split(">\n", 1)[1].split("\n</", 1)[0]


def seen(prompt):
    """The fact as a question would take it up: without its full stop and its blank."""
    return fact_of(prompt).rstrip(".").replace("____", "it")


async def test_a_no_question_holds_the_changed_fact_and_says_what_was_changed():
    result, _ = await write("verification", lambda p, n: f"Question: Is it true that {fact_of(p).rstrip('.')}?", 4)
    answers = [p.answer for p in result.outputs]
    assert sorted(set(answers)) == ["No", "Yes"]
    for made in result.outputs:
        evidence = set(words(" ".join(s.text for s in made.evidence)))
        statement = set(words(made.question.removeprefix("Is it true that ").rstrip("?")))
        assert (statement <= evidence) == (made.answer == "Yes")
        assert bool(made.note) == (made.answer == "No")


def statements(*texts):
    """Kept aspects with these sentences, one after the other, in a document of their own."""
    made, start = [], 0
    for text in texts:
        span = Span(document_id="doc-2", start=start, end=start + len(text), text=text, section=SectionClass.METHOD)
        made.append(Aspect(paper_id="10.1/q", category=AspectCategory.FINDINGS, dataset_id="ds-1", span=span))
        start += len(text) + 1
    return tuple(made)


PLAIN = [f"the {word} of the valley is covered by trees that are old." for word in ("floor", "rim", "slope", "mouth")]
CHANGEABLE = [
    "the glacier of the valley is 14 km long in all.",
    "the cover of the valley is 80 % forest and meadow.",
    "the runoff of the valley is increased by melting ice.",
]


async def verify(texts, wanted, rule=lambda p, n: f"Is it true that {fact_of(p).rstrip('.')}?"):
    ctx, chat = make_context(rule, pack="small")
    dataset = Dataset(id="ds-1", title="Valley")
    cells = [{"polarity": "no", "count": wanted}]
    item = WorkItem("x", (dataset, *statements(*texts)), {"types": ["verification"], "cells": cells})
    return await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp")), chat


@pytest.mark.parametrize("order", [1, -1])
async def test_a_no_moves_on_to_a_sentence_that_can_be_changed(order):
    result, _ = await verify([*PLAIN, *CHANGEABLE][::order], 3)
    assert [p.answer for p in result.outputs] == ["No"] * 3
    assert {p.evidence[0].text for p in result.outputs} <= set(CHANGEABLE)
    for made in result.outputs:
        statement = made.question.removeprefix("Is it true that ").rstrip("?")
        assert statement not in made.evidence[0].text


async def test_a_no_moves_on_when_the_question_lost_the_changed_fact():
    def rule(prompt, n):
        fact = fact_of(prompt)
        return "Is the glacier long?" if "glacier" in fact else f"Is it true that {fact.rstrip('.')}?"

    result, _ = await verify(CHANGEABLE, 1, rule)
    assert [p.answer for p in result.outputs] == ["No"]
    assert "glacier" not in result.outputs[0].evidence[0].text


async def test_a_no_without_any_sentence_to_change_is_rejected_without_a_call():
    result, chat = await verify(PLAIN, 2)
    assert result.outputs == ()
    assert {r.code for r in result.rejections} == {"no_change"}
    assert chat.prompts == []


async def test_a_no_asks_about_three_sentences_at_most():
    result, chat = await verify(
        CHANGEABLE + [f"site {n} is {n + 2} km away from the road." for n in range(6)], 1, lambda p, n: "Is it?"
    )
    assert [r.code for r in result.rejections] == ["change_lost"]
    assert len(chat.prompts) == 3


async def test_the_same_item_changes_the_same_sentences_each_time():
    first, again = [(await verify([*PLAIN, *CHANGEABLE], 3))[0] for _ in range(2)]
    assert first.outputs == again.outputs


async def test_a_number_is_taken_from_the_evidence_as_it_stands():
    result, _ = await write("quantification", lambda p, n: f"1. How large is {seen(p)}?")
    assert result.outputs
    for made in result.outputs:
        assert made.answer in made.evidence[0].text
        assert any(c.isdigit() for c in made.answer)


async def test_the_number_asked_for_is_blanked_out_of_what_the_model_sees():
    result, chat = await write("quantification", lambda p, n: f"How large is {fact_of(p).rstrip('.')}?")
    for prompt in chat.prompts:
        assert "____" in fact_of(prompt)
    assert all(p.answer not in p.question for p in result.outputs)


async def test_a_question_that_says_nothing_of_its_evidence_is_rejected():
    result, _ = await write("quantification", lambda p, n: "How many are there?")
    assert result.outputs == ()
    assert "off_topic" in {r.code for r in result.rejections}


async def test_a_question_that_gives_its_number_away_is_rejected():
    numbers = "2,400 rain gauges and 3 km and 26 mm and 5,000 m"
    result, _ = await write("quantification", lambda p, n: f"Is it {numbers} for this?")
    assert result.outputs == ()
    assert {r.code for r in result.rejections} == {"answer_given_away", "no_evidence"}  # "above 5,000 m" is a bound


async def test_options_are_both_named_and_the_right_one_is_in_the_evidence():
    def rule(prompt, n):
        assert " or " in fact_of(prompt)
        return f"Is it so that {fact_of(prompt).rstrip('.')}?"

    written = [made for seed in range(6) for made in (await write("disjunctive", rule, 4, seed))[0].outputs]
    first = []
    for made in written:
        assert made.answer in SOURCES[made.evidence[0].document_id]
        wrong = made.note.split("'")[1]
        assert wrong not in made.evidence[0].text
        first.append(made.question.index(made.answer) < made.question.index(wrong))
    assert set(first) == {True, False}


async def test_a_yes_question_that_departs_from_its_evidence_is_rejected():
    def rule(prompt, n):
        return f"Is it true that {fact_of(prompt).rstrip('.')} and not 77 times?"

    ctx, _ = make_context(rule, pack="small")
    cells = [{"polarity": "yes", "count": 2}]
    item = WorkItem(
        "x", (Dataset(id="ds-1", title="Valley"), *statements(*CHANGEABLE)), {"types": ["verification"], "cells": cells}
    )
    result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
    assert result.outputs == ()
    assert {r.code for r in result.rejections} == {"fact_altered"}


async def test_examples_are_earlier_turns_and_the_topic_is_the_paper_s():
    titles = {"10.1/q": "Ice of the valley"}
    ctx, chat = make_context(lambda p, n: "What changes the valley's runoff?", pack="small")
    texts = ("the runoff of the valley is increased because ice melts.",)
    item = WorkItem(
        "x",
        (Dataset(id="ds-1", title="Climate records"), *statements(*texts)),
        {"types": ["causal_antecedent"], "count": 1, "titles": titles},
    )
    await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
    roles = [role for role, _ in chat.prompts[0].messages]
    assert roles[:3] == ["system", "user", "assistant"]
    assert roles[-1] == "user"
    assert "Ice of the valley" in chat.prompts[0].messages[-1][1]
    assert "Climate records" not in str(chat.prompts[0].messages)


async def test_a_long_answer_is_cut_back_to_whole_sentences():
    def rule(prompt, n):
        return (
            f"Why is it so {n}?" if prompt.id == "generate/question" else ("Because of snow. And also the wi", "length")
        )

    result, _ = await write("causal_antecedent", rule, 1)
    assert result.outputs[0].answer == "Because of snow."


async def test_a_reply_without_a_question_is_rejected_with_its_text():
    result, _ = await write("causal_antecedent", lambda p, n: "The data are sparse.", 1)
    (rejected,) = result.rejections
    assert rejected.code == "no_question"
    assert rejected.record == "The data are sparse."


async def test_a_question_for_the_number_of_other_things_is_rejected():
    texts = ("the runoff was verified in 6 sub basins of the river.",)
    answers = {
        "How many years was the runoff of the river verified?": 0,
        "In how many basins was the runoff of the river verified?": 1,
    }
    for question, kept in answers.items():
        ctx, _ = make_context(lambda p, n, q=question: q, pack="small")
        item = WorkItem(
            "x", (Dataset(id="ds-1", title="V"), *statements(*texts)), {"types": ["quantification"], "count": 1}
        )
        result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
        assert len(result.outputs) == kept
        assert {r.code for r in result.rejections} == (set() if kept else {"other_quantity"})


async def test_a_list_of_instruments_is_no_evidence():
    texts = (
        "the wind is measured (10 m); the air is measured (2 m); the rain is measured (1 m); the soil is dry at 5 cm.",
    )
    ctx, chat = make_context(lambda p, n: "How deep?", pack="small")
    item = WorkItem(
        "x", (Dataset(id="ds-1", title="V"), *statements(*texts)), {"types": ["quantification"], "count": 1}
    )
    result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
    assert [r.code for r in result.rejections] == ["no_evidence"]
    assert chat.prompts == []


async def test_a_question_that_fits_several_values_is_rejected():
    texts = ("the changes of cover were 1.15 % for sedges, 5.67 % for forbs, 1.55 % for mosses in all.",)
    for question, kept in (
        ("How large were the changes of cover?", 0),
        ("How large were changes of cover for sedges, forbs or mosses?", 1),
    ):
        ctx, _ = make_context(lambda p, n, q=question: q, pack="small")
        item = WorkItem(
            "x", (Dataset(id="ds-1", title="V"), *statements(*texts)), {"types": ["quantification"], "count": 1}
        )
        result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
        assert len(result.outputs) == kept
        assert {r.code for r in result.rejections} == (set() if kept else {"ambiguous"})


async def test_options_are_asked_of_a_sentence_that_has_a_second_one():
    texts = (
        "the wind of the valley is low and is weak in all.",
        "the lake of the valley is 14 km long in all and deep.",
    )
    for order in (1, -1):
        ctx, _ = make_context(lambda p, n: f"Is it so that {fact_of(p).rstrip('.')}?", pack="small")
        given = statements(*texts[::order])
        item = WorkItem("x", (Dataset(id="ds-1", title="V"), *given), {"types": ["disjunctive"], "count": 1})
        result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
        assert [p.answer for p in result.outputs] == ["14 km"]


@pytest.mark.parametrize(
    ("answer", "codes"),
    [("Grazing higher up is an example of it.", set()), ("The impacts are marked by lag.", {"no_instance"})],
)
async def test_an_answer_to_a_question_for_an_example_names_one(answer, codes):
    texts = ("the indirect impacts of warming (such as grazing that moves uphill) are marked by lag in all.",)
    rule = lambda p, n: "What is an example of an impact?" if p.id == "generate/question" else answer  # noqa: E731
    ctx, _ = make_context(rule, pack="small")
    item = WorkItem("x", (Dataset(id="ds-1", title="V"), *statements(*texts)), {"types": ["example"], "count": 1})
    result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
    assert {r.code for r in result.rejections} == codes
    assert len(result.outputs) == (not codes)


async def test_the_options_may_be_a_word_and_its_opposite():
    texts = ("the area that grazing dominates is larger than that of warming in all.",)
    for position in range(2):
        ctx, _ = make_context(lambda p, n: f"Is it so that {fact_of(p).rstrip('.')}?", pack="small", seed=position)
        item = WorkItem(
            "x", (Dataset(id="ds-1", title="V"), *statements(*texts)), {"types": ["disjunctive"], "count": 2}
        )
        result = await SmallGenerateStage().process(item, ctx.at("generate", item.key, "fp"))
        (made, *_) = result.outputs
        assert made.answer == "larger"
        assert "larger or smaller" in made.question or "smaller or larger" in made.question
