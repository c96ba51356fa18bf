"""The question-answering metrics for Hugging Face `evaluate`: classes to instantiate, not scripts to load, so no
network is needed.

`scirgen benchmark qa` computes with them. It needs `evaluate`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from scirgen.plugin import require
from scirgen_bench.answer_metrics import (
    THRESHOLD,
    Judge,
    exact_match,
    number_match,
    open_judge,
    question_entails,
    rouge_l,
)

with require("benchmark", "these metrics"):
    import datasets
    import evaluate

Values = list[float | None]


class PairMetric(evaluate.Metric):  # type: ignore[misc]  # evaluate ships no types
    """A mean over pairs of texts: ``{key: mean or None, "counted": pairs that it applies to, "values": of each pair}``.

    A subclass gives ``key``, and ``of_pair`` or `values`; the first line of its docstring describes it.
    """

    key: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ("predictions", "references")
    of_pair: ClassVar[Callable[[str, str], float | None]]

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=str(self.__doc__).partition("\n")[0],
            citation="ScIRGen, section 4.1; ROUGE-L: Lin 2004",
            inputs_description="Lists of texts of one length: " + ", ".join(self.columns),
            features=datasets.Features({name: datasets.Value("string") for name in self.columns}),
        )

    def _compute(self, **texts: Sequence[str]) -> dict[str, Any]:
        values = self.values(*(texts[name] for name in self.columns))
        counted = [self.counts(v) for v in values if v is not None]
        return {self.key: sum(counted) / len(counted) if counted else None, "counted": len(counted), "values": values}

    def values(self, *texts: Sequence[str]) -> Values:
        """Return the value of each pair; None if the metric does not apply to it."""
        return [type(self).of_pair(*pair) for pair in zip(*texts, strict=True)]

    def counts(self, value: float) -> float:
        """Return the weight of a value in the mean."""
        return value


class ExactMatch(PairMetric):
    """Share of answers with the same words as the reference, without case, punctuation and articles."""

    key, of_pair = "exact_match", exact_match


class NumberMatch(PairMetric):
    """Share of answers with all of the reference's numbers and no other, where the reference has one."""

    key, of_pair = "number_match", number_match


class RougeL(PairMetric):
    """Mean F1 of the longest common subsequence of lower-cased words (Lin 2004)."""

    key, of_pair = "rouge_l", rouge_l


class EntailmentAccuracy(PairMetric):
    """Share of answers that entail the reference with more than 0.5 (ScIRGen, 4.2); both sides carry the question.

    Pairs that the model could not judge do not count.

    Args:
        entailment: an opened model, or its URI (see `open_judge`).
        settings: arguments of `evaluate.Metric` (``keep_in_memory``, ``cache_dir``, ...).

    Raises:
        ConfigError: an unknown scheme.
    """

    key, columns = "entailment_accuracy", ("predictions", "references", "questions")

    def __init__(self, entailment: str | Judge = "lexical:words", **settings: Any) -> None:
        self._judge = open_judge(entailment) if isinstance(entailment, str) else entailment
        super().__init__(**settings)

    def values(self, *texts: Sequence[str]) -> Values:
        """Return the probability that each answer entails its reference; None if the model failed."""
        predictions, references, questions = texts
        asked = list(zip(questions, predictions, references, strict=True))
        # In a separate thread, since a notebook already runs an event loop, in which asyncio.run fails.
        with ThreadPoolExecutor(1) as pool:
            judged = pool.submit(lambda: asyncio.run(question_entails(asked, self._judge))).result()
        return [None if e is None else e.entailment for e in judged]

    def counts(self, value: float) -> float:
        """Return 1 if the answer is right."""
        return float(value > THRESHOLD)


def pair_values(
    metric: PairMetric, predictions: Sequence[str], references: Sequence[str], **more: Sequence[str]
) -> Values:
    """Return a metric's value for each pair; None if it does not apply to the pair."""
    if not predictions:
        return []
    found: Values = metric.compute(predictions=predictions, references=references, **more)["values"]
    return found
