from __future__ import annotations

import re
from collections import Counter

import pytest

from scirgen.core.errors import ReplyTruncatedError
from scirgen.core.records import Aspect, Dataset, QAPair, Span
from scirgen.llm.base import Capabilities
from scirgen.stages.base import WorkItem
from scirgen.stages.generate.material import Line, Material
from scirgen.stages.generate.stage import GenerateStage
from scirgen.stages.generate.wishes import Asked, wishes
from tests.support.questioning import ASPECTS, DATASET, SOURCES, STATEMENTS, FakeScope, make_context

STAGE = GenerateStage()
SPAN = Span(document_id="ds-1", start=0, end=1, text="D")


def items(round=0, wanted=(), aspects=ASPECTS, shared=None, pack="standard", **config):
    ctx, _ = make_context(pack=pack, **config)
    return list(STAGE.items(FakeScope({"verify": aspects}, round, wanted, shared), ctx))


def evidence(shown: str, *texts: str) -> list[int]:
    """The numbers of the lines of a prompt that hold some texts."""
    lines = {int(n): text for n, text in re.findall(r"^\[(\d+)\] (.*)$", shown, re.M)}
    return [next(n for n, line in lines.items() if text in line) for text in texts]


def declining(prompt, n):
    """Every wish declined."""
    return {f"p{i}": {"declined": "nothing there"} for i in range(1, 91)}


def writing(question: str, answer: str, *texts: str):
    """The first wish written, the others declined."""

    def rule(prompt, n):
        pair = {"evidence": evidence(prompt.messages[-1][1], *texts), "question": question, "answer": answer}
        return declining(prompt, n) | {"p1": pair}

    return rule


async def run(item: WorkItem, rule, *, pack="standard", **config):
    ctx, chat = make_context(rule, pack=pack, key=item.key, **config)
    return await STAGE.process(item, ctx), chat


ALONE = {"types_per_call": 1}
PAPERS = {"pairs_about_data": 0, "pairs_per_type": 5}
"""Of each type, five pairs in one call."""


def one(type_id: str, **config) -> WorkItem:
    config = {**config, "generate": {**ALONE, **PAPERS, **config.get("generate", {})}}
    return next(i for i in items(**config) if i.key == f"ds-1|{type_id}")


def test_items_of_a_dataset_with_papers_are_groups_of_types():
    assert [i.key for i in items()] == ["ds-1|verification..request_directive"]
    made = items(generate={"types_per_call": 8})
    assert [i.key for i in made] == ["ds-1|verification..quantification", "ds-1|definition..goal_orientation", "ds-1|instrumental_procedural..request_directive"]  # fmt: skip
    assert {(i.parameters["about_data"], i.parameters["count"]) for i in made} == {(2, 3)}
    assert len(items(generate=ALONE)) == len({i.salt for i in items(generate=ALONE)}) == 18


def test_small_models_are_asked_one_type_at_a_time_for_those_they_can_do():
    keys = [i.key for i in items(pack="small")]
    assert keys == [f"ds-1|{t}" for t in ("verification", "disjunctive", "concept_completion", "quantification")]
    assert len(items(pack="small", generate={"types": ("all",)})) == 18


def test_items_of_a_dataset_without_papers_are_a_single_adaptive_one():
    (made,) = items(aspects=())
    assert made.key == "ds-1|adaptive"
    assert made.parameters["count"] == 8


def test_items_of_a_later_round_are_only_the_cells_still_wanted():
    wanted = ({"question_type": "verification", "polarity": "no", "bloom": "C1", "count": 2},)
    (made,) = items(round=2, wanted=wanted)
    assert made.key == "ds-1|verification#2"
    assert made.parameters["round"] == 2


def test_the_salt_changes_with_the_domains_examples_of_that_type_alone():
    before = {i.key: i.salt for i in items(generate=ALONE)}
    ctx, _ = make_context(generate=ALONE)
    kinds = list(ctx.taxonomies.graesser.types)
    edited = kinds[0].model_copy(update={"definition": "Another one."})
    ctx.taxonomies.__dict__["graesser"] = ctx.taxonomies.graesser.model_copy(update={"types": (edited, *kinds[1:])})
    after = {i.key: i.salt for i in STAGE.items(FakeScope({"verify": ASPECTS}), ctx)}
    assert {k for k in before if before[k] != after[k]} == {"ds-1|verification"}


