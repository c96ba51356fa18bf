"""Trains the heading classifier and measures it on papers that it did not see: ``python -m benchmarks.headings``.

Training material: papers whose licence allows it (Creative Commons Attribution, CC0, Apache 2.0), and those of
``benchmarks/data/headings.json`` (SETS: that file beside a folder ``pdf``). Each candidate of a paper is a row of
features, its label whether its text is a heading of the paper's source. Two passes of boosted trees (LightGBM): the
second one is trained on what the first says of papers left out of its training.

    python -m benchmarks.headings --data ../shared/data/papers ../shared/data/papers2 SETS --write

writes ``plugins/scirgen_pdf/headings/weights.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rapidfuzz import fuzz

from benchmarks._papers import Truth, load_truths
from benchmarks._truth_text import NEUTRAL, normal
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.headings.candidates import Candidate, candidates
from scirgen_pdf.headings.features import CONTEXT_NAMES, NAMES, context_rows, rows
from scirgen_pdf.headings.trees import Classifier, read_classifier
from scirgen_pdf.parser import read_layout

WEIGHTS = Path(__file__).parent.parent / "plugins/scirgen_pdf/headings/weights.json"
THRESHOLD = 0.45
_ROUNDS = 120
_SETTINGS = {
    "objective": "binary",
    "num_leaves": 12,
    "learning_rate": 0.06,
    "min_data_in_leaf": 8,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 2.0,
    "verbose": -1,
    "num_threads": 1,
    "seed": 7,
    "deterministic": True,
}
_FREE = re.compile(r"^(?:CC[- ]BY(?![- ](?:NC|ND|SA))|CC0|Creative Commons Attribution 4|Apache)", re.I)


@dataclass
class Material:
    """One paper's candidates, their features and labels (1 heading, 0 none, -1 unknown), and whose text it is."""

    source: str
    found: list[Candidate]
    rows: list[list[float]]
    labels: list[int]


