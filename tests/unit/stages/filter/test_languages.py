"""The gates in the six shipped languages: good pairs of each (`language_pairs/*.tsv`), and pairs that must not pass."""

from __future__ import annotations

import asyncio
import csv
from functools import cache
from pathlib import Path

import pytest

from scirgen.claims.conformance import question_problem
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, QAPair, Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Gate, Material
from scirgen.stages.filter.gates.evidence import NotSupportedGate
from scirgen.stages.filter.gates.form import LanguageGate, SchemaGate, TypeAnswerGate
from scirgen.stages.filter.gates.reference import PointingGate
from scirgen.stages.filter.stage import select_gates, silent_gates
from scirgen_embedded.gates import TypeQuestionGate, UnknownNameGate, VagueGate

PAIRS = Path(__file__).with_name("language_pairs")
LANGUAGES = ("de", "en", "es", "fr", "pt", "zh")
TAXONOMIES = Taxonomies(Resources())


def context(language: str, folder: Path) -> StageContext:
    resources = Resources()
    return StageContext(
        config=Config.model_validate({"language": language}), resources=resources, prompts=PromptLibrary(resources),
        taxonomies=TAXONOMIES, registry=load_registry(), folder=folder, stage="filter", key="ds", fingerprint="f",
    )  # fmt: skip