async def test_joint_evidence_is_the_cited_lines_to_the_letter():
    rule = writing("Why are  gauges sparse?", "Access.", "However, gauges", "regional model")
    result, chat = await run(one("causal_antecedent"), rule)
    (kept,) = result.outputs
    assert isinstance(kept, QAPair)
    assert (kept.strategy, kept.question, kept.hops) == ("joint", "Why are gauges sparse?", 2)
    for span in kept.evidence:
        assert SOURCES[span.document_id][span.start : span.end] == span.text
    assert kept.evidence[0].text.startswith("However") and kept.evidence[0].text.endswith("winter.")
    assert [r.code for r in result.rejections] == ["declined"] * 4
    assert {(r.reason, r.question_type) for r in result.rejections} == {("nothing there", "causal_antecedent")}
    assert len(chat.prompts) == 1


async def test_joint_cites_the_line_that_holds_a_year_or_name_of_the_question():
    rule = writing("How much wetter is ERA5 than TPHiPr since 1979?", "It is 26 mm wetter.", "However, gauges")
    result, _ = await run(one("causal_antecedent"), rule)
    (kept,) = result.outputs
    assert [s.text.split()[0] for s in kept.evidence] == ["However,", "The"]
    assert "ERA5" in kept.evidence[1].text, "the year stands in the record, which the answer does not come from"


async def test_joint_adds_no_line_where_the_cited_ones_say_it():
    rule = writing("Is ERA5 wetter than TPHiPr?", "Yes", "The ERA5")
    result, _ = await run(one("verification"), rule)
    assert [len(p.evidence) for p in result.outputs] == [1]


async def test_joint_a_line_that_is_not_there_costs_only_its_pair():
    pair = {"evidence": [99], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("definition"), lambda p, n: declining(p, n) | {"p2": pair})
    assert sorted(r.code for r in result.rejections) == ["declined"] * 4 + ["no_such_line"]


async def test_joint_without_a_line_costs_only_its_pair():
    pair = {"evidence": [], "question": "How much wetter is ERA5 than TPHiPr since 1979?", "answer": "26 mm"}
    result, _ = await run(one("definition"), lambda p, n: declining(p, n) | {"p2": pair})
    assert sorted(r.code for r in result.rejections) == ["declined"] * 4 + ["no_evidence"]


def test_years_and_names_are_found_between_chinese_signs():
    lines = (
        Line(1, "降水由ERA5得到。", (SPAN,)),
        Line(2, "时间为1979年至2020年。", (SPAN,)),
        Line(3, "另一句。", (SPAN,)),
    )
    assert Material(lines, ()).naming("ERA5数据在1979年的降水是多少?", [3]) == [1, 2]


async def test_joint_with_quotes_finds_them_word_for_word():
    settings = {"generate": {**ALONE, "evidence": "quotes"}}
    good = {"evidence": ["gauges are sparse above 5,000 m"], "question": "Why are gauges sparse?", "answer": "Access."}
    bad = {**good, "evidence": ["gauges are plenty above 5,000 m"]}
    reply = {"p1": good, "p2": bad}
    result, _ = await run(one("causal_antecedent", **settings), lambda p, n: declining(p, n) | reply, **settings)
    assert [p.evidence[0].text for p in result.outputs] == ["gauges are sparse above 5,000 m"]
    assert sorted(r.code for r in result.rejections) == ["declined"] * 3 + ["not_verbatim"]


async def test_the_record_is_shown_field_by_field_without_people():
    more = (("Temporal resolution", "15 minutes"), ("Authors", "BOB Su"), ("Funding", "NSF"), ("Format", "文本"))
    known = DATASET.model_dump(include={"id", "title", "description"})
    dataset = Dataset(**known, keywords=("rain",), fields=more)
    item = one("definition")
    item = WorkItem(item.key, (dataset, *item.inputs[1:]), item.parameters)
    _, chat = await run(item, declining)
    shown = chat.prompts[0].messages[-1][1]
    assert "[1] Title: Daily precipitation over the Third Pole" in shown
    assert "Keywords: rain" in shown and "] Temporal resolution: 15 minutes" in shown
    assert not any(word in shown for word in ("BOB", "NSF", "文本"))


