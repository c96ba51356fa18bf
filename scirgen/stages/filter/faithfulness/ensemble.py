"""One probability of being faithful from several measurements: the shift, the contrast, and the words that the evidence holds.

A logistic combination, fitted by ``scirgen calibrate --ensemble`` and kept as JSON. Coefficients belong to one scorer and window:
a file made for another scorer is refused. One for the bundled scorer ships in ``weights/``.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.fingerprint import digest
from scirgen.core.records import QAPair, Score
from scirgen.llm.base import ModelIdentity
from scirgen.llm.encoders.entailment import content_identity
from scirgen.qa.claims.support import Support, support
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, Need
from scirgen.stages.filter.faithfulness.contrast import Contrast, ContrastScorer, contrasts, type_of
from scirgen.stages.filter.faithfulness.shift import relative_shift

SHIPPED: Final = Path(__file__).parent / "weights"

Group = Literal["text", "polar", "text+rival", "polar+rival", "text+nli", "polar+nli"]
"""Of answers by yes or no only the words and numbers of the question count. A rival or an entailment model adds features. Each group has its own coefficients."""


class Logistic(BaseModel):
    """p = 1 / (1 + exp(-(intercept + sum of coefficient x (value - mean) / scale))), kept when above ``threshold``."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercept: float
    threshold: float = Field(ge=0, le=1)
    thresholds: dict[str, float] = Field(default={}, description="question type -> its own, where labels sufficed")

    def weigh(self, values: Mapping[str, float]) -> dict[str, float]:
        """What each feature adds to the log odds."""
        rows = zip(self.features, self.mean, self.scale, self.coefficients, strict=True)
        return {name: coefficient * (values[name] - mean) / scale for name, mean, scale, coefficient in rows}

    def probability(self, values: Mapping[str, float]) -> float:
        """Of being faithful, at the mix of faithful and unfaithful answers of the training labels."""
        return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, self.intercept + sum(self.weigh(values).values())))))


class Labels(BaseModel):
    """What the coefficients were fitted on."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str = Field(description="of the labels, so that two fits on the same labels can be told from others")
    rows: int
    faithful: int
    description: str


class EnsembleFile(BaseModel):
    """A fitted ensemble, as it is stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    format: Literal[2] = 2
    scorer: str = Field(description="backend:name of the scorer whose log-probabilities were used")
    revision: str = Field(default="", description="of the scorer; empty where it has none")
    contrast_prior: float = 0.5
    entailment: str = Field(default="", description="`content_identity` of the entailment model of the groups with nli")
    labels: Labels
    groups: dict[Group, Logistic]

    @property
    def hash(self) -> str:
        """Of everything in it; part of the fingerprint of what it judged."""
        return digest("ensemble", self.model_dump(mode="json"))

    def fits(self, identity: ModelIdentity) -> bool:
        """Whether it was made for this scorer."""
        return self.scorer == f"{identity.backend}:{identity.name}" and self.revision in ("", identity.revision)


def ensemble_for(config: Config, identity: ModelIdentity) -> EnsembleFile | None:
    """The configured ensemble, or the one that ships for this scorer; None where there is none.

    Raises:
        ConfigError: the configured file cannot be read, or was made for another scorer, share of the prior or entailment model.
    """
    if config.filter.ensemble:
        made = read_ensemble(Path(config.filter.ensemble).expanduser())
        if not made.fits(identity):
            raise ConfigError(
                f"filter.ensemble: {config.filter.ensemble} was fitted for {made.scorer}, and the scorer is {identity}",
                hint="Fit one for this scorer: scirgen calibrate --labels FILE --ensemble OUT.json",
            )
        if made.contrast_prior != config.filter.contrast_prior:
            raise ConfigError(
                f"filter.ensemble: {config.filter.ensemble} was fitted with contrast_prior {made.contrast_prior:g}",
                hint="Use this setting, or fit it again with yours.",
            )
        if asks_entailment(made, config) and made.entailment != content_identity(config.filter.entailment):
            raise ConfigError(
                f"filter.ensemble: {config.filter.ensemble} was fitted with the entailment model {made.entailment}, and filter.entailment is "
                f"{config.filter.entailment or 'empty'}",
                hint="Use that model, leave nli out of filter.faithfulness, or fit the ensemble again.",
            )
        return made
    shipped = (read_ensemble(path) for path in sorted(SHIPPED.glob("*.json")))
    return next((s for s in shipped if s.fits(identity) and s.contrast_prior == config.filter.contrast_prior), None)


