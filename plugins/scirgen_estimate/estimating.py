"""Predicts calls, tokens, cost and hours of a run.

An earlier run with the same model gives its usage per dataset. Without one, a few datasets of the catalogue go through
the plan with made-up replies (`trial`); what each after the first adds, the others are expected to add.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Final, Unpack

from scirgen import Config, ConfigError, Dataset, Domain, InputError, ModelURI, Source
from scirgen.api import Options, own_source, resolved, takes_options
from scirgen.llm.open import price_of_uri
from scirgen.llm.server.openai_compat import THINKING_TOKENS
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.run import check_settings
from scirgen.pipeline.store import Store
from scirgen.pipeline.subjects import requested
from scirgen.pipeline.views.view import StoreView
from scirgen.plugin import blocking, load_registry
from scirgen.stages.ask.given import read_questions
from scirgen.stages.collect.pages import absent, iterate, setting_aside
from scirgen.stages.collect.validated_source import CheckedSource, checked
from scirgen.stages.generate.quotas import budget
from scirgen_estimate.trial import Call, Trial, tried

WALK = 20_000
"""Largest number of records read to count datasets; beyond that, the catalogue's own count is used if it has one."""

CALLS_A_SECOND: Final = 400
"""Calls to a server that one process sends and reads in a second (docs/scaling.md)."""

READ_SHARE: Final = 0.1
"""Time to read a token, relative to writing one."""

CALLS: Final = (0.6, 1.7)
PROMPTS: Final = (0.5, 1.8)
REPLIES: Final = (0.4, 2.0)
KNOWN: Final = (0.7, 1.4)
"""Low and high scenario as a share of the typical one; ``KNOWN`` if an earlier run supplies the figures. The runs in
docs/estimate.md lie within them."""

SEARCHED: Final = 200
"""The number of further records that a trial searches, so that its calls show as many passages as a run's."""

_PAUSE_S: Final = 120.0
"""A longer time without a finished item counts as a pause (killed, resumed later)."""


@dataclass(frozen=True)
class Figure:
    """Low, typical and high scenario."""

    low: float = 0.0
    typical: float = 0.0
    high: float = 0.0

    @classmethod
    def around(cls, typical: float, ends: tuple[float, float], most: float = 1.0) -> Figure:
        """Return the typical figure with its range; ``most`` widens the high end."""
        return cls(typical * ends[0], typical, typical * ends[1] * most)

    def __add__(self, other: Figure) -> Figure:
        return Figure(self.low + other.low, self.typical + other.typical, self.high + other.high)

    def times(self, factor: float) -> Figure:
        return Figure(self.low * factor, self.typical * factor, self.high * factor)


@dataclass(frozen=True)
class Share:
    """The calls of one role ("generator", "scorer", "judge") for one stage; the stage is "" with an earlier run's
    figures."""

    stage: str
    role: str
    calls: Figure
    prompt_tokens: Figure
    reply_tokens: Figure


@dataclass(frozen=True)
class Estimate:
    """The whole estimate.

    Attributes:
        datasets: number of datasets that the run would read.
        sampled: number of datasets that were tried; 0 with an earlier run's figures.
        shares: the parts that the sums are made of.
        cost: by the user's prices or the list's; None if one is missing.
        hours: time of the models; None if their speed is unknown.
        own_minutes: time that scirgen itself needs (fetching, parsing, gates) on this machine, in addition to the
            models' time; None with an earlier run's figures.
        rows: what the run would give: as many a dataset as the earlier run released; with a trial, all its candidates,
            since nothing is known of what will be rejected; at most the target.
        cost_per_row: the typical cost of one of them; with a trial, a lower bound.
        notes: what the figures leave out.
    """

    datasets: int
    sampled: int
    shares: tuple[Share, ...]
    calls: Figure
    prompt_tokens: Figure
    reply_tokens: Figure
    cost: Figure | None
    hours: Figure | None
    own_minutes: float | None
    rows: int
    notes: tuple[str, ...] = ()

    @property
    def cost_per_row(self) -> float | None:
        return self.cost.typical / self.rows if self.cost and self.rows else None

    def data(self) -> dict[str, object]:
        found: dict[str, object] = _rounded({**asdict(self), "cost_per_row": self.cost_per_row})  # type: ignore[assignment]
        return found


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4) if abs(value) < 100 else round(value)
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, list | tuple) else value


