"""Predicts calls, tokens, cost and hours of a run, with ranges, from rehearsals on a sample (`rehearse`).

Every figure is low, usual and high. The range covers the uncertainty of the sample and the stand-in replies; notes list
what no sample can show.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scirgen.commands.estimate.history import History
from scirgen.commands.estimate.rehearsal import PREFILL_SHARE, Call
from scirgen.commands.estimate.rehearse import Rehearsal, Sample
from scirgen.commands.estimate.result import Estimate, Figure, StageEstimate
from scirgen.core.config import Config
from scirgen.llm.uri import ModelURI
from scirgen.pipeline.plan import PER_DATASET, PER_ROUND
from scirgen.qa.quotas import budget

PROMPT_ERROR: Final = (0.85, 1.20)
"""Range of a token count made from characters."""

REPLY_ERROR: Final = (0.5, 2.0)
"""Range of the length of a made-up reply."""

KNOWN_ERROR: Final = (0.9, 1.1)
"""Range of either figure if it was measured on the same model and prompts."""


PASSED_LEAST: Final = 0.2
"""Share of the made-up candidates' requests to the filter's models and to tag that remains, at least, for a weak model,
since rules reject most of its pairs."""

PASSED_USUAL: Final = 0.3
"""The share that usually remains, at least, compared with a rehearsal in which all candidates pass."""

PASSED_KNOWN: Final = (0.5, 1.6)
"""Range of that share around the value of an earlier run."""


SMALL_CALLS_A_PAIR: Final = 2.5
"""Calls per pair with the small prompt pack: question, answer, and more tries if a rule refuses them. Made-up replies
do not show how many."""

LEAST_KNOWN: Final = 10
"""If an earlier run has at least this many calls of a stage, its calls per item replace the rehearsal's."""


@dataclass
class Known:
    """Facts in addition to the rehearsals. ``small``: the generator uses the small prompt pack."""

    config: Config
    sample: Sample
    history: History | None = None
    tokens_per_second: float | None = None
    small: bool = False
    notes: list[str] = field(default_factory=list)


def estimate(rehearsals: Sequence[Rehearsal], known: Known) -> Estimate:
    """The whole run's figures, from three rehearsals (sparse, usual, rich)."""
    stages = tuple(_stage_estimates(rehearsals, known))
    wide = _sampling_error(rehearsals, known.sample)
    calls, prompts, replies = (
        _total(getattr(s, name) for s in stages) for name in ("calls", "prompt_tokens", "completion_tokens")
    )
    ceiling = _ceiling(rehearsals, known)
    cost, ceiling_cost = _costs(stages, ceiling, known)
    notes = [*known.notes, *_notes(rehearsals, known, prompts.usual + replies.usual)]
    own = _own_minutes(rehearsals, known.sample)
    hours = _hours(stages, known)
    return Estimate(
        known.sample.datasets, len(known.sample.ids), stages,
        calls.widened(wide), prompts.widened(wide), replies.widened(wide),
        sum(ceiling.values()), cost.widened(wide) if cost else None, ceiling_cost,
        hours.widened(wide) if hours else None, own, tuple(notes), _usual(rehearsals).dearest,
    )  # fmt: skip


def _stage_estimates(rehearsals: Sequence[Rehearsal], known: Known) -> Iterable[StageEstimate]:
    more = _rounds_factor(rehearsals, known)
    rounds = {step.stage for step in PER_ROUND}
    for step in PER_DATASET:
        scaled = {r.lean: scale(r.owners.get(step.stage, {}), known.sample) for r in rehearsals}
        counts = {r.lean: len(r.owners.get(step.stage, {})) * scaled[r.lean] for r in rehearsals}
        items = _spread({lean: Figure(n, n, n) for lean, n in counts.items()})
        for kind in ("chat", "score"):
            found = {r.lean: [c for c in r.calls if (c.stage, c.kind) == (step.stage, kind)] for r in rehearsals}
            if not any(found.values()):
                if kind == "chat":
                    yield StageEstimate(step.stage, "", items, Figure(), Figure(), Figure())
                continue
            passing = _passing(step.stage, kind, rehearsals, known)
            repeat = more if step.stage in rounds else 1.0
            made = {lean: _sums(calls, known).scaled(scaled[lean]) for lean, calls in found.items()}
            figures = []
            usual = _usual(rehearsals)
            learnt = _learnt(step.stage, kind, rehearsals, known)
            for name in ("calls", "prompts", "replies"):
                spread = _around_usual(_spread({lean: getattr(made[lean], name) for lean in made}), learnt)
                if step.stage == "generate" and learnt is None and known.small:
                    spread = Figure(spread.low, spread.usual, max(spread.high, spread.usual * _tries(usual)))
                passed = _as_passed(spread, step.stage, passing, rehearsals)
                figures.append(Figure(passed.low, passed.usual, passed.high * repeat))
            yield StageEstimate(step.stage, kind, items, *figures)


