"""The calibrated probability that an answer is faithful: the shift, and the checkable words and numbers of the answer.

It asks no model: it reads the log-probabilities that ``shift`` measured. `scirgen calibrate --coefficients` fits the
coefficients, which belong to one scorer; those of the bundled scorer ship in ``weights/``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scirgen.claims.conformance import polarity
from scirgen.claims.support import Support, support
from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.fingerprint import digest
from scirgen.core.records import QAPair, Score
from scirgen.core.safety.files import named_files
from scirgen.llm.base import ModelIdentity
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.shift import ShiftScorer, relative_shift
from scirgen.stages.filter.faithfulness.windows import chosen_window

SHIPPED: Final = Path(__file__).parent / "weights"
FEATURES: Final = ("shift", "least_new", "missing_numbers", "denied", "opposites", "absolute")
BLIND: Final = 0.7
"""The AUC on planted falsehoods below which the shift decides nothing about a type."""
_LEAST: Final = -12.0
"""Words less likely than this (log-probability) are equally unlikely."""


class Coefficients(BaseModel):
    """A fitted logistic regression: p = 1 / (1 + exp(-(intercept + sum of coefficient x (value - mean) / scale))).

    An answer is rejected at or below ``reject``, kept above ``sure``, and unsure between them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal[3] = 3
    scorer: str = Field(description="backend:name of the scorer whose log-probabilities were used")
    revision: str = Field(default="", description="of the scorer; empty where it has none")
    labels: str = Field(description="what it was fitted on, in words")
    labels_hash: str
    rows: int
    faithful: int
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    reject: float = Field(ge=0, le=1)
    sure: float = Field(ge=0, le=1)
    aucs: dict[str, float] = Field(
        default={}, description="question type -> AUC of the scorer's shift on planted falsehoods (calibrate --plant)"
    )

    @property
    def hash(self) -> str:
        """Hash of all its values; part of the fingerprint of what it judged."""
        return digest("coefficients", self.model_dump(mode="json"))

    def fits(self, identity: ModelIdentity) -> bool:
        """Return whether it was fitted for this scorer."""
        return self.scorer == f"{identity.backend}:{identity.name}" and self.revision in ("", identity.revision)

    def weigh(self, values: Mapping[str, float]) -> dict[str, float]:
        """Compute what each feature adds to the log odds."""
        rows = zip(self.features, self.mean, self.scale, self.coefficients, strict=True)
        return {name: coefficient * (values[name] - mean) / scale for name, mean, scale, coefficient in rows}

    def probability(self, values: Mapping[str, float]) -> float:
        """Compute the probability of being faithful, at the mix of true and false answers of the labels."""
        return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, self.intercept + sum(self.weigh(values).values())))))


def coefficients_for(config: Config, identity: ModelIdentity) -> Coefficients | None:
    """Find the configured coefficients, or those that ship for this scorer and were fitted on evidence; None without
    any.

    Raises:
        ConfigError: the configured file cannot be read, or was fitted for another scorer.
    """
    if config.filter.coefficients:
        made = read_coefficients(named_files(config.filter.coefficients, "filter.coefficients")[0])
        if not made.fits(identity):
            raise ConfigError(
                f"filter.coefficients: {config.filter.coefficients} was fitted for {made.scorer}, but the scorer is "
                f"{identity}",
                hint="Fit your own: scirgen calibrate --labels FILE --coefficients OUT.json",
            )
        return made
    if config.filter.window != "evidence":
        return None
    shipped = (read_coefficients(path) for path in sorted(SHIPPED.glob("*.json")))
    return next((s for s in shipped if s.fits(identity)), None)


@cache
def read_coefficients(path: Path) -> Coefficients:
    """Read fitted coefficients.

    Raises:
        ConfigError: the file is missing or has another form.
    """
    try:
        return Coefficients.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise ConfigError(
            f"{path} holds no coefficients: {str(error).splitlines()[0]}",
            hint="scirgen calibrate --coefficients OUT.json writes them.",
        ) from error


def features(shift: Score, support: Support) -> dict[str, float]:
    """Compute the values that the coefficients weigh, by name.

    ``shift``: the relative shift. ``least_new``: log-probability, with the evidence, of the least likely token among
    words that neither evidence nor question has; 0 without one. ``missing_numbers``, ``denied``: 1 if there is one
    (`Support`). ``opposites``, ``absolute``: number of such words, at most 2 and 1.
    """
    return {
        "shift": relative_shift(shift.logprobs_with, shift.logprobs_without),
        "least_new": _least_new(shift, support.unknown),
        "missing_numbers": float(bool(support.numbers)),
        "denied": float(bool(support.denied)),
        "opposites": float(min(2, len(support.antonyms))),
        "absolute": float(bool(support.absolute)),
    }


