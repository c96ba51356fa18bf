"""Fits the ensemble of faithfulness scores on labels: a logistic regression, measured on datasets that it has not
seen."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scirgen.commands.calibrate.quality import FEWEST, Judged, auc_interval, quality, roc_auc, threshold_for
from scirgen.core.errors import InputError
from scirgen.core.extras import require
from scirgen.core.fingerprint import digest
from scirgen.core.records import QAPair
from scirgen.llm.base import ModelIdentity
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.contrast import Contrast, contrasts
from scirgen.stages.filter.faithfulness.ensemble import (
    NLI,
    EnsembleFile,
    Group,
    Labels,
    Logistic,
    features,
    is_inference,
    score_parts,
    support_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXT: Final = (
    "discounted", "worst", "known", "added", "unknown", "missing_numbers", "missing_names", "absolute", "denied", "linked", "inference",
    "number", "opposite", "negation", "exchanged", "other", "worst_gain", "unknown_gain", "unknown_loss", "worst_unknown", "antonyms",
)  # fmt: skip
POLAR: Final = ("claim_known", "claim_numbers", "yes")
RIVAL: Final = ("unknown", "uncovered", "in_rival", "over_rival", "absolute", "linked", "missing_numbers", "inference")
FEATURES: Final[Mapping[Group, tuple[str, ...]]] = {
    "text": TEXT, "polar": POLAR, "text+rival": RIVAL, "polar+rival": (*POLAR, "agrees"),
    "text+nli": (*TEXT, *NLI), "polar+nli": (*POLAR, *NLI),
}  # fmt: skip
"""The features that the regression of each group of answers uses."""

STRENGTH: Final = 0.03
"""Inverse of the regression's L2 penalty (scikit-learn's C); 0.02 to 1 give the same figures within their intervals."""

_TOLD_EACH: Final = 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Measured:
    """One labelled answer with its features. ``group``: "text" or "polar", "+rival" with one; ``fold``: the unit that is left out together (a
    dataset); ``made``: how the answer was made false."""

    group: Group
    values: Mapping[str, float]
    faithful: bool
    fold: str
    question_type: str = ""
    made: str = ""

    def belongs(self, group: Group) -> bool:
        """Whether a group is fitted on it: with an entailment model an answer counts for two groups."""
        plain = group.removesuffix("+nli")
        return self.group == plain and (plain == group or self.values.keys() >= set(NLI))


@dataclass(frozen=True)
class Fitted:
    """An ensemble, and for each group the probability of each answer from coefficients fitted without its fold (None if
    not judged)."""

    file: EnsembleFile
    outside: Mapping[Group, tuple[float | None, ...]]

    def summary(self, rows: Sequence[Measured]) -> dict[str, object]:
        """Out-of-sample figures by group and by how false answers were made: AUC with interval, share of the true
        answers rejected, and share of the false ones caught."""
        found: dict[str, object] = {}
        for group in FEATURES:
            model = self.file.groups.get(group)
            if model is None:
                same = [r.faithful for r in rows if r.belongs(group)]
                found |= {group: {"rows": len(same), "faithful": sum(same)}} if same else {}
                continue
            mine = [(r, p) for r, p in zip(rows, self.outside[group], strict=True) if p is not None]
            judged = [Judged(p, r.faithful) for r, p in mine]
            true = [p for r, p in mine if r.faithful]
            kinds = sorted({r.made for r, _ in mine if not r.faithful})
            found[group] = {
                "rows": len(mine), "faithful": len(true), "auc": roc_auc(judged), "auc_interval": auc_interval(judged),
                "precision": quality(judged, model.threshold).precision, "thresholds": model.thresholds,
                "threshold": model.threshold, "true_rejected": _share(p <= model.threshold for p in true),
                "caught": {
                    kind or "unfaithful": _share(p <= model.threshold for r, p in mine if not r.faithful and r.made == kind)
                    for kind in kinds
                },
                "auc_by_kind": {
                    kind or "unfaithful": roc_auc([j for (r, _), j in zip(mine, judged, strict=True) if r.faithful or r.made == kind])
                    for kind in kinds
                },
            }  # fmt: skip
        return found


def _share(flags: Any) -> float | None:
    known = list(flags)
    return sum(known) / len(known) if known else None


async def measure(
    pairs: Sequence[QAPair],
    labels: Sequence[tuple[bool, str, str]],
    materials: Sequence[Material],
    ctx: StageContext,
    tell: Callable[[str], None] = _log.info,
) -> list[Measured | Exception]:
    """The features of labelled pairs, with those of a rival and of an entailment model if a pair has their scores.

    Args:
        pairs: with their evidence.
        labels: (faithful, fold, made) of each pair.
        materials: what each is judged against.
        ctx: with the scorer.
        tell: called with messages about progress.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, pair in enumerate(pairs):
        groups.setdefault((pair.question, materials[i].context, *(s.text for s in pair.evidence)), []).append(i)
    found: dict[int, Measured | Exception] = {}
    for index in groups.values():
        # Answers to one question share its prompt, and often most of their alternatives.
        told = await contrasts([pairs[i] for i in index], materials[index[0]], ctx)
        found.update({i: _measured(pairs[i], one, labels[i], ctx) for i, one in zip(index, told, strict=True)})
        if len(found) % _TOLD_EACH < len(index) or len(found) == len(pairs):
            tell(f"measured {len(found)} of {len(pairs)} answers")
    return [found[i] for i in range(len(pairs))]


