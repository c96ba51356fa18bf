"""Decides on a pair by its faithfulness scores: kept, rejected, or unsure, with the reason of a rejection."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from scirgen.claims.conformance import matches
from scirgen.core.config import Config
from scirgen.core.errors import ConfigError
from scirgen.core.records import QAPair, Score
from scirgen.core.registry import Registry, known_needs, returned_list, wrong_return
from scirgen.core.text.textmatch import normalise
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.stages.base import AUTO as AUTO
from scirgen.stages.base import JUDGE as JUDGE
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import MODELS, Faithfulness, Material
from scirgen.stages.filter.faithfulness.calibrated import BLIND, coefficients_for

MAYBE = ("shift", "calibrated", "llm_judge")
"""The scorers that `auto` may stand for; the models decide which."""

Outcome = Literal["kept", "rejected", "unsure"]


@dataclass(frozen=True)
class Ruling:
    """A pair after one part of the filter: kept, doubted, rejected or failed. Without a judge, a doubt rejects the
    pair.
    """

    pair: QAPair
    action: Literal["keep", "doubt", "reject"] = "keep"
    code: str = ""
    reason: str = ""
    score: float | None = None
    error: Exception | None = None


def scorer_names(ctx: StageContext) -> tuple[str, ...]:
    """List the configured scorers, with `auto` replaced by those that suit the models; see ``filter.faithfulness``."""
    names: list[str] = []
    for name in ctx.config.filter.faithfulness:
        names += _automatic(ctx) if name == AUTO else [name]
    return tuple(dict.fromkeys(names))


def blind_to(ctx: StageContext) -> dict[str, float]:
    """Return the types whose true and false answers the scorer's shift cannot tell apart, with the AUC measured."""
    made = coefficients_for(ctx.config, ctx.scorer.identity) if ctx.score_session else None
    return {kind: auc for kind, auc in sorted(made.aucs.items()) if auc < BLIND} if made else {}


def possible_names(config: Config) -> tuple[str, ...]:
    """List the scorers that may run, before any model is open."""
    chosen = config.filter.faithfulness
    return tuple(dict.fromkeys(n for name in chosen for n in (MAYBE if name == AUTO else (name,))))


def _automatic(ctx: StageContext) -> list[str]:
    session = ctx.score_session
    fitted = session is not None and coefficients_for(ctx.config, session.identity) is not None
    names = ["shift", "calibrated"] if fitted else ["shift"]
    return [*names, JUDGE] if ctx.judged else names


def select_scorers(names: Sequence[str], registry: Registry) -> list[Faithfulness]:
    """Make the faithfulness scorers of these names, in order.

    Raises:
        PluginError: no scorer has that name ("did you mean").
    """
    found = [cast("type[Faithfulness]", registry.get("faithfulness", name))() for name in names]
    for scorer in found:
        known_needs(scorer, scorer.needs, MODELS)
    return found


async def score_all(
    pairs: Sequence[QAPair], material: Material, ctx: StageContext, names: Sequence[str] | None = None
) -> dict[str, tuple[QAPair, Exception | None]]:
    """Run the scorers one after another; return each pair with its scores, or with the error that left it without one.

    A scorer with ``only_unsure`` is asked about pairs that those before it left undecided.

    Args:
        pairs, material, ctx: as for a scorer.
        names: the scorers; None: the configured ones.
    """
    found: dict[str, tuple[QAPair, Exception | None]] = {p.id: (p, None) for p in pairs}
    for scorer in select_scorers(scorer_names(ctx) if names is None else names, ctx.registry):
        blind = blind_to(ctx) if scorer.name == "shift" else {}
        waiting = [pair for pair, error in found.values() if error is None]
        todo = [p for p in waiting if not (scorer.only_unsure and p.scores and outcome(p) != "unsure")]
        given = await scorer.score(todo, material, ctx) if todo else ()
        scores = returned_list(scorer.score, given, (Score, Exception), "a scirgen.Score", len(todo))
        for pair, score in zip(todo, scores, strict=True):
            if isinstance(score, Exception):
                found[pair.id] = (pair, score)
                continue
            if not math.isfinite(score.value):
                raise wrong_return(scorer.score, score.value, "a finite value")
            sure = scorer.only_unsure or scorer.name == JUDGE or not seems_an_order(pair, ctx)
            decided = decide(score, scorer, pair.question_type, ctx.config, sure_of=sure, blind=blind)
            found[pair.id] = (pair.model_copy(update={"scores": (*pair.scores, decided)}), None)
    return found


_PROCEDURES = ("instrumental_procedural", "request_directive")


def seems_an_order(pair: QAPair, ctx: StageContext) -> bool:
    """Return whether answer or evidence seems to tell its reader, a model or a program what to do.

    Such a pair is never sure: the judge is asked, and without a judge the pair is unsure. Answers that describe a
    procedure are left out.
    """
    if pair.question_type in _PROCEDURES:
        return False
    patterns = ctx.taxonomies.wording.of(pair.language).orders
    texts = (pair.answer, *(s.text for s in pair.evidence))
    return any(talks_to_machine(t) or matches(patterns, normalise(t), normalised=True) is not None for t in texts)


def decide(
    score: Score, scorer: Faithfulness, type_id: str, config: Config, *, sure_of: bool = True,
    blind: Collection[str] = (),
) -> Score:  # fmt: skip
    """Add edges and verdict to a score: the configured edges for the type or all types, the score's own, or its
    scorer's.

    A scorer is unsure of types that it is ``blind`` to, unless the user set its edges for them. If ``sure_of`` is None,
    no score passes.
    """
    given = config.filter.thresholds.get(score.name, {})
    edges = given.get(type_id, given.get("*"))
    if edges is None and score.threshold is not None:
        edges = (score.threshold, score.threshold if score.sure is None else score.sure)
    if edges is None:
        edges = scorer.edges(config)
    reject, sure = edges if isinstance(edges, tuple) else (edges, edges)
    heard = type_id not in blind or type_id in given
    unsure = not score.abstained and (not heard or reject < score.value <= (sure if sure_of else float("inf")))
    passed = None if score.abstained or unsure else score.value > sure
    return score.model_copy(update={"threshold": reject, "sure": sure, "unsure": unsure, "passed": passed})


def outcome(pair: QAPair) -> Outcome:
    """Decide on a pair: a score that fails rejects it; one that passes keeps it if no later one is unsure."""
    verdict: Outcome = "unsure" if pair.scores else "kept"
    for score in pair.scores:
        if score.passed is False:
            return "rejected"
        if score.passed or score.unsure:
            verdict = "kept" if score.passed else "unsure"
    return verdict


def sentence(score: Score, registry: Registry) -> str:
    """Return why a failing score rejects a pair, followed by its value."""
    figure = f"{score.name} {score.value:.4g} is not above {score.threshold:g}"
    (scorer,) = select_scorers([score.name], registry)
    why = scorer.why(score)
    return f"{why} ({figure})" if why else figure


def check_unsure(ctx: StageContext) -> None:
    """Refuse settings that would reject every pair.

    Raises:
        ConfigError: unsure pairs are rejected, no scorer can be sure of a pair, and there is no judge.
    """
    config, names = ctx.config, scorer_names(ctx)
    own = config.filter.thresholds.keys() & set(names)
    if config.filter.unsure == "reject" and names == ("shift",) and not own and config.filter.shift_form == "relative":
        raise ConfigError(
            "filter.unsure=reject: the shift alone never decides for a pair, so every pair would be rejected",
            hint="Name a judge (models.judge), fit coefficients (scirgen calibrate --coefficients), or set "
            "filter.thresholds.",
        )
