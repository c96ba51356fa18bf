"""The cost of an accepted pair, stage by stage: processor time of our own, model calls, tokens and bytes in the store.

    python -m benchmarks.stage_cost --input RECORDS --papers PAPERS [--limit 40] [--json FILE]

The real stages over real records and papers, one item at a time, with a fake model in this process, so that an item's
seconds are our own work and nothing else: processor time, and the clock's for parsing, which has a process of its own.
Tokens are counted from characters (`scirgen_estimate.trial`). A real model gets another share of its
candidates accepted: read the columns an item rather than those a pair.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks._memory import peak_mb
from scirgen.api import build_stages, resolve_config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.base import Capabilities, ModelIdentity
from scirgen.llm.cache import ReplyCache
from scirgen.llm.chat_session import CachedChatSession
from scirgen.llm.score_session import CachedScoreSession
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.plan import PLAN
from scirgen.pipeline.runner import Runner
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import StoreView
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem
from scirgen_estimate.trial import STAGE, Call, FakeChat, FakeScores


class OneAtATime(Engine):
    """Runs items one after the other and adds up what each stage takes."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.seconds: Counter[str] = Counter()
        self.items: Counter[str] = Counter()

    async def execute(self, stage: Stage, item: WorkItem, ctx: StageContext) -> StageResult:
        """In turn."""
        async with self.turn:
            STAGE.set(stage.name)
            # Parsing is done in a process of its own: its time is the clock's. All else is processor time of this one.
            clock = time.perf_counter if stage.name == "parse" else time.process_time
            began = clock()
            result = await stage.process(item, ctx)
            self.seconds[stage.name] += clock() - began
            self.items[stage.name] += 1
            return result


async def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, object]:
    """One run; rows by stage and the whole."""
    flags = {
        "input": str(arguments.input),
        "papers": str(arguments.papers),
        "collect.limit": arguments.limit,
        "parse.workers": 1,
        "limits.datasets_in_flight": 1,
    }
    loaded, domain = resolve_config(domain=arguments.domain, flags=flags)
    config, registry, engine = loaded.config, load_registry(), OneAtATime()
    calls: list[Call] = []
    resources = Resources(domain)
    prompts = PromptLibrary(resources)
    identity = ModelIdentity("stand-in", "stand-in")
    with Store(folder / "run.db") as store:
        replies = ReplyCache(store.writer)
        chat = CachedChatSession(
            FakeChat(identity, Capabilities(structured=True), "generator", calls), prompts=prompts, cache=replies
        )
        score = CachedScoreSession(FakeScores(identity, Capabilities(logprobs=True), "scorer", calls), cache=replies)
        ctx = StageContext(config, resources, prompts, Taxonomies(resources), registry, folder, chat, score)
        source = open_input(config, registry, domain, folder)
        began, cpu = time.perf_counter(), time.process_time()
        await Runner(store, ctx, build_stages(registry), engine, source, Observer()).run()
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        accepted = StoreView(store).funnel()["tag"]["outputs"]
        sizes = dict(
            store.db.execute(
                "SELECT stage, SUM(LENGTH(outputs)+LENGTH(rejections)+LENGTH(failures)) FROM results GROUP BY 1"
            )
        )
        (kept,) = store.db.execute("SELECT SUM(LENGTH(request)+LENGTH(reply)) FROM replies").fetchone()
    rows = [_row(step.stage, engine, calls, sizes) for step in PLAN if engine.items[step.stage]]
    size = (folder / "run.db").stat().st_size
    return {
        "rows": rows,
        "datasets": arguments.limit,
        "accepted": accepted,
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "in_stages_s": round(sum(engine.seconds.values()), 1),
        "items": sum(engine.items.values()),
        "replies_kb": round(kept / 1e3),
        "store_kb": round(size / 1e3),
        "peak_mb": round(peak_mb()),
    }


def _row(stage: str, engine: OneAtATime, calls: list[Call], sizes: dict[str, int]) -> dict[str, object]:
    items = engine.items[stage]
    chat = [c for c in calls if (c.stage, c.role) == (stage, "generator")]
    scored = [c for c in calls if (c.stage, c.role) == (stage, "scorer")]
    return {
        "stage": stage,
        "items": items,
        "ms_per_item": round(1e3 * engine.seconds[stage] / items, 1),
        "calls": len(chat),
        "prompt_tokens": sum(c.prompt_tokens for c in chat),
        "reply_tokens": sum(c.reply_tokens for c in chat),
        "scores": len(scored),
        "scored_tokens": sum(c.prompt_tokens + c.reply_tokens for c in scored),
        "store_kb": round(sizes.get(stage, 0) / 1e3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--domain", default="geo")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--papers", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(arguments, Path(folder)))
    for row in found["rows"]:
        print(row)
    print({name: value for name, value in found.items() if name != "rows"})
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
