"""Gates for rows that tell a reader nothing new: one fact asked twice, an answer in its question, an unexplained
abbreviation."""

from __future__ import annotations

import pytest

from scirgen.claims.abbreviations import explained
from scirgen.core.records import Dataset, QAPair, Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.gates.duplicate import SameFactGate
from scirgen.stages.filter.gates.form import AnswerInQuestionGate
from scirgen.stages.filter.gates.reference import UnexplainedAbbreviationGate
from tests.support.filtering import MATERIAL, pair, verdict
from tests.support.questioning import make_context

GAUGES = (
    "Sedges gained 5 % and forbs 5 % of their cover, because the plots on Mount Alba "
    "and Mount Nero were fenced in 2014."
)


def asked(question: str, answer: str, kind: str, evidence: str = GAUGES) -> QAPair:
    return pair(question, answer, kind, evidence=(Span(document_id="ds-1", start=0, end=len(evidence), text=evidence),))


ONE_FACT = [
    (("Why did sedges gain cover?", "The plots were fenced.", "causal_antecedent"),
     ("I don't understand why sedges gained cover.", "The plots were fenced.", "assertion")),
    (("Why did sedges gain cover?", "Because the plots were fenced.", "causal_antecedent"),
     ("Did sedges gain cover because plots were fenced?", "Yes", "verification")),
    (("By how much did sedges gain cover?", "5 %", "quantification"),
     ("Did sedges gain 5 % or 9 % of cover?", "5 %", "disjunctive")),
    (("What did fences do to the cover of sedges?", "Sedges gained cover.", "causal_consequence"),
     ("What let sedges gain cover?", "Fences.", "causal_antecedent")),
    (("When were the plots fenced?", "in 2014", "concept_completion"),
     ("In which year were plots fenced?", "2014", "quantification")),
    # One tells what the other asks for, and more.
    (("Did sedges gain cover?", "Yes", "verification"),
     ("By how much did sedges gain cover?", "5 %", "quantification")),
    (("By how much did sedges gain cover?", "5 %", "quantification"),
     ("How do sedges and forbs differ in the cover that they gained?",
      "Sedges gained 5 %, more than forbs in fenced plots.", "comparison")),
]  # fmt: skip
TWO_FACTS = [
    (("By how much did sedges gain cover?", "5 %", "quantification"),
     ("How much cover did forbs gain?", "5 %", "concept_completion")),
    (("When were plots on Mount Alba fenced?", "2014", "concept_completion"),
     ("In what year were plots on Mount Nero fenced?", "2014", "quantification")),
    (("What did fenced plots change in 2014?", "cover", "concept_completion"),
     ("Which plots changed in 2015?", "cover", "disjunctive")),
    (("Why did sedges gain cover?", "The plots were fenced.", "causal_antecedent"),
     ("When were the plots fenced?", "2014", "quantification")),
    (("Did sedges gain more cover than forbs?", "Yes", "verification"),
     ("Did forbs gain more cover than sedges?", "Yes", "assertion")),
    (("How do fences affect sedges?", "They gain cover.", "causal_consequence"),
     ("How do sedges affect fences?", "Plots change.", "comparison")),
    (("How many months in 100 were extreme in the whole ocean?", "1.8 months", "quantification"),
     ("How many months in 100 were extreme in the subtropical ocean?", "2.7 months", "concept_completion")),
    (("Were the plots fenced in 2016?", "No", "verification"),
     ("When were the plots fenced?", "2014", "quantification")),
]  # fmt: skip


@pytest.mark.parametrize(("first", "again"), ONE_FACT)
async def test_one_fact_in_two_forms_is_asked_once(
    first: tuple[str, str, str], again: tuple[str, str, str], ctx: StageContext
) -> None:
    found = await SameFactGate().check([asked(*first), asked(*again)], MATERIAL, ctx)
    assert sum(v.accept for v in found) == 1
    assert any(first[0] in v.reason or again[0] in v.reason for v in found)


async def test_of_one_fact_the_longest_answer_is_kept(ctx: StageContext) -> None:
    brief = asked("Why did sedges gain cover?", "Fenced plots.", "causal_antecedent")
    full = asked("I don't understand why sedges gained cover.", "The plots there were fenced.", "assertion")
    for pairs in ([brief, full], [full, brief]):
        found = await SameFactGate().check(pairs, MATERIAL, ctx)
        assert [v.accept for v in found] == [p is full for p in pairs]


@pytest.mark.parametrize(("first", "other"), TWO_FACTS)
async def test_two_facts_of_one_sentence_are_both_asked(
    first: tuple[str, str, str], other: tuple[str, str, str], ctx: StageContext
) -> None:
    found = await SameFactGate().check([asked(*first), asked(*other)], MATERIAL, ctx)
    assert all(v.accept for v in found), found[1].reason


async def test_one_answer_from_other_evidence_is_another_fact(ctx: StageContext) -> None:
    first, again = (asked(*one) for one in ONE_FACT[0])
    elsewhere = again.model_copy(
        update={"evidence": (again.evidence[0].model_copy(update={"start": 500, "end": 600}),)}
    )
    found = await SameFactGate().check([first, elsewhere], MATERIAL, ctx)
    assert found[1].accept