@cache
def rows(language: str) -> tuple[tuple[str, str, str, str], ...]:
    with (PAIRS / f"{language}.tsv").open(encoding="utf-8", newline="") as lines:
        return tuple((r[0], r[1], r[2], r[3]) for r in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def made(language: str, kind: str, question: str, answer: str, evidence: str) -> tuple[QAPair, Material]:
    dataset = Dataset(id="ds", title="Observations 1960 to 2020", description=evidence, language=language)
    start = dataset.text.index(evidence)
    span = Span(document_id="ds", start=start, end=start + len(evidence), text=evidence)
    id = QAPair.make_id("ds", kind, question, answer)
    pair = QAPair(
        id=id,
        dataset_id="ds",
        question=question,
        answer=answer,
        question_type=kind,
        evidence=(span,),
        language=language,
    )
    return pair, Material(dataset, (), dataset.text, {"ds": dataset.text})


def rejected_by(gates: list[Gate], pair: QAPair, material: Material, ctx: StageContext) -> str:
    async def first() -> str:
        for gate in gates:
            found = (await gate.check([pair], material, ctx))[0]
            if not found.accept:
                return f"{gate.code}: {found.reason}"
        return ""

    return asyncio.run(first())


@pytest.mark.parametrize("language", LANGUAGES)
def test_good_pairs_pass_every_gate(language: str, tmp_path: Path) -> None:
    ctx = context(language, tmp_path)
    gates = [g for g in select_gates(ctx.config, ctx.registry) if not g.models()]
    problems = [
        (row[1], problem) for row in rows(language) if (problem := rejected_by(gates, *made(language, *row), ctx))
    ]
    assert len(rows(language)) >= 60
    assert {row[0] for row in rows(language)} == {k.id for k in TAXONOMIES.graesser.types}
    assert problems == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_questions_of_another_type_are_rejected(language: str) -> None:
    """Types whose form differs plainly: a question of the one must not pass as the other."""
    plain = {"verification", "quantification", "example", "disjunctive", "assertion", "request_directive", "comparison"}
    asked = [(kind, question) for kind, question, _, _ in rows(language)]
    confused = [
        (kind, other, question)
        for kind, question in asked
        for other in sorted(plain - {kind})
        if question_problem(TAXONOMIES.question_type(other, language), question) is None
    ]
    assert len(confused) < 0.12 * len(asked) * len(plain)


BAD: list[tuple[type[Gate], str, str, str, str]] = [
    (TypeAnswerGate, "de", "verification", "Nimmt der Sauerstoff in der Ostsee im Sommer ab?", "Vielleicht im Sommer"),
    (TypeAnswerGate, "zh", "verification", "长江口的溶解氧在夏季会下降吗？", "夏季"),
    (TypeAnswerGate, "es", "quantification", "¿Cuántos pozos se perforaron en Guaraní?", "muchos pozos"),
    (TypeAnswerGate, "fr", "disjunctive", "La salinité est-elle mesurée par sonde ou par prélèvement ?", "depuis 1998"),
    (TypeQuestionGate, "de", "quantification", "Warum sterben die Fichten im Sauerland ab?", "3 Gründe"),
    (TypeQuestionGate, "pt", "verification", "Onde desovam os dourados do rio Paraná?", "Sim"),
    (TypeQuestionGate, "zh", "example", "纳木错站的年平均降水量是多少？", "410毫米"),
    (PointingGate, "de", "definition", "Was ist das Ziel dieser Studie über Fichten?", "Fichten zählen."),
    (PointingGate, "fr", "definition", "Quelle est la période couverte par cette étude du Rhône ?", "1990 à 2000"),
    (PointingGate, "es", "definition", "¿Qué variables contiene este conjunto de datos del Ebro?", "turbidez"),
    (PointingGate, "pt", "definition", "O que conclui este estudo sobre o rio Doce?", "Que a turbidez aumentou."),
    (PointingGate, "zh", "definition", "本研究使用了什么方法测定降水？", "雨量计"),
    (VagueGate, "de", "feature_specification", "Welche Methoden wurden für die Daten verwendet?", "Sonden"),
    (VagueGate, "fr", "feature_specification", "Quelles méthodes sont utilisées dans les données ?", "des sondes"),
    (VagueGate, "es", "feature_specification", "¿Qué métodos se usan para los datos?", "sondas"),
    (VagueGate, "zh", "feature_specification", "数据集的空间分辨率是多少？", "1公里"),
    (VagueGate, "zh", "instrumental_procedural", "使用什么方法来评估观测数据的质量？", "对比法"),
    (TypeQuestionGate, "de", "definition", "Wie viele Brunnen hat das Emsland?", "3 Brunnen in der Heide"),
    (TypeQuestionGate, "es", "interpretation", "¿Es salina la laguna de Gallocanta?", "Sí, mucho en verano"),
    (TypeQuestionGate, "fr", "causal_consequence", "Pourquoi le Rhône a-t-il débordé en 2003 ?", "à cause des pluies"),
    (TypeQuestionGate, "pt", "enablement", "Quem mede a chuva em Belém?", "o instituto de meteorologia"),
    (TypeQuestionGate, "zh", "causal_antecedent", "青海湖的水位是否上升？", "是的，上升了"),
    (TypeQuestionGate, "de", "request_directive", "Ich weiß nicht, warum die Elbe steigt.", "Es regnet viel."),
    (PointingGate, "de", "definition", "Welche Auflösung hat der Datensatz?", "5 km"),
    (SchemaGate, "fr", "definition", "Qu'est-ce qu'un karst en Provence ?", "Le texte ne mentionne pas le karst."),
    (SchemaGate, "de", "definition", "Was versteht man unter Löss und der?", "Ein Sediment."),
    (LanguageGate, "de", "definition", "What is the meaning of loess in the geology of the region?", "Ein Sediment."),
    (LanguageGate, "es", "definition", "O que é a terra preta e como foi criada pelos povos da Amazônia?", "Un suelo."),
    (LanguageGate, "fr", "definition", "Was versteht man unter Löss und wie ist er entstanden?", "Un sédiment."),
    (LanguageGate, "zh", "definition", "What is the active layer of permafrost?", "夏季融化的土层"),
    (NotSupportedGate, "de", "definition", "Was ist Löss?", "Vulkanisches Glas"),
]


@pytest.mark.parametrize(("gate", "language", "kind", "question", "answer"), BAD)
def test_pair_with_a_fault_is_rejected(
    gate: type[Gate], language: str, kind: str, question: str, answer: str, tmp_path: Path
) -> None:
    evidence = "Abc 410 3 1990 2000."
    assert rejected_by([gate()], *made(language, kind, question, answer, evidence), context(language, tmp_path))


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "What resolution does the dataset CHIRPS have?"),
        ("de", "Welche Auflösung hat der Datensatz HYRAS?"),
        ("es", "¿Qué resolución tiene la lluvia del conjunto de datos CHIRPS?"),
        ("pt", "Que anos cobre a chuva do conjunto de dados MapBiomas?"),
        ("fr", "Quelle est la résolution du jeu de données « SAFRAN » ?"),
    ],
)
def test_dataset_that_the_question_names_is_no_pointer(language: str, question: str, tmp_path: Path) -> None:
    pair = made(language, "quantification", question, "5 km", "5 km")
    assert rejected_by([PointingGate()], *pair, context(language, tmp_path)) == ""


