"""What ``llm_judge`` makes of a strong writer's labelled answers: share of the true rejected and of the false caught, by kind.

Takes a drawn sample of at most one answer a question, in random order, with the judge's own prompts. The judge is any chat model; a person
who reads can stand in for one (`../shared/tools/desk`), and must not see the labels before the last reply is given.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections import Counter, defaultdict
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from benchmarks.labelled_pairs import Row, rows
from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import ModelError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Score
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.open import open_sessions
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.judged import JudgeScorer

SAMPLE: Final = {"written": 24, "subtle": 16, "flip": 6, "negated": 6, "number": 5, "swap": 5}
"""How many answers of each kind are judged."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judged_pairs", description=__doc__)
    parser.add_argument("--model", required=True, help="the judge's URI")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = asyncio.run(run(arguments.model, arguments.seed))
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def sample(seed: int) -> list[Row]:
    """Answers of `SAMPLE`'s kinds, each question once, in random order."""
    rng = random.Random(seed)
    chosen: dict[str, Row] = {}
    for made, count in SAMPLE.items():
        pool = [r for r in rows() if r.part == "strong" and r.made == made and r.pair.question not in chosen]
        rng.shuffle(pool)
        chosen.update(list({r.pair.question: r for r in pool}.items())[:count])
    found = list(chosen.values())
    rng.shuffle(found)
    return found


async def run(uri: str, seed: int) -> dict[str, Any]:
    config = Config(models=ModelsConfig(generator=uri), limits=LimitsConfig(timeout_s=7000))
    resources, registry = Resources(), load_registry()
    prompts = PromptLibrary(resources)
    sessions = await open_sessions(config, registry, prompts=prompts, needs_scores=False)
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in sample(seed):
        groups[row.fold].append(row)
    async with aclosing(sessions):
        with tempfile.TemporaryDirectory() as folder:
            ctx = StageContext(
                config, resources, prompts, Taxonomies(resources), registry, Path(folder), sessions.chat, None,
                stage="filter", key="benchmark",
            )  # fmt: skip
            judged = await asyncio.gather(*(_judged(group, ctx) for group in groups.values()))
    flags: dict[str, list[bool]] = defaultdict(list)
    poor: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for row, score in (one for group in judged for one in group):
        if isinstance(score, Score):
            flags[row.made].append(score.value < JudgeScorer.default_threshold)
            poor[row.made] += dict(score.parts).get("question") == 0.0
        elif isinstance(score, ModelError):
            failed[score.error_code] += 1
        else:
            raise score
    rejected = {made: f"{sum(flags[made])} of {len(flags[made])}" for made in SAMPLE}
    return {"model": uri, "rejected": rejected, "poor questions": dict(poor), "not judged": dict(failed)}


async def _judged(group: list[Row], ctx: StageContext) -> list[tuple[Row, Score | Exception]]:
    pairs = [row.pair.model_copy(update={"id": f"pair{n}"}) for n, row in enumerate(group)]
    return list(zip(group, await JudgeScorer().score(pairs, Material(None, (), ""), ctx), strict=True))


if __name__ == "__main__":
    main()
