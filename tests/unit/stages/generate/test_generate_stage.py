from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from scirgen.core.errors import ConfigError, ReplyTruncatedError
from scirgen.core.records import Aspect, AspectCategory, Dataset, Document, Paper, QAPair, Span
from scirgen.llm.base import Capabilities
from scirgen.stages.base import WorkItem
from scirgen.stages.generate.material import Line, Material
from scirgen.stages.generate.stage import GenerateStage, paper_parameters
from scirgen.stages.generate.wishes import Asked, wishes
from tests.support.questioning import ASPECTS, DATASET, SOURCES, STATEMENTS, FakeScope, make_context

STAGE = GenerateStage()


def items(round=0, wanted=(), aspects=ASPECTS, shared=None, pack="standard", **config):
    ctx, _ = make_context(pack=pack, **config)
    return list(STAGE.items(FakeScope({"verify": aspects}, round, wanted, shared), ctx))


def evidence(shown: str, *texts: str) -> list[int]:
    """The numbers of the lines of a prompt that hold some texts."""
    lines = {int(n): text for n, text in re.findall(r"^\[(\d+)\] (.*)$", shown, re.M)}
    return [next(n for n, line in lines.items() if text in line) for text in texts]


def declining(prompt, n):
    """No pair written; a call for a name finds none."""
    return {"name": ""} if prompt.id == "generate/name" else {"pairs": [], "fewer": "nothing there"}


def types_of(prompt) -> list[str]:
    """The types that a prompt asks for."""
    return re.findall(r"^(\w+): at most \d+", prompt.messages[-1][1], re.M)


def replying(*pairs):
    """Pairs of the first type that is asked for."""

    def rule(prompt, n):
        if prompt.id == "generate/name":
            return {"name": ""}
        return {"pairs": [{"type": types_of(prompt)[0], **p} for p in pairs]}

    return rule


def writing(question: str, answer: str, *texts: str):
    """One pair about lines that hold some texts."""

    def rule(prompt, n):
        if prompt.id == "generate/name":
            return {"name": ""}
        cited = evidence(prompt.messages[-1][1], *texts)
        return replying({"evidence": cited, "question": question, "answer": answer})(prompt, n)

    return rule


def codes(result) -> Counter:
    """The codes of a result's rejections; pairs that were declined or not chosen are unwritten."""
    return Counter("unwritten" if r.code in ("declined", "unchosen") else r.code for r in result.rejections)


def calls(chat):
    """The prompts that ask for pairs."""
    return [p for p in chat.prompts if p.id == "generate/joint"]


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
    assert [i.key for i in made] == [
        "ds-1|verification..quantification",
        "ds-1|definition..goal_orientation",
        "ds-1|instrumental_procedural..request_directive",
    ]
    assert {(i.parameters["about_data"], i.parameters["count"]) for i in made} == {(2, 3)}
    assert len(items(generate=ALONE)) == len({i.salt for i in items(generate=ALONE)}) == 18


def test_items_of_a_dataset_without_papers_are_a_single_one():
    (made,) = items(aspects=())
    assert made.key == "ds-1|adaptive"
    assert made.parameters["count"] == 8


@pytest.mark.parametrize(
    ("types", "mix", "said"), [(["comparison"], 0.3, 1), (["comparison"], 1, 0), ([], 0.3, 0)]
)  # fmt: skip
def test_a_run_says_that_types_limit_known_items_alone(types: list[str], mix: float, said: int) -> None:
    settings = {"generate.types": types, "generate.mix": {"seeking": 1 - mix, "known_item": mix}}
    assert len([*STAGE.notes(make_context(**settings)[0])]) == said


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


