"""The heading classifier: boosted decision trees, evaluated without any library.

The weights are made by ``python -m benchmarks.headings`` (LightGBM) and described in ``docs/heading-model.md``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

_SURE = 40.0  # log odds; more would overflow

Tree = tuple[tuple[int, ...], tuple[float, ...], tuple[int, ...], tuple[int, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Forest:
    """Trees as arrays: the feature, threshold, left and right child of each inner node; a negative child ~i is leaf
    i."""

    trees: tuple[Tree, ...]

    def probability(self, row: Sequence[float]) -> float:
        """Return the probability of the positive class, from 0 to 1."""
        total = 0.0
        for feature, threshold, left, right, leaf in self.trees:
            node = 0
            while node >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            total += leaf[~node]
        return 1.0 / (1.0 + math.exp(-max(-_SURE, min(_SURE, total))))


@dataclass(frozen=True)
class Classifier:
    """Two passes: the second also sees the first one's scores of neighbouring candidates."""

    first: Forest
    second: Forest
    threshold: float
    features: tuple[str, ...]


@lru_cache(maxsize=1)
def classifier() -> Classifier:
    """Return the classifier that comes with the package."""
    text = files("scirgen_pdf.headings").joinpath("weights.json").read_text(encoding="utf-8")
    return read_classifier(json.loads(text))


def read_classifier(data: dict[str, Any]) -> Classifier:
    """Return a classifier from the parsed weights file."""
    return Classifier(
        _forest(data["first"]), _forest(data["second"]), float(data["threshold"]), tuple(data["features"])
    )


def _forest(trees: list[list[list[float]]]) -> Forest:
    return Forest(
        tuple(
            (
                tuple(int(f) for f in feature),
                tuple(threshold),
                tuple(int(n) for n in left),
                tuple(int(n) for n in right),
                tuple(leaf),
            )
            for feature, threshold, left, right, leaf in trees
        )
    )