def _learnt(stage: str, kind: str, rehearsals: Sequence[Rehearsal], known: Known) -> float | None:
    """Calls an item in the earlier run (for generate: a pair asked for), beside those of the usual rehearsal; None: too few."""
    history, usual = known.history, _usual(rehearsals)
    calls = [c for c in usual.calls if (c.stage, c.kind) == (stage, kind)]
    # With the standard pack, the items alone decide the calls; the small pack asks again if a rule refuses a reply.
    if history is None or not known.small or stage in ("filter", "tag") or not calls:
        return None
    asked = sum(history.shapes[s].asked for s in {c.shape for c in calls} if s in history.shapes)
    of, here = (
        (history.pairs, usual.pairs)
        if stage == "generate"
        else (history.items.get(stage, 0), len(usual.owners.get(stage, {})))
    )
    return (asked / of) / (len(calls) / here) if asked >= LEAST_KNOWN and of and here else None


def _around_usual(figure: Figure, factor: float | None) -> Figure:
    if factor is None:
        return figure
    usual = figure.usual * factor
    return Figure(min(figure.low, usual * PASSED_KNOWN[0]), usual, max(figure.high, usual * PASSED_KNOWN[1]))


def _passing(stage: str, kind: str, rehearsals: Sequence[Rehearsal], known: Known) -> float | None:
    """Share of the richest rehearsal's requests to the filter's models, or to tag, that real pairs make; None if no
    earlier run shows it."""
    rich = next((r for r in rehearsals if r.lean == "rich"), _usual(rehearsals))
    if known.history is None or not rich.pairs:
        return None
    if stage == "tag":
        most, real = rich.outputs.get("filter", 0) / rich.pairs, known.history.accepted_per_pair
    else:
        scored = sum(1 for c in rich.calls if (c.stage, c.kind) == (stage, kind))
        most, real = scored / rich.pairs, known.history.scores_per_pair if kind == "score" else None
    return real / most if real is not None and most else None


def _tries(usual: Rehearsal) -> float:
    """Largest factor by which the small pack may exceed the usual calls of generate."""
    calls = sum(1 for c in usual.calls if c.stage == "generate")
    return SMALL_CALLS_A_PAIR * usual.pairs / calls if calls else 1.0


def _all_of_them(rehearsals: Sequence[Rehearsal]) -> float:
    """Factor for the case that each requested pair becomes a candidate."""
    rich = next((r for r in rehearsals if r.lean == "rich"), _usual(rehearsals))
    candidates = rich.outputs.get("generate", 0)
    return max(1.0, rich.pairs / candidates) if candidates else 1.0


def _as_passed(figure: Figure, stage: str, passing: float | None, rehearsals: Sequence[Rehearsal]) -> Figure:
    """The requests to the filter's models and to tag: the figure of the made-up pairs, lowered because real pairs may
    need fewer."""
    if stage not in ("filter", "tag"):
        return figure
    if passing is None:
        most = figure.high * _all_of_them(rehearsals)
        return Figure(figure.low * PASSED_LEAST, max(figure.usual, most * PASSED_USUAL), most)
    usual = figure.high * passing
    return Figure(usual * PASSED_KNOWN[0], usual, usual * PASSED_KNOWN[1])


@dataclass(frozen=True)
class _Sums:
    calls: Figure
    prompts: Figure
    replies: Figure

    def scaled(self, factor: float) -> _Sums:
        return _Sums(self.calls.times(factor), self.prompts.times(factor), self.replies.times(factor))


def _sums(calls: Sequence[Call], known: Known) -> _Sums:
    """Calls, prompt tokens and reply tokens of one stage in one rehearsal."""
    count, prompts, replies = Figure(), Figure(), Figure()
    for call in calls:
        measured = known.history.of(call.shape) if known.history else None
        if measured is None:
            count += Figure(1, 1, 1)
            prompts += _around(call.prompt_tokens, PROMPT_ERROR)
            exact = call.kind == "score" or call.most_tokens <= call.completion_tokens
            replies += _around(call.completion_tokens, PROMPT_ERROR if exact else REPLY_ERROR, call.most_tokens)
            continue
        # A repair turn repeats the prompt and adds a reply; repairs are as frequent as in the earlier run.
        times = 1 + measured.repairs
        count += Figure(1, times, times)
        length = call.characters * measured.tokens_per_character
        prompts += _around(length, KNOWN_ERROR).times(times)
        replies += _around(measured.completion_tokens, KNOWN_ERROR, call.most_tokens).times(times)
    return _Sums(count, prompts, replies)


