"""Predicts types and Bloom levels for question sets without labels, with a linear classifier trained on a labelled
release.

Use it to compare distributions, not to tag single questions; its accuracy is measured and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scirgen.core.errors import InputError, require
from scirgen_bench.compare.question_sets import Asked, QuestionSet

_MOST = 20_000
_FEWEST = 50


class Labeller:
    """Logistic regression over words and word pairs of the question. Stop words count, since they show the type."""

    def __init__(self, labelled: QuestionSet) -> None:
        """Learn from one part of the questions and measure on the rest: train and dev of a release, if both have
        questions; otherwise every fifth question is held out.

        Raises:
            InputError: too few labelled questions.
            MissingExtraError: scikit-learn is not installed.
        """
        usable = [a for a in labelled.questions if a.bloom and a.question_type]
        if len(usable) < _FEWEST:
            raise InputError(
                f"{labelled.name} has {len(usable)} questions with type and level; {_FEWEST} are needed to learn from",
                hint="Give a larger release to --labels-from.",
            )
        train, held = _parts(usable)
        self.name = labelled.name
        self._bloom = _fit([a.question for a in train], [a.bloom for a in train])
        self._type = _fit([a.question for a in train], [a.question_type for a in train])
        self.bloom_accuracy = self._accuracy(self._bloom, held, [a.bloom for a in held])
        self.type_accuracy = self._accuracy(self._type, held, [a.question_type for a in held])

    @staticmethod
    def _accuracy(model: Any, held: Sequence[Asked], right: Sequence[str]) -> float:
        predicted = model.predict([a.question for a in held])
        return round(sum(str(p) == r for p, r in zip(predicted, right, strict=True)) / len(held), 4)

    def label(self, questions: QuestionSet) -> QuestionSet:
        """The set with predicted types and levels where it has none; existing labels stay."""
        texts = [a.question for a in questions.questions]
        types, levels = self._type.predict(texts), self._bloom.predict(texts)
        asked = [
            replace(a, question_type=a.question_type or str(t), bloom=a.bloom or str(b))
            for a, t, b in zip(questions.questions, types, levels, strict=True)
        ]
        return replace(questions, questions=asked)

    def description(self) -> str:
        """The classifier's source and accuracy, for the report."""
        return (
            f"predicted by a classifier learnt from {self.name} (held-out accuracy: level {self.bloom_accuracy:.2f}, "
            f"type {self.type_accuracy:.2f})"
        )


def _parts(usable: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    train = [a for a in usable if a.split == "train"]
    held = [a for a in usable if a.split == "dev"]
    if not train or not held:
        train = [a for i, a in enumerate(usable) if i % 5]
        held = [a for i, a in enumerate(usable) if not i % 5]
    return train[:: max(1, len(train) // _MOST)], held


def _fit(texts: Sequence[str], labels: Sequence[str]) -> Any:
    with require("benchmark", "labelling"):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2 if len(texts) > 1000 else 1, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=200),
    )
    return model.fit(list(texts), list(labels))
