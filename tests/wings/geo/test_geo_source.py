from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen import Dataset, SourceSetup
from scirgen.core.config import load_config
from scirgen.core.registry import load_registry
from scirgen.stages.collect.open import open_source
from scirgen.stages.collect.pages import pages
from scirgen.testing import check_source
from scirgen_geo.released import ReleasedGeoSource

RECORD = {
    "id": "u-1",
    "context": {
        "metadata": {
            "titleEn": "Snow depth", "titleCn": "雪深", "description": "Daily snow depth.",
            "instructions": "NetCDF files.", "instructionsCn": "NetCDF格式", "east": 105.0, "west": 61.5, "south": 25.0,
            "north": 41.0, "startTime": "1979-01-01 10:49:23", "endTime": "2020-12-31 10:49:23", "fileSize": 2048.0,
            "doi": "10.11888/Snow.tpdc.1", "license": "1",
        },
        "authorList": [{"nameEn": "LI Xin"}],
        "literatureList": [{"titleEn": "On snow", "referenceEn": "Li X. On snow. https://doi.org/10.5555/snow"}],
        "themeList": [{"nameEn": "Snow"}, {"nameEn": "Others"}],
        "placeKeywordList": [{"keywordEn": "Tibetan Plateau"}],
        "fundVOList": [{"titleEn": "无"}],
    },
    "query": {"Example": [{"QuestionEn": "A released question?"}]},
}  # fmt: skip


def geo(path: Path) -> ReleasedGeoSource:
    return ReleasedGeoSource(SourceSetup(input=path))


def test_a_released_record_becomes_a_dataset_with_all_its_fields(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(RECORD))
    (dataset,) = [d for d in geo(tmp_path).datasets() if isinstance(d, Dataset)]
    fields = dict(dataset.fields)
    assert fields["Spatial extent"] == "longitude 61.5 to 105, latitude 25 to 41 (degrees)"
    assert fields["Time range"] == "1979-01-01 to 2020-12-31"
    assert (fields["Places"], fields["Instructions"], fields["Size"]) == ("Tibetan Plateau", "NetCDF files.", "2 KB")
    assert "Funding" not in fields
    assert dataset.keywords == ("Snow",)
    assert dataset.licence == "unknown"
    assert dataset.related == ("Li X. On snow. https://doi.org/10.5555/snow", "On snow")
    assert ("zh", "title", "雪深") in dataset.translations
    assert "released question" not in dataset.model_dump_json()


@pytest.mark.realdata
def test_all_released_records_are_read_and_the_contract_holds(realdata: Path) -> None:
    report = check_source(geo(realdata / "geo" / "released"))
    assert (report.datasets, report.rejections) == (40, 0)


@pytest.mark.realdata
def test_whole_catalogue_loses_only_records_without_an_english_title(realdata: Path) -> None:
    report = check_source(geo(realdata / "geo" / "records.jsonl.gz"), datasets=5000, resume_at=1)
    assert (report.datasets, report.rejections) == (3346, 8)


@pytest.mark.realdata
async def test_with_a_limit_the_two_datasets_that_a_real_paper_uses_come_first(realdata: Path, tmp_path: Path) -> None:
    registry = load_registry()
    domain = registry.get("domain", "geo")
    flags = {"input": str(realdata / "geo" / "released"), "papers": str(realdata / "papers" / "pdf")}
    config = load_config(domain_file=("geo", domain.config_file), flags=flags).config
    source = open_source(config, registry, domain, tmp_path)
    assert source.name == "scirgen-geo"
    (page,) = [p async for p in pages(source, config.collect, limit=4)]
    first, second = page.items[:2]
    assert (first.dataset.doi, first.links[0].found_by) == ("10.11888/atmos.tpdc.300398", "doi_in_text")
    assert (second.dataset.doi, second.links[0].found_by) == ("10.11888/atmos.tpdc.272763", "cites_related")
    assert (first.papers[0].file or "").endswith("tibetan-grassland-anpp.pdf")
    assert len(page.items) == 4