def _measured(
    pair: QAPair, one: Contrast | Exception, label: tuple[bool, str, str], ctx: StageContext
) -> Measured | Exception:
    if isinstance(one, Exception):
        return one
    faithful, fold, made = label
    rival, nli = score_parts(pair, "rival"), score_parts(pair, "nli")
    plain: Group = "polar" if one.claim else "text"
    with_rival: Group = "polar+rival" if one.claim else "text+rival"
    values = features(one, support_of(pair, one, ctx), rival, nli, inference=is_inference(pair, ctx))
    return Measured(plain if rival is None else with_rival, values, faithful, fold, pair.question_type, made)


def fit(
    rows: Sequence[Measured],
    identity: ModelIdentity,
    *,
    description: str,
    precision: float | None = None,
    rejected: float = 0.04,
    typical: Collection[str] = (),
    weights: Mapping[str, float] | None = None,
    prior: float = 0.5,
    entailment: str = "",
    labels_hash: str = "",
) -> Fitted:
    """Fit each group that has labels of both kinds in at least two folds.

    Args:
        rows: of `measure`.
        identity: of the scorer that measured them.
        description: what the labels are, in words; stored with the ensemble.
        precision: precision that the thresholds must reach on answers of left-out folds; None to reject the share
            ``rejected`` of the true answers.
        rejected: at most this share of the true answers is rejected, on left-out folds.
        typical: how the true answers that set that threshold were made (`Measured.made`); for labels whose other true
            answers are harder than those that will be filtered. Empty: all.
        weights: way of making -> weight of such answers in the fit; 1 for all others.
        prior: the ``filter.contrast_prior`` with which the scores were measured.
        entailment: `content_identity` of the entailment model, if one was asked.
        labels_hash: hash of the labels; empty: the hash of their features is used.

    Raises:
        InputError: no group has enough labels.
        MissingExtraError: scikit-learn is not installed.
    """
    groups: dict[Group, Logistic] = {}
    outside: dict[Group, tuple[float | None, ...]] = {}
    for group, names in FEATURES.items():
        index = [i for i, r in enumerate(rows) if r.belongs(group)]
        mine = [rows[i] for i in index]
        good = sum(r.faithful for r in mine)
        if min(good, len(mine) - good) < FEWEST or len({r.fold for r in mine}) < 2:
            continue
        left_out = _left_out(mine, names, weights or {})
        known = dict(zip(index, left_out, strict=True))
        outside[group] = tuple(known.get(i) for i in range(len(rows)))
        usual = {r.made for r in mine if r.faithful} & set(typical)
        judged = [
            Judged(p, r.faithful, r.question_type)
            for r, p in zip(mine, left_out, strict=True)
            if not (usual and r.faithful and r.made not in usual)
        ]
        groups[group] = _logistic(mine, names, judged, precision, rejected, weights or {})
    if not groups:
        raise InputError(
            f"{len(rows)} labels are too few to fit an ensemble",
            hint=f"At least {FEWEST} faithful and {FEWEST} unfaithful answers, from two or more datasets, are needed.",
        )
    content = [[sorted(r.values.items()), r.faithful, r.fold] for r in rows]
    labels = Labels(
        sha256=labels_hash or digest("labels", content),
        rows=len(rows),
        faithful=sum(r.faithful for r in rows),
        description=description,
    )
    made = EnsembleFile(
        scorer=f"{identity.backend}:{identity.name}", revision=identity.revision, contrast_prior=prior,
        entailment=entailment if any(g.endswith("+nli") for g in groups) else "", labels=labels, groups=groups,
    )  # fmt: skip
    return Fitted(made, outside)


