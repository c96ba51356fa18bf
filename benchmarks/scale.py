"""Store and runner at scale, on synthetic records: results a second, memory against run size, time to run a finished
run again.

    python -m benchmarks.scale [--datasets 100,3400,20000] [--kb 0] [--json FILE]

Every stage is a stand-in that produces small records at once, so that it measures scirgen's own work: fingerprints,
store, views. ``--kb`` makes each pair so much larger, by words that compress as text does. 18 generate items a dataset,
one pair each: 3,400 datasets are the 61,200 pairs of ScIRGen-Geo. Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks._memory import peak_mb
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Paper, QAPair, Rejection
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Candidate, Cursor, Fetched

TYPES = 18


class SyntheticSource:
    """``count`` datasets of a description of about 1 kB, without papers."""

    name = "synthetic"

    def __init__(self, count: int) -> None:
        self.count = count

    def revision(self, cursor: str | None) -> str | None:
        return "1"

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for number in range(int(cursor or 0), self.count):
            text = f"Snow depth at station {number}. " * 32
            yield Dataset(id=f"d{number:06}", title=f"Dataset {number}", description=text)
            if number % 500 == 499:
                yield Cursor(str(number + 1))

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        return ()

    def fetch(self, paper: Paper) -> Fetched:
        return Fetched(code="none")


class StandIn(Stage):
    """Produces at once what the stage of that name would: a pair an item for generate, all pairs for filter and tag."""

    def __init__(self, name: str, kb: float = 0) -> None:
        self.name = name
        self.kb = kb

    def uses(self, config: Config) -> Uses:
        return Uses()

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        if self.name == "generate":
            return [WorkItem(f"{scope.dataset.id}|{n:02}", (scope.dataset,)) for n in range(TYPES)]
        if self.name in ("filter", "tag"):
            before = "generate" if self.name == "filter" else "filter"
            return [WorkItem(scope.dataset.id, scope.outputs(before, QAPair))]
        return [WorkItem("release")] if self.name == "release" else ()

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        if self.name != "generate":
            return StageResult(item.of(QAPair))
        dataset_id, _, kind = item.key.partition("|")
        question = f"How deep is the snow at the station of {item.key} in January, on average over all years?"
        pair = QAPair(
            id=f"qa-{item.key}",
            dataset_id=dataset_id,
            question=question,
            answer=self._answer(item.key),
            question_type=kind,
        )
        return StageResult((pair,))

    def _answer(self, key: str) -> str:
        draw = random.Random(key)
        return "12 cm " + " ".join(draw.choice(_WORDS) for _ in range(round(self.kb * 1000 / _LETTERS)))


_WORDS = [f"word{n}" for n in range(2000)]
_LETTERS = 9


def run_once(folder: Path, count: int, kb: float) -> float:
    """Seconds of one run over ``count`` datasets."""
    config, resources = Config(), Resources()
    started = time.perf_counter()
    with Store(folder / "run.db") as store:
        ctx = StageContext(config, resources, PromptLibrary(resources), Taxonomies(resources), Registry(), folder)
        stages: dict[str, Stage] = {s.stage: StandIn(s.stage, kb) for s in PLAN}
        asyncio.run(Runner(store, ctx, stages, Engine(config), SyntheticSource(count), Observer()).run())
    return time.perf_counter() - started


def main() -> None:
    """Run all sizes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="100,3400,20000")
    parser.add_argument("--kb", type=float, default=0.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        seconds = run_once(Path(arguments.one[0]), int(arguments.one[1]), float(arguments.one[2]))
        print(json.dumps([seconds, peak_mb()]))
        return
    rows = []
    for count in map(int, arguments.datasets.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            (first, peak), (again, peak_again) = (
                _in_process(folder, count, arguments.kb),
                _in_process(folder, count, arguments.kb),
            )
            size = (Path(folder) / "run.db").stat().st_size / 1e6
        rows.append({
            "datasets": count, "pairs": count * TYPES, "first_s": round(first, 2),
            "results_per_s": round(count * (TYPES + 3) / first), "again_s": round(again, 2),
            "peak_mb": round(peak), "peak_mb_again": round(peak_again), "store_mb": round(size, 1),
        })  # fmt: skip
        print(rows[-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def _in_process(folder: str, count: int, kb: float) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "--one", folder, str(count), str(kb)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    seconds, peak = json.loads(ended.stdout.splitlines()[-1])
    return seconds, peak


if __name__ == "__main__":
    main()
