"""How well a local model tells true answers from false ones when it is asked: the labelled answers, each against its evidence.

It asks as the scorer ``nli`` does. No threshold or coefficient is fitted, so no figure is in sample. ``score:yes-no`` asks the scorer of ``--model`` whether question and
answer follow from the evidence and takes p(yes) / (p(yes) + p(no)); ``hf:ID_OR_DIR`` is a classifier.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faithfulness_pairs import PARTS, auc_by_kind, opened, polar, shares
from benchmarks.labelled_pairs import Row, rows
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.judged import EntailmentScorer

REJECTED = 0.04
"""Share of the true answers in the evidence's words (of the right Yes and No) that a part's threshold may reject."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.asked_pairs", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="a scorer's URI")
    parser.add_argument("--dtype", default="auto", help="of the scorer's weights, such as bfloat16")
    parser.add_argument("--entailment", default="score:yes-no", help="score:yes-no or hf:ID_OR_DIR")
    parser.add_argument("--cache", type=Path, default=Path(".asked-cache.sqlite"), help="measured log-probabilities")
    parser.add_argument("--part", action="append", choices=PARTS, help="only these answers; default: all")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    asked = [r for r in rows() if r.part in (arguments.part or PARTS)]
    # Neighbours share their evidence, and so the prefix of their prompts.
    asked.sort(key=lambda r: (r.pair.evidence[0].text, r.pair.question))
    believed = asyncio.run(measure(asked, arguments))
    found = {part: summary(asked, believed, part) for part in dict.fromkeys(r.part for r in asked)}
    for part, one in found.items():
        print(f"\n| {part} | " + " | ".join(one["rejected"]) + " |\n|---|" + "---|" * len(one["rejected"]))
        print("| rejected | " + " | ".join(one["rejected"].values()) + " |")
        print(
            "| AUC | "
            + " | ".join(f"{one['auc'][k][0]:.2f}" if k in one["auc"] else "" for k in one["rejected"])
            + " |"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


async def measure(asked: list[Row], arguments: argparse.Namespace) -> list[float]:
    """The score of each answer; raises the first error."""
    options = {} if arguments.dtype == "auto" else {"dtype": arguments.dtype}
    settings = {"faithfulness": ["nli"], "entailment": arguments.entailment}
    believed: list[float] = []
    async with opened(arguments.model, arguments.cache, writer=False, options=options, **settings) as ctx:
        for at in range(0, len(asked), 16):
            for score in await EntailmentScorer().score(
                [r.pair for r in asked[at : at + 16]], Material(None, (), ""), ctx
            ):
                if isinstance(score, Exception):
                    raise score
                believed.append(score.value)
            logging.info("%d of %d answers", len(believed), len(asked))
    return believed


def summary(asked: list[Row], believed: list[float], part: str) -> dict[str, Any]:
    """By kind: the AUC against the true answers of its sort, and how many the part's threshold rejects."""
    typical = [
        (polar(r), v)
        for r, v in zip(asked, believed, strict=True)
        if r.part == part and r.made in ("written", "close", "right")
    ]
    least = {
        sort: float(np.quantile([v for is_polar, v in typical if is_polar == sort], REJECTED)) for sort in (True, False)
    }
    rejected = [v < least[polar(r)] if r.part == part else False for r, v in zip(asked, believed, strict=True)]
    return {"rejected": shares(asked, rejected, part), "auc": auc_by_kind(asked, believed, part)}


if __name__ == "__main__":
    main()
