"""SePer as published on the inputs of its authors' notebook (github.com/sepermetric/seper, example.ipynb), beside
their figures.

Theirs: Llama-2-7b-chat, deberta-v2-xlarge-mnli. Ours: any scorer that also writes, and an entailment model.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Final

from scirgen.core.config import Config
from scirgen.core.records import QAPair, Score
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.semantic import HardSemanticScorer, SemanticScorer, weights
from scirgen_bench.calibrate.calibrate import opened

QUESTION, ANSWER = "Is Elon Musk older than Sam Altman?", "Yes"
MUSK, ALTMAN = "Elon Musk was born on June 28, 1971.", "Sam Altman was born on April 22, 1985."
CONTEXTS: Final = {"both": f"{MUSK} {ALTMAN}", "the first": MUSK, "the second": ALTMAN}
PRINTED: Final = {"both": (0.9611, 0.4393), "the first": (0.6926, 0.4393), "the second": (0.5895, 0.4393)}
"""Soft SePer with the context and without, as the notebook prints it."""

_YES, _DOT = -0.011683372780680656, -0.22827866673469543
_LONG: Final = (
    _YES, _DOT, -1.8856996297836304, -1.0728830375228426e-06, -1.9192511899746023e-05, -3.814689989667386e-06,
    -0.4233023524284363,
    -0.9172983169555664, -0.06922823935747147, -0.00011383838864276186, -0.0002047805901383981, -1.2040065485052764e-05,
    -4.0531076592742465e-06, -5.364274329622276e-05, -3.814689989667386e-06, -0.024501953274011612,
)  # fmt: skip
RESPONSES: Final = (*((_YES, _DOT),) * 6, *((_YES,),) * 3, _LONG)
"""Log-probabilities of the ten printed responses with both facts: six "Yes.", three "Yes", one sentence."""


def printed_weights() -> list[float]:
    """Our weights of the printed responses."""
    return weights([sum(r) / len(r) for r in RESPONSES])


async def measured(model: str, entailment: str, samples: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Scorer -> context -> SePer with and without it."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    config = Config.model_validate({
        "models": {"generator": model}, "filter": {
            "faithfulness": ["semantic"], "window": "full", "entailment": entailment, "semantic_samples": samples,
        },
    })  # fmt: skip
    pair = QAPair(id="notebook", dataset_id="notebook", question=QUESTION, answer=ANSWER, question_type="verification")
    async with opened(config, Resources(), load_registry()) as ctx:
        for scorer in (SemanticScorer(), HardSemanticScorer()):
            found[scorer.name] = {}
            for name, context in CONTEXTS.items():
                (score,) = await scorer.score([pair], Material(None, (), context), ctx)
                if not isinstance(score, Score):
                    raise score
                parts = dict(score.parts)
                found[scorer.name][name] = (parts["with"], parts["without"])
                print(f"  {scorer.name}, {name}: {score.detail}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.semantic", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="writes and scores")
    parser.add_argument("--entailment", default="score:yes-no", help="see filter.entailment")
    parser.add_argument("--samples", type=int, default=10)
    arguments = parser.parse_args()
    shares = printed_weights()
    print(
        f"printed responses: weights {min(shares):.4f} to {max(shares):.4f}; "
        f"of the nine short ones {sum(shares[:9]):.4f}"
    )
    found = asyncio.run(measured(arguments.model, arguments.entailment, arguments.samples))
    print(
        "| facts | printed: with, without, gain | "
        + " | ".join(f"{name}: with, without, gain" for name in found)
        + " |"
    )
    print("|---|---|" + "---|" * len(found))
    for name, given in PRINTED.items():
        cells = [given, *(rows[name] for rows in found.values())]
        print(f"| {name} | " + " | ".join(f"{a:.4f}, {b:.4f}, {a - b:+.4f}" for a, b in cells) + " |")


if __name__ == "__main__":
    main()
