"""Compute the proof sheet's figures from committed files: python examples/proof/check.py (or make proof-check)

`scores.json` has nDCG@10 of sixteen retrieval systems over the 7,564 descriptions of DataFinder, query by query: for
people's queries, for the questions of `datafinder.jsonl` (asked first), and for 80 known items of an earlier run.
Printed are the means, Kendall's tau and Spearman's rho with people's ranking, and the tau of two halves of people's
queries; what readers say of the public sample's rows (examples/release/figures.json); and the shares of its questions
that have a number or name a study ("et al.", or a year in brackets).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np

from scirgen_bench.rank_agreement import rank_statistics

HERE = Path(__file__).parent
_NUMBER = re.compile(r"(?<![A-Za-z])\d")
_STUDY = re.compile(r"et al|\(\d{4}\)")


def main() -> None:
    """Print the two tables."""
    scores = json.loads((HERE / "scores.json").read_text(encoding="utf-8"))
    sets = {name: np.array([scores[name][s] for s in scores["systems"]]) for name in scores if name != "systems"}
    print("nDCG@10", *(f"{name} ({values.shape[1]})" for name, values in sets.items()), sep="\t")
    for n, system in enumerate(scores["systems"]):
        print(system, *(f"{values[n].mean():.3f}" for values in sets.values()), sep="\t")
    for name in [n for n in sets if n != "people"]:
        for label, kept in (("all systems", None), ("without bm25, which searched for the writer", "bm25")):
            chosen = [n for n, system in enumerate(scores["systems"]) if kept is None or kept not in system]
            alike = rank_statistics(sets["people"][chosen], sets[name][chosen])
            print(
                f"{name}, {label} ({len(chosen)}): tau {_interval(alike.kendall, alike.kendall_95)}, "
                f"Spearman {_interval(alike.spearman, alike.spearman_95)}, people's halves tau {alike.halves:.2f}"
            )
    reading = json.loads((HERE.parent / "release" / "figures.json").read_text(encoding="utf-8"))["reading"]
    for kind, shares in reading["shares"].items():
        print(kind, *(f"{name} {'/'.join(map(str, share))}" for name, share in shares.items()), sep="\t")
    questions: dict[str, list[str]] = defaultdict(list)
    files = [
        f for split in ("train", "dev", "test") for f in (HERE.parent / "release/release").glob(f"*/{split}.jsonl")
    ]
    for file in files:
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            questions[row["asked"]].append(row["question"])
    for asked, texts in sorted(questions.items()):
        shares = (sum(bool(pattern.search(text)) for text in texts) / len(texts) for pattern in (_NUMBER, _STUDY))
        print(f"{asked}, {len(texts)} questions: {{:.0%}} have a number, {{:.0%}} name a study".format(*shares))


def _interval(value: float | None, bounds: tuple[float, float] | None) -> str:
    if value is None or bounds is None:
        return "undefined"
    return f"{value:.2f} [{bounds[0]:.2f}, {bounds[1]:.2f}]"


if __name__ == "__main__":
    main()