def test_a_target_narrows_the_first_pass_to_the_types_of_its_mix():
    def asked(**quota):
        made = items(generate={"quota": quota})
        return [t for item in made for t in item.parameters["types"]]

    mix = {"verification": 2.0, "comparison": 1.0, "definition": 0.0}
    assert sorted(asked(total=10, types=mix)) == ["comparison", "verification"]
    assert asked(types=mix) == asked(total=18) == asked() and len(asked()) == 18
    assert len(asked(total=10)) == 10  # ten cells are wanted, and the other eight types have none
    with pytest.raises(ConfigError, match="names none"):
        asked(total=10, types={"definition": 0.0})
    with pytest.raises(ConfigError, match="types: unknown 'verifikation'"):
        asked(total=10, types={"verifikation": 1.0, "definition": 1.0})
    with pytest.raises(ConfigError, match="bloom: unknown 'C9'"):
        asked(total=10, bloom={"C9": 1.0})


@pytest.mark.parametrize("aspects", [ASPECTS, ()])
def test_the_first_pass_asks_for_the_wanted_levels_and_polarities_alone(aspects):
    quota = {"total": 20, "types": {"verification": 1, "definition": 1}, "bloom": {"C4": 1, "C5": 1}, "no_share": 1}
    ctx, _ = make_context(generate={"quota": quota})
    (item,) = STAGE.items(FakeScope({"verify": aspects}), ctx)
    asked = item.asked(Asked)
    kinds = tuple(asked.narrowed(ctx.taxonomies.question_type(t)) for t in asked.types)
    made = wishes(DATASET, asked, kinds, ctx)
    assert all(set(k.levels) == {"C4", "C5"} for k in kinds)
    assert {w.polarity for w in made} <= {"no", None} and "no" in {w.polarity for w in made}
    assert {w.bloom for w in made} == ({"C4", "C5"} if aspects else {None})


async def test_joint_evidence_is_the_cited_lines_to_the_letter():
    rule = writing("Why are  gauges sparse?", "Access.", "However, gauges", "regional model")
    result, chat = await run(one("causal_antecedent"), rule)
    (kept,) = result.outputs
    assert isinstance(kept, QAPair)
    assert (kept.strategy, kept.question) == ("joint", "Why are gauges sparse?")
    assert [s.role for s in kept.evidence] == ["answer", "answer"]
    for span in kept.evidence:
        assert SOURCES[span.document_id][span.start : span.end] == span.text
    assert kept.evidence[0].text.startswith("However") and kept.evidence[0].text.endswith("winter.")
    # The lines carry three pairs: two were declined, and the two beyond were not chosen.
    assert {(r.code, r.question_type) for r in result.rejections} == {
        ("declined", "causal_antecedent"),
        ("unchosen", "causal_antecedent"),
    }
    assert len(result.rejections) == 4 and len(calls(chat)) == 1


async def test_joint_cites_the_line_that_holds_a_year_or_name_of_the_question():
    rule = writing("How much wetter is ERA5 than TPHiPr since 1979?", "It is 26 mm wetter.", "However, gauges")
    result, _ = await run(one("causal_antecedent"), rule)
    (kept,) = result.outputs
    assert [s.text.split()[0] for s in kept.evidence] == ["However,", "The"]
    assert "ERA5" in kept.evidence[1].text, "the year stands in the record, which the answer does not come from"
    assert [s.role for s in kept.evidence] == ["answer", "context"]


async def test_joint_marks_lines_that_only_say_what_the_answer_is_about():
    pair = {"evidence": [2], "about": [1, 2, 99], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("definition"), replying(pair))
    (kept,) = result.outputs
    assert [s.role for s in kept.evidence] == ["answer", "context"], "a line that answers is no context"
    result, _ = await run(one("definition"), replying({**pair, "evidence": []}))
    assert codes(result)["no_evidence"] == 1


def test_no_line_is_sought_for_the_year_of_a_study():
    texts = ("Rain was summed in 2019.", "Gauges are sparse.")
    spans = [Span(document_id="ds-1", start=40 * n, end=40 * n + len(t), text=t) for n, t in enumerate(texts)]
    shown = Material(tuple(Line(n, s.text, s) for n, s in enumerate(spans, 1)), ())
    assert shown.evidence("Why are gauges sparse in Mori et al. (2019)?", [2]) == (spans[1],)
    context = spans[0].model_copy(update={"role": "context"})
    assert shown.evidence("Why are gauges sparse in Norway, 2019?", [2]) == (spans[1], context)
    assert shown.evidence("Why are gauges sparse in Norway, 2019?", [2, 1]) == (spans[1], spans[0])