@takes_options
def estimate(
    out: str | Path,
    *,
    sample: int = 3,
    history: str | Path | None = None,
    tokens_per_second: float | None = None,
    **given: Unpack[Options],
) -> Estimate:
    """Predict calls, tokens, cost and hours of `generate` with the same arguments. It calls no model.

    Args:
        out: the run's folder; it keeps downloaded papers for the run.
        sample: datasets to try with the fake model.
        history: folder of an earlier run with the same model, whose usage per dataset and speed are used instead.
        tokens_per_second: new tokens per second of the whole server.
        given: as for `generate`.

    Raises:
        ScirgenError: wrong input or settings.
    """
    return blocking(aestimate(out, sample=sample, history=history, tokens_per_second=tokens_per_second, **given))


@takes_options
async def aestimate(
    out: str | Path,
    *,
    sample: int = 3,
    history: str | Path | None = None,
    tokens_per_second: float | None = None,
    **given: Unpack[Options],
) -> Estimate:
    """Estimate in asynchronous code."""
    config, domain = resolved(given)
    return await estimate_run(
        Path(out),
        config,
        domain,
        sample=sample,
        history=Path(history) if history else None,
        tokens_per_second=tokens_per_second,
        source=own_source(given),
    )


async def estimate_run(
    folder: Path,
    config: Config,
    domain: Domain,
    *,
    sample: int = 3,
    history: Path | None = None,
    tokens_per_second: float | None = None,
    source: Source | None = None,
) -> Estimate:
    """Predict what `run_pipeline` would take. It calls no model and costs nothing.

    Args:
        folder: the run's folder, which keeps downloaded papers for the run. A run with the same model that it holds
            is the history if none is given.
        config: as for the run.
        domain: as for the run.
        sample: datasets to try, drawn evenly by the seed.
        history: the folder of an earlier run with the same model, whose usage per dataset is used instead.
        tokens_per_second: total tokens per second that the model writes.
        source: as for the run.

    Raises:
        ScirgenError: wrong input or settings.
    """
    registry = load_registry()
    check_settings(config, registry, domain, writes=False)
    history = history or (folder if is_history(folder, config) else None)
    opened = open_input(config, registry, domain, folder) if source is None else checked(source)
    began = time.monotonic()
    drawn, others, total, notes = await draw_datasets(opened, config, 1 if history else sample)
    walked = time.monotonic() - began
    notes += [f"{charges}." for s in opened.services if (charges := getattr(s, "charges", ""))]
    if not drawn:
        raise InputError("there is no dataset to estimate from", hint="Look at: scirgen generate --dry-run.")
    if history:
        shares, speed, rows = shares_of_history(history, config, total, notes)
        return sum_up(shares, config, total, 0, rows, tokens_per_second or speed, None, notes)
    trial = await tried(config, registry, domain, opened, drawn, total, notes, others)
    shares = _of_trial(trial, config, total, notes)
    own = walked + trial.first_s + trial.each_s * (total - 1) + sum(s.calls.typical for s in shares) / CALLS_A_SECOND
    rows = trial.grown(trial.first[1], trial.candidates, total)
    return sum_up(shares, config, total, len(drawn), rows, tokens_per_second, own / 60, notes)


