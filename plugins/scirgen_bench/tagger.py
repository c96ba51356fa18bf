"""Fits and measures the local tagger. This needs scikit-learn; applying a tagger does not."""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from scirgen.core.errors import InputError, require
from scirgen.core.files.jsonl import read_objects
from scirgen.core.fingerprint import digest
from scirgen.core.taxonomy import Taxonomies
from scirgen_bench.question_tagger import Labelled, QuestionTagger, blocks

Target = Literal["level", "question_type"]

_LEVEL = re.compile(r"\s*(C[1-6])\b", re.IGNORECASE)
_MIN_COUNT = 2
"""A feature seen once cannot generalise, and would double the model's size."""
_C = 0.2
"""Inverse regularisation of the support vector machine, chosen on the dev split of ScIRGen-Geo."""
_HOLD_OUT = 10


@dataclass(frozen=True)
class Example:
    """One labelled question."""

    item: Labelled
    label: str


@dataclass(frozen=True)
class Disagreement:
    """A question on which tagger and label differ; ``margin`` is how much the tagger prefers its own label."""

    question: str
    question_type: str
    label: str
    predicted: str
    margin: float


def read_labels(path: Path, target: Target, taxonomies: Taxonomies) -> tuple[list[Example], int]:
    """Labelled questions from a JSONL file: ``question``, ``question_type``, ``level`` ("C4", "C4(Analyzing)" or
    "Analyzing").

    Returns:
        The examples, and the number of lines without a usable label.

    Raises:
        InputError: the file is unreadable, not JSONL, or has no labels; the message names file and line.
    """
    examples: list[Example] = []
    skipped = 0
    kinds = {_plain(n): k.id for k in taxonomies.graesser.types for n in (k.id, k.name)}
    levels = {level.name.casefold(): level.id for level in taxonomies.bloom.levels}
    hint = 'A line is {"question": ..., "question_type": ..., "level": ...}.'
    for number, row in read_objects(path, hint=hint):
        if "question" not in row:
            raise InputError(f"{path}:{number}: not a labelled question: no 'question'", hint=hint)
        question = row["question"]
        kind = str(row.get("question_type") or "")
        kind = kinds.get(_plain(kind), kind)
        label = kind if target == "question_type" else _level(row.get("level") or row.get("bloom"), levels)
        if not label or not isinstance(question, str) or not question.strip():
            skipped += 1
            continue
        examples.append(Example(Labelled(question, "" if target == "question_type" else kind), label))
    if not examples:
        raise InputError(f"{path}: no line has a usable {target}", hint="Levels are C1 to C6.")
    return examples, skipped


def _plain(name: str) -> str:
    return re.sub(r"[^a-z]+", "", name.casefold())


def _level(value: object, names: dict[str, str]) -> str:
    text = str(value or "")
    match = _LEVEL.match(text)
    return match.group(1).upper() if match else names.get(text.strip().casefold(), "")