def write(path: Path, fitted: Fitted) -> None:
    """Store the ensemble for ``filter.ensemble``."""
    value = fitted.file.model_dump(mode="json")
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _logistic(
    rows: Sequence[Measured],
    names: Sequence[str],
    judged: Sequence[Judged],
    precision: float | None,
    rejected: float,
    weights: Mapping[str, float],
) -> Logistic:
    scaler, regression = _regression(rows, names, weights)
    thresholds = {}
    for kind in sorted({r.question_type for r in rows if r.question_type}) if precision is not None else ():
        own = [j for j in judged if j.question_type == kind]
        good = sum(j.faithful for j in own)
        if min(good, len(own) - good) >= FEWEST and (found := threshold_keeping(own, precision, rejected)) is not None:
            thresholds[kind] = found
    common = threshold_keeping(judged, precision, rejected)
    return Logistic(
        features=tuple(names),
        mean=tuple(round(float(v), 6) for v in scaler.mean_),
        scale=tuple(round(float(v), 6) for v in scaler.scale_),
        coefficients=tuple(round(float(v), 6) for v in regression.coef_[0]),
        intercept=round(float(regression.intercept_[0]), 6),
        threshold=0.5 if common is None else common,
        thresholds=thresholds,
    )


def threshold_keeping(judged: Sequence[Judged], precision: float | None, rejected: float) -> float | None:
    """The threshold with a wanted precision, or else the highest that rejects at most this share of the true answers; None
    without a true answer."""
    if precision is not None:
        found = threshold_for(judged, precision)
        return None if found is None else max(0.0, min(1.0, found))
    true = sorted(j.score for j in judged if j.faithful)
    allowed = int(rejected * len(true))
    if not true:
        return None
    # Below the first true answer that must be kept and all that are equal to it: a score must exceed its threshold.
    below = max((s for s in true if s < true[allowed]), default=0.0)
    return max(0.0, (true[allowed] + below) / 2)


def _left_out(rows: Sequence[Measured], names: Sequence[str], weights: Mapping[str, float]) -> list[float]:
    """The probability of each answer, from coefficients fitted on the other folds."""
    found = [0.0] * len(rows)
    for fold in sorted({r.fold for r in rows}):
        scaler, regression = _regression([r for r in rows if r.fold != fold], names, weights)
        index = [i for i, r in enumerate(rows) if r.fold == fold]
        values = regression.predict_proba(scaler.transform(_matrix([rows[i] for i in index], names)))[:, 1]
        for i, value in zip(index, values.tolist(), strict=True):
            found[i] = value
    return found


def _matrix(rows: Sequence[Measured], names: Sequence[str]) -> NDArray[Any]:
    import numpy as np

    return np.array([[r.values[name] for name in names] for r in rows], dtype=float)


def _regression(rows: Sequence[Measured], names: Sequence[str], weights: Mapping[str, float]) -> tuple[Any, Any]:
    with require("labels", "fitting an ensemble"):
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler
    matrix = _matrix(rows, names)
    scaler = StandardScaler().fit(matrix)
    regression = LogisticRegression(C=STRENGTH, max_iter=2000).fit(
        scaler.transform(matrix), [int(r.faithful) for r in rows], [weights.get(r.made, 1.0) for r in rows]
    )
    return scaler, regression