async def draw_datasets(
    source: CheckedSource, config: Config, size: int
) -> tuple[list[Dataset], list[Dataset], int, list[str]]:
    """Draw evenly (a seeded reservoir) ``size`` datasets that a run would make pairs about, and up to `SEARCHED` others
    that it would only read; also return how many it would make pairs about, and notes."""
    rng, kept, known = random.Random(config.seed), list[Dataset](), set[int]()
    others, seen, spare = list[Dataset](), 0, random.Random(config.seed)
    wanted = looked_at = 0
    notes: list[str] = []
    about = requested(config.generate)
    async for entry in iterate(source.datasets, None):
        if not isinstance(entry, Dataset):
            continue
        looked_at += 1
        if setting_aside(entry, config.collect, known) is None:
            seen += 1
            if len(others) < SEARCHED + size:
                others.append(entry)
            elif (place := spare.randrange(seen)) < SEARCHED + size:
                others[place] = entry
            if isinstance(about, tuple) and about and absent(about, entry) == about:
                continue  # it is only read and searched
            wanted += 1
            if len(kept) < size:
                kept.append(entry)
            elif (place := rng.randrange(wanted)) < size:
                kept[place] = entry
        if wanted == config.collect.limit:
            break
        if looked_at == WALK:
            if (total := source.count()) is not None and total > looked_at:
                wanted = round(wanted * total / looked_at)
            notes.append(f"only the first records were read; the number of {wanted} datasets is the catalogue's own.")
            break
    limits = [n for n in (config.collect.limit, about) if isinstance(n, int)]
    ids = {d.id for d in kept}
    searched = [d for d in others if d.id not in ids][:SEARCHED]
    return sorted(kept, key=lambda d: d.id), searched, min([wanted, *limits]), notes


def _of_trial(trial: Trial, config: Config, total: int, notes: list[str]) -> list[Share]:
    """Return the calls of the trial, by stage and role, scaled to all datasets."""
    if trial.failed:
        parts = ", ".join(f"{stage} {n}" for stage, n in trial.failed.items())
        notes.append(f"items of the sample that failed: {parts}; they are not included.")
    quota, most = config.generate.quota, 1.0
    if quota.total is not None:
        most = max(1.0, budget(quota) / max(1.0, trial.grown(trial.first[1], trial.candidates, total)))
        notes.append(
            f"how many rounds a target of {quota.total} needs depends on what is rejected; the high scenario uses the "
            f"whole budget of {budget(quota)} candidates."
        )
    notes.append(
        "reply lengths are those of made-up replies, and what gates reject, retries and repairs are not known; "
        "--history RUN, with a small run of the same model, gives its usage per dataset instead."
    )
    found = []
    for step, role in product(trial.steps, sorted({c.role for c in trial.calls})):
        first, mine = (
            [c for c in calls if (c.stage, c.role) == (step.stage, role)] for calls in (trial.first[0], trial.calls)
        )
        more = most if step.repeat else 1.0
        if step.stage in ("ask", "search", "answer"):
            more = min(more, 1.0 + quota.max_rounds)  # each round asks a subject at most once more
        counts = (trial.grown(a, b, total) for a, b in zip(_counts(first), _counts(mine), strict=True))
        figures = (Figure.around(n, r, more) for n, r in zip(counts, (CALLS, PROMPTS, REPLIES), strict=True))
        if mine:
            found.append(Share(step.stage, role, *figures))
    if config.generate.questions:
        notes.append(
            f"your {len(list(read_questions(Path(config.generate.questions))))} questions are not included: each takes "
            "one call of step answer, which reads up to 3,000 words."
        )
    return found


def _counts(calls: Sequence[Call]) -> tuple[int, int, int]:
    """Return the number of calls, of their prompt tokens and of their reply tokens."""
    return len(calls), sum(c.prompt_tokens for c in calls), sum(c.reply_tokens for c in calls)


# -- an earlier run ----------------------------------------------------------------------------------------------------


def is_history(folder: Path, config: Config) -> bool:
    """Check whether the folder has a run of the generator that counted tokens."""
    if not (folder / "run.db").is_file():
        return False
    with StoreView(Store(folder / "run.db", writable=False)) as view:
        manifest = view.manifest()
    models, usage = manifest.get("models"), manifest.get("usage")
    used = usage.get("generator") if isinstance(usage, dict) else None
    name = ModelURI.parse(config.models.generator).name
    return (
        isinstance(models, dict) and name in str(models.get("generator")) and bool(used and used["completion_tokens"])
    )


