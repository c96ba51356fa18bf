"""The Python API: what the command line does, sync and async, with texts and paths alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scirgen
import scirgen_bench
import scirgen_estimate
from scirgen.testing import serving
from scirgen.testing.server import FakeServer
from tests.support.small_runs import write_records

SETTINGS: dict[str, object] = {
    "filter.faithfulness": [],
    "filter.gates": ["schema", "not_verbatim"],
    "generate.types_without_paper": 2,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(records, run)."""
    folder = tmp_path_factory.mktemp("api")
    records = write_records(folder / "records.jsonl", 3)
    with serving() as model:
        run = scirgen.generate(str(folder / "run"), domain="geo", input=str(records), model=model, settings=SETTINGS)
    assert run.outcome is not None and run.outcome.status == "success"
    return records, folder / "run"


def test_texts_and_paths_are_the_same(made: tuple[Path, Path]) -> None:
    _, folder = made
    for given in (str(folder), folder):
        assert list(scirgen.Run(given).rows())
        assert list(scirgen.Release(given).rows())
        assert scirgen_bench.audit(given).rows > 0
    assert scirgen.Run(str(folder)).release == folder / "release"


def test_row_s_records_are_found_by_its_id(made: tuple[Path, Path]) -> None:
    _, folder = made
    row = next(iter(scirgen.Release(folder).rows()))
    found = scirgen.inspect(str(folder), row.id)
    assert {type(r).__name__ for r in found} == {"QAPair"}
    assert scirgen.inspect(scirgen.Run(folder), row.id) == found
    assert scirgen.profile(scirgen.Run(folder), "d00000").id == "d00000"
    assert all(isinstance(r, scirgen.QAPair) and r.question == row.question for r in found)


def test_profile_and_benchmark_read_a_run(made: tuple[Path, Path]) -> None:
    _, folder = made
    assert scirgen.profile(str(folder), "d00000").id == "d00000"
    split = next(s for s in ("test", "dev", "train") if list(scirgen.Release(folder).rows(s)))
    report = scirgen_bench.benchmark_retrieval(str(folder), ["bm25"], split=split)
    assert report.rows and report.queries > 0


def test_estimate_asks_no_model(made: tuple[Path, Path], tmp_path: Path) -> None:
    records, _ = made
    with serving() as model:
        given = {"domain": "geo", "input": records, "model": model, "settings": SETTINGS}
        found = scirgen_estimate.estimate(tmp_path / "e", **given, sample=2)
    assert found.datasets == 3
    assert json.dumps(found.data())


async def test_agenerate_is_awaited_and_astream_gives_rows_while_the_run_goes_on(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 3)
    async with FakeServer() as server:
        given = {"domain": "geo", "input": records, "model": f"openai:fake@{server.url}", "settings": SETTINGS}
        seen, unfinished = [], 0
        async for pair in scirgen.astream(tmp_path / "run", **given):
            seen.append(pair.id)
            unfinished += not (tmp_path / "run" / "release").exists()
        run = await scirgen.agenerate(str(tmp_path / "run"), **given)
    assert run.outcome is not None and run.outcome.status == "success"
    assert sorted(seen) == sorted(p.id for p in run.rows()) and seen
    assert unfinished > 0


async def test_astream_of_an_earlier_run_gives_its_rows_first(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 3)
    async with FakeServer() as server:
        given = {"domain": "geo", "input": records, "model": f"openai:fake@{server.url}", "settings": SETTINGS}
        run = await scirgen.agenerate(tmp_path / "run", **given)
        again = [pair.id async for pair in scirgen.astream(tmp_path / "run", **given)]
    assert sorted(again) == sorted(p.id for p in run.rows()) and again


async def test_counts_of_a_resumed_run_begin_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = write_records(tmp_path / "records.jsonl", 4)
    async with FakeServer() as server:
        given = {"domain": "geo", "input": records, "model": f"openai:fake@{server.url}", "settings": SETTINGS}
        shown = [scirgen.ScreenObserver(live=False) for _ in range(2)]
        for observer in shown:
            await scirgen.agenerate(tmp_path / "run", observer=observer, **given)
            observer._say()
    first, resumed = (line.partition("] ")[2] for line in capsys.readouterr().err.splitlines() if "collect 4/4" in line)
    assert first == resumed


def test_a_run_is_a_data_frame(made: tuple[Path, Path]) -> None:
    run = scirgen.Run(made[1])
    frame = run.to_pandas()
    assert len(frame) == sum(run.released().values()) > 0
    assert set(frame["id"]) <= {p.id for p in run.rows()} and {"question", "answer", "split", "evidence"} <= {*frame}


async def test_leaving_the_stream_stops_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 4)
    async with FakeServer() as server:
        given = {"domain": "geo", "input": records, "model": f"openai:fake@{server.url}", "settings": SETTINGS}
        stream = scirgen.astream(tmp_path / "run", **given)
        first = await anext(stream)
        await stream.aclose()
        run = await scirgen.agenerate(tmp_path / "run", **given)
    assert first.id in {p.id for p in run.rows()}


def test_wrong_settings_are_an_error_before_the_first_row(tmp_path: Path) -> None:
    with pytest.raises(scirgen.ConfigError):
        scirgen.generate(tmp_path / "run", domain="geo", settings={"generate.no_such": 1})
