"""The loss of retriever training, which compares each question with the documents of the batch, and the evaluator.

Needs the extra ``train``; `scirgen_bench.train.train` imports it where it trains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from torch import Tensor, nn
from torch.utils.data import SequentialSampler

_SCALE = 20.0
"""Cosines are multiplied by this before the softmax, as in sentence-transformers' MultipleNegativesRankingLoss."""


@dataclass(frozen=True)
class Example:
    """A document and some of the questions that it answers.

    Attributes:
        document: position in the corpus.
        questions: distinct questions.
        also: for each question the positions of the other documents that answer it; these are not negatives.
    """

    document: int
    questions: tuple[str, ...]
    also: tuple[tuple[int, ...], ...]


class QuestionLoss(nn.Module):
    """Cross-entropy of each question's document among the documents of the batch (van den Oord et al. 2018, InfoNCE).

    A document is embedded once for several of its questions. The other documents of the batch are negatives, unless
    they answer the question too. sentence-transformers' MultipleNegativesRankingLoss embeds a document again for each
    of its questions, and counts other documents that answer as negatives.

    Args:
        model: a SentenceTransformer.
        examples: the label of a row is an index into these.
    """

    def __init__(self, model: Any, examples: Sequence[Example]) -> None:
        super().__init__()
        self.model = model
        self._examples = examples

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Return the mean over the questions of the batch.

        Args:
            sentence_features: the tokens of the documents, then of the first, second ... questions (rows, tokens).
            labels: shape (rows,), each row's position in ``examples``.
        """
        documents, *questions = (
            nn.functional.normalize(self.model(dict(f))["sentence_embedding"].float(), dim=-1)
            for f in sentence_features
        )
        rows = [self._examples[i] for i in labels.tolist()]
        losses = []
        for column, asked in enumerate(questions):
            real = [i for i, r in enumerate(rows) if column < len(r.questions)]
            if not real:
                continue
            answers = [{rows[i].document, *rows[i].also[column]} for i in real]
            spared = [
                [at != i and r.document in a for at, r in enumerate(rows)] for i, a in zip(real, answers, strict=True)
            ]
            scores = (asked[real] @ documents.T) * _SCALE
            scores = scores.masked_fill(torch.tensor(spared, device=scores.device), -torch.inf)
            losses.append(
                nn.functional.cross_entropy(scores, torch.tensor(real, device=scores.device), reduction="none")
            )
        return torch.cat(losses).mean()


def autocast(model: Any, bf16: bool) -> torch.autocast:
    """Compute in bfloat16 inside this context, except operations that would lose precision."""
    return torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=bf16)


def in_order(dataset: Any, **given: Any) -> DefaultBatchSampler:
    """Return the batches of the rows in their order: the examples already are in random order, with similar documents
    together."""
    return DefaultBatchSampler(SequentialSampler(dataset), **given)


class Evaluator(InformationRetrievalEvaluator):
    """Retrieval metrics of sentence-transformers, computed with the training's precision.

    Args:
        bf16: embed in bfloat16.
        given: the arguments of InformationRetrievalEvaluator.
    """

    def __init__(self, bf16: bool, **given: Any) -> None:
        super().__init__(**given)
        self._bf16 = bf16

    def __call__(self, model: Any, *args: Any, **given: Any) -> dict[str, float]:
        """Return the value of each metric."""
        with autocast(model, self._bf16):
            return dict(super().__call__(model, *args, **given))
