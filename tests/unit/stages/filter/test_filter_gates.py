"""Each gate: what it must reject and what it must let pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scirgen.core.records import QAPair, Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Gate, Material
from scirgen.stages.filter.gates.duplicate import DuplicateGate
from scirgen.stages.filter.gates.evidence import NotSupportedGate, NotVerbatimGate
from scirgen.stages.filter.gates.form import (
    LanguageGate,
    SchemaGate,
    TypeAnswerGate,
)
from scirgen.stages.filter.gates.reference import ExampleLeakGate, PointingGate
from scirgen.stages.filter.stage import select_gates
from scirgen_embedded.gates import TypeQuestionGate, UnknownNameGate, VagueGate
from tests.support.filtering import DATASET, DESCRIPTION, MATERIAL, pair, span, verdict

GOOD = pair()
ROUNDED = Span(document_id="ds-1", start=0, end=21, text="merged 2400.4 gauges.")
LONG_ANSWER = "Satellites miss snowfall over cold mountains, and gauges see it, so that merging them lowers the error."

REJECTED: list[tuple[type[Gate], str, QAPair]] = [
    (SchemaGate, "empty answer", pair(answer="  ")),
    (SchemaGate, "empty question", pair(question="?")),
    (TypeQuestionGate, "unknown type", pair(kind="riddle")),
    (SchemaGate, "placeholder", pair(answer="error")),
    (SchemaGate, "not mentioned", pair(answer="The context does not mention the reason.")),
    (SchemaGate, "not specified", pair(answer="The exact number of gauges is not specified.")),
    (SchemaGate, "metadata silent", pair(answer="The metadata does not explicitly state the number of gauges.")),
    (SchemaGate, "debris", pair(answer='{"answer": "because of snow"}')),
    (SchemaGate, "a tag of the prompt", pair(answer="<data-0a1b2c3d> Because of snow. </data-0a1b2c3d>")),
    (SchemaGate, "no answer held", pair(answer="The text does not hold the answer to it.")),
    (SchemaGate, "label", pair(question="Question: why do satellites miss snowfall?")),
    (SchemaGate, "next turn", pair(answer="Because of snow.\nQuestion: what is next?")),
    (SchemaGate, "chat token", pair(answer="Because of snow.<|im_end|>")),
    (LanguageGate, "chinese", pair(question="为什么要融合雨量计和卫星降水数据？")),
    (
        LanguageGate,
        "spanish",
        pair(answer="Porque los satélites no ven la nieve en las montañas y por eso se usan datos"),
    ),
    (LanguageGate, "english for zh", pair(language="zh")),
    (TypeQuestionGate, "no question mark", pair(question="Why satellites miss snowfall over mountains.")),
    (TypeQuestionGate, "no why", pair(question="Which satellites miss snowfall over mountains?")),
    (TypeAnswerGate, "neither yes nor no", pair("Are gauges used?", "They are used in 1979.", "verification")),
    (TypeAnswerGate, "no number", pair("How many gauges are merged?", "Very many gauges.", "quantification")),
    (TypeAnswerGate, "no option", pair("Are values in mm or in inches?", "kelvin degrees", "disjunctive")),
    (TypeAnswerGate, "too short", pair(answer="Snow.")),
    (PointingGate, "this dataset", pair(question="Why were gauges merged in this dataset?")),
    (PointingGate, "the study", pair(question="What was the main purpose of the study?")),
    (PointingGate, "above", pair(question="Why are the gauges mentioned above useful?")),
    (PointingGate, "these datasets", pair(question="I don't understand how these datasets help forecasters.")),
    (PointingGate, "this field", pair(question="Are gauges in this field read by hand or by loggers?")),
    (PointingGate, "findings", pair(question="How many lakes were identified according to the findings?")),
    (PointingGate, "metadata", pair(question="Is wheat limited in Tibet according to the metadata?")),
    (PointingGate, "authors", pair(question="Why did the authors merge gauges?")),
    (PointingGate, "zh", pair(question="该数据集为什么融合雨量计？", language="zh")),
    (PointingGate, "pt", pair(question="Qual é o objetivo deste estudo na Amazônia?", language="pt")),
    (PointingGate, "es", pair(question="¿Cuál es el objetivo de este estudio en los Andes?", language="es")),
    (PointingGate, "the data", pair(question="Why was the data processed twice with one software?")),
    (PointingGate, "the answer's text", pair(answer="The text suggests that satellites miss snowfall.")),
    (PointingGate, "the answer's context", pair(answer="In the context provided, satellites miss snowfall.")),
    (PointingGate, "these uncertainties", pair(question="Why must one address these uncertainties?")),
    (PointingGate, "a figure", pair(question="Why are the values presented in Fig. 3 so low in winter?")),
    (PointingGate, "a citation", pair(question="Why do the studies of predecessors [17,18] merge gauges?")),
    (SchemaGate, "breaks off", pair(question="Why were gauges merged in the?")),
    (VagueGate, "any data", pair(question="Why is the method used to evaluate the quality of observation data?")),
    (VagueGate, "any set", pair(question="Why is the process of the dataset important?")),
    (UnknownNameGate, "elsewhere", pair(question="Why do satellites miss snowfall in the Central Valley?")),
    (UnknownNameGate, "no mistake", pair("Do the gauges stand in Colombo?", "Yes", "verification")),
    (UnknownNameGate, "instrument", pair(question="Why does MODIS miss snowfall over mountains?")),
    (
        ExampleLeakGate,
        "copy",
        pair("Is a glacier inventory useful for estimating sea-level rise?", "Yes", "verification"),
    ),
    (
        ExampleLeakGate,
        "the type's own definition",
        pair("What state or event caused or led to another, why or how something came about?"),
    ),
    (NotVerbatimGate, "none", pair(evidence=())),
    (NotVerbatimGate, "moved", pair(evidence=(span(DESCRIPTION).model_copy(update={"start": 1, "end": 30}),))),
    (NotVerbatimGate, "elsewhere", pair(evidence=(span(DESCRIPTION).model_copy(update={"document_id": "x"}),))),
    (
        NotSupportedGate,
        "invented",
        pair(
            answer=(
                "Volcanic ash blocks infrared radiometers aboard Chinese spacecraft, thereby hiding "
                "polar vortices, auroras, meteors."
            ),
            evidence=(),
        ),
    ),
    (NotSupportedGate, "wrong number", pair("How many gauges are merged?", "3,400 gauges", "quantification")),
]

ACCEPTED: list[tuple[type[Gate], str, QAPair]] = [
    *[(g, "good", GOOD) for g in (SchemaGate, LanguageGate, TypeQuestionGate, TypeAnswerGate)],
    *[(g, "good", GOOD) for g in (PointingGate, ExampleLeakGate, NotVerbatimGate, NotSupportedGate)],
    (SchemaGate, "no as an answer", pair("Are gauges rare?", "No", "verification")),
    (SchemaGate, "error as a topic", pair(answer="The error of satellites over snow.")),
    (LanguageGate, "foreign name", pair(answer="The station La Paz de las Estrellas lies in the Andes.")),
    (LanguageGate, "symbols", pair(answer="0.25° × 0.25°, 1979–2020")),
    (
        LanguageGate,
        "chinese wanted",
        pair("为什么要融合雨量计和卫星降水数据？", "因为卫星难以观测降雪。", language="zh"),
    ),
    (UnknownNameGate, "a month", pair(question="Why did satellites miss snowfall on 16 March and in May?")),
    (TypeQuestionGate, "request", pair("Please compare gauge and satellite precipitation.", LONG_ANSWER, "request")),
    (TypeQuestionGate, "quoted", pair('Why is precipitation called "solid"?')),
    (TypeAnswerGate, "yes", pair("Are gauges merged?", "Yes, 2,400 of them.", "verification")),
    (TypeAnswerGate, "number", pair("How many gauges are merged?", "2,400 gauges", "quantification")),
    (TypeAnswerGate, "option", pair("Are values in mm or in inches?", "mm", "disjunctive")),
    (PointingGate, "a dataset", pair(question="Why would a dataset of daily precipitation merge gauges?")),
    (PointingGate, "the study of", pair(question="What role does the study of permafrost play in climate research?")),
    (PointingGate, "study area", pair(question="Why is the study area of the Heihe basin arid?")),
    (
        PointingGate,
        "these two regions",
        pair(question="How do India and Nepal differ, and why do these regions matter?"),
    ),
    (
        PointingGate,
        "named before",
        pair(question="Why do gauges and satellites differ, and why do these errors matter?"),
    ),
    (PointingGate, "a range", pair(question="Why are values of 3 to 5 figures and tables of snowfall merged?")),
    (SchemaGate, "preposition", pair(question="Why is it gauges that snowfall is measured with?")),
    (PointingGate, "data that are named", pair(question="Why were the data from 2,400 gauges processed twice?")),
    (PointingGate, "text mining", pair(answer="Papers were found in the text of abstracts by mining.")),
    (VagueGate, "a name", pair(question="Why is the CMFD dataset used in studies?")),
    (VagueGate, "no words known", pair(question="为什么使用数据集？", language="ko")),
    (UnknownNameGate, "possessive", pair(question="Why is the Third Pole's snowfall missed?")),
    (UnknownNameGate, "the mistake of a No", pair("Do the gauges stand in Colombo?", "No", "verification")),
    (UnknownNameGate, "ending", pair(question="Why is Gauged snowfall missed by satellites?")),
    (
        ExampleLeakGate,
        "same stem",
        pair("Is a snow cover product useful for predicting spring floods?", "Yes", "verification"),
    ),
    (NotSupportedGate, "yes", pair("Are gauges merged with satellites?", "Yes", "verification")),
    (
        NotSupportedGate,
        "no that names its dataset",
        pair("Does Qilian Weather Watch of Rhode Island merge gauges every month?", "No", "verification"),
    ),
    (NotSupportedGate, "a count", pair("How many kinds of gauges are merged?", "1", "quantification")),
    (NotSupportedGate, "unit spelt out", pair("At which resolution?", "0.25 deg.", "quantification")),
    (NotSupportedGate, "rounded", pair("How many gauges?", "2,400", "quantification", evidence=(ROUNDED,))),
    (NotSupportedGate, "separators", pair("How many gauges are merged?", "2400", "quantification")),
]


@pytest.mark.parametrize(("gate", "what", "one"), REJECTED, ids=[f"{g.code}-{w}" for g, w, _ in REJECTED])
async def test_gate_when_the_defect_is_there_rejects_with_a_reason(
    gate: type[Gate], what: str, one: QAPair, ctx: StageContext
) -> None:
    found = await verdict(gate, one, ctx)
    assert not found.accept
    assert found.reason and found.error is None


@pytest.mark.parametrize(("gate", "what", "one"), ACCEPTED, ids=[f"{g.code}-{w}" for g, w, _ in ACCEPTED])
async def test_gate_when_the_defect_is_absent_accepts(
    gate: type[Gate], what: str, one: QAPair, ctx: StageContext
) -> None:
    found = await verdict(gate, one, ctx)
    assert found.accept, found.reason


async def test_duplicate_when_a_question_is_rephrased_keeps_the_first(ctx: StageContext) -> None:
    first = pair(question="Why do satellites miss snowfall over cold mountains?")
    again = pair(
        question="Why is it that satellites miss snowfall over the cold mountains?", answer="Ice scatters less."
    )
    other = pair(question="Why do satellites miss drizzle over warm oceans?")
    found = await DuplicateGate().check([first, again, other], MATERIAL, ctx)
    assert [v.accept for v in found] == [True, False, True]
    assert first.id in found[1].reason


async def test_duplicate_when_an_earlier_round_accepted_it_rejects(ctx: StageContext) -> None:
    earlier = pair(question="Why do satellites miss snowfall over cold mountains?")
    material = Material(DATASET, (), DATASET.text, MATERIAL.sources, (earlier,))
    again = pair(question="Why do satellites miss snowfall over cold mountains", answer="Ice.", round=1)
    found = await DuplicateGate().check([again], material, ctx)
    assert not found[0].accept


async def test_duplicate_when_numbers_or_names_differ_accepts(ctx: StageContext) -> None:
    texts = [
        f"How many rain gauges were merged in the upper {r} basin in {y}?"
        for r in ("Indus", "Heihe")
        for y in (1990, 1991)
    ]
    found = await DuplicateGate().check([pair(question=t, kind="quantification") for t in texts], MATERIAL, ctx)
    assert all(v.accept for v in found)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("How does grazing by sheep affect the cover of mosses?", "It reduces it."),
         ("How does the cover of mosses affect grazing by sheep?", "Sheep avoid patches."), False),
        (("Was the model trained with rainfall and tested with runoff?", "Yes"),
         ("Was the model trained with runoff and tested with rainfall?", "No"), False),
        (("How much carbon do mangroves store compared with meadows?", "Three times as much."),
         ("How much carbon do meadows store compared with mangroves?", "A third."), False),
        (("Do sedges respond to warming more than forbs and mosses?", "Yes"),
         ("Do mosses respond to warming more than forbs and sedges?", "No"), False),
        (("Is the retreat faster in the eastern than in the western basin?", "Yes"),
         ("Is the retreat faster in the western than in the eastern basin?", "No"), False),
        (("What is the mean flow in summer at the gauge?", "12 m3/s"),
         ("What is the mean flow in winter at the gauge?", "3 m3/s"), False),
        (("How was the discharge of the Rhone at the gauge measured?", "With an ADCP"),
         ("How was discharge measured at the gauge of the Rhone?", "With an ADCP"), True),
        (("Is snow cover longer in the north than in the south of the plateau?", "Yes"),
         ("Is snow cover in the north of the plateau longer than in the south?", "Yes"), True),
    ],
)  # fmt: skip
async def test_duplicate_tells_exchanged_parts_from_another_order(
    one: tuple[str, str], other: tuple[str, str], same: bool, ctx: StageContext
) -> None:
    found = await DuplicateGate().check([pair(*one, "verification"), pair(*other, "verification")], MATERIAL, ctx)
    assert found[1].accept is not same


@pytest.mark.parametrize(
    ("answer", "evidence", "accepted"),
    [
        ("It reached 7.5 degrees below zero.", "The minimum soil temperature was -7.5 °C in February.", True),
        ("It was negative, at 0.62 m w.e. per year.", "The mean annual mass balance was -0.62 m w.e. a−1.", True),
        ("0.45 m per year", "Mean annual precipitation is 450 mm.", True),
        ("450 cm per year", "Mean annual precipitation is 450 mm.", False),
        ("Roughly 14 °C", "The mean temperature was 11.8 °C.", False),
    ],
)
async def test_not_supported_asks_of_a_number_only_the_number(
    answer: str, evidence: str, accepted: bool, ctx: StageContext
) -> None:
    quote = span(DESCRIPTION).model_copy(update={"text": evidence})
    one = pair("How much was measured there?", answer, "quantification", evidence=(quote,))
    assert (await verdict(NotSupportedGate, one, ctx)).accept is accepted


INFERRED = "Gauges read 4.2 m before the flood and 6.2 m after it, a change of –1.55 %."


@pytest.mark.parametrize(
    ("answer", "kind", "accepted"),
    [
        (
            "One may conclude that the peak was underestimated, which models should take into account.",
            "interpretation",
            True,
        ),
        ("One may conclude that the peak was underestimated by 3.4 m.", "interpretation", False),
        ("The level was lowered by 1.55 %.", "causal_consequence", True),
        ("Daily values were merged because satellites miss snowfall.", "causal_consequence", False),
    ],
)
async def test_not_supported_asks_of_an_inference_only_numbers(
    answer: str, kind: str, accepted: bool, ctx: StageContext
) -> None:
    one = pair(
        "What does the change of the gauges' level suggest?",
        answer,
        kind,
        evidence=(span(DESCRIPTION).model_copy(update={"text": INFERRED}),),
    )
    assert (await verdict(NotSupportedGate, one, ctx)).accept is accepted


@pytest.mark.parametrize(
    ("answer", "kind", "accepted"),
    [
        ("Because satellites see no snow over mountains.", "causal_antecedent", True),
        ("Landsat", "concept_completion", False),
        ("Soil was ploughed each spring.", "causal_antecedent", False),
        ("The merged gauges show that soil was ploughed each spring and harvests weighed.", "causal_antecedent", False),
        ("No", "verification", True),  # what is claimed stands in the question
        ("Soil was ploughed each spring.", "interpretation", True),  # an inference
    ],
)
async def test_not_supported_finds_an_answer_whose_words_its_evidence_lacks(
    answer: str, kind: str, accepted: bool, ctx: StageContext
) -> None:
    one = pair("What does the gauge show?", answer, kind, evidence=(span(DESCRIPTION),))
    found = NotSupportedGate().judge(one, MATERIAL, ctx)
    assert found.accept is accepted
    assert accepted or found.reason.endswith("of the answer's words are in its evidence")


FILLS = (
    "It closes the gap between small probes and large images, since its wide source region represents whole fields, "
    "rivers, forests, lakes."
)
CHINESE = (
    "此方法能够获得半径三百米左右源区内的土壤水分，较大的测量源区使其填补了传统点观测和遥感大面积观测尺度之间的空白，"
    * 2
)


@pytest.mark.parametrize(
    ("answer", "text", "accepted"),
    [
        (FILLS, f"Neutrons are counted. {CHINESE}", True),
        (FILLS, "Neutrons are counted (宇宙射线).", False),
        ("It closes the gap between probes and images.", "Neutrons are counted (宇宙射线).", True),  # too short to tell
        (
            "The TDR probe is closed to 40 neutrons.",
            f"Neutrons are counted. {CHINESE}",
            False,
        ),  # digits can be compared
        ("The 黑河流域 network has probes.", "Neutrons are counted.", True),
    ],
)
async def test_not_supported_compares_no_words_with_a_passage_in_another_script(
    answer: str, text: str, accepted: bool, ctx: StageContext
) -> None:
    one = pair("What is the method good for?", answer, "feature_specification", evidence=())
    assert NotSupportedGate().judge(one, Material(DATASET, (), text, {}), ctx).accept is accepted


def test_gates_that_are_off_run_if_they_are_named(make_ctx: Callable[..., StageContext]) -> None:
    def codes(**settings: object) -> set[str]:
        ctx = make_ctx(**settings)
        return {g.code for g in select_gates(ctx.config, ctx.registry)}

    assert "vague" not in codes()
    assert codes(gates=["schema", "vague"]) == {"schema", "vague"}
    assert {"vague", "pointing"} <= codes(gate_options={"vague": {"enabled": True}})