def asks_entailment(made: EnsembleFile, config: Config) -> bool:
    """Whether the ensemble uses what ``nli`` says before it."""
    before = itertools.takewhile(lambda name: name not in ("ensemble", "auto"), config.filter.faithfulness)
    return bool(made.entailment) and "nli" in before


@cache
def read_ensemble(path: Path) -> EnsembleFile:
    """Read a stored ensemble.

    Raises:
        ConfigError: the file is missing or not an ensemble.
    """
    try:
        return EnsembleFile.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise ConfigError(
            f"{path} is not an ensemble: {str(error).splitlines()[0]}",
            hint="scirgen calibrate --ensemble OUT.json writes one.",
        ) from error


def features(
    found: Contrast,
    said: Support,
    rival: Mapping[str, float] | None = None,
    nli: Mapping[str, float] | None = None,
    *,
    inference: bool = False,
) -> dict[str, float]:
    """What the ensemble looks at, by name.

    From the scorer: ``shift`` (relative), ``mean`` (mean log p with the evidence), ``discounted``, ``worst`` (mean of the three least likely
    tokens), ``segment`` (least mean of five neighbouring tokens), ``unlikely`` (share of tokens below -6 nats).
    ``worst_gain`` (mean of the three tokens that the evidence helps least), ``unknown_gain`` and ``unknown_loss`` (mean gain, and sum of losses, of tokens
    of words that neither evidence nor question has), ``worst_unknown`` (the least likely of them).
    From the contrast, margins in nats a token within [-3, 1]: ``number``, ``opposite``, ``negation``, ``exchanged``, ``other`` (all other kinds).
    For answers by yes or no, with the sign of the answer: ``claim_known``, ``claim_numbers`` (words and numbers of the question) and ``yes``. From the words (`Support`): the rest. With a rival: ``over_rival`` (relative shift less the
    rival's), ``uncovered`` (words that evidence, question and rival lack, as a logarithm), ``in_rival`` (share of words that question or rival have),
    ``agrees``. From an entailment model, log odds within [-6, 6], 0 for what it does not detect: ``entailed`` and ``contradicted`` (question and answer),
    ``second_entailed`` and ``second_contradicted`` (`judged.second_text`). ``inference``: whether the type's answers go beyond the words of their evidence.
    """
    given, alone = found.given.logprobs, found.alone.logprobs
    ordered = sorted(given)
    size = min(5, len(given))
    shown = {
        "shift": relative_shift(given, alone),
        "mean": sum(given) / len(given),
        "discounted": sum(given) / len(given) - 0.5 * sum(alone) / len(alone),
        "worst": sum(ordered[:3]) / len(ordered[:3]),
        "segment": min(sum(given[i : i + size]) / size for i in range(len(given) - size + 1)),
        "unlikely": sum(v < -6.0 for v in given) / len(given),
        "number": _margin(found, "number", "unit"),
        "opposite": _margin(found, "opposite"),
        "negation": _margin(found, "negation"),
        "exchanged": _margin(found, "exchange"),
        "other": _margin(found, "name", "option", "degree"),
        **_gains(found, said.unknown),
        "claim_known": found.claim * said.known,
        "claim_numbers": found.claim * float(min(2, len(said.numbers))),
        "yes": float(found.claim),
        "known": said.known,
        "added": said.added,
        "unknown": math.log1p(len(said.words) * (1.0 - said.known)),
        "missing_numbers": float(min(2, len(said.numbers))),
        "missing_names": float(min(2, len(said.names))),
        "absolute": float(min(3, len(said.absolute))),
        "denied": float(min(1, len(said.denied))),
        "antonyms": float(min(2, len(said.antonyms))),
        "linked": said.linked,
        "distance": said.distance,
        "reversed": said.reversed,
        "words": math.log1p(len(said.words)),
        "inference": float(inference),
    }
    if rival:
        shown |= {
            "over_rival": rival.get("candidate", 0.0) - rival.get("rival", 1.0),
            "uncovered": math.log1p(len(said.words) * (1.0 - rival.get("covered", 0.0))),
            "in_rival": rival.get("in_rival", 0.0),
            "agrees": rival.get("agrees", 0.0),
        }
    if nli:
        shown |= {name: _log_odds(nli.get(part, 0.5)) for name, part in NLI.items()}
    return shown