def shares_of_history(
    folder: Path, config: Config, total: int, notes: list[str]
) -> tuple[list[Share], float | None, float]:
    """Return the usage per dataset of an earlier run, times the datasets; the units of work per second of its models;
    and its released rows per dataset, times the datasets.

    Raises:
        InputError: the folder has no run.
        ConfigError: the run has no usage.
    """
    with StoreView(Store(folder / "run.db", writable=False)) as view:
        manifest, datasets, seconds = view.manifest(), len(view.dataset_ids()), _active_seconds(view.store)
        released = sum(view.released_rows().values())
    usage, models = manifest.get("usage"), manifest.get("models")
    rows = {role: row for role, row in usage.items() if isinstance(row, Mapping)} if isinstance(usage, dict) else {}
    if not datasets or not any(row.get("completion_tokens") for row in rows.values()):
        raise ConfigError(
            f"the run in {folder} recorded no tokens", hint="Name a run whose model reports token counts."
        )
    name = ModelURI.parse(config.models.generator).name
    if not (isinstance(models, dict) and name in str(models.get("generator"))):
        notes.append(f"{folder} was made with {models}, not with this model.")
    notes.append(f"each figure is that of {folder} per dataset ({datasets} of them), times the datasets.")
    factor, found = total / datasets, []
    for role, row in rows.items():
        counts = (float(row.get(key) or 0) * factor for key in ("calls", "prompt_tokens", "completion_tokens"))
        found.append(Share("", role, *(Figure.around(count, KNOWN) for count in counts)))
    units = _units(found).typical / factor
    return found, units / seconds if seconds and units else None, released * factor


def _active_seconds(store: Store) -> float:
    """Return the wall time in which results arrived, without pauses; the first result's own time is added."""
    with store.guarded():
        rows = store.db.execute("SELECT finished, seconds FROM results ORDER BY finished").fetchall()
    active = float(rows[0][1]) if rows else 0.0
    for (before, _), (after, seconds) in pairwise(rows):
        # An item that itself took long does not count as a pause.
        active += after - before if after - before <= max(_PAUSE_S, 1.5 * seconds) else min(after - before, seconds)
    return active


# -- sums, cost, hours -------------------------------------------------------------------------------------------------


def _units(shares: Iterable[Share]) -> Figure:
    """Work of the models in written tokens; a scored token is read, not written."""
    total = Figure()
    for s in shares:
        scored = s.role == "scorer"
        total += (s.prompt_tokens + s.reply_tokens if scored else s.prompt_tokens).times(READ_SHARE)
        total += Figure() if scored else s.reply_tokens
    return total


def sum_up(
    shares: Sequence[Share],
    config: Config,
    total: int,
    sampled: int,
    rows: float,
    speed: float | None,
    own_minutes: float | None,
    notes: Sequence[str],
) -> Estimate:
    """Add up the shares of all models to one estimate, with its cost and hours if prices and a speed are known."""
    calls, prompts, replies = (
        sum((getattr(s, name) for s in shares), Figure()) for name in ("calls", "prompt_tokens", "reply_tokens")
    )
    models, limits = config.models, config.limits
    uris = {"generator": models.generator, "scorer": models.scorer or models.generator}
    uris["judge"] = models.judge or models.generator
    registry = load_registry()
    prices = {s.role: price_of_uri(uris[s.role], config, registry) for s in shares}
    cost: Figure | None = Figure()
    for s in shares:
        price = prices[s.role]
        if cost is not None:
            cost = None if price is None else (
                cost + s.prompt_tokens.times(price[0] / 1e6) + s.reply_tokens.times(price[1] / 1e6)
            )  # fmt: skip
    capped = max(
        calls.typical / limits.requests_per_minute / 60 if limits.requests_per_minute else 0.0,
        (prompts + replies).typical / limits.tokens_per_minute / 60 if limits.tokens_per_minute else 0.0,
    )
    found = _units(shares).times(1 / speed / 3600) if speed else Figure()
    hours = Figure(*(max(value, capped) for value in (found.low, found.typical, found.high)))
    notes = list(notes)
    if effort := models.reasoning:
        notes.append(f"Thinking is not counted: up to {THINKING_TOKENS[effort]:,} more reply tokens per call.")
    if limits.max_tokens is not None and (used := (prompts + replies).typical) > limits.max_tokens:
        notes.append(f"--max-tokens stops the run after about {limits.max_tokens / used:.0%} of it.")
    return Estimate(
        total, sampled, tuple(shares), calls, prompts, replies, cost, hours if speed or capped else None, own_minutes,
        round(min(rows, config.generate.quota.total or rows)), tuple(notes),
    )  # fmt: skip
