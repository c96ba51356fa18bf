"""Two question sets compared row by row."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from click.testing import CliRunner

from scirgen.cli.main import cli


def write(path: Path, *rows: tuple[str, str, str]) -> Path:
    """A set of (dataset, question, answer)."""
    made = [
        {"id": f"r{n}", "dataset_id": d, "question": q, "answer": a, "question_type": "quantification"}
        for n, (d, q, a) in enumerate(rows)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def compared(out: Path, *given: object) -> tuple[str, dict[str, object]]:
    command = ["analyze", "--rows", *map(str, given), "--json", str(out)]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output, json.loads(out.read_text())


def test_each_row_of_two_sets_is_same_changed_removed_or_added(tmp_path: Path) -> None:
    old = write(
        tmp_path / "old.jsonl", ("d", "How deep?", "12 cm"), ("d", "Which year?", "1999"), ("e", "Why?", "Wind.")
    )
    new = write(tmp_path / "new.jsonl", ("d", "which year?", "2000"), ("d", "How deep?", "12 cm"), ("f", "Who?", "Li."))
    said, found = compared(tmp_path / "d.json", old, new)
    assert found["counts"] == {"same": 1, "changed": 1, "removed": 1, "added": 1}
    assert said.startswith("1 same, 1 changed, 1 removed, 1 added\n")
    assert "\nchanged  quantification  d\n  - Q Which year?\n  - A 1999\n  + Q which year?\n  + A 2000\n" in said
    assert "added: 1 more" in compared(tmp_path / "d.json", old, new, "--most", "0")[0]


def test_a_release_is_the_same_as_itself(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "examples" / "release" / "release" / "es"
    assert compared(tmp_path / "d.json", sample, sample)[1]["counts"] == {
        "same": 29, "changed": 0, "removed": 0, "added": 0,
    }  # fmt: skip


def test_rows_of_a_type_that_cite_the_same_text_are_counterparts(tmp_path: Path) -> None:
    sample = Path(__file__).parents[3] / "examples" / "release" / "release" / "es"
    shutil.copytree(sample, tmp_path / "edited")
    file = tmp_path / "edited" / "train.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rows[0] |= {"question": "¿Cuánto mide?", "answer": "Otra cosa."}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    _, found = compared(tmp_path / "d.json", sample, tmp_path / "edited")
    assert found["counts"] == {"same": 28, "changed": 1, "removed": 0, "added": 0}
