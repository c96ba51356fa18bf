"""Labelled pairs of a strong writer: what the filter's default rejects of the true and of each kind of false answers, out of sample.

Reads ``pairs/`` of ``$SCIRGEN_REALDATA``. The ensemble is fitted again without the dataset that is judged (leave one dataset out), so that no answer
is judged by coefficients that saw it; the gate ``not_supported`` and ``contrast`` with their defaults are rows of their own and part of the total.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scirgen.commands.calibrate.ensemble import fit, measure
from scirgen.commands.calibrate.quality import Judged, auc_interval, roc_auc
from scirgen.core.config import Config, ModelsConfig
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair, Score, Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.contrast import CLAIM_THRESHOLD, ContrastScorer
from scirgen.stages.filter.gates.evidence import NotSupportedGate

KINDS = ("swap", "number", "negated", "subtle", "flip")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness_pairs", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="any scorer's URI")
    parser.add_argument("--first", type=int, help="only so many pairs, for a quick look")
    parser.add_argument("--cache", type=Path, help="keep measured log-probabilities in this file")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = asyncio.run(run(arguments))
    print_table(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def labelled(folder: Path) -> list[dict[str, Any]]:
    """The written pairs and their corruptions, then the subtle ones with the dataset of the pair they are of."""
    strong = [json.loads(line) for line in (folder / "strong-dev.jsonl").read_text(encoding="utf-8").splitlines()]
    origin = {row["id"]: row for row in strong}
    subtle = [json.loads(line) for line in (folder / "subtle-dev.jsonl").read_text(encoding="utf-8").splitlines()]
    return strong + [{**row, "made": "subtle", "dataset": origin[row["of"]]["dataset"]} for row in subtle]


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    rows = labelled(Path(os.environ.get("SCIRGEN_REALDATA", "../shared/data")) / "pairs")[: arguments.first]
    pairs = [_pair(n, row) for n, row in enumerate(rows)]
    materials = [Material(None, (), "\n".join(row["evidence"])) for row in rows]
    config, resources = Config(models=ModelsConfig(generator=arguments.model)), Resources()
    model = await open_scoring(arguments.model, config, load_registry())
    session = CachedScoreSession(model, cache=ReplyCache.open(arguments.cache or ":memory:"))
    with tempfile.TemporaryDirectory() as folder:
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(folder),
            None, session, stage="filter", key="benchmark",
        )  # fmt: skip
        labels = [(row["label"] == "faithful", row["dataset"], row["made"]) for row in rows]
        measured = await measure(pairs, labels, materials, ctx)
        known = [m for m in measured if not isinstance(m, Exception)]
        fitted = fit(known, session.identity, description="benchmark")
        contrast = [(await ContrastScorer().score([p], m, ctx))[0] for p, m in zip(pairs, materials, strict=True)]
        gate = [NotSupportedGate().judge(p, m, ctx) for p, m in zip(pairs, materials, strict=True)]
    await session.aclose()
    limits = {group: one.threshold for group, one in fitted.file.groups.items()}
    outside = iter(fitted.outside)
    values = [None if isinstance(m, Exception) else next(outside) for m in measured]
    decided = {
        "ensemble": [
            v is not None and not isinstance(m, Exception) and v <= limits.get(m.group, 0.0)
            for v, m in zip(values, measured, strict=True)
        ],
        "contrast": [_falls(s) for s in contrast],
        "not_supported": [not verdict.accept for verdict in gate],
    }
    decided["all three"] = [any(row) for row in zip(*decided.values(), strict=True)]
    return {
        "model": str(session.identity), "failed": len(measured) - len(known),
        "rejected": {name: _shares(rows, flags) for name, flags in decided.items()}, "auc": _auc(rows, values),
    }  # fmt: skip


def _pair(number: int, row: dict[str, Any]) -> QAPair:
    spans = tuple(Span(document_id="", start=0, end=len(text), text=text) for text in row["evidence"])
    return QAPair(
        id=f"{row['id']}-{number}", dataset_id=row["dataset"], question=row["question"], answer=row["answer"],
        question_type=row["question_type"], evidence=spans,
    )  # fmt: skip


def _falls(score: Score | Exception) -> bool:
    if isinstance(score, Exception) or score.abstained:
        return False
    return score.value <= (ContrastScorer.default_threshold if score.threshold is None else CLAIM_THRESHOLD)


def _shares(rows: Sequence[dict[str, Any]], flags: Sequence[bool]) -> dict[str, str]:
    groups = {"true": [f for r, f in zip(rows, flags, strict=True) if r["label"] == "faithful"]}
    for kind in KINDS:
        groups[kind] = [f for r, f in zip(rows, flags, strict=True) if r["label"] != "faithful" and r["made"] == kind]
    return {name: f"{sum(found)} of {len(found)}" for name, found in groups.items()}


def _auc(rows: Sequence[dict[str, Any]], values: Sequence[float | None]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in KINDS:
        judged = [
            Judged(v, r["label"] == "faithful")
            for r, v in zip(rows, values, strict=True)
            if v is not None and (r["label"] == "faithful" or r["made"] == kind)
        ]
        found[kind] = [roc_auc(judged), auc_interval(judged)]
    return found


def print_table(result: dict[str, Any]) -> None:
    """Markdown: rejected by each part of the default, then the ensemble's AUC, out of sample."""
    print("| rejected by | true | " + " | ".join(KINDS) + " |\n" + "|---" * (2 + len(KINDS)) + "|")
    for name, shares in result["rejected"].items():
        print(f"| {name} | " + " | ".join(shares.values()) + " |")
    cells = [
        "-" if a is None else f"{a:.2f} [{i[0]:.2f}, {i[1]:.2f}]" if i else f"{a:.2f}"
        for a, i in result["auc"].values()
    ]
    print("| AUC of the ensemble | | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
