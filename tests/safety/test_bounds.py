"""Files and catalogues of others end: each bound, tried with twice its size."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scirgen.core.config import CollectConfig, HttpConfig
from scirgen.core.errors import SourceError
from scirgen.core.files.jsonl import json_value
from scirgen.core.records import Dataset, Rejection
from scirgen.stages.collect.files.recordfiles import RawRecord, read_records
from scirgen.stages.collect.pages import pages
from scirgen.stages.collect.source import MOST_BAD, Cursor, SourceSetup
from scirgen.testing.web import Answer, LoopbackServer

MB = 2**20


def parquet(folder: Path, **columns: object) -> list[RawRecord | Rejection]:
    file = folder / "table.parquet"
    pq.write_table(pa.table(columns), file)
    assert file.stat().st_size < 8 * MB
    return list(read_records(file, file.name))


def test_a_parquet_cell_of_32_mb_costs_only_its_row(tmp_path: Path) -> None:
    long, bad, short = parquet(tmp_path, title=["x" * 15 * MB, "x" * 32 * MB, "Lake ice"])
    assert isinstance(long, RawRecord) and isinstance(short, RawRecord) and short.value == {"title": "Lake ice"}
    assert isinstance(bad, Rejection) and "the cell 'title' is larger than 16 MB" in bad.reason


@pytest.mark.nightly
def test_a_parquet_file_that_unpacks_to_4_gb_ends_at_2_gb(tmp_path: Path) -> None:
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 256, pa.int32()), pa.array(["x" * (15 * MB)]))
    file = tmp_path / "table.parquet"
    pq.write_table(pa.table({"title": value}), file)
    before = psutil.Process().memory_info().rss
    read, last = 0, None
    for last in read_records(file, file.name):
        read += isinstance(last, RawRecord)
    assert read == 2048 // 15 and isinstance(last, Rejection) and "more than 2 GB" in last.reason
    assert psutil.Process().memory_info().rss - before < 512 * MB


def test_parquet_rows_of_2_gb_stay_in_the_child(tmp_path: Path) -> None:
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 16, pa.int32()), pa.array(["x" * (15 * MB)]))
    [found] = parquet(tmp_path, **{f"c{n}": value for n in range(9)})
    assert isinstance(found, Rejection) and "1 GB of memory" in found.reason


def test_a_damaged_parquet_file_is_one_bad_record(tmp_path: Path) -> None:
    file = tmp_path / "table.parquet"
    file.write_bytes(b"PAR1" + b"\0" * 500 + b"PAR1")
    [found] = read_records(file, file.name)
    assert isinstance(found, Rejection) and "not a readable Parquet file" in found.reason


def test_a_gzip_of_bad_records_ends_after_a_thousand(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"title": "A"}\n' + b"{\n" * 2 * MOST_BAD))
    found = list(read_records(file, file.name))
    assert len(found) == 1 + MOST_BAD and isinstance(found[-1], Rejection)
    assert "1,000 records in a row cannot be read" in found[-1].reason


def test_bad_records_between_good_ones_end_nothing(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text('{\n{"title": "A"}\n' * 2 * MOST_BAD)
    assert len(list(read_records(file, file.name))) == 4 * MOST_BAD


def test_json_of_twice_as_many_values_is_refused() -> None:
    objects = 256 * MB // (232 + 64)
    assert len(json_value("[" + "{}," * (objects - 9) + "1]")) == objects - 8
    with pytest.raises(ValueError, match="too many values for its length"):
        json_value(b"[" + b"{}," * 2 * objects + b"1]")


def test_json_of_many_records_is_read() -> None:
    record = json.dumps({"title": "Lake ice of the north", "keywords": ["lake", "ice"], "description": "word " * 50})
    assert len(json_value("[" + ", ".join([record] * 100_000) + "]")) == 100_000


def test_a_catalogue_page_of_empty_objects_is_an_error(tmp_path: Path) -> None:
    from scirgen.core.registry import load_registry

    page = b'{"success": true, "result": {"count": 2000000, "results": [' + b"{}," * 2_000_000 + b"{}]}}"
    with LoopbackServer({"/": lambda _: Answer(page)}) as server:
        http = HttpConfig(allow_private_addresses=True, retries=0)
        source = load_registry().get("source", "ckan")(
            SourceSetup(cache=tmp_path, options={"base_url": server.url}, http=http)
        )
        with pytest.raises(SourceError, match="too many values"):
            list(source.datasets())
        source.http.close()


class Invented:
    """A catalogue that invents records for ever: every ``good``-th one can be used."""

    name = "invented"

    def __init__(self, good: int) -> None:
        self.good = good

    def revision(self, cursor: str | None) -> None:
        return None

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        number = int(cursor or 0)
        while True:
            number += 1
            if self.good and number % self.good == 0:
                yield Dataset(id=str(number), title="A")
            else:
                yield Rejection.of("collect", "no_title", "no title", ("Dataset", str(number)))
            if number % 500 == 0:
                yield Cursor(str(number))

    def papers(self, dataset: Dataset) -> list[object]:
        return []

    def fetch(self, paper: object) -> None:
        return None


async def test_a_catalogue_ends_at_its_largest_number() -> None:
    config = CollectConfig(papers_per_dataset=0, most_datasets=1200)
    found = [page async for page in pages(Invented(1), config)]
    assert sum(len(p.items) for p in found) == 1200
    assert [r.code for p in found for r in p.rejections] == ["too_many_datasets"]


async def test_the_largest_number_counts_the_pages_already_stored() -> None:
    config = CollectConfig(papers_per_dataset=0, most_datasets=1200)
    seen = {str(n) for n in range(1, 1001)}
    found = [page async for page in pages(Invented(1), config, "1000", seen=seen)]
    assert sum(len(p.items) for p in found) == 200


async def test_a_source_ends_after_a_thousand_bad_records() -> None:
    found = [page async for page in pages(Invented(0), CollectConfig())]
    codes = [r.code for p in found for r in p.rejections]
    assert codes == ["no_title"] * (MOST_BAD + 1) + ["too_many_bad_records"]


async def test_a_source_with_a_few_good_records_goes_on() -> None:
    config = CollectConfig(papers_per_dataset=0)
    found = [page async for page in pages(Invented(900), config, limit=5)]
    assert sum(len(p.items) for p in found) == 5
