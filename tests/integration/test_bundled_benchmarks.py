"""Question answering and pooled judgements with the bundled model: what a user sees, on a release of six questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("torch")

from scirgen.cli.main import cli

pytestmark = pytest.mark.model

FACTS = (
    (
        "snow",
        "Snow depth of the Arvel valley",
        "Daily snow depth at 40 stations of the Arvel valley from 1979 to 2018.",
    ),
    ("ice", "Lake ice of Issvar", "Dates of freezing and break-up of lake Issvar, read from satellite images."),
    ("soil", "Soil moisture of Norrun", "Half-hourly soil moisture at three depths in the Norrun grasslands."),
)
QUESTIONS = {
    "snow": [("Quantification", "At how many stations was snow depth measured in the Arvel valley?", "40"),
             ("Verification", "Does the snow record of the Arvel valley end in 2018?", "Yes")],
    "ice": [("Definition", "What do the data on lake Issvar hold?", "Dates of freezing and break-up of the lake."),
            ("Concept Completion", "What were the dates of lake Issvar read from?", "Satellite images")],
    "soil": [("Quantification", "At how many depths was soil moisture measured in Norrun?", "three"),
             ("Verification", "Is the soil moisture of Norrun a daily record?", "No")],
}  # fmt: skip


def ran(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundled")
    with (folder / "records.jsonl").open("w") as out:
        for key, title, text in FACTS:
            query = {t: [{"QuestionEn": q, "AnswerEn": a}] for t, q, a in QUESTIONS[key]}
            context = {"metadata": {"titleEn": title, "description": text}}
            out.write(json.dumps({"id": key, "context": context, "query": query, "split": "test"}) + "\n")
    ran("import", "scirgen-geo", str(folder / "records.jsonl"), str(folder / "geo"))
    return folder / "geo"


def test_answers_stand_beside_both_baselines_and_are_kept(release: Path) -> None:
    out = release.parent / "qa.json"
    command = ("benchmark", "qa", str(release), "--model", "bundled:smollm2-135m", "--k", "0,1", "--json", str(out))
    shown = ran(*command)
    first = json.loads(out.read_text())
    rows = {(r["system"].split("@")[0], r["k"]): r for r in first["rows"]}
    assert set(rows) == {
        ("bundled:smollm2-135m", 0),
        ("bundled:smollm2-135m", 1),
        ("always Yes", 0),
        ("copy the context", 1),
    }
    assert all(r["questions"] == 6 and r["failed"] == 0 for r in rows.values())
    figures = {name: row["metrics"] for name, row in rows.items()}
    assert figures["always Yes", 0]["exact (short)"] == pytest.approx(1 / 5), "one of the five short answers is Yes"
    # What a passage gains a 135M model on six questions is chance; that copying the context beats "Yes" is not.
    assert 1 > figures["copy the context", 1]["ROUGE-L (long)"] > figures["always Yes", 0]["ROUGE-L (long)"]
    assert figures["always Yes", 0]["entailed"] == pytest.approx(1 / 6, abs=1e-5)
    assert all(a["answer"] for a in first["answers"])
    assert "12 of 12 answers" in shown.output
    ran(*command)
    assert json.loads(out.read_text()) == first


def test_pooled_pairs_are_graded_and_the_grades_are_measured_with(release: Path) -> None:
    shown = ran(
        "benchmark", "pool", str(release), "--model", "bundled:smollm2-135m", "--limit", "2", "--depth", "2"
    )  # fmt: skip
    folder = release.parent / "geo-pool"
    judged = [json.loads(line) for line in (folder / "grades.jsonl").read_text().splitlines()]
    assert len({j["query_id"] for j in judged}) == 2 and sum("gold" in j["found_by"] for j in judged) == 2
    assert all(j["grade"] in (0, 1, 2, 3) and j["reason"].strip() for j in judged)
    assert "mean of gold" in shown.output
    out = release.parent / "graded.json"
    ran("benchmark", "retrieval", str(release), "--qrels", str(folder / "qrels.tsv"), "--json", str(out))
    report = json.loads(out.read_text())
    assert report["judgements"] == "graded" and report["queries"] == 2
    assert all(0 < row["judged@10"] <= 1 for row in report["rows"])
