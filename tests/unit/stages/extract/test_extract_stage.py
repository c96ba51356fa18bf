"""Extraction: what becomes an aspect is always a sentence of the document."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.records import Aspect, AspectCategory, Link, SectionClass, SectionLabel
from scirgen.stages.base import StageResult, WorkItem
from scirgen.stages.extract.sections import Sentence, cut, section_sentences, tokens
from scirgen.stages.extract.stage import ExtractStage
from tests.support.papers import make_paper
from tests.support.questioning import make_context
from tests.support.scripted_chat import Rule

METHODS = [
    "We used hourly records of ten gauges in the valley. Streamflow was derived from water level by rating curves. "
    "However, few gauges are available above the tree line, and snowfall remains uncertain.",
    "Trends were tested with the Mann-Kendall test at a level of 5 %. E = mc2 + 3.",
]
EMPTY: dict[str, list[object]] = {c.value: [] for c in AspectCategory}


async def run(rule: Rule, pack: str = "standard", **settings: object) -> tuple[StageResult, list[str]]:
    document, labels = make_paper([("Methods", SectionClass.METHOD, METHODS)])
    item = WorkItem("10.1/p|method", (document, *labels), {"section": "method"})
    ctx, chat = make_context(rule, pack=pack, stage="extract", key=item.key, **settings)
    result = await ExtractStage().process(item, ctx)
    return result, [p.messages[-1][1] for p in chat.prompts]


def found(sentence: int, quote: str) -> dict[str, object]:
    return {"sentence": sentence, "quote": quote}


async def test_process_when_quote_begins_a_sentence_then_the_whole_sentence_with_its_place() -> None:
    reply = {**EMPTY, "methods": [found(2, "Stream‐flow was derived from water level")]}
    result, _ = await run(lambda p, n: reply)
    [aspect] = result.outputs
    assert isinstance(aspect, Aspect) and aspect.dataset_id is None
    assert aspect.span.text == "Streamflow was derived from water level by rating curves."
    assert (aspect.span.page, aspect.span.section) == (1, SectionClass.METHOD) and aspect.span.bbox
    assert aspect.provenance and aspect.provenance.model == "scripted:chat@1"


async def test_process_when_number_is_wrong_then_the_quotation_decides() -> None:
    reply = {
        **EMPTY,
        "dataset": [found(4, "We used hourly records of ten gauges")],
        "methods": [found(99, "Trends were tested with the Mann")],
    }
    result, _ = await run(lambda p, n: reply)
    assert [a.span.text[:8] for a in result.outputs if isinstance(a, Aspect)] == ["We used ", "Trends w"]


async def test_quotes_not_in_the_passage_or_too_short_are_not_verbatim() -> None:
    reply = {
        **EMPTY,
        "findings": [found(1, "Summer flow decreased by 40 % in ten years"), found(1, "We used"), found(1, "")],
    }
    result, _ = await run(lambda p, n: reply)
    assert result.outputs == ()
    assert [r.code for r in result.rejections] == ["not_verbatim"] * 3
    assert "40 %" in result.rejections[0].record


async def test_process_when_said_twice_then_duplicate_is_recorded() -> None:
    reply = {
        **EMPTY,
        "methods": [
            found(2, "Streamflow was derived from water level"),
            found(2, "derived from water level by rating"),
        ],
    }
    result, _ = await run(lambda p, n: reply)
    assert len(result.outputs) == 1 and [r.code for r in result.rejections] == ["duplicate"]


async def test_a_long_section_is_cut_between_sentences_each_shown_once() -> None:
    document, labels = make_paper(
        [
            (
                "Methods",
                SectionClass.METHOD,
                [f"Gauge {i} was read every {i + 3} hours by the observer of the village." for i in range(200)],
            )
        ]
    )
    item = WorkItem("k", (document, *labels), {"section": "method"})
    ctx, chat = make_context(lambda p, n: EMPTY, stage="extract", key="k", extract={"max_tokens_per_call": 500})
    await ExtractStage().process(item, ctx)
    shown = [re.findall(r"^\[(\d+)\] ", p.messages[-1][1], re.M) for p in chat.prompts]
    assert len(shown) > 5
    assert [int(n) for numbers in shown for n in numbers] == list(range(1, 201))


@given(st.lists(st.integers(1, 900), max_size=40), st.integers(200, 800))
def test_cut_when_any_lengths_then_every_sentence_once_and_in_bounds(lengths: list[int], most: int) -> None:
    label = SectionLabel(
        document_id="d", paper_id="p", start=0, end=1, heading="h", label=SectionClass.METHOD, decided_by="rule"
    )
    sentences = [Sentence(i, i, i + 1, "w" * size, label) for i, size in enumerate(lengths)]
    runs = cut(sentences, most)
    assert [s for run in runs for s in run] == sentences
    assert all(len(run) == 1 or sum(tokens(s.text) for s in run) <= most for run in runs)


def test_section_sentences_when_formula_then_left_out() -> None:
    document, labels = make_paper([("Methods", SectionClass.METHOD, METHODS)])
    texts = [s.text for s in section_sentences(document, labels)]
    assert len(texts) == 4 and not any("mc2" in t for t in texts)


async def test_small_pack_when_cues_are_clear_then_no_question_and_open_ones_are_bounded() -> None:
    result, prompts = await run(lambda p, n: "none", "small", extract={"calls_per_section": 1})
    kept = {a.category: a.span.text for a in result.outputs if isinstance(a, Aspect)}
    assert kept[AspectCategory.METHODS].startswith(("Streamflow was", "Trends were"))
    assert len(prompts) <= 1


async def test_small_pack_when_model_chooses_without_any_cue_then_not_taken() -> None:
    result, _ = await run(lambda p, n: "research objective", "small", extract={"calls_per_section": 9})
    assert all(a.category is not AspectCategory.OBJECTIVE for a in result.outputs if isinstance(a, Aspect))


def test_datasets_that_share_a_paper_have_the_same_item_keys() -> None:
    document, labels = make_paper(
        [
            ("Methods", SectionClass.METHOD, METHODS),
            ("Thanks", SectionClass.NONE, ["We thank all of our friends for help."]),
        ]
    )

    class Scope:
        def __init__(self, dataset: str) -> None:
            self._link = Link(dataset_id=dataset, paper_id="10.1/p", found_by="doi", used=True)

        def outputs(self, stage: str, kind: type) -> tuple[object, ...]:
            return {"parse": (document,), "section": labels, "match": (self._link,)}[stage]

    ctx, _ = make_context()
    keys = [[i.key for i in ExtractStage().items(Scope(d), ctx)] for d in ("a", "b")]  # type: ignore[arg-type]
    assert keys[0] == keys[1] == ["10.1/p|method"]
