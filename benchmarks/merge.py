"""Merging runs at scale, on synthetic records: pairs a processor second, memory against size, and what parts cost.

    python -m benchmarks.merge [--datasets 850,3400,13600] [--parts 1,4] [--json FILE]

Runs are made with the stand-in stages of `benchmarks.scale` (18 pairs a dataset, each with a span of evidence and a
question of its own, one in fifty asked of two datasets), then merged by the command's own code, without the
report. Each merge runs in a process of its own.
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

import scirgen_scale
from benchmarks._memory import peak_mb
from benchmarks.scale import TYPES, StandIn
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Paper, QAPair, Rejection, Span
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.manifest import build_manifest, write_manifest
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem
from scirgen.stages.collect.source import Candidate, Cursor, Fetched

_WORDS = ["".join(random.Random(n).choices("abcdefghiklmnoprstuvw", k=6)) for n in range(4000)]


class Slice:
    """Every ``step``-th of ``count`` datasets, from ``first`` on, each with about 1 kB of text and no papers."""

    name = "slice"

    def __init__(self, count: int, first: int, step: int) -> None:
        self.numbers = range(first, count, step)

    def revision(self, cursor: str | None) -> str | None:
        return "1"

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for number in self.numbers:
            text = " ".join(random.Random(number).choices(_WORDS, k=150))
            yield Dataset(id=f"d{number:06}", title=f"Dataset {number}", description=text)

    def papers(self, dataset: Dataset) -> Iterable[Candidate]:
        return ()

    def fetch(self, paper: Paper) -> Fetched:
        return Fetched(code="none")


class Asking(StandIn):
    """A pair an item: a question of ten words and a span of the metadata as its answer."""

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        if self.name != "generate":
            return await super().process(item, ctx)
        (dataset,) = item.of(Dataset)
        kind = int(item.key.partition("|")[2])
        number = int(dataset.id[1:])
        # One question in fifty is asked of the next dataset too, so that something has to be settled across parts.
        asked = number - number % 2 if kind == 7 and number % 6 < 2 else number
        draw = random.Random(f"{asked}/{kind}")
        question = f"How does the {' '.join(draw.choices(_WORDS, k=8))} change?"
        start = 100 + 20 * kind
        span = Span(document_id=dataset.id, start=start, end=start + 120, text=dataset.text[start : start + 120])
        pair = QAPair(
            id=QAPair.make_id(dataset.id, str(kind), question, span.text),
            dataset_id=dataset.id, question=question, answer=span.text, question_type=f"type{kind}", evidence=(span,),
        )  # fmt: skip
        return StageResult((pair,))


def make(folder: Path, source: Slice) -> None:
    """A finished run of stand-in stages, with a manifest."""
    config, resources = Config(), Resources()
    with Store(folder / "run.db") as store:
        ctx = StageContext(config, resources, PromptLibrary(resources), Taxonomies(resources), Registry(), folder)
        stages: dict[str, Stage] = {s.stage: Asking(s.stage) for s in PLAN}
        asyncio.run(Runner(store, ctx, stages, Engine(config), source, Observer()).run())
        write_manifest(folder, store, build_manifest(config, ctx, stages, {}))


def merge_once(folder: Path, parts: int) -> dict[str, float]:
    """Merge, in this process."""
    started, used = time.perf_counter(), time.process_time()
    run = scirgen_scale.merge(folder / "merged", [folder / f"part{n}" for n in range(parts)], report=False)
    seconds = time.perf_counter() - started
    processor = time.process_time() - used
    return {"seconds": seconds, "cpu_s": processor, "peak_mb": peak_mb(), "rows": sum(run.released().values())}


def main() -> None:
    """Run all sizes and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", default="850,3400,13600")
    parser.add_argument("--parts", default="1,4")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(merge_once(Path(arguments.one[0]), int(arguments.one[1]))))
        return
    rows = []
    for count in map(int, arguments.datasets.split(",")):
        for parts in map(int, arguments.parts.split(",")):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                for number in range(parts):
                    make(folder / f"part{number}", Slice(count, number, parts))
                found = _in_process(folder, parts)
                release = sum(p.stat().st_size for p in (folder / "merged" / "release").rglob("*") if p.is_file())
            rows.append({
                "datasets": count, "pairs": count * TYPES, "parts": parts, "rows": round(found["rows"]),
                "seconds": round(found["seconds"], 1), "cpu_s": round(found["cpu_s"], 1),
                "pairs_per_cpu_s": round(count * TYPES / found["cpu_s"]),
                "peak_mb": round(found["peak_mb"]), "release_mb": round(release / 1e6),
            })  # fmt: skip
            print(rows[-1], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def _in_process(folder: Path, parts: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.merge", "--one", str(folder), str(parts)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    found: dict[str, float] = json.loads(ended.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
