"""Formats for fine-tuning and reading comprehension, each read by the reader it is made for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.records import Rejection, Score
from scirgen.core.registry import load_registry
from scirgen.release_files.release import SPLITS, Release
from tests.support.content_factory import small_run
from tests.support.release_writing import write


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Release:
    run = small_run()
    unfaithful = [
        pair.model_copy(
            update={
                "id": f"qa-bad-{n}",
                "answer": "invented",
                "scores": (Score(name="shift", value=-0.4, threshold=0.1),),
            }
        )
        for n, pair in enumerate(run.all_pairs[:4])
    ]
    run.rejected += [
        Rejection(
            stage="filter", code="shift", reason="low", record_kind="QAPair", record_id=p.id, dataset_id=p.dataset_id,
            score=-0.4, record=p.model_dump_json(),
        )
        for p in unfaithful
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("tuning") / "release"
    return write(run, folder, load_registry(), formats=("jsonl", "sharegpt", "alpaca", "preference", "squad"))


def loaded(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    files = {split: str(folder / f"{split}.jsonl") for split in SPLITS if (folder / f"{split}.jsonl").stat().st_size}
    return datasets.load_dataset("json", data_files=files, cache_dir=str(cache))


def test_sharegpt_is_turned_into_messages_by_trl(
    formatted: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trl = pytest.importorskip("trl")
    found = loaded(formatted.folder / "sharegpt", tmp_path, monkeypatch)["train"]
    rows = list(formatted.rows("train"))
    chat = trl.maybe_convert_to_chatml(found[0])["messages"]
    assert [turn["role"] for turn in chat] == ["human", "gpt"]  # as ShareGPT calls them
    assert chat[0]["content"].endswith(rows[0].question) and chat[1]["content"] == rows[0].answer
    assert len(found) == len(rows)


def test_alpaca_rows_have_question_passages_and_answer(
    formatted: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = loaded(formatted.folder / "alpaca", tmp_path, monkeypatch)["train"]
    first = next(iter(formatted.rows("train")))
    assert {"instruction", "input", "output"} <= set(found.column_names)
    assert (found[0]["instruction"], found[0]["output"]) == (first.question, first.answer)
    assert any(e.text.split()[0] in found[0]["input"] for e in first.evidence) or not first.evidence


def test_preference_pairs_have_an_unfaithful_side_of_the_same_type(
    formatted: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trl")
    found = loaded(formatted.folder / "preference", tmp_path, monkeypatch)
    pairs = [row for split in found.values() for row in split]
    accepted = {r.id: r for r in formatted.rows()}
    assert pairs and {p["rejected_because"] for p in pairs} == {"shift"}
    for pair in pairs:
        good = accepted[pair["chosen_id"]]
        assert pair["chosen"] == f"{good.question}\n{good.answer}" and pair["rejected"].endswith("\ninvented")
        bad = next(u for u in formatted.unfaithful() if u.id == pair["rejected_id"])
        assert (bad.dataset_id, bad.question_type) == (good.dataset_id, good.question_type)


def test_squad_offsets_point_at_the_answer_s_text(formatted: Release) -> None:
    seen = 0
    for split in SPLITS:
        found = json.loads((formatted.folder / "squad" / f"{split}.json").read_text(encoding="utf-8"))
        assert found["version"] == "v2.0"
        for article in found["data"]:
            for paragraph in article["paragraphs"]:
                for asked in paragraph["qas"]:
                    (answer,) = asked["answers"]
                    start = answer["answer_start"]
                    assert paragraph["context"][start : start + len(answer["text"])] == answer["text"]
                    seen += 1
    assert seen > 0


def test_squad_is_read_by_datasets_with_its_field(
    formatted: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    file = str(formatted.folder / "squad" / "train.json")
    found = datasets.load_dataset("json", data_files=file, field="data", cache_dir=str(tmp_path))["train"]
    assert found[0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] >= 0


def test_release_without_the_format_holds_no_rejected_candidates(tmp_path: Path) -> None:
    assert not (write(small_run(), tmp_path / "release").folder / "unfaithful.jsonl").exists()


def test_a_format_without_content_is_not_written_and_the_release_says_so(tmp_path: Path) -> None:
    release = write(small_run(), tmp_path / "release", load_registry(), formats=("jsonl", "preference", "alpaca"))
    assert (release.folder / "alpaca").is_dir() and not (release.folder / "preference").exists()
    assert release.info.notes[-1] == "The format preference is not written: the release has nothing for it."
    card = (release.folder / "README.md").read_text("utf-8")
    assert "`alpaca/`" in card and "`preference/`" not in card