def _around(value: float, error: tuple[float, float], most: float = math.inf) -> Figure:
    return Figure(value * error[0], value, max(value, min(most, value * error[1])))


def _spread(by_lean: Mapping[str, Figure]) -> Figure:
    """A figure from the lowest to the highest of the rehearsals, with the usual one between."""
    figures = list(by_lean.values())
    usual = by_lean.get("usual", figures[0])
    return Figure(min(f.low for f in figures), usual.usual, max(f.high for f in figures))


def _total(figures: Iterable[Figure]) -> Figure:
    total = Figure()
    for figure in figures:
        total += figure
    return total


def scale(owners: Mapping[str, set[str]], sample: Sample) -> float:
    """Ratio of the number of items in the whole run to that in the sample.

    Items of one dataset grow with the datasets. Those that datasets share (a paper's) grow more slowly: by Chao's extrapolation
    of species richness from incidences (Colwell et al. 2012, J. Plant Ecology 5(1), eq. 18), from the items that one (Q1) and
    two (Q2) of n sampled datasets hold.
    """
    n, total = len(sample.ids), sample.datasets
    if n == 0 or total <= n:
        return 1.0
    once = sum(1 for o in owners.values() if len(o) == 1)
    twice = sum(1 for o in owners.values() if len(o) == 2)
    if once == len(owners):
        return total / n
    if once == 0:
        return 1.0
    unseen = (n - 1) / n * (once**2 / (2 * twice) if twice else once * (once - 1) / 2)
    found = unseen * (1 - (1 - once / (n * unseen + once)) ** (total - n)) if unseen else 0.0
    return (len(owners) + found) / len(owners)


def _sampling_error(rehearsals: Sequence[Rehearsal], sample: Sample) -> float:
    """Half width of the 95 % interval of the total, as a share of it: normal, corrected for a finite catalogue."""
    n, usual = len(sample.ids), _usual(rehearsals)
    if n >= sample.datasets:
        return 0.0
    if n < 2:
        return 1.0
    spent: dict[str, float] = dict.fromkeys(sample.ids, 0.0)
    for call in usual.calls:
        owners = usual.owners.get(call.stage, {}).get(call.key, set())
        for dataset in owners:
            spent[dataset] = spent.get(dataset, 0.0) + (call.prompt_tokens + call.completion_tokens) / len(owners)
    mean = sum(spent.values()) / n
    if not mean:
        return 0.0
    deviation = math.sqrt(sum((x - mean) ** 2 for x in spent.values()) / (n - 1))
    # Student's t for few degrees of freedom, to two digits (2.57 at 5, 1.96 in the limit).
    t = 1.96 + 2.4 / (n - 1) + 2.8 / (n - 1) ** 2
    return t * deviation / math.sqrt(n) * math.sqrt(1 - n / sample.datasets) / mean


def _usual(rehearsals: Sequence[Rehearsal]) -> Rehearsal:
    return next((r for r in rehearsals if r.lean == "usual"), rehearsals[0])


def _rounds_factor(rehearsals: Sequence[Rehearsal], known: Known) -> float:
    """Largest factor by which later rounds may generate more, up to the candidate budget of a target."""
    quota = known.config.generate.quota
    if quota.total is None or quota.max_rounds == 0:
        return 1.0
    usual = _usual(rehearsals)
    first = usual.outputs.get("generate", 0) * known.sample.datasets / max(1, len(known.sample.ids))
    return max(1.0, budget(quota) / first) if first else 1.0


def _ceiling(rehearsals: Sequence[Rehearsal], known: Known) -> dict[str, float]:
    """Tokens by kind, including prompts, if every reply of the richest rehearsal reached its limit and was repaired."""
    more, rounds = _rounds_factor(rehearsals, known), {step.stage for step in PER_ROUND}
    best: dict[str, float] = {}
    for r in rehearsals:
        found: dict[str, float] = defaultdict(float)
        for call in r.calls:
            factor = scale(r.owners.get(call.stage, {}), known.sample) * (more if call.stage in rounds else 1)
            repairs = 1 + (known.config.limits.repair_attempts if call.kind == "chat" else 0)
            found[call.kind + " prompt"] += factor * call.prompt_tokens * PROMPT_ERROR[1] * repairs
            found[call.kind + " reply"] += factor * call.most_tokens * repairs
        for name, value in found.items():
            best[name] = max(best.get(name, 0.0), value)
    return best


