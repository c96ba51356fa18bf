"""What the screen says while a run works, and while nothing finishes."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from scirgen.api import resolve_config, run_pipeline
from scirgen.pipeline import progress
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.progress import NotebookObserver, ScreenObserver, spoken
from scirgen.pipeline.store import StoredResult
from scirgen.testing.server import FakeServer
from tests.support.small_runs import SETTINGS, write_records
from tests.support.waiting import wait_until


@dataclass
class Result:
    stage: str = "generate"
    status: str = "done"
    n_outputs: int = 1
    n_rejections: int = 0


class Clock:
    """A clock that stands until a test moves it; with ``step``, each look at it does."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 1000.0, step

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def said_twice(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is printed until the text has come twice; after 30 s the test fails."""
    said: list[str] = []

    def twice() -> bool:
        said.append(capsys.readouterr().err)
        return "".join(said).count(text) >= 2

    wait_until(twice, 30)
    return "".join(said)


def test_line_comes_while_nothing_finishes_and_says_how_long_that_has_been(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT_S", 0.2)
    with ScreenObserver(live=False) as observer:
        observer.planned("generate", 36)
        for _ in range(18):
            observer.finished(Result(), reused=False, seconds=30.0)
        said = said_twice("generate 18/36", capsys)
    assert "generate 18/36; working, the last item finished" in said


def test_line_says_that_the_model_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT_S", 0.05)
    with ScreenObserver(live=False) as observer:
        observer.models(lambda: 1)
        assert "catalogue" not in said_twice("waiting for the model", capsys)
        observer.planned("generate", 1)
        said_twice("generate 0/1; waiting for the model, nothing has finished yet", capsys)


@pytest.mark.parametrize(("done", "waited"), [(2, 0), (35, 200)], ids=["few have finished", "longer than foreseen"])
def test_no_time_left_is_shown_where_nothing_predicts_it(done: int, waited: int, clock: Clock) -> None:
    observer = ScreenObserver(live=False)
    clock.now += 900
    observer.planned("generate", 36)
    for _ in range(done):
        observer.finished(Result(), reused=False, seconds=30.0)
    clock.now += waited
    assert observer.time_left() == ""


def test_line_says_that_nothing_has_finished_yet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT_S", 0.05)
    with ScreenObserver(live=False):
        said = said_twice("reading the catalogue", capsys)
    assert "reading the catalogue; working, nothing has finished yet" in said


def test_time_left_counts_items_side_by_side(clock: Clock) -> None:
    observer = ScreenObserver(live=False)
    clock.now += 90
    observer.planned("generate", 36)
    for _ in range(18):
        observer.finished(Result(), reused=False, seconds=30.0)
    assert observer.time_left() == "2 min"  # 18 x 30 s, six at a time


def progress_of(clock: Clock, **done: tuple[int, int, float]) -> ScreenObserver:
    """An observer after 100 s; stage -> planned, finished, seconds each."""
    observer = ScreenObserver(live=False)
    clock.now += 100
    for stage, (planned, finished, seconds) in done.items():
        observer.planned(stage, planned)
        for _ in range(finished):
            observer.finished(Result(stage=stage), reused=False, seconds=seconds)
    return observer


def test_no_time_left_is_shown_before_datasets_reach_the_last_stages(clock: Clock) -> None:
    made = progress_of(clock, collect=(12, 12, 0.1), parse=(12, 11, 1.0), generate=(12, 6, 9.0))
    assert made.time_left() == ""


def test_datasets_that_are_still_on_their_way_count(clock: Clock) -> None:
    # 6 of 12 datasets have reached the filter; the others will need as many calls: 24 + 6 x 1 s of work in all.
    made = progress_of(clock, collect=(12, 12, 0.0), generate=(12, 12, 2.0), filter=(6, 6, 1.0))
    assert made.time_left() == "30 s"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str], clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_HEARTBEAT_S", 0.01)
    with progress.make_observer(quiet=True) as observer:
        observer.planned("generate", 3)
        began, clock.step = clock.now, 1.0
        wait_until(lambda: clock.now > began + 3)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "text"), [(40, "40 s"), (540, "9 min"), (12_000, "3 h 20 min")])
def test_durations_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert spoken(seconds) == text


def test_a_notebook_shows_the_table_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    display = ModuleType("IPython.display")
    display.display = lambda *args, **more: handle  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with NotebookObserver() as observer:
        observer.planned("parse", 4)
    assert len(shown) == 1 and "0/4" in shown[0]


class Counting(Observer):
    """Counts the items of each stage: planned less finished."""

    def __init__(self) -> None:
        self.open: Counter[str] = Counter()

    def planned(self, stage: str, count: int) -> None:
        self.open[stage] += count

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        self.open[result.stage] -= 1


async def test_an_item_that_is_searched_again_beside_new_records_counts_once(tmp_path: Path) -> None:
    async with FakeServer() as server:
        for count in (2, 3):
            flags = {**SETTINGS, "generate.mix": {"seeking": 1.0}, "models.generator": f"openai:fake@{server.url}"}
            flags["input"] = str(write_records(tmp_path / "records.jsonl", count))
            loaded, domain = resolve_config(domain="geo", flags=flags)
            seen = Counting()
            await run_pipeline(tmp_path / "run", loaded.config, domain, observer=seen)
            assert set(seen.open.values()) == {0} and seen.open.keys() >= {"search", "filter"}, seen.open