async def test_joint_shows_who_made_the_record_and_who_wrote_the_paper():
    made_by = DATASET.model_copy(update={"authors": ("Roe, B.", "Poe, C.", "Lee, A.", "Fay, D."), "year": 2020})
    document = Document(id="doc-1", paper_id="10.1/p", text="Sparse gauges. Keiko Mori. Abstract.", blocks=())
    paper = Paper(id="10.1/p", year=2019)
    for known, start in (((), "Sparse gauges. Keiko Mori. Abstract. (2019)"), (("Mori, K.",), "Mori, K. (2019)")):
        papers = (paper.model_copy(update={"authors": known}),)
        more = paper_parameters(FakeScope({"parse": (document,), "collect": papers}), ASPECTS)
        assert more["starts"] == {"10.1/p": start}
        item = one("definition")
        asked = replace(item, inputs=(made_by, *item.of(Aspect)), parameters={**item.parameters, **more})
        _, chat = await run(asked, replying({"evidence": [1], "question": "What is rain?", "answer": "Water."}))
        shown = calls(chat)[0].messages[-1][1]
        assert start in shown and "made by Roe, B.; Poe, C.; Lee, A. (2020)" in shown


async def test_joint_adds_no_line_where_the_cited_ones_say_it():
    rule = writing("Is ERA5 wetter than TPHiPr?", "Yes", "The ERA5")
    result, _ = await run(one("verification"), rule)
    assert [len(p.evidence) for p in result.outputs] == [1]


async def test_joint_a_line_that_is_not_there_costs_only_its_pair():
    pair = {"evidence": [99], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("definition"), replying(pair))
    assert codes(result) == {"unwritten": 4, "no_such_line": 1}


async def test_joint_a_type_that_was_not_asked_for_costs_only_its_pair():
    pair = {"type": "poem", "evidence": [1], "question": "Why are gauges sparse?", "answer": "Access."}
    result, _ = await run(one("definition"), replying(pair))
    assert codes(result) == {"unwritten": 4, "unknown_type": 1}


async def test_joint_without_a_line_costs_only_its_pair():
    pair = {"evidence": [], "question": "How much wetter is ERA5 than TPHiPr since 1979?", "answer": "26 mm"}
    result, _ = await run(one("definition"), replying(pair))
    assert codes(result) == {"unwritten": 4, "no_evidence": 1}


def test_years_and_names_are_found_between_chinese_signs():
    texts = ("降水由ERA5得到。", "时间为1979年至2020年。", "另一句。")
    spans = [Span(document_id="ds-1", start=10 * n, end=10 * n + len(t), text=t) for n, t in enumerate(texts)]
    shown = Material(tuple(Line(n, s.text, s) for n, s in enumerate(spans, 1)), ())
    assert [(s.start, s.role) for s in shown.evidence("ERA5数据在1979年的降水是多少?", [3])] == [
        (20, "answer"), (0, "context"), (10, "context"),
    ]  # fmt: skip


async def test_a_question_that_takes_its_context_cites_the_sentence_that_says_it():
    (finding,) = (a for a in ASPECTS if a.category is AspectCategory.FINDINGS)
    told = Span(document_id="doc-1", start=0, end=9, text="The Arvel survey of 2019 had two crews.")
    about = finding.model_copy(update={"context": "the Arvel survey of 2019", "context_span": told})
    rule = writing(
        "How much wetter was ERA5 than TPHiPr in the Arvel survey?", "26 mm", "the Arvel survey of 2019: The ERA5"
    )
    result, _ = await run(one("causal_antecedent", aspects=(about,)), rule)
    assert [s.text for s in result.outputs[0].evidence] == [finding.span.text, told.text]
    plain = writing("How much wetter is ERA5 than TPHiPr in the Karakoram?", "26 mm", "The ERA5")
    result, _ = await run(one("causal_antecedent", aspects=(about,)), plain)
    assert [s.text for s in result.outputs[0].evidence] == [finding.span.text]


