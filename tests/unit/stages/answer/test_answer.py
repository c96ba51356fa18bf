"""An answer stands on sentences of passages that are gold; otherwise the question is narrowed, or not answered."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from scirgen.claims.needed import needed_evidence
from scirgen.core.corpus import Passage, Sentence
from scirgen.core.corpus.questions import Pool, Pooled, Question, Regraded, Unanswered
from scirgen.core.errors import ModelError
from scirgen.core.records import QAPair, Record
from scirgen.stages.answer.stage import AnswerStage, best_passages
from scirgen.stages.base import StageResult, WorkItem
from tests.support.questioning import FakeScope, make_context

MIX = {"generate.mix": {"seeking": 1.0}}
TEXTS = ("Ice was thin. It was measured at Inari.", "Snow insulates ice.", "Rain fell.")


def passage(number: int, text: str) -> Passage:
    cut = [(m.start(), m.end()) for m in re.finditer(r"[^.]+\.", text)]
    return Passage(
        id=f"psg-{number}", document_id=f"doc-{number}", start=100, end=100 + len(text), text=text,
        sentences=tuple(Sentence(start=100 + a + (text[a] == " "), end=100 + b, page=3) for a, b in cut),
    )  # fmt: skip


PASSAGES = tuple(passage(n, t) for n, t in enumerate(TEXTS))


def question(**more: object) -> Question:
    told = {
        "id": "q1", "dataset_id": "ds-1", "document_id": "doc-0", "wants": "answer", "need": "plan",
        "text": "Why does thick snow keep lake ice thin?", "rewordings": ("effect of snow cover on ice growth",),
    }  # fmt: skip
    return Question.model_validate({**told, **more})


async def run(reply: Mapping[str, object], grades: Mapping[str, int], **more: object) -> tuple[StageResult, str]:
    """The result for a reply whose grades are by passage id and whose lines are texts; memory says " Snow does. "."""
    shown = ""

    def rule(prompt, n):
        nonlocal shown
        if prompt.id == "answer/memory":
            return {"b1": " What  snow? ", "a1": " Snow does. "}
        shown = prompt.messages[-1][1]
        lines = {text: int(number) for number, text in re.findall(r"^\[(\d+)\] (.*)$", shown, re.M)}
        order = [next(p.id for p in PASSAGES if p.text.split(".")[0] in part) for part in shown.split("\nPassage ")[1:]]
        given = [{"passage": n, "grade": grades[id]} for n, id in enumerate(order, 1) if grades[id]]
        base = {"verdict": "answered", "answer": "Snow insulates it.", "lacking": "", "narrower": "", "about": []}
        cited = {k: [lines[t] for t in v] for k, v in reply.items() if k in ("lines", "about")}
        return {"q1": {"grades": given, "lines": [], **base, **reply, **cited}}

    ctx, _ = make_context(rule, stage="answer", key="ds-1|q1", **MIX)
    pool = Pool(id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in PASSAGES))
    return await AnswerStage().process(WorkItem("ds-1|q1", (question(**more), pool)), ctx), shown


def only(result: StageResult) -> Record:
    [made] = result.outputs
    return made


GRADES = {"psg-0": 1, "psg-1": 2, "psg-2": 0}


async def test_an_answer_has_the_places_of_its_sentences_their_roles_and_all_grades() -> None:
    result, _ = await run({"lines": ["Snow insulates ice."], "about": ["It was measured at Inari."]}, GRADES)
    pair = only(result)
    assert isinstance(pair, QAPair) and (pair.asked, pair.need, pair.question_id) == ("seeking", "plan", "q1")
    assert {s.page for s in pair.evidence} == {3}
    told = [(s.document_id, s.start, s.text, s.role) for s in pair.evidence]
    assert told == [
        ("doc-1", 100, "Snow insulates ice.", "answer"), ("doc-0", 114, "It was measured at Inari.", "context"),
    ]  # fmt: skip
    assert {g.passage_id: g.grade for g in pair.grades} == GRADES
    assert [s.text for s in needed_evidence(pair)] == ["Snow insulates ice."]
    assert pair.found_by == ("subject",)
    assert (pair.from_memory, pair.guessable) == ("Snow does.", None), "the judge has to compare"
    assert pair.asks_back == "What snow?"


async def test_a_cited_row_brings_along_what_says_what_it_is(monkeypatch) -> None:
    snow = PASSAGES[1].model_copy(update={"medium": "table"})
    [cited] = snow.sentences
    caption, header = Sentence(start=80, end=88, text="Table 1."), Sentence(start=90, end=98, text="| Lake |")
    rows = (caption, header, cited.model_copy(update={"text": "| Snow insulates ice |", "heads": (80, 90)}))
    shown = (PASSAGES[0], snow.model_copy(update={"sentences": rows}), PASSAGES[2])
    monkeypatch.setattr(f"{__name__}.PASSAGES", shown)
    result, _ = await run({"lines": ["| Snow insulates ice |"]}, GRADES)
    pair = only(result)
    assert isinstance(pair, QAPair)
    assert [(s.start, s.text, s.role, s.medium) for s in pair.evidence] == [
        (100, "| Snow insulates ice |", "answer", "table"), (80, "Table 1.", "context", "caption"),
        (90, "| Lake |", "context", "header"),
    ]  # fmt: skip


async def test_a_table_without_cells_is_not_shown_to_the_writer(monkeypatch) -> None:
    shown = (PASSAGES[0].model_copy(update={"medium": "table"}), *PASSAGES[1:])
    monkeypatch.setattr(f"{__name__}.PASSAGES", shown)
    result, prompt = await run({"lines": ["Snow insulates ice."]}, GRADES)
    pair = only(result)
    assert isinstance(pair, QAPair) and "Inari" not in prompt
    assert {g.passage_id for g in pair.grades} == {"psg-1", "psg-2"}


async def test_a_sentence_of_a_useless_passage_makes_it_useful() -> None:
    result, _ = await run({"lines": ["Snow insulates ice.", "Rain fell."]}, GRADES)
    pair = only(result)
    assert isinstance(pair, QAPair) and {g.passage_id: g.grade for g in pair.grades}["psg-2"] == 1


async def test_an_answer_that_no_passage_carries_alone_has_all_that_it_cites_as_gold() -> None:
    result, _ = await run({"lines": ["Snow insulates ice.", "Rain fell."]}, dict.fromkeys(GRADES, 1))
    pair = only(result)
    assert isinstance(pair, QAPair)
    assert {g.passage_id for g in pair.grades if g.grade == 2} == {"psg-1", "psg-2"}


@pytest.mark.parametrize(
    ("reply", "grades", "code"),
    [
        ({"lines": ["Rain fell."]}, GRADES, "no_gold"),
        ({"lines": []}, GRADES, "no_evidence"),
        ({"lines": ["Snow insulates ice."], "answer": " "}, GRADES, "empty"),
    ],
)
async def test_an_answer_without_gold_is_refused(reply, grades, code) -> None:
    result, _ = await run(reply, grades)
    assert not result.outputs and [r.code for r in result.rejections] == [code]


async def test_a_question_is_narrowed_once_and_in_its_own_words() -> None:
    part = {"verdict": "part", "narrower": "Does snow keep ice thin?", "lacking": "how thick"}
    narrowed = only((await run(part, GRADES))[0])
    assert isinstance(narrowed, Question)
    assert (narrowed.text, narrowed.asked, narrowed.round) == ("Does snow keep ice thin?", "narrowed", 1)
    again = only((await run(part, GRADES, asked="narrowed"))[0])
    assert isinstance(again, Unanswered) and again.lacking == "how thick"


async def test_a_narrower_question_with_words_of_the_passages_is_not_taken() -> None:
    part = {"verdict": "part", "narrower": "Does snow insulate lake ice at Inari?"}
    assert isinstance(only((await run(part, GRADES))[0]), Unanswered)


async def test_what_is_not_here_is_kept_with_the_nearest_passages() -> None:
    left = only((await run({"verdict": "not_here", "lacking": "why"}, GRADES))[0])
    assert isinstance(left, Unanswered) and [p.id for p in left.nearest] == ["psg-1", "psg-0"]


async def test_passages_are_shown_without_their_order() -> None:
    _, shown = await run({"lines": ["Snow insulates ice."]}, GRADES)
    assert [shown.index(t.split(".")[0]) for t in TEXTS] != sorted(shown.index(t.split(".")[0]) for t in TEXTS)
    assert "psg-" not in shown and "doc-" not in shown


async def test_a_need_for_data_has_all_records_of_grade_2_as_gold() -> None:
    shown: list[str] = []

    def rule(prompt, n):
        shown.append(prompt.id)
        return {"q1": {
            "grades": [{"passage": n, "grade": 2} for n in (1, 2, 3)], "verdict": "answered", "answer": "Three serve.",
            "lines": [1], "about": [], "lacking": "", "narrower": "",
        }}  # fmt: skip

    ctx, _ = make_context(rule, stage="answer", key="ds-1|q1", **MIX)
    pool = Pool(
        id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p, dataset_ids=(p.document_id,)) for p in PASSAGES)
    )
    item = WorkItem("ds-1|q1", (question(wants="data", form="keywords"), pool))
    pair = only(await AnswerStage().process(item, ctx))
    assert isinstance(pair, QAPair) and shown == ["answer/datasets"]
    assert pair.gold == ("doc-0", "doc-1", "doc-2") and pair.dataset_id in pair.gold


async def test_questions_about_one_subject_share_a_call_and_are_settled_each_by_itself() -> None:
    several = tuple(question(id=f"q{n}") for n in range(6))
    pools = tuple(Pool(id=q.id, dataset_id="ds-1", entries=(Pooled(passage=PASSAGES[1]),)) for q in several)
    scope = FakeScope({"ask": (*several, question(id="other", document_id="doc-9")), "search": pools})
    calls: list[int] = []

    def rule(prompt, n):
        if prompt.id == "answer/memory":
            assert "Answer" not in prompt.messages[-1][1] and "Passage" not in prompt.messages[-1][1]
            return {"b1": "None.", "a1": "Yes.", "b2": "", "a2": ""}
        asked = re.findall(r"^(q\d)", prompt.messages[-1][1], re.M)
        calls.append(len(asked))
        empty = {"grades": [], "answer": "", "lines": [], "about": [], "lacking": "", "narrower": ""}
        good = {**empty, "grades": [{"passage": 1, "grade": 2}], "verdict": "answered", "answer": "Yes.", "lines": [1]}
        return {name: {**empty, "verdict": "not_here"} if name == "q2" else good for name in asked}

    ctx, _ = make_context(rule, stage="answer", key="ds-1|q", **MIX)
    made = [r for item in AnswerStage().items(scope, ctx) for r in (await AnswerStage().process(item, ctx)).outputs]
    assert calls == [3, 3]
    assert [type(r).__name__ for r in made] == ["QAPair", "Unanswered", "QAPair"] * 2
    assert not any(r.asks_back for r in made if isinstance(r, QAPair)), "None. asks nothing"
    told = {r.question_id: r.from_memory for r in made if isinstance(r, QAPair)}
    assert told == {"q0": "Yes.", "q2": "", "q3": "Yes.", "q5": ""}, "what is not answered is not asked again"


def test_a_call_shows_the_first_of_every_pool_before_the_second_of_any() -> None:
    long = [passage(n, f"Ice {'grows ' * 900}there.") for n in range(20)]
    several = (question(id="a"), question(id="b"))
    pools = (
        Pool(id="a", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in long[:10])),
        Pool(id="b", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in long[10:])),
    )
    shown = [p.id for p in best_passages(several, pools, make_context(stage="answer", **MIX)[0])]
    assert shown[:2] == [long[0].id, long[10].id]
    assert len(shown) == 16 and {p.id for p in (*long[:8], *long[10:18])} == set(shown)


@pytest.mark.parametrize(("share", "second"), [(1, True), (0, False)])
async def test_a_share_of_calls_is_graded_again_in_another_order(share: float, second: bool) -> None:
    seen: list[str] = []

    def rule(prompt, n):
        seen.append(prompt.messages[-1][1])
        order = [
            next(p.id for p in PASSAGES if p.text.split(".")[0] in part) for part in seen[-1].split("\nPassage ")[1:]
        ]
        grades = {"psg-1": 2} if len(seen) == 1 else {"psg-1": 2, "psg-2": 1}
        given = [{"passage": n, "grade": grades[id]} for n, id in enumerate(order, 1) if id in grades]
        base = {"verdict": "not_here", "answer": "", "lines": [], "about": [], "lacking": "", "narrower": ""}
        return {"q1": {**base, "grades": given}}

    key = "ds-1|q1"
    ctx, _ = make_context(rule, stage="answer", key=key, **MIX, **{"filter.second_reader": share})
    pool = Pool(id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in PASSAGES))
    result = await AnswerStage().process(WorkItem(key, (question(), pool)), ctx)
    found = [r for r in result.outputs if isinstance(r, Regraded)]
    assert (len(seen), len(found)) == ((2, 1) if second else (1, 0))
    assert all(r.grades == ((0, 0), (2, 2), (0, 1)) for r in found)
    assert isinstance(result.outputs[0], Unanswered)


async def test_a_second_grader_that_fails_leaves_the_answer() -> None:
    calls = 0

    def rule(prompt, n):
        nonlocal calls
        calls += 1
        if calls > 1:
            raise ModelError("the server is gone")
        base = {"verdict": "not_here", "answer": "", "lines": [], "about": [], "lacking": "", "narrower": ""}
        return {"q1": {**base, "grades": []}}

    ctx, _ = make_context(rule, stage="answer", key="ds-1|q1", **MIX, **{"filter.second_reader": 1})
    pool = Pool(id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in PASSAGES))
    result = await AnswerStage().process(WorkItem("ds-1|q1", (question(), pool)), ctx)
    assert calls == 2 and [type(r) for r in result.outputs] == [Unanswered]


LINK = {"type": "comparison", "question": "Is ice thin for want of snow or of cold?", "answer": "Snow.", "about": []}


@pytest.mark.parametrize(
    ("cited", "grades", "linked", "scorer", "rejected"),
    [
        (("Ice was thin.", "Snow insulates ice."), GRADES, 0.3, "auto", []),
        (("Ice was thin.", "Snow insulates ice."), GRADES, 0.3, "llm_judge", []),
        (("Snow insulates ice.",), GRADES, 0.3, "auto", ["one_document"]),
        (("Ice was thin.", "Snow insulates ice."), {**GRADES, "psg-0": 0}, 0.3, "auto", []),
        (("Ice was thin.", "Snow insulates ice."), dict.fromkeys(GRADES, 0), 0.3, "auto", None),
        (("Ice was thin.", "Snow insulates ice."), GRADES, 0.0, "auto", None),
        (("Ice was thin.", "Snow insulates ice."), GRADES, 0.3, "shift", None),
    ],
)
async def test_passages_of_two_documents_give_questions_that_both_answer(
    cited, grades, linked, scorer, rejected
) -> None:
    asked: list[str] = []

    def rule(prompt, n):
        asked.append(prompt.id)
        shown = prompt.messages[-1][1]
        if prompt.id == "answer/memory":
            return {"b1": "", "a1": "It depends."}
        lines = {text: int(number) for number, text in re.findall(r"^\[(\d+)\] (.*)$", shown, re.M)}
        if prompt.id == "answer/linked":
            assert ("Rain fell." in shown) == (not grades["psg-0"]) and "Why does thick snow" in shown
            return {"pairs": [{**LINK, "lines": [lines[text] for text in cited]}]}
        order = [next(p.id for p in PASSAGES if p.text.split(".")[0] in part) for part in shown.split("\nPassage ")[1:]]
        given = [{"passage": n, "grade": grades[id]} for n, id in enumerate(order, 1) if grades[id]]
        empty = {"verdict": "not_here", "answer": "", "lines": [], "about": [], "lacking": "", "narrower": ""}
        return {"q1": {**empty, "grades": given}}

    mix = {"seeking": 1 - linked, "known_item": linked}
    settings = {"generate.mix": mix, "filter.faithfulness": [scorer]}
    ctx, _ = make_context(rule, stage="answer", key="ds-1|q1", **settings)
    pool = Pool(id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in PASSAGES))
    result = await AnswerStage().process(WorkItem("ds-1|q1", (question(), pool)), ctx)
    assert ("answer/linked" in asked) == (rejected is not None)
    assert [r.code for r in result.rejections] == (rejected or [])
    found = [r for r in result.outputs if isinstance(r, QAPair)]
    assert len(found) == (rejected == [])
    for pair in found:
        assert (pair.strategy, pair.asked, pair.question_type) == ("linked", "known_item", "comparison")
        assert pair.from_memory == "It depends."
        assert {g.passage_id: g.grade for g in pair.grades} == {"psg-0": 2, "psg-1": 2}


@pytest.mark.parametrize(("scorer", "mix", "said"), [("shift", 0.3, True), ("shift", 0.0, False), ("auto", 0.3, False)])
def test_a_run_without_a_judge_says_that_it_writes_no_linked_questions(scorer, mix, said) -> None:
    settings = {"generate.mix": {"seeking": 1 - mix, "known_item": mix}, "filter.faithfulness": [scorer]}
    ctx, _ = make_context(stage="answer", **settings)
    assert [note for note in AnswerStage().notes(ctx) if "no linked questions" in note] == [*AnswerStage().notes(ctx)]
    assert len([*AnswerStage().notes(ctx)]) == said


async def test_linked_questions_that_fail_leave_the_answers_and_are_tried_again() -> None:
    def rule(prompt, n):
        if prompt.id == "answer/linked":
            raise ModelError("the server is gone")
        base = {"verdict": "not_here", "answer": "", "lines": [], "about": [], "lacking": "", "narrower": ""}
        return {"q1": {**base, "grades": [{"passage": 1, "grade": 1}, {"passage": 2, "grade": 1}]}}

    ctx, _ = make_context(rule, stage="answer", key="ds-1|q1", **{"generate.mix": {"seeking": 0.7, "known_item": 0.3}})
    pool = Pool(id="q1", dataset_id="ds-1", entries=tuple(Pooled(passage=p) for p in PASSAGES))
    result = await AnswerStage().process(WorkItem("ds-1|q1", (question(), pool)), ctx)
    assert [type(r) for r in result.outputs] == [Unanswered] and [f.stage for f in result.failures] == ["answer"]
