"""`calibrate --plant`: rules make answers false, and the filter is measured on them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.core.records import QAPair, Span
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.filter.faithfulness.calibrated import SHIPPED, read_coefficients
from scirgen.testing.server import FakeServer
from scirgen.testing.serving import serving
from scirgen_bench.calibrate.coefficients import write
from scirgen_bench.calibrate.falsehoods import KINDS, Around, places
from scirgen_bench.calibrate.plant import Caught, PlantedReport, as_text, caught_by, store_aucs
from scirgen_bench.cli.calibrate import calibrate
from tests.support.small_runs import run_small, write_records

EN = Taxonomies(Resources()).wording.of("en")


def around(**more: object) -> Around:
    given = {"places": ("Lake Arvel", "Norrun Bay"), "others": ("a satellite radar of the year 2019",)}
    return Around(EN, draw=random.Random(3), **{**given, **more})  # type: ignore[arg-type]


def pair(answer: str, evidence: str = "", question: str = "What was found?") -> QAPair:
    text = evidence or answer
    span = Span(document_id="d", start=0, end=len(text), text=text)
    return QAPair(
        id="q", dataset_id="d", question=question, answer=answer, question_type="comparison", evidence=(span,)
    )


@pytest.mark.parametrize(
    ("kind", "answer", "gone"),
    [
        ("number", "12.5 mm of rain fell", "12.5"),
        ("unit", "12.5 mm of rain fell", "mm"),
        ("place", "It snowed in Lake Issvar", "Issvar"),
        ("time", "It was measured in 1998 only", "1998"),
        ("time", "It was measured in March", "March"),
        ("direction", "The level increased", "increased"),
        ("direction", "Yes", "Yes"),
        ("stronger", "It may be caused by wind", "may"),
        ("other_study", "a small boat with a sonar", "boat"),
    ],
)
def test_a_falsehood_is_no_longer_what_the_evidence_says(kind: str, answer: str, gone: str) -> None:
    made = KINDS[kind](pair(answer), around())
    assert made and made != answer and gone not in made.split()


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        ("It rose from 2 m to 6 m", "It rose from 6 m to 2 m"),
        ("Lakes are deeper, with more fish than ponds", ""),
        ("Rain was higher in the north than in the south", "in the south was higher in the north than Rain"),
        ("5 kg were lost in winter and 8 kg were gained", "8 kg were lost in winter and 5 kg were gained"),
        ("It lasted from 2 to 6 m", ""),
    ],
)
def test_parts_are_exchanged_only_where_their_order_matters(answer: str, made: str) -> None:
    found = KINDS["swapped"](pair(answer), around())
    assert found == made or (made == "" and found != answer)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_does_not_lend_itself_stays_as_it_is(kind: str) -> None:
    assert KINDS[kind](pair("snow on the road"), around(others=(), places=())) == ""


def test_places_are_names_after_a_preposition_of_place() -> None:
    assert places("It rained in the Heihe River Basin in May and near Norrun") == ["Heihe River Basin", "Norrun"]


def report(auc: dict[str, float]) -> PlantedReport:
    kinds = {"a": "good", "b": "number", "c": "unit"}
    taken = {"rule": {"b"}, "judge": {"b", "c"}, "wide": {"a", "c"}, "idle": set(), "all together": {"b", "c"}}
    rows = Counter({"good": 1, "number": 1, "unit": 1})
    return PlantedReport(rows, caught_by(taken, kinds), {"shift": auc}, {"shift": None},
        ("fake",), [], [])  # fmt: skip


def test_the_table_says_what_each_part_catches_costs_and_finds_alone() -> None:
    found = report({"*": 0.8})
    assert found.caught["rule"] == Caught({"number": 1}, 0, 0, 1.0, found.caught["rule"].interval)
    assert (found.caught["wide"].good, found.caught["wide"].deserved, found.caught["judge"].alone) == (1, 0.5, 0)
    lines = as_text(found).splitlines()
    assert lines[0].startswith("1 candidates as they were, 2 made false")
    assert lines[-2:] == [
        "found nothing: idle",
        "AUC of shift: 0.80",
    ]
    assert lines.index(next(x for x in lines if x.startswith("all together"))) > 4


def test_the_auc_of_each_type_is_stored_with_the_coefficients(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    write(path, read_coefficients(next(SHIPPED.glob("*.json"))))
    store_aucs(path, report({"*": 0.8, "verification": 0.5}))
    stored = json.loads(path.read_text())["aucs"]
    assert stored["verification"] == 0.5 and stored["disjunctive"] < 0.7, "what was not measured again stays"


def test_either_labels_or_a_run_is_wanted(tmp_path: Path) -> None:
    result = CliRunner().invoke(calibrate, ["--plant", str(tmp_path), "--labels", str(tmp_path)])
    assert result.exit_code == 2 and "either --labels FILE or --plant RUN" in result.output


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the fake server over twelve records."""
    import asyncio

    folder = tmp_path_factory.mktemp("plant")

    async def make() -> None:
        async with FakeServer() as server:
            records = write_records(folder / "records.jsonl", 12)
            await run_small(server, records, folder / "run", generate__types_without_paper=6)

    asyncio.run(make())
    return folder / "run"


@pytest.mark.parametrize("judged", [False, True])
def test_plant_measures_a_runs_own_candidates(run: Path, tmp_path: Path, judged: bool) -> None:
    with serving() as uri:
        asked = ["--plant", str(run), "--each", "3", "--good", "9", "--scorer", uri, "--json", str(tmp_path / "f.json")]
        result = CliRunner().invoke(calibrate, [*asked, *(["--model", uri] if judged else [])])
    assert result.exit_code == 0, (result.output, result.exception)
    found = json.loads((tmp_path / "f.json").read_text())
    assert found["rows"]["good"] == 9 and sum(found["rows"].values()) > 9
    assert {"not_supported", "shift", "all together"} <= set(found["caught"])
    assert ("llm_judge, first reading" in found["caught"]) <= judged
    missed = sum(n for kind, n in found["rows"].items() if kind != "good")
    assert len(found["missed"]) == missed - sum(found["caught"]["all together"]["kinds"].values())
    assert len(found["lost"]) == found["caught"]["all together"]["good"]
