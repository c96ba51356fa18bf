from __future__ import annotations

import gzip
import json

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.release_files.release import Release
from scirgen_bench.published.scirgen_geo import scirgen_geo
from scirgen_bench.published.scirgen_geo_files import read_records


def record(i: int, *, extracts=(), questions=1, **more):
    return {
        "id": f"r{i}",
        "relatedPaper": len(extracts),
        "context": {
            "metadata": {"titleEn": f"Title {i}", "titleCn": "x", "description": f"About {i}", "license": "CC BY 4.0"},
            "themeList": [{"nameEn": "Snow", "nameCn": "x"}],
        },
        "extract_pdfs_data": list(extracts),
        "query": {
            "Instrumental/Procedural": [
                {"QuestionEn": f"How {i}-{n}?", "AnswerEn": "So.", "Level": "C4(Analyzing)"} for n in range(questions)
            ]
        },
    } | more


EXTRACT = {"background": ["One two.", "Three."], "research objective": ["Four."], "findings": [], "findingsCn": ["x"]}


def released(folder, **splits):
    for split, records in splits.items():
        (folder / split).mkdir(parents=True)
        for r in records:
            (folder / split / f"{r['id']}.json").write_text(json.dumps(r))
    return folder


def test_a_released_folder_becomes_a_release_with_its_published_splits(tmp_path):
    src = released(
        tmp_path / "ScIRGen-Geo",
        train=[record(1, extracts=[EXTRACT]), record(2)],
        dev=[record(3, extracts=[EXTRACT])],
        test=[record(4, query={})],
        full=[record(1, extracts=[EXTRACT]), record(2)],
    )
    result = CliRunner().invoke(cli, ["import", "scirgen-geo", str(src.parent), str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    release = Release(tmp_path / "out")
    assert {r.dataset_id: r.split for r in release.rows()} == {"r1": "train", "r2": "train", "r3": "dev"}
    assert {r.question_type for r in release.rows()} == {"instrumental_procedural"}
    assert {r.bloom for r in release.rows()} == {"C4"}
    assert [d.id for d in release.corpus()] == ["r1", "r2", "r3", "r4"]
    (paper,) = release.papers()
    assert paper.dataset_ids == ("r1", "r3")
    assert [a.text for a in release.aspects() if a.dataset_id == "r1"] == ["One two.", "Three.", "Four."]
    assert next(release.corpus("with-paper")).text == "About 1\nOne two.\nThree.\nFour."
    shared = {(x.left, x.right): x.shared for x in release.info.leakage if x.what == "papers"}
    assert shared[("train", "dev")] == 1


def test_resplitting_keeps_datasets_of_one_paper_together(tmp_path):
    src = released(
        tmp_path / "src", train=[record(i, extracts=[EXTRACT]) for i in range(2)], dev=[record(i) for i in range(2, 9)]
    )
    out = tmp_path / "out"
    assert CliRunner().invoke(cli, ["import", "scirgen-geo", str(src), str(out), "--resplit"]).exit_code == 0
    release = Release(out)
    split_of = {r.dataset_id: r.split for r in release.rows()}
    assert split_of["r0"] == split_of["r1"]
    assert all(x.shared == 0 for x in release.info.leakage)


def test_flat_folders_and_lines_are_read_too_and_in_the_order_of_ids(tmp_path):
    flat = released(tmp_path / "a", flat=[record(2), record(1)]) / "flat"
    lines = tmp_path / "records.jsonl.gz"
    with gzip.open(lines, "wt") as out:
        out.writelines(json.dumps(record(i, split="dev")) + "\n" for i in (2, 1))
    assert [(r["id"], s) for r, s in read_records(flat)] == [("r1", None), ("r2", None)]
    assert [(r["id"], s) for r, s in read_records(lines)] == [("r1", "dev"), ("r2", "dev")]


def test_papers_without_any_statement_are_not_taken_for_one_paper(tmp_path):
    empty = {"background": [], "findings": []}
    flat = released(tmp_path / "a", flat=[record(1, extracts=[empty, empty]), record(2, extracts=[empty])]) / "flat"
    content = scirgen_geo(flat)
    assert len({p for ids in content.uses.values() for p in ids}) == 3


def test_the_same_pair_twice_stays_two_rows_with_ids_of_their_own(tmp_path):
    twice = record(1)
    twice["query"]["Instrumental/Procedural"] *= 2
    pairs = list(scirgen_geo(released(tmp_path / "a", flat=[twice]) / "flat").pairs())
    assert len({p.id for p in pairs}) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "a"', "x.json: not valid JSON"),
        ("[1]", "expected an object, found int"),
        ('{"query": {}}', "without an id"),
    ],
)
def test_bad_input_is_named(tmp_path, content, message):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=message):
        scirgen_geo(tmp_path)


def test_a_missing_or_empty_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        scirgen_geo(tmp_path / "no")
    with pytest.raises(InputError, match="contains no"):
        scirgen_geo(tmp_path)


def test_a_damaged_gzip_and_a_bad_line_are_named(tmp_path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(json.dumps(record(1)).encode() * 500)[:60])
    with pytest.raises(InputError, match=r"cannot be read|not valid JSON"):
        scirgen_geo(cut)
    lines = tmp_path / "l.jsonl"
    lines.write_text(json.dumps(record(1)) + "\n{oops\n")
    with pytest.raises(InputError, match=r"l\.jsonl:2"):
        scirgen_geo(lines)


def test_files_named_after_splits_give_their_records_those_splits(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    for number, name in enumerate(("train.jsonl", "validation.jsonl", "test.jsonl")):
        (src / name).write_text(json.dumps(record(number)) + "\n")
    assert {r["id"]: s for r, s in read_records(src)} == {"r0": "train", "r1": "dev", "r2": "test"}


def test_record_of_full_is_not_read_again_under_another_file_name(tmp_path):
    src = released(tmp_path / "src", train=[record(1)], full=[record(2)])
    (src / "full" / "another-name.json").write_text(json.dumps(record(1)))
    assert {r["id"]: s for r, s in read_records(src)} == {"r1": "train", "r2": None}


def test_records_without_a_split_get_one_and_the_command_says_so(tmp_path):
    flat = released(tmp_path / "a", flat=[record(i) for i in range(9)]) / "flat"
    out = tmp_path / "out"
    result = CliRunner().invoke(cli, ["import", "scirgen-geo", str(flat), str(out), "--split", "test"])
    assert result.exit_code == 0, result.output
    assert {name: s.rows for name, s in Release(out).info.splits.items()} == {"train": 0, "dev": 0, "test": 9}
    assert "9 record(s) without a published split are in test." in result.output
    result = CliRunner().invoke(cli, ["import", "scirgen-geo", str(flat), str(out)])
    assert "the records state no splits, so new ones were made" in result.output
