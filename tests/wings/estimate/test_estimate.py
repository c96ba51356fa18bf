"""The arithmetic of an estimate: sums, ranges, cost and hours, and the usage of an earlier run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scirgen.core.config import Config, load_config
from scirgen.core.errors import ConfigError
from scirgen.core.records import Dataset, ReleaseFile
from scirgen.core.registry import load_registry
from scirgen.core.resources import resolve_config
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.store import RUN, Store
from scirgen.stages.base import StageResult
from scirgen_estimate import estimating as estimate
from scirgen_estimate.estimating import CALLS, KNOWN, Figure, Share, shares_of_history, sum_up
from scirgen_estimate.trial import Call, Trial, rough_tokens, tried
from tests.support.small_runs import write_records

PRICES: dict[str, object] = {"models.generator": "openai:m@http://h/v1", "models.prices": {"m": [1.0, 2.0]}}


def share(role: str = "generator", calls: float = 4, prompts: float = 400, replies: float = 80) -> Share:
    return Share("generate", role, *(Figure.around(n, CALLS) for n in (calls, prompts, replies)))


def test_sums_keep_the_order_of_the_scenarios() -> None:
    found = sum_up([share(), share(calls=6)], Config(), 4, 4, 8, None, None, ())
    assert found.calls.low < found.calls.typical == 10 < found.calls.high
    assert found.prompt_tokens.typical == 800 and found.hours is None


def test_cost_needs_the_price_of_every_model_used() -> None:
    found = sum_up([share()], load_config(flags=PRICES).config, 4, 4, 8, None, None, ())
    assert found.cost is not None and found.cost.typical == pytest.approx((400 * 1 + 80 * 2) / 1e6)
    other = load_config(flags={**PRICES, "models.scorer": "openai:other@http://h/v1"}).config
    assert sum_up([share(), share("scorer")], other, 4, 4, 8, None, None, ()).cost is None


@pytest.mark.parametrize(("rows", "total", "each"), [(8, None, 560e-6 / 8), (8, 2, 560e-6 / 2), (0, None, None)])
def test_a_row_costs_its_share_of_the_whole(rows: float, total: int | None, each: float | None) -> None:
    config = load_config(flags={**PRICES, "generate.quota.total": total}).config
    found = sum_up([share()], config, 4, 4, rows, None, None, ())
    assert found.cost_per_row == (each and pytest.approx(each))
    assert found.data()["cost_per_row"] == (each and pytest.approx(each, abs=1e-4))


def test_hours_follow_from_the_speed_and_a_scorer_only_reads() -> None:
    found = sum_up([share(prompts=0), share("scorer", prompts=0)], Config(), 4, 4, 8, 0.1, None, ())
    assert found.hours is not None and found.hours.typical == pytest.approx((80 + 8) / 0.1 / 3600)


def test_a_cap_on_requests_a_minute_is_a_floor_for_the_hours() -> None:
    config = load_config(flags={"limits.requests_per_minute": 1}).config
    found = sum_up([share(calls=60)], config, 4, 4, 8, None, None, ())
    assert found.hours is not None and found.hours.typical == pytest.approx(1.0)


def earlier_run(folder: Path, usage: object) -> Path:
    with Store(folder / "run.db") as store:
        for n in range(2):
            result = store.put("collect", f"d{n}", "f", StageResult((Dataset(id=f"d{n}", title="t"),)), 10.0)
            store.use(f"d{n}", "collect", f"d{n}", result.id)
        store.see_datasets(["d0", "d1"], 0, 1)
        released = StageResult((ReleaseFile(path="release/train.jsonl", sha256="0" * 64, bytes=1, rows=3),))
        store.use(RUN, "release", "release", store.put("release", "release", "f", released, 0.1).id)
        store.set_meta("manifest", json.dumps({"models": {"generator": "openai:m"}, "usage": usage}))
    return folder


def test_an_earlier_run_gives_its_usage_per_dataset_and_its_speed(tmp_path: Path) -> None:
    usage = {"generator": {"calls": 10, "prompt_tokens": 1000, "completion_tokens": 60}, "seconds": 3}
    notes: list[str] = []
    (found,), speed, rows = shares_of_history(earlier_run(tmp_path, usage), load_config(flags=PRICES).config, 20, notes)
    assert (found.calls.typical, found.prompt_tokens.typical, found.reply_tokens.typical) == (100, 10_000, 600)
    assert found.calls.high == pytest.approx(100 * KNOWN[1]) and len(notes) == 1
    assert rows == 30, "three rows of two datasets"
    assert speed == pytest.approx((60 + 0.1 * 1000) / 10.0, rel=0.05)


def test_an_earlier_run_without_token_counts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="recorded no tokens"):
        shares_of_history(earlier_run(tmp_path, {}), Config(), 20, [])


async def test_the_start_counts_once_and_each_further_dataset_as_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tried(*given: object) -> Trial:
        calls = [Call("tag", "generator", 100, 10)] * 6
        return Trial(PLAN, calls, Counter(), datasets=3, first=(calls[:2], 0), first_s=30.0, each_s=0.02)

    monkeypatch.setattr(estimate, "tried", tried)
    flags: dict[str, object] = {**PRICES, "input": str(write_records(tmp_path / "r.jsonl", 101))}
    loaded, domain = resolve_config(flags=flags)
    found = await estimate.estimate_run(tmp_path / "run", loaded.config, domain)
    assert found.calls.typical == pytest.approx(2 * 101) and found.sampled == 3
    assert found.own_minutes is not None
    assert found.own_minutes * 60 == pytest.approx(30 + 100 * 0.02 + 202 / 400, abs=5)


async def test_a_trial_takes_the_time_of_the_first_dataset_apart(tmp_path: Path) -> None:
    flags: dict[str, object] = {**PRICES, "filter.faithfulness": [], "generate.types_without_paper": 1}
    loaded, domain = resolve_config(flags={**flags, "input": str(write_records(tmp_path / "r.jsonl", 3))})
    registry = load_registry()
    source = open_input(loaded.config, registry, domain, tmp_path)
    drawn, _, total, notes = await estimate.draw_datasets(source, loaded.config, 3)
    counts = []
    for sample, of in ((drawn, total), (drawn[:1], total), (drawn[:1], 1)):
        trial = await tried(loaded.config, registry, domain, source, sample, of, notes)
        assert trial.first_s > 0 and (trial.each_s > 0) == (of > 1)
        counts.append((trial.datasets, len(trial.calls)))
    assert [datasets for datasets, _ in counts] == [3, 1, 1]
    assert counts[0][1] > counts[1][1] == counts[2][1] > 0


async def test_a_run_in_the_folder_of_the_same_model_is_the_history(tmp_path: Path) -> None:
    usage = {"generator": {"calls": 10, "prompt_tokens": 1000, "completion_tokens": 60}}
    folder = earlier_run(tmp_path / "run", usage)
    flags: dict[str, object] = {**PRICES, "input": str(write_records(tmp_path / "r.jsonl", 4))}
    loaded, domain = resolve_config(flags=flags)
    found = await estimate.estimate_run(folder, loaded.config, domain)
    assert found.sampled == 0 and found.calls.typical == 20
    assert not estimate.is_history(folder, load_config(flags={"models.generator": "openai:other@http://h/v1"}).config)
    assert not estimate.is_history(tmp_path, loaded.config)


def test_scripts_without_spaces_have_more_tokens_a_character() -> None:
    assert rough_tokens("雪深" * 50) > 2 * rough_tokens("snow depth" * 10)
