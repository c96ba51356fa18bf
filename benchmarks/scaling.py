"""The scaling of CPU stages over Ray workers, and the cost of Ray beside the local engine on the same work.

    python -m benchmarks.scaling --papers FOLDER [--copies 4] [--workers 1,2] [--repeats 3] [--json FILE]

Two kinds of work through the real runner and store: parsing and sectioning of every PDF of the folder (each
``--copies`` times, as papers of their own), and 2,000 items that do nothing, which shows what an engine itself takes
for an item. Each row runs in a process of its own, ``--repeats`` times, of which the quickest counts. The local engine
parses in as many worker processes as Ray has actors; an actor parses in one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from scirgen.core.config import Config, load_config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.registry import Plugin, Provided, Registry, load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_sessions
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store, StoredResult
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.collect.source import Candidate, Cursor, Fetched
from scirgen_scale.ray_engine import RayEngine

IDLE_ITEMS = 2000
REAL = ("parse", "section")


class PaperSource:
    """One dataset a paper and copy; without papers, datasets for items that do nothing."""

    name = "papers"

    def __init__(self, papers: list[Path], copies: int) -> None:
        self.papers_of = {f"d{n:05}": p for n, p in enumerate(p for _ in range(copies) for p in papers)}

    def revision(self, cursor: str | None) -> str | None:
        return "1"

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        ids = list(self.papers_of) or [f"d{n:05}" for n in range(IDLE_ITEMS)]
        for id in ids:
            yield Dataset(id=id, title=f"Dataset {id}")

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        if dataset.id in self.papers_of:
            yield Candidate(Paper(id=dataset.id, doi=f"10.5555/{dataset.id}"), "doi")

    def fetch(self, paper: Paper) -> Fetched:
        return Fetched(self.papers_of[paper.id], "application/pdf")


class Idle(Stage):
    """Has an item a dataset where the benchmark is of idle items, and nothing to do for it."""

    name = "generate"

    def uses(self, config: Config) -> Uses:
        return Uses()

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return [] if scope.outputs("collect", Paper) else [WorkItem(scope.dataset.id, (scope.dataset,))]

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        return StageResult()


class Nothing(Idle):
    """A stage without items."""

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        return []


def registry() -> Registry:
    """The built-ins, except the stages that are not measured."""
    whole, made = load_registry(), Registry()
    stages = tuple(
        Provided("stage", s.stage, f"benchmarks.scaling:{'Idle' if s.stage == 'generate' else 'Nothing'}")
        for s in PLAN
        if s.stage not in REAL
    )
    built_in = whole.plugins["scirgen"]
    kept = tuple(p for p in built_in.provides if p.kind != "stage" or p.name in REAL)
    made.add(Plugin("scirgen", built_in.version, (*kept, *stages)))
    return made


class Clock(Observer):
    """When the first item that is not collected was done."""

    first: float | None = None
    done = 0

    def finished(self, result: StoredResult, *, reused: bool, seconds: float) -> None:
        if result.stage != "collect":
            self.first = self.first or time.perf_counter()
            self.done += 1


async def run_once(engine_name: str, workers: int, papers: list[Path], copies: int, folder: Path) -> dict[str, float]:
    """One run: seconds from the first item done to the last, seconds before it, and items."""
    config = load_config(
        flags={
            "engine": engine_name, "ray.actors": workers, "parse.workers": 1 if engine_name == "ray" else workers,
            "section.use_model": False, "limits.datasets_in_flight": 4 * workers if papers else 256,
        }
    ).config  # fmt: skip
    resources, plugins, clock = Resources(), registry(), Clock()
    prompts = PromptLibrary(resources)
    began = time.perf_counter()
    with Store(folder / "run.db") as store:
        replies = ReplyCache(store.writer)
        sessions = await open_sessions(config, plugins, replies, prompts=prompts, needs_scores=False)
        ctx = StageContext(
            config, resources, prompts, Taxonomies(resources), plugins, folder, sessions.chat, sessions.score
        )
        engine: Engine = RayEngine(config) if engine_name == "ray" else Engine(config)
        await engine.start(ctx, sessions, replies)
        stages: dict[str, Stage] = {s.stage: plugins.get("stage", s.stage)() for s in PLAN}
        await Runner(store, ctx, stages, engine, PaperSource(papers, copies), clock).run()
        ended = time.perf_counter()
        await engine.aclose()
        await sessions.aclose()
    assert clock.first is not None
    return {"start_s": clock.first - began, "work_s": ended - clock.first, "items": clock.done}


def main() -> None:
    """Run all rows and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=Path, required=True)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--work", default="parse,idle", help="of these, comma-separated")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    papers = sorted(arguments.papers.glob("*.pdf"))
    if arguments.one:
        work, engine, workers = arguments.one
        with tempfile.TemporaryDirectory() as folder:
            given = papers if work == "parse" else []
            found = asyncio.run(run_once(engine, int(workers), given, arguments.copies, Path(folder)))
        print(json.dumps(found))
        return
    rows: list[dict[str, object]] = []
    for work in arguments.work.split(","):
        alone: dict[str, float] = {}
        for workers in map(int, arguments.workers.split(",")):
            local: float | None = None
            for engine in ("local", "ray"):
                runs = [_in_process(arguments, work, engine, workers) for _ in range(arguments.repeats)]
                found = min(runs, key=lambda run: run["work_s"])
                seconds = found["work_s"]
                alone.setdefault(engine, seconds * workers)
                local = local or seconds
                rows.append({
                    "work": work, "engine": engine, "workers": workers, "items": int(found["items"]),
                    "start_s": round(found["start_s"], 1), "work_s": round(seconds, 1),
                    "items_per_s": round(found["items"] / seconds, 1),
                    "efficiency": round(alone[engine] / (workers * seconds), 2), "to_local": round(seconds / local, 2),
                })  # fmt: skip
                print(rows[-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def _in_process(arguments: argparse.Namespace, work: str, engine: str, workers: int) -> dict[str, float]:
    command = [
        sys.executable, "-m", "benchmarks.scaling",
        "--papers", str(arguments.papers), "--copies", str(arguments.copies),
        "--one", work, engine, str(workers),
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
