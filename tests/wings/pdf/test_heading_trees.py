import json
from importlib.resources import files

import pytest

from scirgen_pdf.headings.features import CONTEXT_NAMES, NAMES
from scirgen_pdf.headings.trees import classifier, read_classifier


def test_shipped_weights_fit_the_features_and_are_small() -> None:
    model = classifier()
    assert model.features == (*NAMES, *CONTEXT_NAMES)
    assert max(f for tree in model.first.trees for f in tree[0]) < len(NAMES)
    text = files("scirgen_pdf.headings").joinpath("weights.json").read_text(encoding="utf-8")
    assert len(text) < 200_000 and json.loads(text)["threshold"] == model.threshold


def test_tree_is_walked_by_its_thresholds() -> None:
    tree = [[0, 1], [0.5, 2.0], [1, -2], [-1, -3], [5.0, -1.0, -5.0]]
    model = read_classifier({"first": [tree], "second": [tree], "threshold": 0.5, "features": ["a", "b"]})
    assert model.first.probability([1.0, 0.0]) == pytest.approx(0.9933, abs=1e-4)
    assert model.first.probability([0.0, 1.0]) == pytest.approx(0.2689, abs=1e-4)
    assert model.first.probability([0.0, 3.0]) == pytest.approx(0.0067, abs=1e-4)