NLI: Final = {
    "entailed": "entailment", "contradicted": "contradiction", "second_entailed": "second_entailment",
    "second_contradicted": "second_contradiction",
}  # fmt: skip
"""Feature -> part of the score ``nli``."""


def _log_odds(share: float) -> float:
    return max(-6.0, min(6.0, math.log(max(share, 1e-9) / max(1.0 - share, 1e-9))))


def _margin(found: Contrast, *kinds: str) -> float:
    return max(-_WORTH, min(1.0, found.least(*kinds)))


def _gains(found: Contrast, unknown: Sequence[str]) -> dict[str, float]:
    """What the evidence does to the least helped tokens, and to those of unknown words."""
    gain = [a - b for a, b in zip(found.given.logprobs, found.alone.logprobs, strict=False)]
    least = sorted(gain)[:3]
    text = "".join(found.given.tokens).lower()
    places = [m.span() for w in unknown for m in re.finditer(rf"(?<!\w){re.escape(w)}(?!\w)", text)]
    ends = list(accumulate(len(t) for t in found.given.tokens))
    inside = [
        i
        for i, (end, token) in enumerate(zip(ends, found.given.tokens, strict=True))
        if i < len(gain) and any(end - len(token) < b and a < end for a, b in places)
    ]
    return {
        "worst_gain": sum(least) / max(1, len(least)),
        "unknown_gain": sum(gain[i] for i in inside) / max(1, len(inside)),
        "unknown_loss": sum(min(0.0, gain[i]) for i in inside),
        "worst_unknown": min((found.given.logprobs[i] for i in inside), default=0.0),
    }


_WORTH: Final = 3.0
"""Margins beyond this many nats a token are equally good."""


class EnsembleScorer(Faithfulness):
    """The probability that an answer is faithful, by a fitted logistic combination (`EnsembleFile`).

    Reads the log-probabilities of ``shift`` and ``contrast`` in one pass. Where ``rival`` or ``nli`` stands before it in ``filter.faithfulness``, it uses what
    that says, too, if it was fitted with it.
    """

    name: ClassVar[str] = "ensemble"
    needs: ClassVar[tuple[Need, ...]] = ("scorer",)
    default_threshold: ClassVar[float] = 0.5
    prompts: ClassVar[tuple[str, ...]] = ContrastScorer.prompts
    version: ClassVar[int] = 8
    only_cited: ClassVar[bool] = True

    def check(self, ctx: StageContext) -> None:
        """Refuse a scorer without a fitted ensemble.

        Raises:
            ConfigError: there is none, or see `ensemble_for`.
        """
        self._fitted(ctx)

    def _fitted(self, ctx: StageContext) -> EnsembleFile:
        made = ensemble_for(ctx.config, ctx.scorer.identity)
        if made is None:
            raise ConfigError(
                f"no ensemble was fitted for the scorer {ctx.scorer.identity}",
                hint="Fit one: scirgen calibrate --labels FILE --ensemble OUT.json; or use filter.faithfulness: [shift, contrast].",
            )
        return made

    async def score(self, pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Score | Exception]:
        made = self._fitted(ctx)
        measured = await contrasts(pairs, material, ctx)
        return [
            found if isinstance(found, Exception) else self._score(pair, found, made, ctx)
            for pair, found in zip(pairs, measured, strict=True)
        ]

    def _score(self, pair: QAPair, found: Contrast, made: EnsembleFile, ctx: StageContext) -> Score:
        said = support_of(pair, found, ctx)
        rival, nli = score_parts(pair, "rival"), score_parts(pair, "nli")
        model = made.groups.get(group_of(found, rival, nli, made))
        if model is None:
            what = "answers by yes or no" if found.claim else "answers in words"
            return Score(name=self.name, value=0.0, abstained=True, detail=f"it was not fitted on {what}")
        values = features(found, said, rival, nli, inference=is_inference(pair, ctx))
        weights = model.weigh(values)
        threshold = model.thresholds.get(pair.question_type, model.threshold)
        return Score(
            name=self.name,
            value=model.probability(values),
            threshold=threshold,
            model=f"{ctx.scorer.identity} with ensemble {made.hash[:12]}",
            prompt_hash=ctx.prompt("shift").hash,
            tokens=found.given.tokens,
            logprobs_with=found.given.logprobs,
            logprobs_without=found.alone.logprobs,
            truncated=found.given.truncated or found.alone.truncated,
            detail=explain(weights, found, said),
            parts=tuple((name, round(values[name], 4)) for name in model.features),
            alternatives=found.records,
        )


