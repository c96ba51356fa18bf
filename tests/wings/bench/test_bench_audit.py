"""Reading question-answer sets of four layouts, and finding planted defects in them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.api import find_domain
from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, InputError
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.release_files.qafiles import QAFile, open_qa
from scirgen_adapt.scaffold import scaffold
from scirgen_adapt.show import gates as gates_command
from scirgen_bench import audit
from scirgen_bench.cli.audit import audit as audit_command
from scirgen_bench.defects import Audit, judge_rows
from scirgen_bench.rowfiles import type_key
from tests.support.realdata import REALDATA

REAL = REALDATA
SAMPLE = Path(__file__).parents[3] / "examples" / "release" / "release" / "pt"
DESCRIPTION = (
    "Daily snow depth in metres from 1980 to 2020, merged from 2,400 gauges because satellites miss deep snow."
)


def record(id: str, **questions: list[tuple[str, str]]) -> dict[str, object]:
    return {
        "id": id,
        "context": {"metadata": {"titleEn": f"Snow depth of region {id}", "description": DESCRIPTION}},
        "extract_pdfs_data": [{"findings": ["Snow depth fell by 12 percent in spring."]}],
        "query": {
            k.replace("_", " "): [{"QuestionEn": q, "AnswerEn": a, "Level": "C2(Understanding)"} for q, a in v]
            for k, v in questions.items()
        },
    }


ONE = record(
    "a",
    Verification=[("Do satellites miss deep snow?", "Yes"), ("Is snow depth given in metres?", "error")],
    Quantification=[("How many gauges were merged for snow depth?", "2,400 gauges")],
    Causal_Antecedent=[("Why were gauges merged in this dataset?", "Because satellites miss deep snow.")],
)
TWO = record(
    "b",
    Verification=[("Is snow depth measured by gauges?", "No")],
    Quantification=[("How many gauges were merged for snow depth?", "77 gauges")],
)


def run(file: QAFile) -> Audit:
    return judge_rows(file, Config(), Resources(find_domain("geo")), load_registry())


def lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def geo_folder(root: Path) -> Path:
    for split, one in (("train", ONE), ("dev", TWO)):
        (root / split).mkdir(parents=True)
        (root / split / f"{one['id']}.json").write_text(json.dumps(one), encoding="utf-8")
    return root


def test_open_qa_reads_geo_records_with_types_levels_and_context(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(json.dumps({**ONE, "split": "train"}) + "\n" + json.dumps({**TWO, "split": "dev"}) + "\n")
    found = open_qa(path)
    assert found.kind == "scirgen-geo"
    rows = list(found.rows())
    assert len(rows) == 6 and len(list(open_qa(path, "dev").rows())) == 2
    assert (rows[0].dataset_ids, rows[0].question_type, rows[0].level, rows[0].split) == (
        ("a",),
        "Verification",
        "C2",
        "train",
    )
    group = next(found.groups())
    assert group.title == "Snow depth of region a"
    assert "2,400 gauges" in group.context and "12 percent in spring" in group.context


def test_open_qa_when_given_split_folders_takes_the_split_from_the_folder(tmp_path: Path) -> None:
    found = open_qa(geo_folder(tmp_path))
    assert {(r.dataset_ids[0], r.split) for r in found.rows()} == {("a", "train"), ("b", "dev")}


def test_open_qa_when_given_beir_joins_queries_qrels_and_corpus(tmp_path: Path) -> None:
    lines(
        tmp_path / "corpus.jsonl",
        [{"_id": "d1", "title": "Snow", "text": DESCRIPTION}, {"_id": "d2", "title": "", "text": "x"}],
    )
    lines(
        tmp_path / "queries.jsonl",
        [{"_id": "q1", "text": "What is deep snow?"}, {"_id": "q2", "text": "What is shallow snow?"}],
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t1\nq2\td1\t0\n")
    found = open_qa(tmp_path)
    rows = {r.id: r for r in found.rows()}
    assert found.kind == "beir"
    assert (rows["q1"].dataset_ids, rows["q1"].answer, rows["q1"].split) == (("d1", "d2"), None, "test")
    assert rows["q2"].dataset_ids == ()
    assert [r.id for r in open_qa(tmp_path, "test").rows()] == ["q1"]


def test_open_qa_when_given_plain_lines_reads_the_usual_keys(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "qa.jsonl",
        [{"query": "What is deep snow?", "answers": ["snow above 1 m"], "doc_id": "d", "context": "c"}],
    )
    (row,) = open_qa(path).rows()
    assert (row.question, row.answer, row.dataset_ids) == ("What is deep snow?", "snow above 1 m", ("d",))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.jsonl", '{"question": "a"}\n{"question": \n', "x.jsonl:2: not valid JSON"),
        ("x.jsonl", '{"question": "a"}\n[1]\n', "x.jsonl:2: expected an object"),
        ("x.jsonl", '{"title": "a"}\n', "no 'question'"),
        ("x.jsonl", "", "holds no questions"),
        ("x.json", "{", "not valid JSON"),
        ("x.jsonl.gz", "not gzip", "cannot be read"),
    ],
)
def test_open_qa_when_the_file_is_wrong_names_file_and_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=says.replace("'", ".")) as caught:
        list(open_qa(tmp_path / name).rows())
    assert caught.value.hint


def test_open_qa_when_nothing_is_there_says_what_to_give(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(InputError) as caught:
            open_qa(path)
        assert "BEIR" in caught.value.hint


def test_type_key_maps_published_names_to_ids() -> None:
    assert type_key("Instrumental/Procedural") == "instrumental_procedural"
    assert type_key("Causal Antecedent") == "causal_antecedent"


def test_audit_when_defects_are_planted_counts_each_once(tmp_path: Path) -> None:
    found = run(open_qa(geo_folder(tmp_path)))
    assert (found.rows, found.datasets) == (6, 2)
    assert {k: n for k, n in found.defects.items() if n} == {
        "schema": 1,  # the answer "error"
        "type_answer": 1,  # which is no yes or no either
        "pointing": 1,  # "in this dataset"
        "vague": 1,  # which could be any
        "not_supported": 1,  # 77 gauges
        "conflicting_gold": 2,  # one question, two datasets, two answers
    }
    assert found.clean_rows == 2
    assert found.verification == {"yes": 1, "no": 1, "other": 1}
    assert found.yes_share == pytest.approx(1 / 3)
    assert found.repeated_questions == 1
    assert found.most_repeated == ("How many gauges were merged for snow depth?", 2)
    assert "not_verbatim" in found.not_checked


def test_audit_when_rows_have_no_answers_leaves_those_gates_out(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "q.jsonl",
        [{"question": "Why were gauges merged in this study?"}, {"question": "What is deep snow?"}],
    )
    found = run(open_qa(path))
    assert {k for k, n in found.defects.items() if n} == {"pointing"}
    assert {"schema", "type_question", "type_answer", "not_supported", "not_verbatim"} <= found.not_checked.keys()
    assert found.yes_share is None


OTHER_LANGUAGES = [
    {"question": "Wird die Eisdicke des Arvelsees täglich gemessen?", "answer": "Ja", "question_type": "verification"},
    {
        "question": "Warum wurden die Pegel des Arvelsees zusammengeführt?",
        "answer": "Weil Satelliten tiefen Schnee über dem Eis nicht erkennen.",
        "question_type": "causal_antecedent",
    },
    {"question": "阿维尔湖的冰厚是否每天测量？", "answer": "是", "question_type": "verification"},
    {
        "question": "为什么合并了阿维尔湖的雪深观测站？",
        "answer": "因为卫星无法识别冰面上的深雪。",
        "question_type": "causal_antecedent",
    },
]


def test_audit_judges_each_row_in_its_own_language(tmp_path: Path) -> None:
    found = run(open_qa(lines(tmp_path / "q.jsonl", OTHER_LANGUAGES)))
    assert found.languages == {"de": 2, "zh": 2}
    assert not {k: n for k, n in found.defects.items() if n} and found.yes_share == 1


def test_audit_takes_the_stated_language_where_rows_state_none(tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", [{"question": "Ist Schnee tief?", "answer": "Ja"}])
    result = CliRunner().invoke(audit_command, [str(path), "--set", "language=de"])
    assert result.exit_code == 0 and "languages: de 1" in result.output


def test_audit_refuses_a_setting_that_it_does_not_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", OTHER_LANGUAGES)
    found = CliRunner().invoke(audit_command, [str(path), "--set", "seed=1"])
    assert isinstance(found.exception, ConfigError) and "does not use the setting" in found.exception.message


def test_audit_of_a_release_runs_the_gate_of_its_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = scaffold("ice", tmp_path, load_registry(), parts=("gate",))
    gate = package / "scirgen_ice" / "gate.py"
    gate.write_text(gate.read_text().replace("50.0", "1.0"))
    (package / "ice-1.dist-info").mkdir()
    (package / "ice-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: ice\nVersion: 1\n")
    (package / "ice-1.dist-info" / "entry_points.txt").write_text("[scirgen.plugins]\nice = scirgen_ice:PLUGIN\n")
    release = tmp_path / "release"
    shutil.copytree(SAMPLE, release)
    info = json.loads((release / "release.json").read_text())
    (release / "release.json").write_text(json.dumps({**info, "domain": "ice"}))
    assert "ice_gate" not in audit(release).defects, "a domain that is not installed"
    monkeypatch.syspath_prepend(str(package))
    load_registry.cache_clear()
    try:
        found = CliRunner().invoke(audit_command, [str(release)])
        assert found.exit_code == 0 and re.search(r"domain ice\).*\nice_gate +14 ", found.output, re.S), found.output
        assert audit(release).defects["ice_gate"] == 14
        assert "ice_gate" not in audit(release, domain="general").defects
    finally:
        monkeypatch.undo()
        load_registry.cache_clear()


def test_audit_command_writes_the_documented_json(tmp_path: Path) -> None:
    out = tmp_path / "audit.json"
    result = CliRunner().invoke(audit_command, [str(geo_folder(tmp_path / "geo")), "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert "pointing" in result.output and "yes: 33.3%" in result.output
    written = json.loads(out.read_text())
    assert written["rows"] == 6
    assert written["defects"]["pointing"] == 1
    assert written["defects"]["duplicate"] == 0
    assert written["yes_share"] == pytest.approx(1 / 3)
    assert written["repeated_questions"] == 1


def test_audit_prints_json_where_no_path_follows(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,answer\nHow deep is Lake Aral?,12 m\n")
    result = CliRunner().invoke(audit_command, [str(tmp_path / "rows.csv"), "--json"])
    assert json.loads(result.output)["rows"] == 1


def _scirgen_geo() -> Path:
    path = REAL / "geo" / "records.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"REAL DATA MISSING: {path}; set SCIRGEN_REALDATA")
    return path


@pytest.mark.realdata
def test_rows_of_scirgen_geo_are_read_with_their_errors() -> None:
    file = open_qa(_scirgen_geo())
    answers = [r.answer for r in file.rows() if r.question_type == "Verification"]
    said = {a: sum((x or "").strip().lower().startswith(a) for x in answers) for a in ("yes", "no", "error")}
    # Of all splits 1,990 / 28 / 12; the test split's questions are held back.
    assert said == {"yes": 1878, "no": 27, "error": 10}


@pytest.mark.realdata
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_audit_of_scirgen_geo_finds_what_its_authors_left() -> None:
    found = run(open_qa(_scirgen_geo(), "dev"))
    assert found.rows == 8784
    assert found.yes_share is not None and found.yes_share > 0.97
    assert found.pointing_phrases / found.rows == pytest.approx(0.064, abs=0.003)
    assert found.defects["pointing"] / found.rows < 0.01


def test_gates_list_shows_codes_switches_and_configured_thresholds() -> None:
    settings = [
        "--set",
        "filter.gate_options.duplicate.threshold=0.9",
        "--set",
        "filter.gate_options.pointing.enabled=false",
    ]
    result = CliRunner().invoke(gates_command, ["list", "--json", *settings])
    assert result.exit_code == 0, result.output
    rows = {r["code"]: r for r in json.loads(result.output)}
    assert rows["duplicate"]["threshold"] == 0.9
    assert rows["pointing"]["on"] is False and rows["schema"]["on"] is True
    assert all(r["explanation"] for r in rows.values())


JETS = (
    "The jets of the active galaxy were observed with the VLA at 5 GHz. The jet is 20 kpc long and bends by 30 degrees."
)


def test_a_question_about_another_subject_than_its_text_is_found(tmp_path: Path) -> None:
    asked = {
        "etna": "When did Mount Etna erupt before its crater collapsed?",
        "jet": "How long is the jet of the active galaxy that the VLA observed?",
        "short": "Why?",
        "spanish": "¿Cuándo entró en erupción el volcán Etna por primera vez?",
    }
    rows = [{"id": i, "question": q, "answer": "20 kpc", "context": JETS} for i, q in asked.items()]
    found = run(open_qa(lines(tmp_path / "q.jsonl", rows), None, ""))
    assert [i for i, _, _ in found.examples["off_context"]] == ["etna"]
    assert "etna" in found.examples["off_context"][0][2]
    bare = [{"question": asked["etna"], "answer": "In 1669."}]
    assert "off_context" in run(open_qa(lines(tmp_path / "bare.jsonl", bare), None, "")).not_checked


def test_reasons_name_rows_by_the_ids_of_the_file(tmp_path: Path) -> None:
    question = "How long is the jet of the active galaxy that the VLA observed?"
    rows = [{"id": f"r{n}", "question": question, "answer": "20 kpc", "context": JETS} for n in range(2)]
    found = run(open_qa(lines(tmp_path / "q.jsonl", rows), None, ""))
    (_, _, reason) = found.examples["duplicate"][0]
    assert reason.startswith("repeats r0: ")


def test_doubts_about_rows_that_a_judge_kept_are_no_defects(tmp_path: Path) -> None:
    row = {
        "question": "How many gauges were merged for snow depth?", "answer": "77 gauges", "context": DESCRIPTION,
        "question_type": "quantification", "dataset_id": "a",
    }  # fmt: skip
    empty = {**row, "question": "Why were they merged?", "answer": "Not specified."}
    judged = {"scores": [{"name": "llm_judge", "value": 1.0, "passed": True}]}
    plain = run(open_qa(lines(tmp_path / "plain.jsonl", [row, empty])))
    kept = run(open_qa(lines(tmp_path / "judged.jsonl", [{**row, **judged}, {**empty, **judged}])))
    assert plain.defects["not_supported"] == 2 and not plain.overruled
    assert kept.defects["not_supported"] == 0 and kept.overruled["not_supported"] == 2
    assert plain.defects["schema"] == kept.defects["schema"] == 1  # a gate that rejects beside a judge, too
    said = CliRunner().invoke(audit_command, [str(tmp_path / "judged.jsonl")]).output
    assert "overruled by the judge" in said and "not_supported 2" in said.partition("overruled")[2]


def test_gates_for_known_items_leave_questions_asked_first_alone(tmp_path: Path) -> None:
    row = {"question": "How many gauges?", "answer": "word " * 60, "question_type": "quantification", "dataset_id": "a"}
    found = run(open_qa(lines(tmp_path / "q.jsonl", [{**row, "id": "1"}, {**row, "id": "2", "asked": "seeking"}])))
    assert found.defects["type_answer"] == 1
