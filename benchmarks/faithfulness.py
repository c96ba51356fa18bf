"""Does the score tell faithful answers from unfaithful ones? ROC-AUC and pairwise accuracy on constructed corruptions.

Every window is measured once; the forms of the shift are computed from the same log-probabilities.
``auc`` and ``pairwise`` at the top of the JSON are those of the filter's defaults, or of ``--windows`` and
``--forms`` when each names one. With ``--cache`` a run that was cut short goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.corruptions import KINDS, Item, build
from benchmarks.geo_pairs import Entry, entries
from scirgen.core.config import Config, ModelsConfig
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair, Score
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.shift import FORMS, ShiftScorer
from scirgen_bench.calibrate.quality import Judged, roc_auc

THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.3)
"""Where the share of answers that would be kept is given, for the default configuration."""

WORDS = (300, 2200)
"""Contexts of this many words: long enough to be searched, short enough for a model with 4,096 tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="any scorer's URI")
    parser.add_argument(
        "--split", default="dev", choices=("train", "dev"), help="choices were made on train; dev is for reporting"
    )
    parser.add_argument("--datasets", type=int, default=40)
    parser.add_argument(
        "--first", type=int, help="score the answers of so many of them only; corruptions stay the same"
    )
    parser.add_argument("--per-dataset", type=int, default=4)
    parser.add_argument("--windows", default="full", help="full,evidence,max")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cache", type=Path, help="keep measured log-probabilities in this file, and read them from it"
    )
    parser.add_argument(
        "--labels", type=Path, help="write the answers as labels for scirgen calibrate, with their shift"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = asyncio.run(measure(arguments))
    print_tables(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    chosen = [e for e in entries(arguments.split) if WORDS[0] < len(e.context.split()) < WORDS[1]][: arguments.datasets]
    items = build(chosen, arguments.per_dataset, arguments.seed)
    items = [i for i in items if arguments.first is None or i.entry < arguments.first]
    counts = {kind: sum(i.kind == kind for i in items) for kind in ("faithful", *KINDS)}
    print(f"{len({i.entry for i in items})} datasets of the {arguments.split} split; answers: {counts}", flush=True)
    rows = []
    base = Config(models=ModelsConfig(generator=arguments.model))
    model = await open_scoring(arguments.model, base, load_registry())
    session = CachedScoreSession(model, cache=ReplyCache.open(arguments.cache or ":memory:"))
    default = Config().filter
    wanted = (default.window, default.shift_form)
    every: dict[tuple[str, str], list[float | None]] = {}
    for window in arguments.windows.split(","):
        config = base.model_copy(update={"filter": base.filter.model_copy(update={"window": window})})
        start = time.perf_counter()
        scores = [s async for s in _scores(chosen, items, config, session)]
        seconds = time.perf_counter() - start
        for form in arguments.forms.split(","):
            values = [None if s is None else FORMS[form](s.logprobs_with, s.logprobs_without) for s in scores]
            every[window, form] = values
            rows.append({"window": window, "form": form, **judge(items, values), "seconds": seconds})
        print(f"  {window}: {seconds:.0f} s, {sum(s is None for s in scores)} not scored", flush=True)
    await session.aclose()
    shown = next((r for r in rows if (r["window"], r["form"]) == wanted), rows[0])
    base_values = every[shown["window"], shown["form"]]
    for row in rows:
        row["over_default"] = differences(items, every[row["window"], row["form"]], base_values)
    if arguments.labels:
        write_labels(arguments.labels, chosen, items, base_values)
    return {
        "model": str(model.identity), "split": arguments.split,
        "datasets": len({i.entry for i in items}), "counts": counts,
        "configuration": {k: shown[k] for k in ("window", "form")},
        "auc": shown["auc"], "pairwise": shown["pairwise"], "kept": kept(items, base_values), "ablation": rows,
    }  # fmt: skip


async def _scores(chosen: Sequence[Entry], items: Sequence[Item], config: Config, session: CachedScoreSession) -> Any:
    resources = Resources()
    with tempfile.TemporaryDirectory() as folder:
        ctx = StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(folder),
            None, session, stage="filter", key="benchmark",
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
    """AUC of all faithful answers against each kind of corruption, and how often an answer scores above its own
    corruption."""
    return _judge(items, values, range(len(items)))


def _judge(items: Sequence[Item], values: Sequence[float | None], chosen: Sequence[int]) -> dict[str, Any]:
    auc, pairwise = {}, {}
    known = [(items[i], v) for i in chosen if (v := values[i]) is not None]
    faithful = [Judged(v, True) for i, v in known if i.kind == "faithful"]
    for kind in KINDS:
        bad = [(i, v) for i, v in known if i.kind == kind]
        auc[kind] = roc_auc([*faithful, *(Judged(v, False) for _, v in bad)])
        won = [float(o > v) + 0.5 * (o == v) for i, v in bad if (o := values[i.of]) is not None]
        pairwise[kind] = sum(won) / len(won) if won else None
    return {"auc": auc, "pairwise": pairwise}


def kept(items: Sequence[Item], values: Sequence[float | None]) -> dict[str, dict[str, float | None]]:
    """Threshold -> kind -> share of the answers above it."""
    groups = {
        k: [v for i, v in zip(items, values, strict=True) if i.kind == k and v is not None]
        for k in ("faithful", *KINDS)
    }
    return {
        f"{t:g}": {k: sum(v > t for v in vs) / len(vs) if vs else None for k, vs in groups.items()} for t in THRESHOLDS
    }


def differences(
    items: Sequence[Item], values: Sequence[float | None], base: Sequence[float | None], resamples: int = 400
) -> dict[str, dict[str, list[float] | None]]:
    """Compare with ``base``: the 95 % bootstrap interval of the difference for each measure and kind.

    Whole datasets are drawn, not answers, for the answers of a dataset share their context.
    """
    groups: dict[int, list[int]] = {}
    for index, item in enumerate(items):
        groups.setdefault(item.entry, []).append(index)
    rng = random.Random(0)
    drawn: dict[tuple[str, str], list[float]] = {(m, k): [] for m in ("auc", "pairwise") for k in KINDS}
    for _ in range(resamples):
        chosen = [i for g in rng.choices(list(groups.values()), k=len(groups)) for i in g]
        ours, theirs = _judge(items, values, chosen), _judge(items, base, chosen)
        for (measure, kind), found in drawn.items():
            one, other = ours[measure][kind], theirs[measure][kind]
            if one is not None and other is not None:
                found.append(one - other)
    shown: dict[str, dict[str, list[float] | None]] = {"auc": {}, "pairwise": {}}
    for (measure, kind), found in drawn.items():
        found.sort()
        ends = [found[int(0.025 * (len(found) - 1))], found[int(0.975 * (len(found) - 1))]] if found else None
        shown[measure][kind] = ends
    return shown


def write_labels(path: Path, chosen: Sequence[Entry], items: Sequence[Item], values: Sequence[float | None]) -> None:
    """A labels file for ``scirgen calibrate``; what could not be scored is left for it to measure."""
    with path.open("w", encoding="utf-8") as file:
        for item, value in zip(items, values, strict=True):
            row = {
                "question": item.pair.question, "answer": item.answer, "context": chosen[item.entry].context,
                "label": "faithful" if item.kind == "faithful" else "unfaithful", "question_type": item.pair.kind,
                "scores": {} if value is None else {"shift": value},
            }  # fmt: skip
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def print_tables(result: dict[str, Any]) -> None:
    """Markdown."""
    print("\n| window | form | " + " | ".join(f"{k} AUC / pairs" for k in KINDS) + " |")
    print("|---" * (2 + len(KINDS)) + "|")
    for row in result["ablation"]:
        cells = [f"{_share(row['auc'][k])} / {_share(row['pairwise'][k])}" for k in KINDS]
        print(f"| {row['window']} | {row['form']} | " + " | ".join(cells) + " |")
    chosen = result["configuration"]
    print(f"\nShare kept above a threshold ({chosen['window']}, {chosen['form']}):\n")
    print("| threshold | faithful | " + " | ".join(KINDS) + " |\n" + "|---" * (2 + len(KINDS)) + "|")
    for threshold, shares in result["kept"].items():
        print(f"| {threshold} | " + " | ".join(_share(shares[k]) for k in ("faithful", *KINDS)) + " |")
    others = [r for r in result["ablation"] if r["form"] == chosen["form"] and r["auc"] != result["auc"]]
    if others:
        print(f"\nAUC less that of {chosen['window']}, 95 % intervals (datasets drawn again):\n")
        print("| window | " + " | ".join(KINDS) + " |\n" + "|---" * (1 + len(KINDS)) + "|")
    for row in others:
        cells = [_ends(row["over_default"]["auc"][k]) for k in KINDS]
        print(f"| {row['window']} | " + " | ".join(cells) + " |")


def _ends(ends: list[float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:+.2f} to {ends[1]:+.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
