"""Does the score tell faithful answers from unfaithful ones? ROC-AUC and pairwise accuracy on constructed corruptions.

Every configuration (framing, window) is measured once; the forms of the shift are computed from the same log-probabilities.
``auc`` and ``pairwise`` at the top of the JSON are those of the filter's defaults, or of ``--framings``, ``--windows`` and
``--forms`` when each names one.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corruptions import KINDS, Item, build
from benchmarks.geo_pairs import Entry, entries
from scirgen.core.calibration import Judged, roc_auc
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair, Score
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.pipeline.plugins import load_registry
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.shift import FORMS, ShiftScorer

WORDS = (300, 2200)
"""Contexts of this many words: long enough to be searched, short enough for a model with 4,096 tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="any scorer's URI")
    parser.add_argument(
        "--split", default="dev", choices=("train", "dev"), help="choices were made on train; dev is for reporting"
    )
    parser.add_argument("--datasets", type=int, default=40)
    parser.add_argument("--per-dataset", type=int, default=4)
    parser.add_argument("--framings", default="plain", help="plain,chat")
    parser.add_argument("--windows", default="full", help="full,evidence,max")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = asyncio.run(measure(arguments))
    print_tables(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    chosen = [e for e in entries(arguments.split) if WORDS[0] < len(e.context.split()) < WORDS[1]][: arguments.datasets]
    items = build(chosen, arguments.per_dataset, arguments.seed)
    counts = {kind: sum(i.kind == kind for i in items) for kind in ("faithful", *KINDS)}
    print(f"{len(chosen)} datasets of the {arguments.split} split; answers: {counts}", flush=True)
    rows = []
    base = Config(models={"generator": arguments.model})  # type: ignore[arg-type]
    model = await open_scoring(arguments.model, base, load_registry())
    for framing, window in itertools.product(arguments.framings.split(","), arguments.windows.split(",")):
        config = base.model_copy(
            update={"filter": base.filter.model_copy(update={"framing": framing, "window": window})}
        )
        start = time.perf_counter()
        scores = [s async for s in _scores(chosen, items, config, model)]
        seconds = time.perf_counter() - start
        for form in arguments.forms.split(","):
            values = [None if s is None else FORMS[form](s.logprobs_with, s.logprobs_without) for s in scores]
            rows.append(
                {"framing": framing, "window": window, "form": form, **judge(items, values), "seconds": seconds}
            )
        print(f"  {framing}, {window}: {seconds:.0f} s, {sum(s is None for s in scores)} not scored", flush=True)
    await model.aclose()
    default = Config().filter
    wanted = (default.framing, default.window, default.shift_form)
    shown = next((r for r in rows if (r["framing"], r["window"], r["form"]) == wanted), rows[0])
    return {
        "model": str(model.identity), "split": arguments.split, "datasets": len(chosen), "counts": counts,
        "configuration": {k: shown[k] for k in ("framing", "window", "form")},
        "auc": shown["auc"], "pairwise": shown["pairwise"], "ablation": rows,
    }  # fmt: skip


async def _scores(chosen: Sequence[Entry], items: Sequence[Item], config: Config, model: Any) -> Any:
    resources = Resources()
    with tempfile.TemporaryDirectory() as folder:
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(folder),
            None, CachedScoreSession(model), stage="filter", key="benchmark",
        )  # fmt: skip
        for number, group in itertools.groupby(items, key=lambda i: i.entry):
            pairs = [_pair(i) for i in group]
            material = Material(None, (), chosen[number].context, {})
            for score in await ShiftScorer().score(pairs, material, ctx):
                yield score if isinstance(score, Score) else None


def _pair(item: Item) -> QAPair:
    made = QAPair.make_id(item.pair.dataset_id, item.pair.kind, item.pair.question, item.answer)
    return QAPair(
        id=made,
        dataset_id=item.pair.dataset_id,
        question=item.pair.question,
        answer=item.answer,
        question_type=item.pair.kind,
    )


def judge(items: Sequence[Item], values: Sequence[float | None]) -> dict[str, Any]:
    """AUC of all faithful answers against each kind of corruption, and how often an answer scores above its own corruption."""
    auc, pairwise = {}, {}
    faithful = [v for i, v in zip(items, values, strict=True) if i.kind == "faithful" and v is not None]
    for kind in KINDS:
        bad = [(i, v) for i, v in zip(items, values, strict=True) if i.kind == kind and v is not None]
        rows = [Judged(v, True) for v in faithful] + [Judged(v, False) for _, v in bad]
        auc[kind] = roc_auc(rows)
        won = [float(o > v) + 0.5 * (o == v) for i, v in bad if (o := values[i.of]) is not None]
        pairwise[kind] = sum(won) / len(won) if won else None
    return {"auc": auc, "pairwise": pairwise}


def print_tables(result: dict[str, Any]) -> None:
    """Markdown."""
    print("\n| framing | window | form | " + " | ".join(f"{k} AUC / pairs" for k in KINDS) + " |")
    print("|---" * (3 + len(KINDS)) + "|")
    for row in result["ablation"]:
        cells = [f"{_share(row['auc'][k])} / {_share(row['pairwise'][k])}" for k in KINDS]
        print(f"| {row['framing']} | {row['window']} | {row['form']} | " + " | ".join(cells) + " |")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
