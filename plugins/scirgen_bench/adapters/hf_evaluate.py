"""The question-answering metrics for Hugging Face `evaluate`: classes to instantiate, not scripts to load, so no
network is needed.

`scirgen benchmark qa` computes with them. Each result also has the value of each pair, under ``values``. It needs
`evaluate`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from scirgen.builtin import PLUGIN
from scirgen.core.errors import require
from scirgen.core.prompts import PromptLibrary
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.llm.encoders.entailment import Entailment, EntailmentModel, open_entailment
from scirgen_bench.answer_metrics import THRESHOLD, exact_match, number_match, question_entails, rouge_l

with require("benchmark", "these metrics"):
    import datasets
    import evaluate

Result = dict[str, float | Sequence[float | None] | None]

_CITATION = "ScIRGen, section 4.2; ROUGE-L: Lin 2004"
_TEXT_PAIR = ("predictions", "references")


def _info(description: str, columns: Sequence[str]) -> evaluate.MetricInfo:
    return evaluate.MetricInfo(
        description=description,
        citation=_CITATION,
        inputs_description="Lists of texts of one length: " + ", ".join(columns),
        features=datasets.Features({name: datasets.Value("string") for name in columns}),
    )


class ExactMatch(evaluate.Metric):  # type: ignore[misc]  # evaluate ships no types
    """``{"exact_match": share}``: the same words, without case, punctuation and articles."""

    def _info(self) -> evaluate.MetricInfo:
        return _info("Share of answers with the same words as the reference.", _TEXT_PAIR)

    def _compute(self, predictions: Sequence[str], references: Sequence[str]) -> Result:
        found = [exact_match(p, r) for p, r in zip(predictions, references, strict=True)]
        return {"exact_match": _mean(found), "values": found}


class NumberMatch(evaluate.Metric):  # type: ignore[misc]
    """``{"number_match": share or None, "counted": n}`` over the pairs whose reference has a number."""

    def _info(self) -> evaluate.MetricInfo:
        return _info("Share of answers with all of the reference's numbers and no other.", _TEXT_PAIR)

    def _compute(self, predictions: Sequence[str], references: Sequence[str]) -> Result:
        found = [number_match(p, r) for p, r in zip(predictions, references, strict=True)]
        counted = [value for value in found if value is not None]
        return {"number_match": _mean(counted), "counted": len(counted), "values": found}


class RougeL(evaluate.Metric):  # type: ignore[misc]
    """``{"rouge_l": mean}``: F1 of the longest common subsequence of lower-cased words (Lin 2004)."""

    def _info(self) -> evaluate.MetricInfo:
        return _info("Mean ROUGE-L F1.", _TEXT_PAIR)

    def _compute(self, predictions: Sequence[str], references: Sequence[str]) -> Result:
        found = [rouge_l(p, r) for p, r in zip(predictions, references, strict=True)]
        return {"rouge_l": _mean(found), "values": found}


class EntailmentAccuracy(evaluate.Metric):  # type: ignore[misc]
    """``{"entailment_accuracy": share or None, "failed": n}``: the answer entails the reference with more than 0.5
    (ScIRGen, 4.2).

    ``compute`` takes ``questions`` besides ``predictions`` and ``references``: both sides carry the question. Pairs
    the model could not judge are counted in ``failed`` and left out of the share.

    Args:
        entailment: an opened model, or ``hf:NLI_MODEL_OR_DIR`` (a local folder needs no network), or
            ``lexical:words``, which counts shared words.
        registry: where the scheme is looked up; scirgen's own schemes by default.
        options: ``models.options`` of a configuration.
        settings: arguments of `evaluate.Metric` (``keep_in_memory``, ``cache_dir``, ...).

    Raises:
        ConfigError: an unknown scheme.
    """

    def __init__(
        self,
        entailment: str | EntailmentModel = "lexical:words",
        *,
        registry: Registry | None = None,
        options: dict[str, object] | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(entailment, str):
            if registry is None:
                registry = Registry()
                registry.add(PLUGIN)
            prompt = PromptLibrary(Resources()).get("filter/entail", "standard")
            entailment = open_entailment(entailment, registry, options or {}, None, prompt)
        self._judge = entailment
        super().__init__(**settings)

    def _info(self) -> evaluate.MetricInfo:
        return _info("Share of answers that entail the reference.", (*_TEXT_PAIR, "questions"))

    def _compute(self, predictions: Sequence[str], references: Sequence[str], questions: Sequence[str]) -> Result:
        asked = list(zip(questions, predictions, references, strict=True))

        def work() -> list[Entailment | None]:
            return asyncio.run(question_entails(asked, self._judge))

        # In a separate thread, since a notebook already runs an event loop, in which asyncio.run fails.
        with ThreadPoolExecutor(1) as pool:
            judged = pool.submit(work).result()
        known = [float(e.entailment > THRESHOLD) for e in judged if e is not None]
        values = [None if e is None else e.entailment for e in judged]
        return {"entailment_accuracy": _mean(known), "failed": len(judged) - len(known), "values": values}


def pair_values(
    metric: evaluate.Metric, predictions: Sequence[str], references: Sequence[str], **more: Sequence[str]
) -> list[float | None]:
    """A metric's value for each pair; None if it does not apply to the pair."""
    if not predictions:
        return []
    found: list[float | None] = metric.compute(predictions=predictions, references=references, **more)["values"]
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
