from __future__ import annotations

import socket
import sys
from typing import ClassVar

import pytest

from scirgen.core.errors import ConfigError, MissingExtraError, ModelError
from scirgen.llm.encoders.entailment import Entailment
from scirgen_bench.adapters.hf_evaluate import EntailmentAccuracy, ExactMatch, NumberMatch, RougeL


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Any connection and any look-up of a name fails the test."""

    def refuse(*args, **kwargs):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


class Scripted:
    """Entails where the premise ends like the hypothesis; fails on "broken"."""

    identity = "scripted:x"
    counts_words = False
    asked: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, *args):
        pass

    async def entail(self, pairs):
        self.asked += pairs
        return [
            ModelError("broken") if "broken" in p else Entailment(0.51, 0.49) if p == h else Entailment(0.49, 0.51)
            for p, h in pairs
        ]


def test_exact_match_ignores_case_punctuation_and_articles(tmp_path):
    metric = ExactMatch(cache_dir=str(tmp_path))
    found = metric.compute(predictions=["The ERA5.", "ERA5 land"], references=["era5", "ERA5"])
    assert found == {"exact_match": 0.5, "counted": 2, "values": [1.0, 0.0]}


def test_numbers_are_counted_over_the_references_that_have_one(tmp_path):
    metric = NumberMatch(cache_dir=str(tmp_path))
    found = metric.compute(predictions=["1,000 km", "10 or 12", "x"], references=["1000", "10", "none"])
    assert found == {"number_match": 0.5, "counted": 2, "values": [1.0, 0.0, None]}
    none = metric.compute(predictions=["x"], references=["none"])
    assert none == {"number_match": None, "counted": 0, "values": [None]}


def test_rouge_l_is_the_mean_and_rows_may_be_added_in_batches(tmp_path):
    metric = RougeL(cache_dir=str(tmp_path))
    metric.add_batch(predictions=["the cat sat on the mat"], references=["the cat on mat"])
    metric.add(prediction="a b", reference="c d")
    assert metric.compute()["rouge_l"] == pytest.approx(0.4)


async def test_entailment_carries_the_question_and_counts_failures(tmp_path):
    metric = EntailmentAccuracy(Scripted(), cache_dir=str(tmp_path))
    found = metric.compute(
        predictions=["Yes", "No", "broken"], references=["Yes", "Yes", "Yes"], questions=["Is it wet?"] * 3
    )
    assert found == {"entailment_accuracy": 0.5, "counted": 2, "values": [0.51, 0.49, None]}
    assert Scripted.asked[1] == ("Is it wet? No", "Is it wet? Yes")


def test_the_default_judge_needs_no_model_and_an_unknown_one_is_refused(tmp_path):
    metric = EntailmentAccuracy(cache_dir=str(tmp_path))
    found = metric.compute(predictions=["By stations"], references=["By stations"], questions=["How was it measured?"])
    assert found == {"entailment_accuracy": 1.0, "counted": 1, "values": [1.0]}
    with pytest.raises(ConfigError):
        EntailmentAccuracy("nonsense:x", cache_dir=str(tmp_path))


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "evaluate", None)
    monkeypatch.delitem(sys.modules, "scirgen_bench.adapters.hf_evaluate")
    with pytest.raises(MissingExtraError) as error:
        import scirgen_bench.adapters.hf_evaluate  # noqa: F401
    assert "scirgen[benchmark]" in error.value.hint