def main() -> None:
    """Train, and write the weights where asked to."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    arguments.add_argument("--write", action="store_true")
    given = arguments.parse_args()
    material = collected(given.data)
    print(
        f"{len(material)} papers, {sum(len(m.labels) for m in material)} candidates, "
        f"{sum(m.labels.count(1) for m in material)} headings"
    )
    data = trained(material)
    if given.write:
        WEIGHTS.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
        print(f"{WEIGHTS}: {WEIGHTS.stat().st_size} bytes")


def collected(folders: Sequence[Path]) -> list[Material]:
    """The training material: the free papers of the folders."""
    return [
        paper_material(truth, folder / "pdf" / f"{truth.name}.pdf")
        for folder in folders
        for truth in load_truths(folder)
        if truth.name in free_papers(folder)
    ]


def free_papers(folder: Path) -> set[str]:
    """Names of the papers whose stated licence allows training on them; all of a folder without an index."""
    if not (folder / "index.json").is_file():
        return set(json.loads((folder / "headings.json").read_text(encoding="utf-8")))
    entries = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    entries = list(entries.values()) if isinstance(entries, dict) and "papers" not in entries else entries
    return {
        e["name"] for e in (entries["papers"] if isinstance(entries, dict) else entries) if _FREE.match(e["licence"])
    }


def paper_material(truth: Truth, pdf: Path) -> Material:
    """The candidates of a paper with their labels."""
    layout, outline = read_layout(pdf, ParserOptions(no_extract="parse"))
    found = candidates(layout.groups, layout.body, outline, layout.front.body_start)
    return Material(truth.name, found, rows(found, layout.groups, layout.body), labelled(truth, found))


def labelled(truth: Truth, found: Sequence[Candidate]) -> list[int]:
    """For each candidate, whether its text is a heading of the truth.

    Where more candidates have a heading's text than the truth has headings of it, the more prominent ones are it and
    the
    others are unknown (running titles, entries of a table of contents).
    """
    asked = Counter(normal(text) for _, text in truth.headings if text not in truth.missing)
    allowed = [normal(text) for text in [*truth.back, *truth.missing]]
    names = [normal(c.text) for c in found]
    labels = [0] * len(found)
    matches: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        best = max(asked, key=lambda a: fuzz.ratio(a, name), default=None)
        if best is not None and fuzz.ratio(best, name) >= 90:
            matches[best].append(i)
        elif any(fuzz.ratio(b, name) >= 90 for b in allowed):
            labels[i] = 1
        elif name in NEUTRAL:
            labels[i] = -1
    for name, places in matches.items():
        order = sorted(places, key=lambda i: _prominence(found[i]), reverse=True)
        for rank, i in enumerate(order):
            labels[i] = 1 if rank < asked[name] else -1
    return labels


def _prominence(c: Candidate) -> tuple[bool, float, bool, bool]:
    return (c.style.bold, c.style.size, c.number is not None, not c.run_in)


def trained(material: Sequence[Material], folds: int = 3) -> dict[str, Any]:
    """The weights, in the form of the file."""
    first = _fit(material, [m.rows for m in material])
    sources = sorted({m.source for m in material})
    fold = {source: i % folds for i, source in enumerate(sources)}
    context: list[list[list[float]]] = [[] for _ in material]
    for number in range(folds):
        rest = [m for m in material if fold[m.source] != number]
        model = _fit(rest, [m.rows for m in rest])
        for i, m in enumerate(material):
            if fold[m.source] == number and m.rows:
                context[i] = context_rows(m.found, m.rows, [float(p) for p in model.predict(m.rows)])
    second = _fit(material, context)
    return {
        "threshold": THRESHOLD,
        "features": [*NAMES, *CONTEXT_NAMES],
        "first": _trees(first),
        "second": _trees(second),
    }


def leave_one_out(material: Sequence[Material], seed: int = 7) -> Callable[[str], Classifier]:
    """For each paper's name, a classifier trained without that paper. Change of ``seed`` moves precision by .02."""
    made: dict[str, Classifier] = {}
    everything: list[Classifier] = []

    def without(name: str) -> Classifier:
        _SETTINGS["seed"] = seed
        if name not in made:
            rest = [m for m in material if m.source != name]
            if len(rest) == len(material):
                if not everything:
                    everything.append(read_classifier(trained(material)))
                made[name] = everything[0]
            else:
                made[name] = read_classifier(trained(rest))
        return made[name]

    return without


def _fit(material: Sequence[Material], features: Sequence[list[list[float]]]) -> Any:
    import lightgbm
    import numpy

    chosen = [
        (row, label, 1.0 / len(m.labels) ** 0.5)
        for m, table in zip(material, features, strict=True)
        for row, label in zip(table, m.labels, strict=True)
        if label >= 0
    ]
    table = numpy.array([row for row, _, _ in chosen])
    labels = numpy.array([label for _, label, _ in chosen])
    weights = numpy.array([weight for _, _, weight in chosen])
    return lightgbm.train(_SETTINGS, lightgbm.Dataset(table, labels, weight=weights), _ROUNDS)


def _trees(model: Any) -> list[list[list[float]]]:
    """LightGBM's trees as arrays: features, thresholds, left and right children of inner nodes, values of leaves."""
    return [_arrays(tree["tree_structure"]) for tree in model.dump_model()["tree_info"]]


def _arrays(root: dict[str, Any]) -> list[list[float]]:
    feature: list[float] = []
    threshold: list[float] = []
    left: list[float] = []
    right: list[float] = []
    leaf: list[float] = []

    def walk(node: dict[str, Any]) -> int:
        if "leaf_value" in node:
            leaf.append(round(float(node["leaf_value"]), 4))
            return -len(leaf)
        place = len(feature)
        feature.append(int(node["split_feature"]))
        threshold.append(float(f"{float(node['threshold']):.6g}"))
        left.append(0)
        right.append(0)
        left[place] = walk(node["left_child"])
        right[place] = walk(node["right_child"])
        return place

    if walk(root) < 0:  # a tree that is one leaf
        return [[0], [0.0], [-1], [-1], [leaf[0]]]
    return [feature, threshold, left, right, leaf]


if __name__ == "__main__":
    main()
