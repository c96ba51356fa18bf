"""Each format is read back by the reader it is made for."""

from __future__ import annotations

import pytest
from content_factory import small_run
from test_release_write import write

from scirgen.core.release import SPLITS


@pytest.fixture
def release(tmp_path):
    return write(small_run(), tmp_path / "release")


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """`datasets`, offline, with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    import datasets

    datasets.disable_progress_bars()
    return datasets


def test_datasets_loads_every_configuration_offline_with_the_columns_of_the_card(release, hub, tmp_path):
    folder, cache = str(release.folder), str(tmp_path / "cache")
    names = hub.get_dataset_config_names(folder)
    assert names[0] == "questions"
    questions = hub.load_dataset(folder, "questions", cache_dir=cache)
    for split, hub_split in zip(SPLITS, ("train", "validation", "test"), strict=True):
        rows = list(release.rows(split))
        loaded = questions[hub_split]
        assert loaded["id"] == [r.id for r in rows]
        assert loaded[0]["evidence"][0]["text"] == rows[0].evidence[0].text
        assert loaded[0]["scores"] == [{"name": "seper", "value": 0.25, "threshold": 0.0, "passed": True}]
    corpus = hub.load_dataset(folder, "corpus-with-paper", split="corpus", cache_dir=cache)
    assert corpus["text"] == [d.text for d in release.corpus("with-paper")]
    assert set(names) == {
        "questions", "corpus-without-paper", "corpus-with-paper", "passages", "papers", "aspects"
    }  # fmt: skip


def test_mlcroissant_accepts_the_metadata_and_reads_the_rows(release):
    import mlcroissant

    dataset = mlcroissant.Dataset(str(release.folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    rows = list(dataset.records("questions-train"))
    assert [r["questions-train/id"].decode() for r in rows] == [r.id for r in release.rows("train")]
    assert len(list(dataset.records("passages"))) == release.info.counts["passages"]
