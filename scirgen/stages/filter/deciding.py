"""Decides on a pair by its faithfulness scores: selects the scorers for its type, and gives the reason of a
rejection."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import cast

from scirgen.core.config import Config
from scirgen.core.records import QAPair, Score
from scirgen.core.registry import Registry
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Material, usual_threshold
from scirgen.stages.filter.faithfulness.ensemble import ensemble_for

AUTO = "auto"
MAYBE = ("ensemble", "shift", "contrast", "llm_judge")
"""The scorers that `auto` may stand for; the models decide which."""


def scorer_names(ctx: StageContext) -> tuple[str, ...]:
    """The configured scorers, with `auto` replaced by the scorers that suit the models; see ``filter.faithfulness``."""
    names: list[str] = []
    for name in ctx.config.filter.faithfulness:
        names += _automatic(ctx) if name == AUTO else [name]
    return tuple(dict.fromkeys(names))


def possible_names(config: Config) -> tuple[str, ...]:
    """The scorers that may run, before any model is open."""
    chosen = config.filter.faithfulness
    return tuple(dict.fromkeys(n for name in chosen for n in (MAYBE if name == AUTO else (name,))))


def _automatic(ctx: StageContext) -> list[str]:
    fitted = ctx.score_session is not None and ensemble_for(ctx.config, ctx.score_session.identity) is not None
    names = ["ensemble" if fitted else "shift", "contrast"]
    judging = ctx.judge_session or ctx.chat_session
    return [*names, "llm_judge"] if judging is not None and judging.pack == "standard" else names


def select_scorers(names: Sequence[str], registry: Registry) -> list[Faithfulness]:
    """The faithfulness scorers of these names, in order.

    Raises:
        PluginError: no scorer has that name ("did you mean").
    """
    return [cast("type[Faithfulness]", registry.get("faithfulness", name))() for name in names]


async def score_all(
    pairs: Sequence[QAPair], material: Material, ctx: StageContext
) -> dict[str, tuple[QAPair, Exception | None]]:
    """Run the scorers one after another; each pair with its scores, or with the error that left it without one.

    A scorer with ``only_passed`` is not asked about pairs that are rejected already, where all scores must pass; one
    with ``only_cited`` abstains on pairs without evidence.
    """
    kinds = {k.id: k for k in ctx.taxonomies.graesser.types}
    found: dict[str, tuple[QAPair, Exception | None]] = {p.id: (p, None) for p in pairs}
    for scorer in select_scorers(scorer_names(ctx), ctx.registry):
        sparing = scorer.only_passed and ctx.config.filter.combine == "all"
        cited = scorer.only_cited and not _has_own_threshold(scorer.name, ctx.config)
        waiting = [pair for pair, error in found.values() if error is None]
        for pair in (p for p in waiting if cited and not p.evidence):
            found[pair.id] = (_with(pair, Score(name=scorer.name, value=0.0, abstained=True, detail=UNCITED)), None)
        todo = [
            pair
            for pair in waiting
            if (pair.evidence or not cited)
            and not (sparing and reason_against(pair, kinds.get(pair.question_type), ctx.config))
        ]
        for pair, score in zip(todo, await scorer.score(todo, material, ctx) if todo else (), strict=True):
            if isinstance(score, Exception):
                found[pair.id] = (pair, score)
                continue
            decided = _decided(score, pair, usual_threshold(scorer, ctx.config), ctx.config)
            found[pair.id] = (_with(pair, decided), None)
    return found


UNCITED = "the pair cites no evidence, and the threshold was fitted on answers with cited evidence"


def _has_own_threshold(name: str, config: Config) -> bool:
    """Whether the user gave thresholds for a scorer, or an ensemble of their own."""
    return name in config.filter.thresholds or (name == "ensemble" and bool(config.filter.ensemble))


def _with(pair: QAPair, score: Score) -> QAPair:
    changed: dict[str, object] = {"scores": (*pair.scores, score)}
    if "agrees" in (parts := dict(score.parts)) and score.name == "rival":
        changed["answered_twice"] = bool(parts["agrees"])
    return pair.model_copy(update=changed)


def _decided(score: Score, pair: QAPair, usual: float, config: Config) -> Score:
    """The score with its threshold: the configured one for the type or for all types, the score's own, or the scorer's
    usual one."""
    given = config.filter.thresholds.get(score.name, {})
    own = score.threshold if score.threshold is not None else usual
    threshold = given.get(pair.question_type, given.get("*", own))
    return score.model_copy(
        update={"threshold": threshold, "passed": None if score.abstained else score.value > threshold}
    )


def deciding(pair: QAPair, kind: QuestionType | None) -> list[Score]:
    """The scores that count for a pair's type: those named in its ``judge``, or all if it names none of them. Scores
    that abstained do not count."""
    scores = [s for s in pair.scores if s.passed is not None]
    named = [s for s in scores if kind is not None and s.name in kind.judge]
    return named or scores


def reason_against(pair: QAPair, kind: QuestionType | None, config: Config) -> str:
    """Why the scores together reject a pair, in one sentence; "" if they accept it, or if nothing was measured."""
    scores = deciding(pair, kind)
    failing = [s for s in scores if not s.passed]
    if not failing or (config.filter.combine == "any" and len(failing) < len(scores)):
        return ""
    return sentence(failing[0])


def sentence(score: Score) -> str:
    """The reason that a failing score gives against a pair, then its figure."""
    figure = f"{score.name} {score.value:.4g} is not above {score.threshold:g}"
    why = _WHY[score.name](score) if score.name in _WHY else score.detail
    return f"{why} ({figure})" if why else figure


def _shift(score: Score) -> str:
    least = _least_helped(score)
    return "the evidence makes the answer hardly more likely" + (f", least of all {least!r}" if least else "")


def _rival(score: Score) -> str:
    second = score.detail.removeprefix("rival: ")
    return (
        score.detail if second == score.detail else f"a second answer from the evidence alone is more likely: {second}"
    )


def _least_helped(score: Score) -> str:
    """The word of the answer whose likelihood the evidence raises least; "" if tokens do not show it."""
    if not len(score.tokens) == len(score.logprobs_with) == len(score.logprobs_without):
        return ""
    ends = list(accumulate(map(len, score.tokens)))
    gains = [given - alone for given, alone in zip(score.logprobs_with, score.logprobs_without, strict=True)]
    words = {}
    for match in _WORD.finditer("".join(score.tokens)):
        inside = [
            gain
            for gain, end, token in zip(gains, ends, score.tokens, strict=True)
            if end - len(token) < match.end() and match.start() < end
        ]
        words[match.group()] = sum(inside) / len(inside)
    return min(words, key=lambda w: words[w], default="")


_WORD = re.compile(r"[^\W_][\w.-]{2,30}(?<![.-])")

_SAMPLED = "answers sampled with the evidence mean the same as this one hardly more often than those without it"

_WHY: dict[str, Callable[[Score], str]] = {
    "shift": _shift,
    "rival": _rival,
    "nli": lambda score: "no passage entails the answer: " + score.detail,
    "semantic": lambda score: f"{_SAMPLED}: {score.detail}",
    "semantic_hard": lambda score: f"{_SAMPLED}: {score.detail}",
}
"""The beginning of the reason, for scores whose detail does not state it."""