CROSSED = [
    ("zh", "feature_specification", "亚洲高山区冰川编目有哪些属性？", "面积、坡度和海拔"),
    ("es", "quantification", "¿Cuántos glaciares del Karakórum contiene el inventario?", "2400 glaciares"),
    ("de", "verification", "Enthält das Gletscherinventar Angaben zur Höhe im Karakorum?", "Ja"),
]


@pytest.mark.parametrize(("language", "kind", "question", "answer"), CROSSED)
@pytest.mark.parametrize("gate", [NotSupportedGate, UnknownNameGate])
def test_question_in_another_language_is_not_compared_word_by_word(
    gate: type[Gate], language: str, kind: str, question: str, answer: str, tmp_path: Path
) -> None:
    evidence = "The inventory of the glaciers in the Karakoram lists area, slope and elevation for all 2,400 of them."
    assert rejected_by([gate()], *made(language, kind, question, answer, evidence), context(language, tmp_path)) == ""


def test_number_that_the_text_in_another_language_lacks_is_rejected(tmp_path: Path) -> None:
    evidence = "The inventory of the glaciers in the Karakoram lists area and slope for all 2,400 of them."
    pair = made("zh", "quantification", "喀喇昆仑山有多少条冰川？", "3100条", evidence)
    assert "3100" in rejected_by([NotSupportedGate()], *pair, context("zh", tmp_path))


@pytest.mark.parametrize("language", LANGUAGES)
def test_shipped_language_has_patterns_for_every_gate_that_needs_them(language: str) -> None:
    config = Config.model_validate({"language": language})
    off = silent_gates(config, load_registry(), TAXONOMIES, "small")
    assert off == (["unknown_name"] if language == "de" else []), "German writes every noun with a capital"


def test_language_without_patterns_turns_the_gates_off_that_need_them(tmp_path: Path) -> None:
    ctx = context("it", tmp_path)
    off = silent_gates(ctx.config, ctx.registry, TAXONOMIES, "small")
    assert set(off) == {"type_question", "type_answer", "pointing", "vague", "language"}
    pair = made(
        "it", "verification", "Il livello del Po è diminuito nel 2022?", "Sì", "Il livello del Po è diminuito nel 2022."
    )
    gates = [g for g in select_gates(ctx.config, ctx.registry) if not g.models()]
    assert rejected_by(gates, *pair, ctx) == ""


@pytest.mark.parametrize(
    "question",
    [
        "Nahm die Schneehöhe an der Station Zugspitze zwischen 1980 und 2010 zu?",
        "Schliesst der Niederschlagsdatensatz TPHiPr Stationen in Indien ein?",
        "Sind im Datensatz TPHiPr Stationen in Indien enthalten?",
    ],
)
def test_german_verbs_may_end_a_question_and_im_may_stand_before_a_name(question: str, tmp_path: Path) -> None:
    ctx = context("de", tmp_path)
    gates = [
        g for g in select_gates(ctx.config, ctx.registry, "small") if g.code in ("schema", "pointing", "type_question")
    ]
    pair = made("de", "verification", question, "Nein", "Die Stationen von TPHiPr liegen in China.")
    assert rejected_by(gates, *pair, ctx) == ""


def test_type_in_a_language_has_its_stems_and_none_of_the_english_ones() -> None:
    kind = TAXONOMIES.question_type("verification", "de")
    assert "Gibt es" in kind.stems
    assert kind.hash != TAXONOMIES.question_type("verification").hash
    assert TAXONOMIES.question_type("verification", "it").stems == ()
    assert (
        TAXONOMIES.question_type("verification", "pt-BR").stems == TAXONOMIES.question_type("verification", "pt").stems
    )


def test_languages_added_by_an_override_are_used(tmp_path: Path) -> None:
    (tmp_path / "taxonomies").mkdir()
    text = (
        "languages:\n  no:\n    affirmative: [ja]\n    negative: [nei]\n    types:\n"
        "      verification:\n        stems: [Er]\n"
    )
    (tmp_path / "taxonomies" / "wording.yaml").write_text(text, encoding="utf-8")
    mine = Taxonomies(Resources(overrides=tmp_path))
    assert mine.wording.of("no").negative == ("nei",)
    assert mine.question_type("verification", "no").stems == ("Er",)
