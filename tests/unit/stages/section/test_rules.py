"""Section classes by heading: languages, inheritance, and what the model decides."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest

from scirgen.core.records import Block, BlockKind, Document, SectionClass
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.section.rules import HeadingRules, heading_runs, normalise
from scirgen.stages.section.stage import fallback, label_by_rules


@cache
def rules() -> HeadingRules:
    return HeadingRules(Taxonomies(Resources()).sections.sections)


@pytest.mark.parametrize(
    ("heading", "language", "label"),
    [
        ("1 Introduction", "en", "abstract_introduction"),
        ("A B S T R A C T", "en", "abstract_introduction"),
        ("II. RELATED WORK", "en", "related_work"),
        ("2.1. Study area and data", "en", "method"),
        ("Materials & Methods", "en", "method"),
        ("Statistical analyses", "en", "method"),
        ("4 Results and discussion", "en", "experiment"),
        ("5 Summary and conclusions", "en", "conclusion"),
        ("Data Availability Statement", "en", "none"),
        ("Code and data availability", "en", "none"),
        ("CRediT authorship contribution statement", "en", "none"),
        ("Declaration of Competing Interest", "en", "none"),
        ("Acknowledgments", "en", "none"),
        ("Appendix A: Further figures", "en", "none"),
        ("Materiais e métodos", "pt", "method"),
        ("Resultados e discussão", "pt", "experiment"),
        ("Considerações finais", "pt", "conclusion"),
        ("Procedimientos Metodológicos", "es", "method"),
        ("Introducción", "es", "abstract_introduction"),
        ("Conclusión", "es", "conclusion"),
        ("Agradecimientos", "es", "none"),
        ("1 引言", "zh", "abstract_introduction"),
        ("2 数据与方法", "zh", "method"),
        ("3 结果与讨论", "zh", "experiment"),
        ("4 结论", "zh", "conclusion"),
        ("参考文献", "zh", "none"),
        ("1 Введение", "ru", "abstract_introduction"),
        ("Список литературы", "ru", "none"),
        ("3 Computational experiments", "en", "experiment"),
        ("Availability", "en", "none"),
        ("IX. Datos biográficos", "es", "none"),
        ("Correspondence analysis", "en", "method"),
        ("7 Session information", "en", "none"),
        ("5. Illustrations", "en", "experiment"),
        ("4 Test Results and Remarks", "en", "experiment"),
        ("18.4 Summary of findings", "en", "conclusion"),
        ("5. Final comments", "en", "conclusion"),
        ("FUTURE PLAN", "en", "conclusion"),
        ("The utility and future of it", "en", "conclusion"),
        ("REFFERENCES", "en", "none"),
        ("4. Labels: case studies on tests", "en", "experiment"),
        ("5 Other 3D tools in R", "en", "related_work"),
        ("摘 要", "zh", "abstract_introduction"),
    ],
)
def test_heading_when_usual_then_its_class(heading: str, language: str, label: str) -> None:
    assert rules().label(heading, language) == SectionClass(label)


@pytest.mark.parametrize(
    "heading",
    [
        "Ocean fronts as decadal thermostats",
        "Received signal strength",
        "Supplementation of diets",
        "Disclosure and response",
        "Reference frames",
        "Objective function module",
        "Significance testing",
    ],
)
def test_heading_when_topical_then_it_is_left_open(heading: str) -> None:
    assert rules().label(heading, "en") is None


def test_subheading_inherits_the_class_that_its_main_heading_names() -> None:
    assert rules().label_path(("3 Results", "3.1 Data"), "en") is SectionClass.EXPERIMENT
    assert rules().label_path(("Snow in the Andes", "Methods"), "en") is SectionClass.METHOD


def test_normalise_closes_up_spaced_capitals_and_drops_numbers() -> None:
    assert normalise("2.3.  Área de Estudio:") == "area de estudio"
    assert normalise("I N T R O D U C T I O N") == "introduction"


def document(*headings: tuple[int, str]) -> Document:
    """A document whose sections hold one sentence each, after a front paragraph."""
    text, blocks = "Front matter.", [Block(kind=BlockKind.PARAGRAPH, start=0, end=13)]
    path: tuple[str, ...] = ()
    for level, name in headings:
        path = path[: level - 1]
        for kind, piece in ((BlockKind.HEADING, name), (BlockKind.PARAGRAPH, f"About {name}.")):
            text += "\n\n"
            blocks.append(
                Block(
                    kind=kind,
                    start=len(text),
                    end=len(text) + len(piece),
                    level=level if kind is BlockKind.HEADING else None,
                    heading_path=path,
                )
            )
            text += piece
        path += (name,)
    return Document(id="d", paper_id="p", text=text, blocks=tuple(blocks))


def test_runs_when_listed_then_they_cover_the_whole_text_without_gaps() -> None:
    made = document((1, "Introduction"), (1, "Methods"), (2, "Data"))
    runs = heading_runs(made)
    assert [r.heading for r in runs] == ["", "Introduction", "Methods", "Data"]
    assert runs[0].start == 0 and runs[-1].end == len(made.text)
    assert all(a.end == b.start for a, b in pairwise(runs))


def test_first_summary_is_introduction_and_last_is_conclusion() -> None:
    made = document((1, "Summary"), (1, "Methods"), (1, "Results"), (1, "Summary"))
    labels = label_by_rules(made, heading_runs(made), rules())
    assert labels[1] is SectionClass.INTRODUCTION and labels[-1] is SectionClass.CONCLUSION


def classes(*headings: tuple[int, str]) -> list[str]:
    """The class of each heading, by rules alone."""
    made = document(*headings)
    runs = heading_runs(made)
    labels = label_by_rules(made, runs, rules())
    return [(label or fallback(runs, labels, i)).value for i, label in enumerate(labels)][1:]


TOPIC = (1, "Fronts and hiatus")
INTRODUCTION, DISCUSSION, CONCLUSIONS = (1, "Introduction"), (1, "Discussion"), (1, "Conclusions")


def test_topical_sections_of_a_paper_without_results_are_experiment() -> None:
    assert classes(INTRODUCTION, TOPIC, CONCLUSIONS)[1] == "experiment"


@pytest.mark.parametrize("topic", ["Call kellerman(n, f)", "The files and their default values"])
def test_topical_sections_with_formulas_or_programs_are_method(topic: str) -> None:
    assert classes(INTRODUCTION, (1, topic), CONCLUSIONS)[1] == "method"
    assert classes(INTRODUCTION, (1, "Results"), (1, topic), CONCLUSIONS)[2] == "method"


def test_topical_sections_of_other_papers_continue_the_results() -> None:
    assert classes(INTRODUCTION, (1, "Results"), TOPIC, CONCLUSIONS)[2] == "experiment"


def test_topical_sections_between_introduction_and_results_are_method() -> None:
    assert classes(INTRODUCTION, TOPIC, (2, "Warming of 1998"), (1, "Evaluation"))[1:3] == ["method", "method"]


def test_topical_sections_before_a_discussion_and_the_methods_are_experiment() -> None:
    assert classes(INTRODUCTION, TOPIC, DISCUSSION, (1, "Methods"))[1] == "experiment"


def test_topical_section_behind_key_points_is_no_back_matter() -> None:
    assert classes((1, "Key points"), TOPIC, CONCLUSIONS)[1] == "experiment"


def test_lettered_section_behind_the_conclusions_is_an_appendix() -> None:
    assert classes(INTRODUCTION, CONCLUSIONS, (1, "A Test data"), (2, "Model"))[2:] == ["none", "none"]
    assert classes(INTRODUCTION, CONCLUSIONS, (1, "A Proof of it"), (1, "B The Code"))[2:] == ["none", "none"]


def test_back_matter_below_the_last_section_is_none() -> None:
    last = (1, "Methods"), (2, "Ethics"), (2, "Ice"), (2, "Note"), (2, "Acknowledgements"), (1, "References")
    assert classes(INTRODUCTION, *last)[1:] == ["method"] * 3 + ["none"] * 3


def test_lettered_section_behind_numbered_ones_is_an_appendix() -> None:
    assert classes((1, "1 Introduction"), (1, "2 Ice"), (1, "A Methods"), (1, "B Results"))[2:] == ["none", "none"]
    assert classes((1, "1 Introduction"), (1, "A Methods"), (1, "2 Results"))[1:] == ["method", "experiment"]


@pytest.mark.parametrize(
    "headings",
    [
        ((1, "IV. Conclusions"), (1, "V. Methods"), (2, "Sampling of lakes")),
        ((1, "IV. Limitations"), (1, "V. Results"), (1, "A. Ice")),
        (CONCLUSIONS, (1, "A closer look at errors"), (1, "A Note on Errors")),
        (CONCLUSIONS, (1, "C More ice"), (1, "A. Methods")),
        ((1, "1 Methods"), (1, "A new model of ice"), (1, "2 Results")),
        ((1, "1 Methods"), (1, "A closer look at ice")),
        ((1, "1 Methods"), (1, "A. Results"), (1, "B. Discussion")),
    ],
)
def test_other_section_behind_the_conclusions_is_no_appendix(headings: tuple[tuple[int, str], ...]) -> None:
    assert "none" not in classes(INTRODUCTION, *headings)


def test_runs_when_there_is_no_heading_then_one_run_holds_the_whole_text() -> None:
    made = document()
    (run,) = heading_runs(made)
    assert (run.start, run.end, run.heading) == (0, len(made.text), "")
    assert label_by_rules(made, [run], rules()) == [SectionClass.INTRODUCTION]


def test_runs_when_the_document_is_empty_then_there_are_none() -> None:
    assert heading_runs(Document(id="d", paper_id="p", text="", blocks=())) == []