def _least_new(shift: Score, unknown: Sequence[str]) -> float:
    """Return the log-probability of the least likely token of these words, at least `_LEAST`; 0 without one."""
    text = "".join(shift.tokens).lower()
    places = [m.span() for w in unknown for m in re.finditer(rf"(?<!\w){re.escape(w)}(?!\w)", text)]
    ends = accumulate(map(len, shift.tokens))
    found = [
        value
        for value, end, token in zip(shift.logprobs_with, ends, shift.tokens, strict=True)
        if any(end - len(token) < b and a < end for a, b in places)
    ]
    return max(_LEAST, min(found, default=0.0))


def measured_words(pair: QAPair, material: Material, ctx: StageContext) -> Support | None:
    """Compare an answer's words with its evidence; None for answers by yes or no, where word overlap is
    uninformative."""
    wording = ctx.taxonomies.wording.of(pair.language)
    if polarity(pair.answer, wording) is not None and len(pair.answer.split()) == 1:
        return None
    return support(pair.answer, pair.question, chosen_window("evidence", pair, material).split("\n"), wording)


_UNCITED = "the pair cites no evidence, and the coefficients were fitted on answers with cited evidence"


class CalibratedScorer(Faithfulness):
    """The probability that an answer is faithful, from the shift before it and the answer's words (`Coefficients`).

    It abstains on answers by yes or no and, without thresholds of the user's, on pairs that cite no evidence.
    """

    name: ClassVar[str] = "calibrated"
    needs: ClassVar[tuple[Need, ...]] = ("scorer",)
    version: ClassVar[int] = 3

    def check(self, ctx: StageContext) -> None:
        """Refuse a scorer without fitted coefficients.

        Raises:
            ConfigError: there are none, or see `coefficients_for`.
        """
        self._fitted(ctx)

    def identity(self, ctx: StageContext) -> str:
        return self._fitted(ctx).hash

    def _fitted(self, ctx: StageContext) -> Coefficients:
        made = coefficients_for(ctx.config, ctx.scorer.identity)
        if made is None:
            raise ConfigError(
                f"no coefficients were fitted for the scorer {ctx.scorer.identity} "
                f"and window {ctx.config.filter.window}",
                hint="Fit some: scirgen calibrate --labels FILE --coefficients OUT.json; or leave calibrated out.",
            )
        return made

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        made, anyway = self._fitted(ctx), self.name in ctx.config.filter.thresholds
        uncited = Score(name=self.name, value=0.0, abstained=True, detail=_UNCITED)
        return [self._score(p, material, made, ctx) if p.evidence or anyway else uncited for p in pairs]

    def _score(self, pair: QAPair, material: Material, made: Coefficients, ctx: StageContext) -> Score | Exception:
        shift = next((s for s in pair.scores if s.name == ShiftScorer.name), None)
        if shift is None:
            return ConfigError("scorer 'calibrated' requires scorer 'shift' before it in filter.faithfulness")
        support = measured_words(pair, material, ctx)
        if support is None:
            return Score(name=self.name, value=0.0, abstained=True, detail="the words of Yes and No say nothing")
        values = features(shift, support)
        return Score(
            name=self.name,
            value=made.probability(values),
            threshold=made.reject,
            sure=made.sure,
            model=f"{ctx.scorer.identity} with coefficients {made.hash[:12]}",
            detail=explain(made.weigh(values), support),
            parts=tuple((name, round(values[name], 4)) for name in made.features),
        )


def explain(weights: Mapping[str, float], support: Support) -> str:
    """Describe in one sentence the strongest reason against the answer."""
    worst = min(weights, key=lambda name: weights[name])
    if worst == "missing_numbers" and support.numbers:
        return f"{support.numbers[0].text.strip()} is not in the evidence"
    if worst == "opposites" and support.antonyms:
        return f"the evidence says {support.antonyms[0][1]!r}, not {support.antonyms[0][0]!r}"
    if worst == "denied" and support.denied:
        return f"the evidence does not deny {support.denied[0]!r}"
    if worst == "absolute" and support.absolute:
        return f"the evidence does not say {support.absolute[0]!r}"
    if support.unknown:
        return f"neither evidence nor question has {', '.join(repr(w) for w in support.unknown[:4])}"
    return "the evidence barely raises the answer's probability"
