"""Writes out the pairs of ScIRGen-Geo that the gates reject for want of support, for a reader to judge.

Draws pairs of a split at random; they cite no evidence, so no score decides about them. ``--read`` writes rejected
pairs and as many kept ones, in mixed order, without the verdicts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.geo_pairs import Entry, Pair, entries
from scirgen.core.config import Config, FilterConfig
from scirgen.core.fingerprint import digest
from scirgen.core.records import Dataset, QAPair
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.windows import evidence_window
from scirgen.stages.filter.stage import select_gates
from scirgen_bench.calibrate.calibrate import opened
from scirgen_bench.rowfiles import type_key

JUDGED = "not_supported"
"""The gate that rejects for want of support; the others look at form."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness_geo", description=__doc__)
    parser.add_argument("--split", default="dev", choices=("train", "dev"))
    parser.add_argument("--pairs", type=int, default=1000, help="how many are drawn")
    parser.add_argument("--skip", type=int, default=0, help="how many of the drawn ones are left out first")
    parser.add_argument(
        "--half", choices=("a", "b"), help="of the datasets: rules were chosen on a of train; default: all"
    )
    parser.add_argument("--rejected", type=int, default=50, help="how many rejected pairs --read writes at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True, help="every pair that was drawn, with its verdict")
    parser.add_argument("--read", type=Path, help="as many rejected and kept pairs, in mixed order, without verdicts")
    arguments = parser.parse_args()
    found = asyncio.run(run(arguments))
    arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(len(found), "released:", Counter(row["by"] for row in found))
    if arguments.read:
        chosen = [r for r in found if r["by"] == JUDGED][: arguments.rejected]
        chosen += [r for r in found if r["by"] == "kept"][: len(chosen)]
        random.Random(arguments.seed).shuffle(chosen)
        texts = {e.id: e for e in entries(arguments.split)}
        arguments.read.write_text("\n".join(_shown(row, texts[row["dataset"]]) for row in chosen), encoding="utf-8")


def _shown(row: dict[str, Any], entry: Entry) -> str:
    """The row for a reader: what the dataset says about it, then question and answer."""
    pair = QAPair(
        id="0", dataset_id=entry.id, question=row["question"], answer=row["answer"], question_type=row["type"]
    )
    text = evidence_window(pair, Material(None, (), entry.context))
    return f"## {row['number']}\n\n{text}\n\nQ: {row['question']}\n\nA: {row['answer']}\n"


async def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Verdicts on the pairs that were drawn."""
    chosen = (e for e in entries(arguments.split) if arguments.half in (None, _half(e)))
    drawn = [(entry, pair) for entry in chosen for pair in entry.pairs]
    random.Random(arguments.seed).shuffle(drawn)
    drawn = drawn[arguments.skip :][: arguments.pairs]
    config = Config(filter=FilterConfig(faithfulness=()))
    async with opened(config, Resources(), load_registry()) as ctx:
        return [{"number": n, **await judged(entry, pair, ctx)} for n, (entry, pair) in enumerate(drawn)]


def _half(entry: Entry) -> str:
    return "a" if int(digest("half", entry.id)[:4], 16) % 2 else "b"


async def judged(entry: Entry, pair: Pair, ctx: StageContext) -> dict[str, Any]:
    """The pair with the gate that rejects it (``by``), or "kept"."""
    kind = type_key(pair.kind)
    one = QAPair(id="0", dataset_id=entry.id, question=pair.question, answer=pair.answer, question_type=kind)
    material = Material(Dataset(id=entry.id, title=entry.title or "untitled"), (), entry.context)
    row = {"dataset": entry.id, "type": kind, "question": pair.question, "answer": pair.answer}
    for gate in select_gates(ctx.config, ctx.registry):
        if gate.models() or {"evidence", "sources", "scores"} & set(gate.needs):
            continue
        (verdict,) = await gate.check([one], material, ctx)
        if not verdict.accept:
            return {**row, "by": gate.code, "reason": verdict.reason}
    return {**row, "by": "kept"}


if __name__ == "__main__":
    main()
