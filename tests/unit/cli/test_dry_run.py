"""``scirgen generate --dry-run``: what would be read, field by field, and why the rest would not."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path

import pymupdf
import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, ScirgenError
from scirgen.stages.collect.pages import other_language


def dry_run(records: Path, *more: str) -> tuple[int, str]:
    command = [
        "generate",
        "--domain",
        "geo",
        "--input",
        str(records),
        "--out",
        str(records.parent / "run"),
        "--dry-run",
    ]
    found = CliRunner().invoke(cli, [*command, *more])
    return found.exit_code, found.output + str(found.exception or "") + getattr(found.exception, "hint", "")


def test_first_records_are_shown_field_by_field_with_the_first_reasons(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": "Ice", "description": "Radar.", "Depth": "12 m"}, {"id": "b", "text": "no title"}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    code, said = dry_run(tmp_path / "r.json")
    assert code == 0
    assert "record    a" in said and "title        Ice" in said and "Depth        12 m" in said
    assert "doi          (empty)" in said
    assert "rejected: r.json[2]: the record has no title" in said
    rows[0]["licence"] = "CC BY-NC 4.0"
    (tmp_path / "r.json").write_text(json.dumps([*rows, {"id": "c", "title": "Snow", "licence": "CC0"}]))
    assert (
        "rejected: a: licence 'cc-by-nc-4.0' is not among cc0" in dry_run(tmp_path / "r.json", "--licences", "cc0")[1]
    )


def test_catalogue_of_which_nothing_is_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"heading": "Ice"}]))
    code, said = dry_run(tmp_path / "r.json")
    assert code != 0
    assert "no dataset would be read (no_title 1); first reason: r.json[1]: the record has no title" in said
    code, said = dry_run(tmp_path / "r.json", "--set", "collect.options.columns={title: heading}")
    assert code == 0 and "title        Ice" in said


def test_cause_why_nothing_is_read_has_its_own_hint(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice", "license": "CC-BY-4.0"}]))
    assert "Check --licences" in dry_run(tmp_path / "r.json", "--licences", "cc0")[1]
    (tmp_path / "scans").mkdir()
    with pymupdf.open() as scan:
        scan.new_page()
        scan.save(tmp_path / "scans" / "a.pdf")
    assert "All files are scans" in dry_run(tmp_path / "scans")[1]
    (tmp_path / "scans" / "b.pdf").write_text("%PDF-1.4")
    assert "scirgen parse FOLDER gives the reason" in dry_run(tmp_path / "scans")[1]


def test_adapter_that_fails_on_a_record_names_its_line_and_the_record(tmp_path: Path) -> None:
    from scirgen import FolderSource, Rejection, SourceSetup

    class Mine(FolderSource):
        name = "mine"

        def dataset(self, record, where):
            return super().dataset({"title": record["titel"]}, where)

    (tmp_path / "r.json").write_text(json.dumps([{"id": "st-7", "title": "Ice"}]))
    (found,) = Mine(SourceSetup(input=tmp_path / "r.json")).datasets()
    assert isinstance(found, Rejection)
    assert "KeyError (test_dry_run.py, line" in found.reason and "(record st-7)" in found.reason


def test_keys_that_are_not_read_are_counted_over_all_records(tmp_path: Path) -> None:
    rows = [
        {"title": f"Ice {n}", "doi": f"https://doi.org/10.5555/{n}", "how": {"tool": "steel rule"}} for n in range(30)
    ]
    (tmp_path / "r.json").write_text(json.dumps([*rows, {"title": "Snow", "description": "Depth."}]))
    code, said = dry_run(tmp_path / "r.json")
    assert code == 0 and "not read  how.tool of 30 records: 10.5555/0, 10.5555/1, 10.5555/2, ...\n" in said
    assert "filled    title 31, language 31, doi 30, description 1\n" in said
    assert "10.5555/29\n" in dry_run(tmp_path / "r.json", "--full")[1]


def test_a_column_of_papers_that_is_named_is_read(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(
        json.dumps([{"title": "Ice", "files": [{"paper": "a.md"}], "more": [{"x": "b.md"}]}])
    )
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text("# Ice\n\nIce became thinner in the north.")
    code, said = dry_run(tmp_path / "r.json", "--set", "collect.options.columns={papers: files.paper}")
    assert (
        code == 0 and "column 1" in said and "files.paper" not in said and "not read  of each record: more.x\n" in said
    )


def test_full_shows_whole_texts_and_every_key(tmp_path: Path) -> None:
    row = {"title": "Ice", "description": "word " * 40, **{f"k{n}": {"v": f"lost {n}"} for n in range(12)}}
    (tmp_path / "r.json").write_text(json.dumps([row]))
    short, full = dry_run(tmp_path / "r.json")[1], dry_run(tmp_path / "r.json", "--full")[1]
    assert "not read  12 keys in all (--full)" in short and "k11.v" in full and "word " * 39 in full


def test_column_that_no_record_has_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": "Ice"}, {"id": "b", "title": "Soil", "Text": "Radar.", "in": {"side": "x"}}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    columns = "--set", "collect.options.columns={description: [Abstract, Body], keywords: text, url: in.side}"
    code, said = dry_run(tmp_path / "r.json", *columns)
    assert code == 0
    assert "no record has the column 'Abstract' or 'Body' (description); columns are id, title, Text, in" in said
    assert said.count("no record has") == 1
    code, said = dry_run(tmp_path / "r.json", "--set", "collect.options.columns={title: Titel}")
    assert code != 0 and "no record has the column 'Titel' (title); columns are id, title, Text, in" in said


def test_requested_id_that_no_record_has_is_named(tmp_path: Path) -> None:
    rows = [{"id": "K-1", "title": "Ice", "doi": "10.5555/ice.1"}, {"id": "K-2", "related": "K-9"}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    code, said = dry_run(tmp_path / "r.json", "--ids", "K-999")
    assert code != 0 and "no record has the id 'K-999'" in said and "no_title" not in said
    code, said = dry_run(tmp_path / "r.json", "--ids", "K-2")
    assert code != 0 and "no_title" in said and "no record has" not in said
    code, said = dry_run(tmp_path / "r.json", "--ids", "10.5555/ICE.1", "--ids", "k-7")
    assert code == 0 and "warning   no record has the id 'k-7'\n" in said


def test_records_in_another_language_than_the_questions_are_named(tmp_path: Path) -> None:
    german = "Die Messungen der Schneehöhe an der Station dauern seit vielen Jahren an."
    rows = [{"id": f"d{n}", "title": "Die Schneehöhe", "description": german} for n in range(3)]
    rows.append({"id": "e", "title": "Snow depth", "description": "The depth of snow was measured for many years."})
    (tmp_path / "r.json").write_text(json.dumps(rows))
    served = ("--model", "openai:fake@http://127.0.0.1:9/v1")
    code, said = dry_run(tmp_path / "r.json", *served)
    line = "3 of 4 records are in German (de); questions will be in English: --language de"
    assert code == 0 and line in said
    for chosen in ("en", "de"):
        assert "questions will be" not in dry_run(tmp_path / "r.json", *served, "--language", chosen)[1]


@pytest.mark.parametrize(
    ("german", "portuguese", "line"),
    [
        (3, 0, "3 of 3 records are in German (de); the embedded model reads and writes English: a run needs --model"),
        (1, 0, "1 of 4 records is in German (de); the embedded model reads and writes English\n"),
        (2, 1, "3 of 6 records are in other languages: German (de) 2, Portuguese (pt) 1; the embedded model"),
    ],
)
def test_every_record_in_another_language_is_counted_before_a_model_is_needed(
    german: int, portuguese: int, line: str, tmp_path: Path
) -> None:
    texts = [("de", "Die Messungen der Schneehöhe an der Station dauern seit vielen Jahren an.")] * german
    texts += [("pt", "A espessura do gelo do lago foi medida todas as semanas durante muitos anos.")] * portuguese
    texts += [("en", "The depth of snow was measured for many years.")] * (0 if german == 3 else 3)
    rows = [{"id": f"{code}{n}", "title": "Neve", "description": text} for n, (code, text) in enumerate(texts)]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    code, said = dry_run(tmp_path / "r.json")
    assert code == 0 and line in said and f"({len(rows)} guessed from the text)" in said
    assert dry_run(tmp_path / "r.json", "--language", "de")[0] == 0  # nothing is written yet


def test_a_run_with_the_embedded_model_refuses_records_in_another_language() -> None:
    with pytest.raises(ConfigError, match=r"2 of 2 records are in German \(de\); the embedded model reads and writes"):
        other_language(Counter(de=2), Config())
    assert "the embedded model" in other_language(Counter(de=2, en=1), Config())


def test_only_a_language_that_is_not_stated_counts_as_guessed(tmp_path: Path) -> None:
    rows = [{"id": "a", "title": "Ice", "language": "en"}, {"id": "b", "title": "Snow"}]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    said = dry_run(tmp_path / "r.json")[1]
    assert "languages en 2 (1 guessed from the text)" in said
    assert "language     en\n" in said and "language     en (guessed)\n" in said


def test_list_has_every_record_and_paper_as_csv(tmp_path: Path) -> None:
    rows: list[dict[str, str]] = [
        {"id": f"d{n}", "title": f"Ice {n}", "licence": "CC BY 4.0", "papers": "a.md"} for n in range(30)
    ]
    (tmp_path / "r.json").write_text(json.dumps([*rows, {"id": "=x", "title": "Snow"}, {"id": "y"}]))
    (tmp_path / "papers").mkdir()
    licence = "This article is licensed under a Creative Commons Attribution-NonCommercial 4.0 International License."
    (tmp_path / "papers" / "a.md").write_text(f"# Lake ice\n\n{licence}\n\n## Abstract\n\nIce became thinner. " * 3)
    (tmp_path / "papers" / "b.pdf").write_text("%PDF-1.4")
    code, said = dry_run(tmp_path / "r.json", "--list")
    assert code == 0
    listed = list(csv.DictReader(io.StringIO(said[said.index("kind,") :])))
    assert [r["id"] for r in listed if r["kind"] == "record"] == [*(f"d{n}" for n in range(30)), "'=x", "y"]
    assert listed[31]["note"].startswith("not read: no_title")
    a, b = (r for r in listed if r["kind"] == "paper")
    assert (a["licence"], a["may be published"], a["file"]) == ("cc-by-nc-4.0", "not for commercial use", "a.md")
    assert a["datasets"].split("; ") == [f"d{n}" for n in range(30)]
    assert b["file"] == "b.pdf" and b["note"].startswith("damaged")


def test_papers_that_are_missing_damaged_or_print_something_else_are_named(tmp_path: Path) -> None:
    named = ["b.pdf", "a.md", *(f"gone{n}.pdf" for n in range(8))]
    (tmp_path / "r.json").write_text(json.dumps([{"id": "d", "title": "Ice", "papers": named}]))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "papers.csv").write_text("file,licence\na.md,CC BY-NC 4.0\n")
    printed = "This article is licensed under a Creative Commons Attribution 4.0 International License."
    (tmp_path / "papers" / "a.md").write_text(f"# Lake ice\n\n{printed}\n\n## Abstract\n\nIce became thinner. " * 3)
    (tmp_path / "papers" / "b.pdf").write_text("%PDF-1.4")
    said = dry_run(tmp_path / "r.json")[1]
    assert "warning   b.pdf: damaged" in said and "warning   gone5.pdf: not found: the record names it" in said
    assert "warning   a.md: licence: the catalogue states cc-by-nc-4.0, the paper prints cc-by-4.0" in said
    assert "gone6" not in said and "warning   2 more papers that" in said


def test_list_without_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["generate", str(tmp_path), "--list"])
    assert found.exit_code == 2 and "--list needs --dry-run" in found.output


def test_documents_that_nothing_reads_are_named(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.md").write_text("# Ice\n\n## Abstract\n\nIce became thinner in the north.")
    for name in ("b.docx", "~$b.docx", "c.pdf.gz", "d.pdf.gz", "e.tiff", "LICENSE"):
        (tmp_path / "papers" / name).write_text("x")
    said = dry_run(tmp_path / "papers")[1]
    assert "not read: b.docx. Save them as PDF" in said
    assert "neither papers nor records are not read: .gz 2, .tiff 1\n" in said
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice"}]))
    said = dry_run(tmp_path / "r.json")[1]
    assert "not read: b.docx. Save them as PDF" in said and "~$" not in said
    for name in ("a.md", "b.docx", "~$b.docx", "c.pdf.gz", "d.pdf.gz", "e.tiff"):
        (tmp_path / "papers" / name).unlink()
    (tmp_path / "papers" / "one.labx").write_text("x")
    assert "not read: one.labx. Save them as PDF" in dry_run(tmp_path / "r.json")[1]


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("parse.parser=nosuch", "unknown parser 'nosuch'"),
        ("generate.types=[nosuch]", "unknown question type 'nosuch'"),
        ("overrides=mine", "bloom.yaml:1: not valid YAML"),
    ],
)
def test_dry_run_refuses_what_a_run_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine" / "prompts" / "tag").mkdir(parents=True)
    (tmp_path / "mine" / "prompts" / "tag" / "bloom.yaml").write_text("\tx\n")
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice"}]))
    assert says in dry_run(tmp_path / "r.json", "--set", flag)[1]


def test_papers_in_another_language_are_counted(tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    texts = {"a.md": "The ice of the lake was measured every week. ", "b.md": "O gelo do lago foi medido toda semana. "}
    for name, text in texts.items():
        (tmp_path / "papers" / name).write_text(f"# {name}\n\n{text * 9}")
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice"}]))
    assert "warning   1 of 2 papers is in Portuguese (pt)\n" in dry_run(tmp_path / "r.json")[1]


def test_ocr_without_tesseract_says_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (tmp_path / "scans").mkdir()
    with pymupdf.open() as scan:
        scan.new_page()
        scan.save(tmp_path / "scans" / "a.pdf")
    said = dry_run(tmp_path / "scans", "--set", "parse.ocr=true")[1]
    assert "Install Tesseract and its language data" in said and "add --set parse.ocr" not in said
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice"}]))
    assert "Tesseract is not installed" in dry_run(tmp_path / "r.json", "--set", "parse.ocr=true")[1]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("filter.gates=[nope]", "unknown gate 'nope'"),
        ("filter.gate_options={vage: {enabled: true}}", "unknown gate 'vage'"),
        ("filter.faithfulness=[nope]", "unknown faithfulness 'nope'"),
    ],
)
def test_settings_that_a_start_refuses_are_refused(tmp_path: Path, setting: str, message: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice"}]))
    code, said = dry_run(tmp_path / "r.json", "--set", setting)
    assert code != 0 and message in said and "record " not in said


@pytest.mark.parametrize(
    "setting",
    [
        "generate.questions=MISSING",
        "generate.like=MISSING",
        "generate.about=MISSING.txt",
        "generate.about=no-such-id",
        "filter.coefficients=MISSING",
        "release.decontaminate=[MISSING]",
        "release.labels=[MISSING]",
        "overrides=MISSING",
    ],
)
def test_files_and_ids_that_settings_name_are_checked_as_a_run_does(tmp_path: Path, setting: str) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice", "description": "Radar."}]))
    missing = str(tmp_path / "nope")
    for command in (["generate", "--dry-run"], ["estimate"]):
        given = [*command, "--domain", "geo", "--input", str(tmp_path / "r.json"), "--out", str(tmp_path / "run")]
        found = CliRunner().invoke(cli, [*given, "--set", setting.replace("MISSING", missing)])
        assert isinstance(found.exception, ScirgenError) and found.exception.exit_status == 2, found.output
        assert re.search("nope|no-such-id|no dataset to estimate from", found.exception.message)


def test_subjects_without_a_record_are_named_beside_those_that_have_one(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps([{"id": "a", "title": "Ice", "description": "Radar."}]))
    code, said = dry_run(tmp_path / "r.json", "--set", "generate.about=[a, nope]")
    assert code == 0 and "warning   generate.about: no record has the id 'nope'" in said
