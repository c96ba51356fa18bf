"""``release.passages: document``: one text a dataset, cut into passages."""

from __future__ import annotations

from pathlib import Path

import pytest

from scirgen.commands.import_scirgen_geo import scirgen_geo
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.qa.release import Release
from scirgen.stages.release.content import from_run
from scirgen.stages.release.one_text import OneTextIndex, one_text_passages
from scirgen.stages.release.write import ReleaseSettings, write_release
from tests.support.realdata import REALDATA
from tests.support.release_writing import info
from tests.unit.stages.release.test_release_write import small_run

RECORDS = REALDATA / "geo" / "records.jsonl.gz"
SCIRGEN_PASSAGES = 25_145
"""Of its 3,354 datasets (ScIRGen, section 3)."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    wording = Taxonomies(Resources()).wording.of("en")
    settings = ReleaseSettings(wording=wording, registry=Registry(), passages="document")
    return write_release(from_run(small_run(), info()), tmp_path_factory.mktemp("one") / "release", settings)[0]


def test_a_datasets_passages_hold_its_metadata_and_its_papers_statements(release: Release) -> None:
    passages = list(release.passages())
    assert {p.source for p in passages} == {"document"} and {p.document_id for p in passages} == {
        d.id for d in release.corpus()
    }
    shared = [p for p in passages if "We measured snow depth with ultrasonic sensors." in p.text]
    assert {p.document_id for p in shared} == {"ds-000", "ds-001"}
    assert all(len(p.text.split()) <= 100 for p in passages)


def test_rows_name_the_passages_that_hold_their_evidence(release: Release) -> None:
    passages = {p.id: p for p in release.passages()}
    for row in release.rows():
        for evidence in row.evidence:
            assert any(evidence.text in passages[i].text for i in row.passages), (row.question, evidence)


@pytest.mark.realdata
@pytest.mark.skipif(not RECORDS.exists(), reason=f"REAL RECORDS NOT FOUND: {RECORDS}; set SCIRGEN_REALDATA")
def test_scirgen_geo_has_as_many_passages_as_published() -> None:
    content = scirgen_geo(Path(RECORDS), None)
    made = sum(len(passages) for passages in one_text_passages(content, {}, OneTextIndex()))
    assert abs(made - SCIRGEN_PASSAGES) <= 0.002 * SCIRGEN_PASSAGES
