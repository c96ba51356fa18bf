"""The loss of retriever training, each question against every document of the corpus, and its evaluator.

Needs the extra ``train``; `scirgen.commands.retriever.train` imports it where it trains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


class CorpusLoss(nn.Module):
    """Cross-entropy of a question's documents: the softmax runs over the whole corpus.

    The documents of the batch are embedded by the model as it is now, and learn. The others come from a memory bank (Wu et al., CVPR
    2018), so the nearest wrong documents are always among the negatives. A document's entry is renewed when it is in a batch, and the
    whole bank now and then: a bank much older than the model makes the right document too easy to tell.

    Args:
        model: a SentenceTransformer.
        corpus: texts of the documents.
        examples: what the label of a row points at.
        encode: texts -> tensor (texts, dimensions) of length-1 vectors without gradient.
        renew_every: steps between two renewals of the whole bank.
    """

    def __init__(
        self,
        model: Any,
        corpus: Sequence[str],
        examples: Sequence[Example],
        encode: Callable[[Sequence[str]], Tensor],
        renew_every: int,
    ) -> None:
        super().__init__()
        self.model = model
        self._corpus, self._examples, self._encode, self._every = corpus, examples, encode, renew_every
        self._memory = torch.empty(0)
        self._steps = 0

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """Mean over the questions of the batch.

        Args:
            sentence_features: the tokens of the documents, then of the first, second ... questions (rows, tokens).
            labels: shape (rows,), each row's position in ``examples``.
        """
        if self._steps % self._every == 0:  # the first time here, too: a resumed training has loaded its weights by now
            self._memory = self._encode(self._corpus)
        self._steps += 1
        documents, *questions = (
            nn.functional.normalize(self.model(dict(f))["sentence_embedding"].float(), dim=-1)
            for f in sentence_features
        )
        rows = [self._examples[i] for i in labels.tolist()]
        places = torch.tensor([r.document for r in rows], device=documents.device)
        self._memory = self._memory.to(documents.device)
        self._memory[places] = documents.detach()
        losses = []
        for column, asked in enumerate(questions):
            real = [i for i, r in enumerate(rows) if column < len(r.questions)]
            if not real:
                continue
            scores = asked[real] @ self._memory.T
            scores = scores.index_copy(1, places, asked[real] @ documents.T) * _SCALE
            for at, i in enumerate(real):
                scores[at, list(rows[i].also[column])] = -torch.inf
            losses.append(nn.functional.cross_entropy(scores, places[real], reduction="none"))
        return torch.cat(losses).mean()


def autocast(model: Any, bf16: bool) -> torch.autocast:
    """Compute in bfloat16 inside this context, where that loses little."""
    return torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=bf16)


def in_order(dataset: Any, **given: Any) -> DefaultBatchSampler:
    """Batches of the rows as they come: the examples are in a random order already, with similar documents together."""
    return DefaultBatchSampler(SequentialSampler(dataset), **given)


class Evaluator(InformationRetrievalEvaluator):
    """Retrieval metrics of sentence-transformers, computed as the training computes.

    Args:
        bf16: embed in bfloat16.
        given: as InformationRetrievalEvaluator takes it.
    """

    def __init__(self, bf16: bool, **given: Any) -> None:
        super().__init__(**given)
        self._bf16 = bf16

    def __call__(self, model: Any, *args: Any, **given: Any) -> dict[str, float]:
        """Metric -> value."""
        with autocast(model, self._bf16):
            return dict(super().__call__(model, *args, **given))