async def test_calls_about_the_data_and_about_papers_are_apart():
    _, chat = await run(one("verification", generate={"pairs_about_data": 2}), declining)
    data, papers = ("\n".join(m for _, m in p.messages) for p in chat.prompts)
    assert "about the data;" in data and "about what a paper did" not in data and "However, gauges" not in data
    assert "about what a paper did" in papers and "about the data;" not in papers and "However, gauges" in papers


@pytest.mark.parametrize(("tokens", "calls"), [(8192, range(3, 9)), (32768, [2]), (None, [2])])
async def test_calls_fit_the_context_and_an_unknown_one_has_all_types(tokens, calls):
    (item,) = items()
    ctx, chat = make_context(declining, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=tokens)
    await STAGE.process(item, ctx)
    assert len(chat.prompts) in calls
    for prompt, room in zip(chat.prompts, chat.rooms, strict=True):
        assert sum(len(text) for _, text in prompt.messages) // 4 + room <= (tokens or 131072)


async def test_a_call_whose_reply_is_cut_is_made_again_in_halves():
    def short_replies(prompt, number):
        pairs = re.findall(r"^p\d+:", prompt.messages[-1][1], re.MULTILINE)
        if len(pairs) > 20:
            raise ReplyTruncatedError("the reply was cut")
        return declining(prompt, number)

    (item,) = items()
    ctx, chat = make_context(short_replies, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=131072)
    result = await STAGE.process(item, ctx)
    assert not result.failures and {r.code for r in result.rejections} == {"declined"}
    assert len(result.rejections) == 18 * 5 and len(chat.prompts) == (1 + 2) + (1 + 2 + 4)


async def test_calls_about_one_dataset_begin_alike_up_to_the_types():
    prompts = []
    for item in items(generate={**PAPERS, "types_per_call": 8}):
        prompts += (await run(item, declining))[1].prompts
    texts = ["\n".join(m for _, m in p.messages) for p in prompts]
    same = texts[0][: next(i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1)]
    assert all(text in same for _, text in STATEMENTS) and "Snowfall is increased in winter" in same


async def test_what_answers_a_pair_says_what_it_is_about():
    other = Dataset(id="ds-0a", title="Another")
    shared = {"10.1/p": (DATASET, Dataset(id="ds-2", title="Wind of the Third Pole"))}
    (item, *_) = items(shared=shared, generate=PAPERS)
    of_paper, chat = await run(item, writing("Why are gauges sparse?", "Access.", "However, gauges", "Title:"))
    assert (of_paper.outputs[0].about, of_paper.outputs[0].dataset_ids) == ("paper", ("ds-1", "ds-2"))
    assert "Wind of the Third Pole" in chat.prompts[0].messages[-1][1]
    of_data, _ = await run(item, writing("How many gauges?", "2,400", "2,400 rain gauges"))
    assert (of_data.outputs[0].about, of_data.outputs[0].dataset_ids) == ("dataset", ("ds-1",))
    # The first user by id asks about the paper; the others about their own record only.
    made = items(shared={"10.1/p": (other, DATASET)})
    assert {(i.parameters["about_data"], i.parameters["count"]) for i in made} == {(2, 0)}
    assert not any(i.of(Aspect) for i in made)


async def test_a_reply_of_another_shape_is_a_failure_that_the_next_run_retries():
    result, _ = await run(one("definition"), lambda p, n: "I cannot do that.")
    assert result.outputs == ()
    assert not result.rejections
    assert [f.code for f in result.failures] == ["reply_invalid"] * 5


async def test_the_same_pair_written_twice_is_kept_once():
    pair = {"evidence": [2], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("causal_antecedent"), lambda p, n: {f"p{i}": pair for i in range(1, 6)})
    assert len(result.outputs) == 1
    assert [r.code for r in result.rejections] == ["repeated"] * 4


async def test_yes_and_no_are_asked_for_in_turn():
    _, chat = await run(one("verification"), declining)
    text = chat.prompts[0].messages[-1][1]
    assert abs(text.count("right answer is No") - text.count("right answer is Yes")) <= 1
    assert text.count("the right answer is") == 5


