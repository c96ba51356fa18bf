"""How well a local model tells true answers from false ones when it is asked: the labelled answers, each against its evidence.

No threshold or coefficient is fitted, so no figure is in sample. ``score:yes-no`` asks the scorer of ``--model`` whether question and
answer follow from the evidence and takes p(yes) / (p(yes) + p(no)); ``hf:ID_OR_DIR`` is a classifier.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.faithfulness_pairs import PARTS, opened
from benchmarks.labelled_pairs import TRUE, Row, rows
from scirgen.llm.encoders.entailment import Entailment, open_entailment

REJECTED = 0.04
"""Share of the true answers in the evidence's words that the threshold of a part may reject."""


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
    for part, kinds in found.items():
        print(f"\n| {part} | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
        for name in ("answers", "AUC", "rejected"):
            print(f"| {name} | " + " | ".join(str(k.get(name, "")) for k in kinds.values()) + " |")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


async def measure(asked: list[Row], arguments: argparse.Namespace) -> list[float]:
    """The probability of entailment of each answer; raises the first error."""
    options = {} if arguments.dtype == "auto" else {"dtype": arguments.dtype}
    believed: list[float] = []
    async with opened(arguments.model, arguments.cache, writer=False, options=options) as ctx:
        session = ctx.score_session if arguments.entailment.startswith("score:") else None
        model = open_entailment(arguments.entailment, ctx.registry, options, session, ctx.prompt("entail"))
        for at in range(0, len(asked), 16):
            texts = [
                (" ".join(s.text for s in r.pair.evidence), f"Question: {r.pair.question} Answer: {r.pair.answer}")
                for r in asked[at : at + 16]
            ]
            for one in await model.entail(texts):
                if not isinstance(one, Entailment):
                    raise one
                believed.append(one.entailment)
            logging.info("%d of %d answers", len(believed), len(asked))
    return believed


def summary(asked: list[Row], believed: list[float], part: str) -> dict[str, dict[str, Any]]:
    """Of each kind: how many, AUC against the true answers of its sort, and how many fall below the part's threshold."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for row, value in zip(asked, believed, strict=True):
        if row.part == part:
            by_kind[row.made].append(value)
    plain = by_kind["written"] or by_kind["close"]
    threshold = float(np.quantile(plain, REJECTED))
    found: dict[str, dict[str, Any]] = {}
    for kind in sorted((k for k in by_kind if by_kind[k]), key=lambda k: (k not in TRUE, k)):
        values = by_kind[kind]
        below = sum(v < threshold for v in values)
        found[kind] = {"answers": len(values), "rejected": f"{below} of {len(values)}"}
        if kind not in TRUE:
            true = by_kind["right"] if kind == "flip" and by_kind["right"] else plain
            found[kind]["AUC"] = round(float(roc_auc_score([1] * len(true) + [0] * len(values), true + values)), 2)
    return found


if __name__ == "__main__":
    main()