def long_paper(each: int) -> tuple[Aspect, ...]:
    """Statements of every aspect in turn, each of 200 characters; a paper's introduction is its first third."""
    text = "".join(f"{n:04d} {'snow fell ' * 19}end.\n" for n in range(6 * each))
    size = len(text) // (6 * each)
    kinds = (AspectCategory.BACKGROUND, AspectCategory.OBJECTIVE, AspectCategory.METHODS, AspectCategory.DATASET)
    kinds += (AspectCategory.CHALLENGES, AspectCategory.FINDINGS)
    spans = [
        Span(document_id="doc-1", start=n * size, end=n * size + size - 1, text=text[n * size : (n + 1) * size - 1])
        for n in range(6 * each)
    ]
    return tuple(
        Aspect(paper_id="10.1/p", category=kinds[n // each], dataset_id="ds-1", span=s) for n, s in enumerate(spans)
    )


@pytest.mark.parametrize(("each", "calls"), [(10, 1), (30, 2), (60, 2)])
async def test_every_kept_sentence_is_in_a_line_or_has_a_reason(each, calls):
    kept = long_paper(each)
    (item,) = items(aspects=kept)
    ctx, chat = make_context(declining, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=131072)
    result = await STAGE.process(item, ctx)
    about_papers = [p.messages[-1][1] for p in chat.prompts if "What a paper" in p.messages[-1][1]]
    numbers = [re.findall(r"^\[\d+\] \([a-z ]+\) (\d{4}) ", text, re.M) for text in about_papers]
    shown = [n for part in numbers for n in part]
    left = {r.record_id: r for r in result.rejections if r.code == "surplus"}
    assert len(about_papers) == calls and shown == sorted(shown), "in the order of the paper, each once"
    assert len(shown) + len(left) == len(kept) and set(left) < {a.id for a in kept} | {""}
    assert bool(left) == (each == 60)
    # Of a paper that is too long, results stay and the introduction goes.
    lost = Counter(a.category.value for a in kept if a.id in left)
    assert lost["findings"] <= lost["methods"] <= lost["background"]


async def test_few_pairs_are_written_in_one_call_from_the_statements_that_say_most():
    (item,) = items(aspects=long_paper(60))
    few = replace(item, parameters={**item.parameters, "count": 2, "adaptive": True})
    ctx, chat = make_context(declining, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=131072)
    result = await STAGE.process(few, ctx)
    assert sum("What a paper" in p.messages[-1][1] for p in chat.prompts) == 1
    assert not [r for r in result.rejections if r.code == "surplus"], "no call was to show every statement"


async def test_the_record_is_shown_field_by_field_without_people():
    more = (("Temporal resolution", "15 minutes"), ("Authors", "BOB Su"), ("Funding", "NSF"), ("Format", "文本"))
    known = DATASET.model_dump(include={"id", "title", "description"})
    dataset = Dataset(**known, keywords=("rain",), fields=more)
    item = one("definition")
    item = WorkItem(item.key, (dataset, *item.inputs[1:]), item.parameters)
    _, chat = await run(item, declining)
    shown = calls(chat)[0].messages[-1][1]
    assert "[1] Title: Daily precipitation over the Third Pole" in shown
    assert "Keywords: rain" in shown and "] Temporal resolution: 15 minutes" in shown
    assert not any(word in shown for word in ("BOB", "NSF", "文本"))


async def test_one_call_shows_record_and_papers_and_is_told_the_name():
    named = lambda p, n: {"name": "Third Pole precipitation"} if p.id == "generate/name" else declining(p, n)  # noqa: E731
    _, chat = await run(one("verification", generate={"pairs_about_data": 2}), named)
    (shown,) = (p.messages[-1][1] for p in calls(chat))
    assert "2,400 rain gauges" in shown and "However, gauges" in shown
    assert "call it: Third Pole precipitation" in shown
    assert "At least 1 of them cite lines of record and paper" in shown
    strange = lambda p, n: {"name": "Andes wind"} if p.id == "generate/name" else declining(p, n)  # noqa: E731
    _, chat = await run(one("verification"), strange)
    assert not any("call it" in p.messages[-1][1] for p in calls(chat)), "a name must stand in the record"


@pytest.mark.parametrize(
    ("title", "name"),
    [("TPHiPr: a long precipitation dataset of the Third Pole", "TPHiPr"), ("CREMMA Medii Aevi", "CREMMA Medii Aevi")],
)
async def test_a_name_in_the_title_needs_no_call(title, name):
    item = one("definition")
    dataset = DATASET.model_copy(update={"title": title})
    _, chat = await run(WorkItem(item.key, (dataset, *item.inputs[1:]), item.parameters), declining)
    assert [p.id for p in chat.prompts] == ["generate/joint"] and f"call it: {name}" in chat.prompts[0].messages[-1][1]


async def test_no_more_pairs_are_asked_for_than_the_lines_carry():
    dataset = Dataset(id="ds-1", title="Arvel gauges", description="Water levels of four rivers.", keywords=("rivers",))
    (item,) = items(aspects=())
    item = WorkItem(item.key, (dataset,), item.parameters)
    pair = {"evidence": [2], "question": "Which levels do the Arvel gauges hold?", "answer": "Levels of four rivers."}
    result, chat = await run(item, replying(pair))
    shown = chat.prompts[0].messages[-1][1]
    assert "at most 1 pairs" in shown and "At least" not in shown
    assert [p.answer for p in result.outputs] == ["Levels of four rivers."]
    assert Counter(r.code for r in result.rejections) == {"unchosen": 7}
    result, _ = await run(item, declining)
    assert Counter(r.code for r in result.rejections) == {"declined": 1, "unchosen": 7}


@pytest.mark.parametrize(("tokens", "number"), [(4096, range(2, 9)), (32768, [1]), (None, [1])])
async def test_calls_fit_the_context_and_an_unknown_one_has_all_types(tokens, number):
    (item,) = items()
    ctx, chat = make_context(declining, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=tokens)
    await STAGE.process(item, ctx)
    assert len(calls(chat)) in number
    for prompt, room in list(zip(chat.prompts, chat.rooms, strict=True))[1:]:
        assert sum(len(text) for _, text in prompt.messages) // 4 + room <= (tokens or 131072)


async def test_a_call_whose_reply_is_cut_is_made_again_in_halves():
    def short_replies(prompt, number):
        if prompt.id == "generate/joint" and len(types_of(prompt)) > 5:
            raise ReplyTruncatedError("the reply was cut")
        return declining(prompt, number)

    (item,) = items()
    ctx, chat = make_context(short_replies, key=item.key)
    chat.capabilities = Capabilities(structured=True, context_tokens=131072)
    result = await STAGE.process(item, ctx)
    assert not result.failures and {r.code for r in result.rejections} == {"declined", "unchosen"}
    assert len(result.rejections) == 18 * 5 and len(calls(chat)) == 1 + 2 + 4


async def test_calls_about_one_dataset_begin_alike_up_to_the_types():
    prompts = []
    for item in items(generate={**PAPERS, "types_per_call": 8}):
        prompts += calls((await run(item, declining))[1])
    texts = ["\n".join(m for _, m in p.messages) for p in prompts]
    same = texts[0][: next(i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1)]
    assert all(text in same for _, text in STATEMENTS) and "Snowfall is increased in winter" in same


async def test_what_answers_a_pair_says_what_it_is_about():
    other = Dataset(id="ds-0a", title="Another")
    shared = {"10.1/p": (DATASET, Dataset(id="ds-2", title="Wind of the Third Pole"))}
    (item, *_) = items(shared=shared, generate=PAPERS)
    of_paper, chat = await run(item, writing("Why are gauges sparse?", "Access.", "However, gauges", "Title:"))
    assert (of_paper.outputs[0].about, of_paper.outputs[0].dataset_ids) == ("paper", ("ds-1", "ds-2"))
    assert "Wind of the Third Pole" in calls(chat)[0].messages[-1][1]
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
    result, _ = await run(one("causal_antecedent"), replying(*[pair] * 5))
    assert len(result.outputs) == 1
    assert [r.code for r in result.rejections] == ["repeated"] * 4


async def test_yes_and_no_are_asked_for_in_turn():
    _, chat = await run(one("verification"), declining)
    (told,) = re.findall(r"right answers in this order: ([\w, ]+)\.", calls(chat)[0].messages[-1][1])
    assert told in ("Yes, No, Yes, No, Yes", "No, Yes, No, Yes, No")
    _, chat = await run(one("verification"), declining, language="de")
    assert re.search(r"this order: (?:Ja, Nein|Nein, Ja)", calls(chat)[0].messages[-1][1])


def test_single_pairs_ask_for_yes_as_often_as_for_no_over_a_run():
    ctx, _ = make_context()
    kind = ctx.taxonomies.question_type("verification")
    drawn = Counter[tuple[str | None, int]]()
    for n in range(2000):
        dataset = Dataset(id=f"ds-{n}", title="T")
        wish = wishes(dataset, Asked(types=(kind.id,), adaptive=True, count=8), (kind,), ctx)[0]
        drawn[wish.polarity, wish.position] += 1
    assert all(440 < n < 560 for n in drawn.values()) and len(drawn) == 4


async def test_types_of_a_dataset_without_papers_are_the_writers_choice():
    settings = {"generate": {"types_without_paper": 3}}
    pairs = [
        {"type": t, "evidence": [2], "question": f"What is it {t}?", "answer": "3 km"}
        for t in ("quantification", "comparison")
    ]
    (item,) = items(aspects=(), **settings)
    result, chat = await run(item, replying(*pairs), **settings)
    assert [p.question_type for p in result.outputs] == ["quantification", "comparison"]
    assert len(types_of(calls(chat)[0])) == 12 and "at most 2 pairs" in calls(chat)[0].messages[-1][1]
    assert [r.code for r in result.rejections] == ["unchosen"]


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


def test_a_target_that_chooses_types_or_levels_is_part_of_what_a_run_is_made_of():
    targets = [
        {},
        {"total": 10, "types": {"verification": 1, "quantification": 1}},
        {"total": 10, "bloom": {"C1": 1}},
    ]
    made = [GenerateStage().definitions(make_context(**{"generate.quota": t})[0]) for t in targets]
    assert len(set(made)) == 3, "without it, a run whose target is taken away stays narrow"


async def test_a_tables_caption_is_shown_whole_once_and_then_by_its_label():
    caption = "Table 2. Depth of the snow. " + "The stations are those of the Arvel survey. " * 5 + "Depths are in m."
    told = Span(document_id="doc-1", start=900, end=900 + len(caption), text=caption, medium="caption")
    short = caption[:150] + " ..."

    def row(n: int) -> Aspect:
        cell = Span(document_id="doc-1", start=2000 + n, end=2001 + n, text=f"{n}", medium="table", headers=("Upper",))
        return Aspect(paper_id="10.1/p", category=AspectCategory.FINDINGS, span=cell, cells=(cell,), context=short,
                      context_span=told, dataset_id="ds-1")  # fmt: skip

    _, chat = await run(one("quantification", aspects=(row(1), row(2))), declining)
    shown = calls(chat)[0].messages[-1][1]
    assert f"(findings) {caption}: Upper: 1\n" in shown and "(findings) Table 2: Upper: 2\n" in shown
    assert "caption stands before its first line" in calls(chat)[0].messages[0][1]
