"""Labels by people in a release: unfaithful rows leave, corrections replace drafts, the card says who labelled what."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.release_files.release import Release
from scirgen.stages.base import StageContext
from scirgen.stages.release.stage import ReleaseStage
from scirgen_bench.labels.labelset import Hidden, Item, LabelSet, Shown
from scirgen_bench.labels.reviews import LabelFolders
from scirgen_label.agree import measure, write
from scirgen_label.draw import Request, draw
from scirgen_label.merge import merge
from scirgen_label.sources import Candidate, Material
from tests.support.content_factory import small_run
from tests.support.label_making import labels_file


class Pairs:
    """The pairs of a run, to draw from."""

    kind = "run"

    def __init__(self, pairs: list[QAPair]) -> None:
        self.pairs = {p.id: p for p in pairs}

    def candidates(self) -> Iterator[Candidate]:
        for p in self.pairs.values():
            yield Candidate(p.id, p.dataset_id, {"verdict": "kept"}, Hidden(verdict="kept", dataset_id=p.dataset_id))

    def material(self, records: Collection[str]) -> Material:
        return Material({r: Shown(question=self.pairs[r].question, answer=self.pairs[r].answer) for r in records})


@pytest.fixture
def labels(tmp_path: Path) -> LabelSet:
    """20 items: the first two wrong by both, the third disputed and settled as wrong, the fourth with a better
    answer."""
    guideline = PromptLibrary(Resources()).get("label/faithful")
    made = draw(
        Pairs(small_run().all_pairs), "run", Request("faithful", 20, strata=("verdict",)), guideline, tmp_path / "L"
    )
    better = {made.items[3].id: {"corrected_answer": "Exactly 12 cm."}}

    def says(wrong: int):
        return lambda n, item: "no" if n < wrong else "yes"

    merge(
        made, [labels_file(made, "A", tmp_path / "A", says(2), better), labels_file(made, "B", tmp_path / "B", says(3))]
    )
    merge(LabelSet(made.folder), [labels_file(made, "adjudicator", tmp_path / "C", says(1), items=made.items[2:3])])
    result = LabelSet(made.folder)
    write(result, measure(result, resamples=20))
    return result


async def _release(tmp_path: Path, name: str, *folders: Path) -> tuple[Release, list[tuple[str, str]]]:
    config = Config.model_validate({"release": {"labels": [str(f) for f in folders]}})
    resources = Resources()
    ctx = StageContext(
        config, resources, None, Taxonomies(resources), load_registry(), tmp_path / name, run=small_run()
    )
    (item,) = ReleaseStage().items(None, ctx)
    result = await ReleaseStage().process(item, ctx.at("release", item.key, "fp"))
    return Release(tmp_path / name), [(r.record_id, r.code) for r in result.rejections]


def _records(items: Collection[Item]) -> set[str]:
    return {i.record for i in items}


async def test_unfaithful_rows_leave_and_corrections_replace_drafts(tmp_path: Path, labels: LabelSet) -> None:
    before, _ = await _release(tmp_path, "without")
    release, rejections = await _release(tmp_path, "with", labels.folder)
    out = _records(labels.items[:3])
    assert {i for i, code in rejections if code == "expert_rejected"} == out
    assert release.info.left_out["release: expert_rejected"] == 3
    rows, drafts = ({r.id: r for r in x.rows()} for x in (release, before))
    assert not out & rows.keys()
    better = rows[labels.items[3].record]
    assert better.answer == "Exactly 12 cm." and better.checked == 2
    assert [(h.field, h.before, h.by) for h in better.history] == [
        ("answer", drafts[better.id].answer, labels.sample.guideline)
    ]
    checked = _records(labels.items[3:]) & rows.keys()
    assert checked and all(rows[i].checked == 2 for i in checked)
    assert all(r.checked == 0 and not r.history for r in drafts.values())


async def test_the_card_and_the_datasheet_say_who_labelled_what(tmp_path: Path, labels: LabelSet) -> None:
    release, _ = await _release(tmp_path, "with", labels.folder)
    for name in ("README.md", "datasheet.md"):
        text = (release.folder / name).read_text()
        assert f"20 items, read by 2 people, guideline {labels.sample.guideline}; Cohen's kappa" in text
        assert "Krippendorff's alpha" in text and "no judge was tested" in text
        assert "no person reviewed" not in text and "No people annotated" not in text
    assert "people checked" in (release.folder / "README.md").read_text()


async def test_the_same_labels_give_the_same_bytes_wherever_they_lie(tmp_path: Path, labels: LabelSet) -> None:
    first, _ = await _release(tmp_path, "one", labels.folder)
    moved = labels.folder.rename(tmp_path / "elsewhere")
    again, _ = await _release(tmp_path, "two", moved)
    files = sorted(p.relative_to(first.folder) for p in first.folder.rglob("*") if p.is_file())
    assert all((first.folder / f).read_bytes() == (again.folder / f).read_bytes() for f in files)


def test_the_fingerprint_follows_the_labels_not_the_path(labels: LabelSet, tmp_path: Path) -> None:
    before = LabelFolders().fingerprint([labels.folder])
    moved = labels.folder.rename(tmp_path / "moved")
    assert LabelFolders().fingerprint([moved]) == before
    path = moved / "labels" / "A.jsonl"
    path.write_text(path.read_text().replace("The source says so.", "It does.", 1))
    assert LabelFolders().fingerprint([moved]) != before
    with pytest.raises(ConfigError, match="was made before the labels"):
        LabelFolders().read([moved])
    (moved / "agreement.json").unlink()
    with pytest.raises(ConfigError, match=r"no agreement\.json"):
        LabelFolders().read([moved])


def test_folders_that_contradict_each_other_are_refused(labels: LabelSet, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(labels.folder, other)
    path = other / "labels" / "adjudicator.jsonl"
    path.write_text(path.read_text().replace('"label":"no"', '"label":"yes"'))
    write(LabelSet(other), measure(LabelSet(other), resamples=5))
    with pytest.raises(InputError, match="in another folder"):
        LabelFolders().read([labels.folder, other])
