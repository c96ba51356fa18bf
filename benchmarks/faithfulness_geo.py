"""What the filter's default rejects of ScIRGen-Geo's released pairs, written out so that a person can judge the rejections.

Draws pairs of the dev split at random. The first ``--scored`` pass through the gates and the scores, as many more as ``--gated`` says through the
gates alone, which cost little. These pairs have no spans: the passages that share most with question and answer stand in for the evidence.
``--read`` writes pairs rejected for want of support and as many kept ones, in mixed order, without the verdicts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.faithfulness_pairs import opened
from benchmarks.geo_pairs import Entry, Pair, entries
from scirgen.core.records import Dataset, QAPair, Span
from scirgen.qa.qafiles import type_key
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import deciding, reason_against, score_all
from scirgen.stages.filter.faithfulness.contrast import type_of
from scirgen.stages.filter.faithfulness.windows import evidence_window
from scirgen.stages.filter.stage import select_gates

JUDGED = ("not_supported", "ensemble", "contrast")
"""What rejects for want of support; the other gates look at form."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness_geo", description=__doc__)
    parser.add_argument("--scored", type=int, default=200, help="pairs that all of the filter judges (4 s each)")
    parser.add_argument("--gated", type=int, default=1000, help="pairs that the gates judge, these among them")
    parser.add_argument("--rejected", type=int, default=50, help="how many rejected pairs --read writes at most")
    parser.add_argument("--whole", action="store_true", help="judge against the whole context, not the passages found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True, help="every pair that was drawn, with its verdict")
    parser.add_argument("--read", type=Path, help="as many rejected and kept pairs, in mixed order, without verdicts")
    arguments = parser.parse_args()
    found = asyncio.run(run(arguments))
    arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(Counter(row["by"] for row in found[: arguments.scored]), Counter(row["by"] for row in found))
    if arguments.read:
        judged = sorted(
            (r for r in found if r["by"] in JUDGED), key=lambda r: (r["by"] == "not_supported", r["number"])
        )
        chosen = judged[: arguments.rejected]
        chosen += [r for r in found if r["by"] == "kept"][: len(chosen)]
        random.Random(arguments.seed).shuffle(chosen)
        shown = [f"## {r['number']}\n\n{r['text']}\n\nQ: {r['question']}\n\nA: {r['answer']}\n" for r in chosen]
        arguments.read.write_text("\n".join(shown), encoding="utf-8")


async def run(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    drawn = [(entry, pair) for entry in entries("dev") for pair in entry.pairs]
    random.Random(arguments.seed).shuffle(drawn)
    async with opened("bundled:smollm2-135m", ":memory:", writer=False) as ctx:
        return [
            {"number": n, **await judged(entry, pair, ctx, score=n < arguments.scored, whole=arguments.whole)}
            for n, (entry, pair) in enumerate(drawn[: arguments.gated])
        ]


async def judged(entry: Entry, pair: Pair, ctx: StageContext, *, score: bool, whole: bool) -> dict[str, Any]:
    """The pair with what rejected it (``by``); "kept", or "not scored" where only the gates judged it."""
    kind = type_key(pair.kind)
    bare = QAPair(id="0", dataset_id=entry.id, question=pair.question, answer=pair.answer, question_type=kind)
    text = evidence_window(bare, Material(None, (), entry.context)).text
    span = Span(document_id=entry.id, start=0, end=len(text), text=text)
    candidate = bare if whole else bare.model_copy(update={"evidence": (span,)})
    material = Material(Dataset(id=entry.id, title=entry.title), (), entry.context, {entry.id: text})
    row = {"dataset": entry.id, "type": kind, "question": pair.question, "answer": pair.answer, "text": text}
    gates = [
        g for g in select_gates(ctx.config, ctx.registry) if not whole or not {"evidence", "sources"} & set(g.needs)
    ]
    for gate in gates:
        (verdict,) = await gate.check([candidate], material, ctx)
        if not verdict.accept:
            return {**row, "by": gate.code, "reason": verdict.reason}
    if not score:
        return {**row, "by": "not scored"}
    scored, error = (await score_all([candidate], material, ctx))["0"]
    if error:
        raise error
    shown = {**row, "scores": {s.name: None if s.abstained else s.value for s in scored.scores}}
    reason = reason_against(scored, type_of(scored, ctx), ctx.config)
    if not reason:
        return {**shown, "by": "kept"}
    by = next(s.name for s in deciding(scored, type_of(scored, ctx)) if not s.passed)
    return {**shown, "by": by, "reason": reason}


if __name__ == "__main__":
    main()