async def test_a_fact_of_an_earlier_round_is_not_asked_again(ctx: StageContext) -> None:
    first, again = (asked(*one) for one in ONE_FACT[0])
    material = Material(MATERIAL.dataset, (), MATERIAL.context, MATERIAL.sources, (first,))
    assert not (await SameFactGate().check([again], material, ctx))[0].accept


@pytest.mark.parametrize(
    ("question", "answer", "kind", "accepted"),
    [
        ("Where in the Heihe River Basin do stations stand?", "Heihe River Basin", "concept_completion", False),
        (
            "Where in the Heihe River Basin do stations stand?",
            "in the upper Heihe River Basin",
            "concept_completion",
            True,
        ),
        ("What attributes of soil tell its texture?", "soil texture", "feature_specification", False),
        ("Which is colder, the lake or the river?", "the lake", "concept_completion", True),
        ("Is the lake colder than the river or the sea?", "the river", "disjunctive", True),
        ("How many of the 12 plots were fenced, of 12?", "12", "quantification", True),
    ],
)
async def test_a_question_does_not_hold_its_answer(
    question: str, answer: str, kind: str, accepted: bool, ctx: StageContext
) -> None:
    full, _ = make_context(stage="filter")
    assert (await verdict(AnswerInQuestionGate, pair(question, answer, kind), full)).accept is accepted


PAPER = (
    "Pacific bluefin tuna (PBF; Thunnus orientalis) reach a fork length (FL) of 2 m "
    "in the California Current System (CCS). "
    "The plankton tow table (PTT) and the global river flood reanalysis (GRFR) are public. "
    "The Weather Research and Forecasting (WRF) model and sea surface temperature (SST) were used."
)


@pytest.mark.parametrize(
    ("question", "answer", "accepted"),
    [
        ("How long are the tuna females of the survey?", "125 to 188 cm FL", False),
        ("What fork length (FL) do tuna reach?", "2 m", True),
        ("How long are the tuna females?", "a fork length of 188 cm, FL", True),
        ("Were PBF larvae found off Baja California?", "No", False),
        ("Which model was used with the WRF data?", "WRF", True),
        ("What flows in the CCS off Mexico?", "cold water", True),
        ("What SST do the tows show?", "24 °C", True),
        ("Which floods does the GRFR hold?", "Those since 1980", True),
        ("How deep is the PTT of the tows?", "20 m", True),
        ("Which GPS receiver was used?", "one on board", True),
    ],
)
async def test_an_abbreviated_term_is_spelled_out(
    question: str, answer: str, accepted: bool, ctx: StageContext
) -> None:
    dataset = Dataset(id="ds-1", title="Plankton tow table with SST", description=PAPER)
    material = Material(dataset, (), dataset.text, {"ds-1": dataset.text})
    (found,) = await UnexplainedAbbreviationGate().check([pair(question, answer)], material, ctx)
    assert found.accept is accepted, found.reason


@pytest.mark.parametrize(
    ("question", "header", "accepted"),
    [
        ("How large was NEGCON in grade 5?", "NEGCON", False),
        ("How large were the perceived negative consequences (NEGCON) in grade 5?", "NEGCON", True),
        ("How large was the NEGCON of the survey?", "POSCON", True),
        ("How large was the GRFR of the survey?", "GRFR", True),
        ("How much snow does MODIS see in May?", "MODIS", True),
        ("How long are the tuna females of the survey in FL?", "Length", True),
    ],
)
async def test_beside_a_judge_a_code_that_heads_a_cited_cell_is_explained(
    question: str, header: str, accepted: bool
) -> None:
    text = PAPER + " We asked for Y3 = NEGCON, a measure of the perceived negative consequences of use. MODIS, a sensor"
    cell = Span(document_id="ds-1", start=0, end=4, text="2.94", medium="table", headers=(header, "5"))
    full, _ = make_context(stage="filter")
    (found,) = await UnexplainedAbbreviationGate().check(
        [pair(question, "2.94", evidence=(cell,))], Material(None, (), text, {"ds-1": text}), full
    )
    assert full.judged and found.accept is accepted, found.reason


@pytest.mark.parametrize(
    ("short", "words"),
    [("PBF", "Pacific bluefin tuna"), ("CCS", "California Current System"), ("NPP", "net primary productivities"),
     ("vBMD", "volumetric bone mineral density"), ("RR", "rate ratio"), ("USA", ""), ("T2", ""), ("MBPP", "")],
)  # fmt: skip
def test_an_explanation_has_the_letters_in_order(short: str, words: str) -> None:
    text = (
        f"{PAPER} It rained (USA). The net primary productivities (NPPs) fell (T2). "
        "vBMD: volumetric bone mineral density; RR, rate ratio. We use MBPP, MBPP+ and more."
    )
    at, found = explained(text, short)
    assert found == words and (text.startswith(short, at) if words else at < 0)
