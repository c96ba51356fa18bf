"""The pipeline's parts alone, from Python and the shell, on lists, DataFrames and files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from unittest.mock import AsyncMock

import pandas as pd
import pytest
from click.testing import CliRunner

import scirgen_bench
import scirgen_parts
from scirgen.cli.main import cli
from scirgen.commands.tables import Table, rows_of
from scirgen.core.errors import ConfigError, InputError
from scirgen.core.records import BlockKind
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.testing.server import FakeServer
from scirgen_parts import parts

PAPER = """# Lake ice of the north

## Abstract

Lake ice in the north has become thinner since the winter of 1988 because autumns are warmer.

## Methods

We used the Arvel lake ice thickness record (10.5072/ice.7), which was drilled at 24 holes every week from 1988.
"""
ROWS = [
    {"question": "How thick was the ice?", "answer": "62 centimetres", "context": "The ice was 62 centimetres thick."},
    {"question": "Was the ice thick?", "answer": "Yes", "context": ["The ice was thick.", "The lake is deep."], "n": 7},
]


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    file = tmp_path / "ice.md"
    file.write_text(PAPER, encoding="utf-8")
    return file


def written(folder: Path, kind: str) -> Path:
    frame = pd.DataFrame([{**r, "context": str(r["context"])} for r in ROWS])
    path = folder / f"qa.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_rows_come_from_any_table(kind: str, tmp_path: Path) -> None:
    path = written(tmp_path, kind)
    assert [r["answer"] for r in rows_of(path)] == ["62 centimetres", "Yes"]
    assert [r["answer"] for r in rows_of(tmp_path)] == ["62 centimetres", "Yes"]
    assert [r["answer"] for r in rows_of(pd.DataFrame(ROWS))] == ["62 centimetres", "Yes"]
    assert "n" not in next(iter(rows_of(pd.DataFrame(ROWS))))  # an empty cell is no value


def test_a_folder_of_questions_gives_rows_with_their_context(tmp_path: Path) -> None:
    query = {"_id": "q1", "text": "How thick?", "metadata": {"answer": "62 cm"}}
    (tmp_path / "queries.jsonl").write_text(json.dumps(query))
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "d1", "title": "Ice", "text": "It was 62 cm thick."}))
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (row,) = rows_of(tmp_path)
    assert (row["question"], row["answer"], row["context"]) == ("How thick?", "62 cm", "Ice\nIt was 62 cm thick.")


def test_a_table_shows_its_rows_and_becomes_a_data_frame() -> None:
    found = Table([{"a": 1.23456, "b": "<x>"}, {"a": 2.0, "c": "y" * 99}], "numbers")
    assert repr(found).startswith("numbers: 2 rows\n  a=1.235  b=<x>") and "y" * 60 not in repr(found)
    assert "&lt;x&gt;" in found._repr_html_() and list(found.to_pandas().columns) == ["a", "b", "c"]
    assert found[0]["b"] == "<x>" and len(found[:1]) == 1
    shown = repr(Table([{"authors": ["A. Ice", "B. Snow"], "criteria": {"results": "unclear"}}]))
    assert shown.endswith("authors=A. Ice, B. Snow  criteria=results unclear"), "no Python in what people read"


def test_parse_gives_front_matter_and_blocks(paper: Path) -> None:
    (found,) = scirgen_parts.parse(paper)
    assert found["title"] == "Lake ice of the north" and str(found["abstract"]).startswith("Lake ice in the north")
    assert [b["kind"] for b in found["blocks"]][:3] == ["title", "heading", "paragraph"]


def test_parse_names_the_file_that_cannot_be_read(paper: Path) -> None:
    (paper.parent / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    bad, good = scirgen_parts.parse([paper.parent])
    assert bad["error"] == "damaged" and "error" not in good


@pytest.mark.parametrize("flag", [[], ["--json"], ["--markdown"]])
def test_parse_gives_the_whole_reason_and_fails_if_nothing_can_be_read(flag: list[str], paper: Path) -> None:
    broken = paper.parent / "broken.pdf"
    broken.write_bytes(b"%PDF-1.4 nothing")
    (row,) = scirgen_parts.parse(broken)
    found = CliRunner().invoke(cli, ["parse", str(broken), *flag])
    assert "".join(str(row["reason"]).split()) in "".join(found.output.split())
    error = found.exception
    assert isinstance(error, InputError) and error.exit_status == 2 and error.hint
    assert CliRunner().invoke(cli, ["parse", str(broken), str(paper), *flag]).exit_code == 0


def test_parse_prints_markdown_that_reads_as_the_paper(paper: Path) -> None:
    found = CliRunner().invoke(cli, ["parse", str(paper), "--markdown"])
    assert found.exit_code == 0 and found.output.strip() == PAPER.strip()


@pytest.mark.parametrize("flag", [[], ["--json"], ["--markdown"]])
def test_parse_shows_tables_and_says_which_are_not_read(flag: list[str], paper: Path) -> None:
    tables = "\n\n| Lake | Ice |\n| --- | --- |\n| Inari | 62 |\n\n| 1 | 2 |\n| --- | --- |\n| 3 | 4 |\n"
    paper.write_text(PAPER + tables, encoding="utf-8")
    found = CliRunner().invoke(cli, ["parse", str(paper), *flag])
    if flag == ["--json"]:
        row = json.loads(found.stdout)
        assert (row["tables"], row["tables_refused"]) == (1, {"table_header": 1})
        assert {tuple(b["headings"]) for b in row["blocks"][-2:]} == {tuple(row["blocks"][-3]["headings"])}
        assert [b["text"] for b in row["blocks"] if b.get("refused") == "table_header"] == ["1 | 2\n3 | 4"]
        (cells,) = (b["table"]["cells"] for b in row["blocks"] if "table" in b)
        assert [c["text"] for c in cells] == ["Lake", "Ice", "Inari", "62"]
    elif flag:
        assert "| Inari | 62 |" in found.stdout
        assert "```\n1 | 2\n3 | 4\n```" in found.stdout
    else:
        assert re.search(r"tables +1\n +tables_refused +table_header 1", found.stdout)
    assert found.stderr == f"{paper}: table_header, “1 | 2 3 | 4”: no row names its columns\n"


@pytest.mark.parametrize(
    ("kind", "text", "markdown"),
    [
        ("paragraph", "## Call: lm(ice)", "\\## Call: lm(ice)"), ("paragraph", "1. Ice", "1\\. Ice"),
        ("paragraph", "#1 is ice, 2.5 m", "#1 is ice, 2.5 m"), ("list_item", "- Use of ice", "- Use of ice"),
        ("heading", "1. Ice", "## 1. Ice"), ("reference", "1. Mori A.", "- 1\\. Mori A."),
    ],
)  # fmt: skip
def test_markdown_keeps_text_from_becoming_marks(kind: str, text: str, markdown: str) -> None:
    assert parts.as_markdown({"blocks": [{"kind": kind, "text": text, "level": 1}]}) == markdown


def test_parse_shows_a_table_with_its_title_joined_to_its_label(paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [("caption", "Table 1"), ("caption", "Depths of the lake"), ("paragraph", "It is deep.")]
    label, title, prose = (ParsedBlock(kind=BlockKind(kind), text=text) for kind, text in texts)
    table = table_block([[GivenCell(t) for t in row] for row in (("Lake", "Depth"), ("Inari", "92"))], 1)
    read = AsyncMock(return_value=ParsedPaper(parser="t", blocks=(label, table, title, prose)))
    monkeypatch.setattr(parts, "read_paper", read)
    (row,) = parts.parse(paper)
    assert [(b["text"], "table" in b) for b in row["blocks"]] == [
        ("Table 1 Depths of the lake", False), (table.text, True), ("It is deep.", False),
    ]  # fmt: skip


def test_score_takes_the_option_of_generate_for_its_model(tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["score", str(written(tmp_path, "jsonl")), "--scorer", "shift"])
    assert isinstance(found.exception, ConfigError) and "is not a model URI" in found.exception.message


def test_parse_of_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        scirgen_parts.parse(tmp_path / "none.pdf")


async def test_score_gives_each_row_its_value_and_verdict(tmp_path: Path) -> None:
    async with FakeServer() as server:
        model = f"openai:fake@{server.url}"
        command = ["score", str(written(tmp_path, "jsonl")), "--model", model, "--json"]
        found = await in_thread(lambda: CliRunner().invoke(cli, command))
        table = await in_thread(lambda: scirgen_parts.score(ROWS, model=model))
    rows = [json.loads(line) for line in found.output.splitlines()]
    assert found.exit_code == 0 and [r["shift"] for r in rows] == [r["shift"] for r in table]
    assert all(r["verdict"] in ("kept", "rejected", "unsure") for r in table)
    assert all(bool(r["why"]) == (r["verdict"] == "rejected") for r in table)


async def test_tag_gives_types_by_form_and_levels(tmp_path: Path) -> None:
    async with FakeServer() as server:
        found = await in_thread(lambda: scirgen_parts.tag(pd.DataFrame(ROWS), model=f"openai:fake@{server.url}"))
    assert [r["question_type"] for r in found] == ["quantification", "verification"]
    assert all(str(r["bloom"]).startswith("C") for r in found)


@pytest.mark.parametrize("part", [scirgen_parts.score, scirgen_parts.tag])
async def test_the_first_line_names_the_model(part) -> None:
    async with FakeServer() as server:
        table = await in_thread(lambda: part(ROWS, model=f"openai:fake@{server.url}"))
    assert re.fullmatch(r"(scores|tags) by openai:fake\S*: 2 rows", repr(table).splitlines()[0])


async def test_match_says_which_papers_use_a_dataset(paper: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{"id": "lake", "title": "Arvel lake ice thickness", "doi": "10.5072/ice.7"}]))
    async with FakeServer() as server:
        model = f"openai:fake@{server.url}"
        (found,) = await in_thread(lambda: scirgen_parts.match(records, paper.parent, model=model))
    assert (found["dataset"], found["found_by"], found["used"]) == ("lake", "doi_in_text", True)
    assert "10.5072/ice.7" in str(found["evidence"])
    assert set(found["criteria"]) == {"methodology", "terminology", "results"}
    assert found["criteria"]["terminology"] == "yes"  # its DOI


@pytest.mark.parametrize(("row", "lacks"), [({"question": "Why?"}, "answer"), ({"q": "Why?"}, "question")])
def test_a_row_without_question_or_answer_is_named(row: dict[str, str], lacks: str) -> None:
    with pytest.raises(InputError, match=f"row 1 has no {lacks}; it has: {next(iter(row))}"):
        scirgen_parts.score([row], model="openai:fake@http://127.0.0.1:9/v1")


@pytest.mark.parametrize("part", ["audit", "score", "tag"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("frage,antwort\nWie viele?,Vierzig\n", "row 1 has no question; it has: frage, antwort"),
        ("question,answer\n", "holds no questions"),
        ("", "holds no questions"),
    ],
)
def test_a_table_without_questions_is_refused(part: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text)
    model = [] if part == "audit" else ["--model", "openai:fake@http://127.0.0.1:9/v1"]
    shown = CliRunner().invoke(cli, [part, str(tmp_path / "x.csv"), *model])
    assert isinstance(shown.exception, InputError) and says in str(shown.exception)


def test_a_setting_that_a_part_does_not_read_is_refused(paper: Path) -> None:
    with pytest.raises(ConfigError, match="does not use the setting"):
        scirgen_parts.parse(paper, settings={"seed": 2})


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_audit_reads_any_table(kind: str, tmp_path: Path) -> None:
    assert scirgen_bench.audit(written(tmp_path, kind)).rows == 2
    assert scirgen_bench.audit(tmp_path).rows == 2


def test_audit_of_a_list_shows_its_defects() -> None:
    found = scirgen_bench.audit([{"question": "What does this dataset hold?", "answer": "Ice."}])
    assert found.defects["pointing"] == 1 and "defect=pointing" in repr(found)
    assert set(found.to_pandas().columns) == {"defect", "rows", "share"}


def test_audit_holds_an_answer_against_the_context_of_its_own_row(tmp_path: Path) -> None:
    asked = "How many stations are in the network?"
    rows = [("Forty stations.", "The network has seven stations."), ("Forty stations.", "The network has 40 stations.")]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"question": asked, "answer": a, "context": c}) + "\n" for a, c in rows))
    shown = CliRunner().invoke(cli, ["audit", str(path)]).output
    assert "x.jsonl (jsonl, domain general): 2 rows about 1 dataset\n" in shown
    assert re.search(r"not_supported +1 +50.00%\n.*number forty is not in its evidence", shown)
    assert re.search(r"unexplained_abbreviation +not checked: rows have no sources", shown)


async def in_thread(work):
    import asyncio

    return await asyncio.to_thread(work)