def hold_out(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Split the examples nine to one, by a hash of the question, so that equal questions are on the same side."""
    held = [int(digest(e.item.question.casefold())[:8], 16) % _HOLD_OUT == 0 for e in examples]
    kept = [e for e, out in zip(examples, held, strict=True) if not out]
    return kept, [e for e, out in zip(examples, held, strict=True) if out]


def fit(examples: Sequence[Example], target: Target) -> QuestionTagger:
    """A linear support vector machine, one against the rest, over TF-IDF of the three feature blocks.

    Raises:
        InputError: fewer than two labels.
        MissingExtraError: scikit-learn is not installed.
    """
    if len({e.label for e in examples}) < 2:
        raise InputError("all questions have the same label, so there is nothing to learn")
    with require("tagger", "training taggers"):
        from scipy.sparse import hstack
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.svm import LinearSVC
    features = list(zip(*(blocks(e.item) for e in examples), strict=True))
    matrices, terms, idf = [], [], []
    for number, block in enumerate(features):
        if not any(block):
            continue
        vectorizer = TfidfVectorizer(analyzer=_as_is, min_df=min(_MIN_COUNT, len(examples)), sublinear_tf=True)
        try:
            matrices.append(vectorizer.fit_transform(block))
        except ValueError:
            continue  # no feature of the block is frequent enough
        terms += [f"{number}{t}" for t in vectorizer.get_feature_names_out()]
        idf.append(vectorizer.idf_)
    if not matrices:
        raise InputError("the questions have no words in common", hint="Give more labelled questions.")
    model = LinearSVC(C=_C, random_state=0).fit(hstack(matrices).tocsr(), [e.label for e in examples])
    coefficients, intercepts, labels = _per_label(model)
    meta: dict[str, Any] = {
        "target": target,
        "labels": labels,
        "trained_on": len(examples),
        "training_data": digest([(e.item.question, e.item.question_type, e.label) for e in examples]),
    }
    return QuestionTagger(terms, np.concatenate(idf).astype(np.float32), coefficients, intercepts, meta)


def _as_is(features: list[str]) -> list[str]:
    return features


def _per_label(model: Any) -> tuple[Any, Any, list[str]]:
    """Coefficients (terms, labels); with two labels scikit-learn keeps one column, whose sign decides."""
    coefficients, intercepts = model.coef_.T.astype(np.float32), model.intercept_.astype(np.float32)
    if coefficients.shape[1] == 1:
        coefficients = np.hstack([-coefficients, coefficients])
        intercepts = np.array([-intercepts[0], intercepts[0]], dtype=np.float32)
    return np.ascontiguousarray(coefficients), intercepts, [str(c) for c in model.classes_]


def evaluate(
    tagger: QuestionTagger, train: Sequence[Example], test: Sequence[Example]
) -> tuple[dict[str, Any], list[Disagreement]]:
    """Accuracy, macro-F1 and Cohen's kappa on ``test``, together with two baselines, and the disagreements between
    tagger and label."""
    from sklearn.metrics import confusion_matrix

    gold = [e.label for e in test]
    start = time.perf_counter()
    scores = tagger.scores([e.item for e in test])
    seconds = time.perf_counter() - start
    predicted = [tagger.labels[i] for i in scores.argmax(axis=1)]
    majority = Counter(e.label for e in train).most_common(1)[0][0]
    by_type: dict[str, Counter[str]] = defaultdict(Counter)
    for example in train:
        by_type[example.item.question_type][example.label] += 1
    typed = [
        by_type[e.item.question_type].most_common(1)[0][0] if e.item.question_type in by_type else majority
        for e in test
    ]
    labels = sorted(set(gold) | set(predicted))
    report = {
        "target": tagger.target,
        "train": len(train),
        "test": len(test),
        **_quality(gold, predicted),
        "questions_per_s": round(len(test) / seconds, 1) if seconds else None,
        "baselines": {"majority": _quality(gold, [majority] * len(gold)), "by_type": _quality(gold, typed)},
        "labels": labels,
        "confusion": confusion_matrix(gold, predicted, labels=labels).tolist(),
        "accuracy_by_type": _accuracy_by_type(test, predicted),
        "disagreements": sum(g != p for g, p in zip(gold, predicted, strict=True)),
    }
    column = {label: i for i, label in enumerate(tagger.labels)}
    found = [
        Disagreement(
            e.item.question,
            e.item.question_type,
            e.label,
            p,
            round(float(row.max() - row[column[e.label]]) if e.label in column else float("inf"), 4),
        )
        for e, p, row in zip(test, predicted, scores, strict=True)
        if e.label != p
    ]
    return report, sorted(found, key=lambda d: (-d.margin, d.question))


def _quality(gold: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """``accuracy``; ``macro_f1`` (unweighted over labels); ``kappa``, agreement beyond chance (Cohen 1960)."""
    from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

    kappa = cohen_kappa_score(gold, predicted) if len(set(gold) | set(predicted)) > 1 else 1.0
    return {
        "accuracy": round(float(accuracy_score(gold, predicted)), 4),
        "macro_f1": round(float(f1_score(gold, predicted, average="macro", zero_division=0)), 4),
        "kappa": round(float(kappa), 4),
    }


def _accuracy_by_type(test: Sequence[Example], predicted: Sequence[str]) -> dict[str, float]:
    right: dict[str, list[bool]] = defaultdict(list)
    for example, label in zip(test, predicted, strict=True):
        right[example.item.question_type or example.label].append(example.label == label)
    return {kind: round(sum(hits) / len(hits), 4) for kind, hits in sorted(right.items())}
