"""Fits the coefficients of ``calibrated`` on labels: a logistic regression with two edges, measured on datasets that it
has not seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scirgen import InputError, Material, ModelIdentity, QAPair, Score, StageContext
from scirgen.plugin import digest, grouped, require
from scirgen.stages.filter.faithfulness.calibrated import FEATURES, Coefficients, features, measured_words
from scirgen.stages.filter.faithfulness.shift import ShiftScorer
from scirgen_bench.calibrate.quality import FEWEST, Judged, auc_interval, roc_auc
from scirgen_bench.intervals import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRENGTH: Final = 0.03
"""Inverse of the regression's L2 penalty (scikit-learn's C); 0.03 to 1 give the same figures within their intervals."""

_TOLD_EACH: Final = 50


@dataclass(frozen=True)
class Measured:
    """One labelled answer with its features. ``fold``: the unit that is left out together (a dataset); ``made``: how a
    false answer was made, or a true one was worded."""

    values: Mapping[str, float]
    faithful: bool
    fold: str
    made: str = ""


@dataclass(frozen=True)
class Fitted:
    """Coefficients, with the probability of each answer from coefficients that were fitted without its fold, and
    whether edges that were fitted without its fold reject it (False), keep it (True), or are unsure (None)."""

    file: Coefficients
    outside: tuple[float, ...]
    decided: tuple[bool | None, ...]

    def summary(self, rows: Sequence[Measured]) -> dict[str, object]:
        """Compute out-of-sample figures: AUC with interval, precision on both sides, and shares by kind of answer."""
        judged = [Judged(p, r.faithful) for r, p in zip(rows, self.outside, strict=True)]
        told = list(zip(rows, self.decided, strict=True))
        sides = {
            "rejected": [not r.faithful for r, d in told if d is False],
            "kept": [r.faithful for r, d in told if d is True],
        }
        kinds = sorted({_kind(r) for r in rows})
        return {
            "rows": len(rows), "faithful": sum(r.faithful for r in rows),
            "auc": roc_auc(judged), "auc_interval": auc_interval(judged),
            "reject": self.file.reject, "sure": self.file.sure,
            "sides": {
                n: {"rows": len(s), "right": sum(s), "interval": wilson(sum(s), len(s)) if s else None}
                for n, s in sides.items()
            },
            "kinds": {
                kind: {
                    name: sum(d is want for r, d in told if _kind(r) == kind)
                    for name, want in (("rejected", False), ("unsure", None), ("kept", True))
                }
                for kind in kinds
            },
        }  # fmt: skip


def _kind(row: Measured) -> str:
    return row.made or ("faithful" if row.faithful else "unfaithful")


async def measure(
    pairs: Sequence[QAPair],
    labels: Sequence[tuple[bool, str, str]],
    materials: Sequence[Material],
    ctx: StageContext,
    tell: Callable[[str], None],
) -> list[Measured | Exception | None]:
    """Measure the features of labelled pairs; None for answers that ``calibrated`` does not judge (Yes and No).

    Args:
        pairs: with their evidence.
        labels: (faithful, fold, made) of each pair.
        materials: what each is judged against.
        ctx: with the scorer.
        tell: called with messages about progress.
    """
    groups = grouped(((materials[i].context, *(s.text for s in p.evidence)), i) for i, p in enumerate(pairs))
    found: dict[int, Measured | Exception | None] = {}
    for index in groups.values():
        # Answers to the same evidence share its tokens.
        scores = await ShiftScorer().score([pairs[i] for i in index], materials[index[0]], ctx)
        for i, score in zip(index, scores, strict=True):
            found[i] = _measured(pairs[i], score, materials[i], labels[i], ctx)
        if len(found) % _TOLD_EACH < len(index) or len(found) == len(pairs):
            tell(f"measured {len(found)} of {len(pairs)} answers")
    return [found[i] for i in range(len(pairs))]


def _measured(
    pair: QAPair, score: Score | Exception, material: Material, label: tuple[bool, str, str], ctx: StageContext
) -> Measured | Exception | None:
    if isinstance(score, Exception):
        return score
    said = measured_words(pair, material, ctx)
    return None if said is None else Measured(features(score, said), *label)


def fit(
    rows: Sequence[Measured],
    identity: ModelIdentity,
    *,
    description: str,
    precision: float = 0.98,
    weights: Mapping[str, float] | None = None,
    edges_from: Sequence[bool] | None = None,
    labels_hash: str = "",
) -> Fitted:
    """Fit coefficients, and find the two edges that reach the precision on answers of left-out folds.

    Args:
        rows: of `measure`.
        identity: of the scorer that measured them.
        description: what the labels are, in words; stored with the coefficients.
        precision: share of the rejected answers that must be false, and of the kept ones that must be true.
        weights: way of making -> weight of such answers in the fit; 1 for all others.
        edges_from: which rows count for the edges; None: all.
        labels_hash: hash of the labels; empty: the hash of their features is used.

    Raises:
        InputError: there are not enough labels, or all are of one dataset.
        MissingExtraError: scikit-learn is not installed.
    """
    good = sum(r.faithful for r in rows)
    folds = sorted({r.fold for r in rows})
    if min(good, len(rows) - good) < FEWEST or len(folds) < 2:
        raise InputError(
            f"{len(rows)} labels are too few to fit coefficients",
            hint=f"At least {FEWEST} faithful and {FEWEST} unfaithful answers, from two or more datasets, are needed.",
        )
    matrix, told = _matrix(rows), [int(r.faithful) for r in rows]
    given = {"logisticregression__sample_weight": [(weights or {}).get(r.made, 1.0) for r in rows]}
    pipeline, selection = _regression()
    left_out = selection.cross_val_predict(
        pipeline, matrix, told, groups=[r.fold for r in rows], cv=selection.LeaveOneGroupOut(), params=given,
        method="predict_proba",
    )  # fmt: skip
    outside = left_out[:, 1].tolist()
    counted = edges_from or [True] * len(rows)
    known = [(p, r.faithful, r.fold) for r, p, c in zip(rows, outside, counted, strict=True) if c]
    by_fold = {f: edges([(p, t) for p, t, fold in known if fold != f], precision) for f in folds}
    scaler, regression = (step for _, step in pipeline.fit(matrix, told, **given).steps)
    reject, sure = edges([(p, t) for p, t, _ in known], precision)
    content = [[sorted(r.values.items()), r.faithful, r.fold] for r in rows]
    made = Coefficients(
        scorer=f"{identity.backend}:{identity.name}", revision=identity.revision, labels=description,
        labels_hash=labels_hash or digest("labels", content), rows=len(rows), faithful=good, features=FEATURES,
        mean=_rounded(scaler.mean_), scale=_rounded(scaler.scale_), coefficients=_rounded(regression.coef_[0]),
        intercept=round(float(regression.intercept_[0]), 6), reject=reject, sure=sure,
    )  # fmt: skip
    sides = ((p, *by_fold[r.fold]) for r, p in zip(rows, outside, strict=True))
    decided = [None if low < p <= high else p > high for p, low, high in sides]
    return Fitted(made, tuple(outside), tuple(decided))


def edges(judged: Sequence[tuple[float, bool]], precision: float) -> tuple[float, float]:
    """Find the two edges of the band in which answers are unsure.

    Args:
        judged: (probability, whether the answer is true).
        precision: at or below the first edge at least this share is false; above the second, at least this share is
            true.

    Returns:
        The highest such lower edge (0 without one) and the lowest such upper edge (1 without one), each half-way
        between two probabilities.
    """
    ordered = sorted(judged)
    values = [p for p, _ in ordered]
    between = [0.0, *((a + b) / 2 for a, b in pairwise(values)), 1.0]
    ends = [i for i in range(len(ordered) + 1) if i in (0, len(ordered)) or values[i - 1] < values[i]]
    true = [0, *accumulate(int(t) for _, t in ordered)]
    low = max((i for i in ends if i - true[i] >= precision * i), default=0)
    high = min(i for i in ends if i >= low and true[-1] - true[i] >= precision * (len(ordered) - i))
    return between[low], between[high]


def write(path: Path, made: Coefficients) -> None:
    """Store coefficients for ``filter.coefficients``."""
    path.write_text(json.dumps(made.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")


def _rounded(values: Any) -> tuple[float, ...]:
    return tuple(round(float(v), 6) for v in values)


def _matrix(rows: Sequence[Measured]) -> NDArray[Any]:
    import numpy as np

    return np.array([[r.values[name] for name in FEATURES] for r in rows], dtype=float)


def _regression() -> tuple[Any, Any]:
    """Return the standardised regression, and scikit-learn's module of cross-validation."""
    with require("labels", "fitting coefficients"):
        from sklearn import model_selection
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    return make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=2000)), model_selection