def test_single_pairs_ask_for_yes_as_often_as_for_no_over_a_run():
    ctx, _ = make_context()
    kind = ctx.taxonomies.question_type("verification")
    drawn = Counter[tuple[str | None, int]]()
    for n in range(2000):
        dataset = Dataset(id=f"ds-{n}", title="T")
        wish = wishes(dataset, Asked(types=(kind.id,), adaptive=True, count=8), (kind,), ctx)[0]
        drawn[wish.polarity, wish.position] += 1
    assert all(440 < n < 560 for n in drawn.values()) and len(drawn) == 4


async def test_evidence_strategy_ties_each_pair_to_another_span():
    config = {"generate": {"strategy": "evidence"}}
    result, chat = await run(
        one("quantification", **config), lambda p, n: {"question": f"How many {n}?", "answer": f"{n} mm"}, **config
    )
    assert {p.strategy for p in result.outputs} == {"evidence"}
    places = [(s.document_id, s.start) for p in result.outputs for s in p.evidence]
    assert len(places) == len(set(places))
    for made in result.outputs:
        (span,) = made.evidence
        assert SOURCES[span.document_id][span.start : span.end] == span.text
        assert any(c.isdigit() for c in span.text)
        assert span.text in next(m for p in chat.prompts for m in [p.messages[-1][1]] if span.text in m)


async def test_evidence_strategy_says_no_evidence_when_nothing_suits():
    config = {"generate": {"strategy": "evidence", "pairs_per_type": 40}}
    result, _ = await run(
        one("quantification", **config), lambda p, n: {"question": f"How many {n}?", "answer": f"{n} mm"}, **config
    )
    assert {r.code for r in result.rejections} == {"no_evidence"}
    assert len(result.outputs) + len(result.rejections) == 40


async def test_adaptive_writes_one_pair_for_each_type_the_model_picks():
    def rule(prompt, n):
        if prompt.id == "generate/types":
            return {"types": ["quantification", "comparison"]}
        cited = evidence(prompt.messages[-1][1], "a resolution of 3 km")
        return {f"p{i}": {"evidence": cited, "question": f"What is it {i}?", "answer": "3 km"} for i in (1, 2)}

    (item,) = items(aspects=(), generate={"types_without_paper": 2})
    result, _ = await run(item, rule, generate={"types_without_paper": 2})
    assert [p.question_type for p in result.outputs] == ["quantification", "comparison"]
    assert {p.strategy for p in result.outputs} == {"adaptive+joint"}
    fewer, chat = await run(item, lambda p, n: {"types": []} if p.id == "generate/types" else declining(p, n), generate={"types_without_paper": 2})  # fmt: skip
    assert [r.code for r in fewer.rejections] == ["declined"] * 2 and len(chat.prompts) == 1


async def test_adaptive_asks_for_no_choice_where_all_types_are_wanted():
    settings = {"generate": {"types": ("definition", "quantification")}}
    (item,) = items(aspects=(), **settings)
    _, chat = await run(item, declining, **settings)
    assert [p.id for p in chat.prompts] == ["generate/joint"]


async def test_adaptive_asks_for_polarity_only_where_the_type_has_one():
    def rule(prompt, n):
        if prompt.id == "generate/types":
            return {"types": ["quantification", "comparison"]}
        return declining(prompt, n)

    (item,) = items(aspects=(), generate={"types_without_paper": 2})
    _, chat = await run(item, rule, generate={"types_without_paper": 2})
    assert not any("right answer is" in p.messages[-1][1] for p in chat.prompts)


async def test_the_same_item_gives_the_same_prompts_each_time():
    first = await run(one("definition"), declining)
    again = await run(one("definition"), declining)
    assert [p.messages for p in first[1].prompts] == [p.messages for p in again[1].prompts]


class Louder:
    """A plugin's strategy."""

    name = "louder"
    version = 1
    prompts = ("joint",)
    writes_together = False

    async def generate(self, task, ctx):
        return []


def test_new_strategy_version_or_edited_prompt_redoes_its_items(monkeypatch):
    def salts():
        ctx, _ = make_context(generate={"strategy": "louder", "types": ("definition",)})
        monkeypatch.setattr(ctx.registry, "get", lambda kind, name: Louder)
        return [i.salt for i in GenerateStage().items(FakeScope({"verify": ASPECTS}), ctx)]

    first = salts()
    assert salts() == first
    monkeypatch.setattr(Louder, "version", 2)
    second = salts()
    assert second != first
    monkeypatch.setattr(Louder, "prompts", ("joint", "answer"))
    assert salts() not in (first, second)