def _costs(
    stages: Sequence[StageEstimate], ceiling: Mapping[str, float], known: Known
) -> tuple[Figure | None, float | None]:
    prices = known.config.models.prices
    generator, scorer = known.config.models.generator, known.config.models.scorer
    names = {"chat": ModelURI.parse(generator).name, "score": ModelURI.parse(scorer or generator).name}
    used = {s.kind for s in stages if s.kind}
    if any(names[kind] not in prices for kind in used):
        return None, None
    cost, most = Figure(), 0.0
    for stage in stages:
        if stage.kind:
            prompt, reply = prices[names[stage.kind]][:2]
            cost += stage.prompt_tokens.times(prompt / 1e6) + stage.completion_tokens.times(reply / 1e6)
    for kind in used:
        prompt, reply = prices[names[kind]][:2]
        most += (ceiling.get(f"{kind} prompt", 0) * prompt + ceiling.get(f"{kind} reply", 0) * reply) / 1e6
    return cost, most


def _units(stages: Sequence[StageEstimate]) -> Figure:
    """Work of the model, in written tokens; a scored token is read, not written."""
    total = Figure()
    for s in stages:
        read = s.prompt_tokens if s.kind == "chat" else s.prompt_tokens + s.completion_tokens
        total += read.times(PREFILL_SHARE) + (s.completion_tokens if s.kind == "chat" else Figure())
    return total


def _hours(stages: Sequence[StageEstimate], known: Known) -> Figure | None:
    limits = known.config.limits
    calls = _total(s.calls for s in stages)
    tokens = _total(s.prompt_tokens + s.completion_tokens for s in stages)
    capped = max(
        calls.usual / limits.requests_per_minute / 60 if limits.requests_per_minute else 0.0,
        tokens.usual / limits.tokens_per_minute / 60 if limits.tokens_per_minute else 0.0,
    )
    units = _units(stages)
    if known.tokens_per_second:
        found = units.times(1 / known.tokens_per_second / 3600)
    elif known.history and known.history.units_per_second:
        found = units.times(1 / known.history.units_per_second / 3600)
    else:
        return Figure(capped, capped, capped) if capped else None
    return Figure(max(found.low, capped), max(found.usual, capped), max(found.high, capped))


def _own_minutes(rehearsals: Sequence[Rehearsal], sample: Sample) -> float:
    """The first rehearsal's wall time: parsing grows with the papers, the rest with the datasets."""
    first = rehearsals[0]
    grown = sample.datasets / max(1, len(sample.ids))
    busy = sum(first.stage_seconds.values())
    parsing = first.stage_seconds.get("parse", 0.0) / busy * first.seconds if busy else 0.0
    papers = scale(first.owners.get("parse", {}), sample)
    return (parsing * papers + (first.seconds - parsing) * grown) / 60


def _notes(rehearsals: Sequence[Rehearsal], known: Known, tokens: float) -> Iterable[str]:
    config, usual = known.config, _usual(rehearsals)
    if not known.sample.exact:
        yield f"only the first records were read; the number of {known.sample.datasets} datasets is the catalogue's own."
    if known.history is None:
        yield (
            "reply lengths are those of made-up replies (the range is half to double); a real model's differ. "
            "--history RUN, with a small run of the same model, supplies its reply lengths, tokens per character and speed."
        )
    else:
        missing = sorted({c.stage for c in usual.calls if known.history.of(c.shape) is None})
        if missing:
            yield f"the run given as history has no replies of the kind that {', '.join(missing)} requests."
    if usual.failed:
        parts = ", ".join(f"{stage} {n}" for stage, n in usual.failed.items())
        yield f"items of the sample that failed in the rehearsal: {parts}; they are not included."
    if config.generate.quota.total is not None:
        yield (
            f"rounds: how many a target of {config.generate.quota.total} needs depends on what is rejected; "
            f"the high figure uses the whole budget of {budget(config.generate.quota)} candidates."
        )
    if known.small and known.history is None:
        yield "how often a small model's question is refused by rule and another is tried is only guessed; --history knows."
    if "aspects" in config.query.recipes:
        yield (
            "grading the needs is not counted: one call for each different requirement and document and judge, about 1,700 a need "
            "(17 requirements, 100 documents). scirgen benchmark pool RELEASE --task aspects --dry-run counts it; batch: halves its price."
        )
    yield "not known beforehand: how many papers the model links, what gates reject, and repair turns or retries."
    if config.limits.max_tokens is not None and tokens > config.limits.max_tokens:
        yield f"--max-tokens stops the run after about {config.limits.max_tokens / tokens:.0%} of it."