def support_of(pair: QAPair, found: Contrast, ctx: StageContext) -> Support:
    """The words of an answer in its evidence; of its question's claim, where it is answered by yes or no."""
    wording = ctx.taxonomies.wording.of(pair.language)
    texts = found.window.text.split("\n")
    if found.claim:
        return support(pair.question, "", texts, wording)
    return support(pair.answer, pair.question, texts, wording)


def is_inference(pair: QAPair, ctx: StageContext) -> bool:
    """Whether answers of the pair's type go beyond the words of their evidence."""
    kind = type_of(pair, ctx)
    return kind is not None and kind.inference


def score_parts(pair: QAPair, name: str) -> dict[str, float] | None:
    """What a score before this one says, where the pair has it."""
    return next((dict(s.parts) for s in pair.scores if s.name == name), None)


def group_of(
    found: Contrast, rival: Mapping[str, float] | None, nli: Mapping[str, float] | None, made: EnsembleFile
) -> Group:
    """Which coefficients apply: with both a rival and an entailment model, those of the rival."""
    groups: tuple[Group, Group, Group] = (
        ("polar", "polar+nli", "polar+rival") if found.claim else ("text", "text+nli", "text+rival")
    )
    plain, with_nli, with_rival = groups
    if rival is not None and with_rival in made.groups:
        return with_rival
    return with_nli if nli is not None and with_nli in made.groups else plain


def explain(weights: Mapping[str, float], found: Contrast, said: Support) -> str:
    """What speaks most against the answer, in one sentence."""
    worst = min(weights, key=lambda name: weights[name])
    if said.numbers and worst in {"missing_numbers", "number"}:
        return f"{said.numbers[0].text.strip()} is not in the evidence"
    if worst in {"number", "opposite", "negation", "exchanged", "other"} and found.margins:
        return found.sentence
    if worst in NLI and found.claim:
        return "the entailment model does not prefer it to the other one of Yes and No"
    if worst in NLI:
        return f"the entailment model finds it {'contradicted' if 'contradict' in worst else 'not entailed'} by the evidence"
    if worst == "antonyms" and said.antonyms:
        return f"the evidence says {said.antonyms[0][1]!r}, not {said.antonyms[0][0]!r}"
    if worst == "denied" and said.denied:
        return f"the evidence does not deny {said.denied[0]!r}"
    if worst == "absolute" and said.absolute:
        return f"the evidence does not say {said.absolute[0]!r}"
    if worst == "missing_names" and said.names:
        return f"{said.names[0]!r} is not in the evidence"
    if said.unknown:
        listed = ", ".join(repr(w) for w in said.unknown[:4])
        return f"neither evidence nor question has {listed}"
    if found.best is not None and min(m for _, m in found.margins) < 0:
        return found.sentence
    return "the evidence makes the answer hardly more likely"
