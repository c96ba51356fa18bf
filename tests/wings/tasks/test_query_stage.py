"""Recipes on one made paper: which queries come out, and what is rejected under which code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scirgen.core.errors import PluginError, ReplyInvalidError, ResourceError
from scirgen.core.records import AspectCategory, Dataset, Link, Paper, SectionClass
from scirgen.stages.base import StageResult, WorkItem
from scirgen_bench.tasks.records import Query
from scirgen_tasks.recipes.recommend import keyphrases
from scirgen_tasks.recipes.stage import QueryStage
from tests.support.papers import aspect, make_paper
from tests.support.questioning import FakeScope, make_context
from tests.support.scripted_chat import Rule

GOAL = "We want to know why summer streamflow of the Arvel headwaters declines."
HOW = "Snow depth and discharge were compared by a water balance of fifteen years."
FOUND = "Earlier snowmelt explains most of the decline of summer streamflow."
LATER = "The gauges were checked with salt dilution every spring."
DOCUMENT, _ = make_paper(
    [("Abstract", SectionClass.INTRODUCTION, [GOAL, HOW, FOUND]), ("Methods", SectionClass.METHOD, [LATER])]
)
DOCUMENT = DOCUMENT.model_copy(
    update={
        "title": "Snowmelt and summer streamflow in the Arvel headwaters: the TSEB balance",
        "abstract": f"{GOAL} {HOW} {FOUND}",
    }
)
ASPECTS = (
    aspect(DOCUMENT, AspectCategory.OBJECTIVE, GOAL),
    aspect(DOCUMENT, AspectCategory.METHODS, HOW),
    aspect(DOCUMENT, AspectCategory.FINDINGS, FOUND),
    aspect(DOCUMENT, AspectCategory.METHODS, LATER),
)
PAPER = Paper(id=DOCUMENT.paper_id, title=DOCUMENT.title, year=2021)
FLOW = Dataset(id="flow", title="Daily streamflow of the Arvel headwaters")


def scope(dataset: Dataset = FLOW) -> FakeScope:
    link = Link(dataset_id=dataset.id, paper_id=PAPER.id, found_by="doi", used=True)
    return FakeScope({"collect": (dataset, PAPER), "parse": (DOCUMENT,), "match": (link,), "extract": ASPECTS})


async def run(recipe: str, rule: Rule = lambda p, n: "", **settings: object) -> StageResult:
    ctx, _ = make_context(rule, stage="query", key="k", domain="geo", query={"recipes": [recipe], **settings})
    (item,) = QueryStage().items(scope(), ctx)
    return await QueryStage().process(item, ctx)


def queries(result: StageResult) -> list[Query]:
    return [q for q in result.outputs if isinstance(q, Query)]


def test_without_recipes_there_is_nothing_to_do() -> None:
    ctx, _ = make_context(stage="query")
    assert list(QueryStage().items(scope(), ctx)) == []


def test_items_are_keyed_by_paper_and_shared_by_its_datasets() -> None:
    ctx, _ = make_context(stage="query", query={"recipes": ["recommend", "facets"]})
    one, two = (list(QueryStage().items(scope(Dataset(id=d, title=d)), ctx)) for d in ("a", "b"))
    assert [i.key for i in one] == [f"{PAPER.id}|recommend", f"{PAPER.id}|facets"]
    assert one == two


def test_a_paper_that_does_not_use_the_dataset_takes_no_part() -> None:
    link = Link(dataset_id="flow", paper_id=PAPER.id, found_by="doi", used=False)
    records = {"collect": (FLOW, PAPER), "parse": (DOCUMENT,), "match": (link,), "extract": ASPECTS}
    ctx, _ = make_context(stage="query", query={"recipes": ["facets"]})
    assert list(QueryStage().items(FakeScope(records), ctx)) == []


def test_an_unknown_recipe_is_refused_with_the_near_one() -> None:
    ctx, _ = make_context(stage="query", query={"recipes": ["facet"]})
    with pytest.raises(PluginError) as caught:
        QueryStage().check(ctx)
    assert "facets" in caught.value.hint


async def test_facets_take_the_abstracts_sentences_and_ask_no_model() -> None:
    def never(prompt: object, number: int) -> str:
        raise AssertionError("no call is needed")

    result = await run("facets", never, facets_by="rules")
    assert {q.facet: q.text for q in queries(result)} == {"background": GOAL, "method": HOW, "result": FOUND}
    method = next(q for q in queries(result) if q.facet == "method")
    assert [s.text for s in method.spans] == [HOW]  # the sentence of the methods section is not the abstract's
    assert (method.year, method.paper_id, method.form) == (2021, PAPER.id, "facet")


async def test_facets_are_the_models_labels_of_all_sentences_in_one_call() -> None:
    asked: list[str] = []

    def rule(prompt: object, number: int) -> dict[str, list[str]]:
        asked.append(prompt.messages[-1][1])  # type: ignore[attr-defined]
        return {"labels": ["method", "method", "other"]}

    result = await run("facets", rule)
    assert len(asked) == 1 and f"[3] {FOUND}" in asked[0]
    (method,) = queries(result)
    assert (method.facet, method.text) == ("method", f"{GOAL} {HOW}")
    assert method.provenance is not None and (method.provenance.prompt or "").startswith("query/facets@1#")
    assert [(r.code, r.reason) for r in result.rejections] == [
        ("no_facet", "no sentence of the abstract is labelled background"),
        ("no_facet", "no sentence of the abstract is labelled result"),
    ]


@pytest.mark.parametrize("labels", [["method"], ["method", "result", "goal"]])
async def test_labels_that_do_not_fit_the_abstract_are_no_reply(labels: list[str]) -> None:
    with pytest.raises(ReplyInvalidError):
        await run("facets", lambda p, n: {"labels": labels})


NEED = {
    "task": "streamflow decline attribution",
    "variable": "snow depth and discharge",
    "region": "Arvel headwaters",
    "period": "",
    "resolution": "hourly on Mars",
    "sentence": "I want to find out why summer discharge declines, with long daily records of snow and streamflow.",
}


async def test_recommend_gives_a_sentence_and_keyphrases_of_what_the_paper_says() -> None:
    result = await run("recommend", lambda p, n: NEED)
    sentence, phrases = queries(result)
    assert (sentence.form, sentence.text) == ("sentence", NEED["sentence"])
    assert phrases.text == "streamflow decline attribution snow depth discharge arvel headwaters"
    assert dict(sentence.fields) == {k: NEED[k] for k in ("task", "variable", "region")}
    assert [(r.code, r.record) for r in result.rejections] == [("not_in_paper", "hourly on Mars")]
    assert sentence.provenance is not None
    assert (sentence.provenance.prompt or "").startswith("query/recommend@2#")


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("Streamflow data.", "length"),
        ("I look for data on snowmelt and summer streamflow in the Arvel headwaters please.", "copies_title"),
    ],
)
async def test_recommend_rejects_a_sentence_that_is_no_need(sentence: str, code: str) -> None:
    result = await run("recommend", lambda p, n: {**NEED, "sentence": sentence})
    assert [q.form for q in queries(result)] == ["keyphrases"]
    assert code in [r.code for r in result.rejections]


def test_keyphrases_leave_out_words_that_are_inside_what_was_kept() -> None:
    assert keyphrases(["Image Classification", "image", "", "of the class"], {"of", "the"}) == "image classification"


SENTENCES = [
    (
        "I am looking for studies that explain why a mountain river carries less water in July than it did "
        "two decades ago, although its yearly total stays the same."
    ),
    (
        "My data are daily depths of the snow pack and levels at a gauge, and I need a way to turn "
        "levels into flow that holds when the bed moves."
    ),
    (
        "I also want to separate what warmer springs do from what thirstier forests do, so a bookkeeping "
        "of all incoming and outgoing water would help me."
    ),
    (
        "Since the stations were moved once, the approach must cope with a break in the series "
        "and must say how sure its shares are."
    ),
]
TEXT = " ".join(SENTENCES)
ASPECT_REPLY = {
    "aspects": [
        {
            "text": "The document should explain less river water in July despite a constant yearly total.",
            "sentences": [1],
            "sub_aspects": ["The document should treat river water in July.",
                            "The document should explain less river water in July despite a constant yearly total."],
        },
        {"text": "The document should turn gauge levels into flow over a moving bed.", "sentences": [2],
         "sub_aspects": []},
        {"text": "The document should separate warmer springs from forest evaporation by bookkeeping.",
         "sentences": [3], "sub_aspects": []},
        {"text": "The document should handle a break of series and report uncertainty.", "sentences": [4],
         "sub_aspects": []},
    ]
}  # fmt: skip


def answers(text: str = TEXT, parts: object = ASPECT_REPLY) -> Rule:
    return lambda p, n: {"text": text} if p.id == "query/complex" else parts


async def test_aspects_divide_a_need_and_join_every_two_parts() -> None:
    result = await run("aspects", answers())
    found = queries(result)
    need = found[0]
    aspects = [q for q in found if q.form == "aspect"]
    assert need.parts == tuple(a.id for a in aspects)
    assert [TEXT[s.start : s.end] for a in aspects for s in a.spans] == SENTENCES
    (sub,) = (q for q in found if q.form == "sub_aspect")
    assert (sub.parent, sub.text) == (aspects[0].id, "The document should treat river water in July.")
    assert [r.code for r in result.rejections] == ["no_content"]
    joined = [q for q in found if q.form == "sub_query"]
    assert len(joined) == 6
    assert joined[0].text == f"{SENTENCES[0]} {SENTENCES[1]}"
    assert joined[0].parts == (aspects[0].id, aspects[1].id)
    assert dict(need.fields) == {"divisions agree": "1.00"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I need water.", "length"),
        (TEXT.replace("I ", "They ").replace("My", "Their").replace(" me.", "."), "not_first_person"),
        (f"{TEXT} I mean snowmelt and summer streamflow in the Arvel valley.", "copies_title"),
        (f"{TEXT} I know that earlier snowmelt explains most of the decline of summer flow.", "copies_abstract"),
        (f"{TEXT} I would like the TSEB scheme.", "names_method"),
    ],
)
async def test_a_draft_that_breaks_a_rule_is_asked_for_again_then_given_up(text: str, code: str) -> None:
    result = await run("aspects", answers(text))
    assert queries(result) == []
    assert [r.code for r in result.rejections] == [code, code]
    assert result.rejections[0].record == text


def parts(**changes: object) -> dict[str, object]:
    return {"aspects": [{**a, **changes} if i == 0 else a for i, a in enumerate(ASPECT_REPLY["aspects"])]}


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"aspects": ASPECT_REPLY["aspects"][:2]}, "aspect_count"),
        (parts(sentences=[9]), "sentence_number"),
        (parts(sentences=[2]), "uncovered_sentence"),
        (parts(text="The document should turn gauge levels into flow over moving beds."), "equal_aspects"),
        (parts(text="The of."), "empty_aspect"),
    ],
)
async def test_a_division_that_breaks_a_rule_is_rejected(reply: object, code: str) -> None:
    result = await run("aspects", answers(parts=reply))
    assert queries(result) == []
    assert [r.code for r in result.rejections] == [code, code, "not_divided"]


def test_two_papers_of_a_dataset_are_one_need_together() -> None:
    other = DOCUMENT.model_copy(update={"id": "other", "paper_id": "10.1/q"})
    second = Link(dataset_id="flow", paper_id="10.1/q", found_by="doi", used=True)
    both = scope()
    records = {
        "collect": (FLOW, PAPER),
        "extract": ASPECTS,
        "parse": (DOCUMENT, other),
        "match": (*both.outputs("match", Link), second),
    }
    ctx, _ = make_context(stage="query", query={"recipes": ["aspects"]})
    keys = [i.key for i in QueryStage().items(FakeScope(records), ctx)]
    assert keys == ["10.1/p|aspects", "10.1/q|aspects", "10.1/p+10.1/q|aspects"]


async def test_a_paper_without_an_abstract_is_rejected() -> None:
    bare = DOCUMENT.model_copy(update={"abstract": ""})
    for recipe in ("recommend", "facets", "aspects"):
        ctx, _ = make_context(stage="query", key="k", query={"recipes": [recipe]})
        item = WorkItem("k", (PAPER, bare, *ASPECTS), {"recipe": recipe})
        result = await QueryStage().process(item, ctx)
        assert [r.code for r in result.rejections] == ["no_abstract"]


def test_a_set_with_an_unknown_field_names_the_place(tmp_path) -> None:
    from scirgen.core.resources import Resources
    from scirgen.core.taxonomy import Taxonomies

    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies" / "needs.yaml").write_text("version: 1\nsources: [me]\nsets: {geo: [task, varable]}\n")
    ctx, _ = make_context(stage="query", domain="geo", query={"recipes": ["recommend"]})
    ctx = replace(ctx, taxonomies=Taxonomies(Resources(None, tmp_path)))
    with pytest.raises(ResourceError, match=r"needs\.yaml.*'varable'") as caught:
        QueryStage().check(ctx)
    assert "variable" in caught.value.hint
