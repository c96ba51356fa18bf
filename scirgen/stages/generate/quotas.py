"""Quotas over type x Bloom level x polarity: defines targets, the cells of each round, the pairs that are kept, and
shortfalls.

Pure and deterministic: everything follows from the settings and from what was accepted, in the order of ids. The
pipeline runs the rounds; release leaves out what is over quota.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from scirgen.claims.conformance import polarity
from scirgen.core.config import GenerateConfig, QuotaConfig
from scirgen.core.grouped import grouped
from scirgen.core.records import Origin, Provenance, QAPair
from scirgen.core.taxonomy import QuestionType, Taxonomies
from scirgen.repeats.neardup import Asked, resolve
from scirgen.stages.base import RunView, StageContext

_CANDIDATES_PER_ROW = 4
_LOWEST_YIELD = 0.1
_FIRST: tuple[Origin, ...] = ("user", "seeking", "narrowed")
_PER_DATASET = 3
"""Largest number of pairs of one cell for one dataset in one round; more would repeat its evidence."""


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of the mix. ``bloom`` is "" if no mix of levels is set, ``polarity`` is "" if the type has none."""

    question_type: str
    bloom: str = ""
    polarity: str = ""

    def __str__(self) -> str:
        return " ".join(p for p in (self.question_type, self.bloom, self.polarity) if p)


@dataclass(frozen=True, order=True)
class Accepted:
    """The properties of an accepted pair that quotas need."""

    id: str
    dataset_id: str
    question_type: str
    bloom: str = ""
    polarity: str = ""
    asked: Origin = "known_item"

    @property
    def sought(self) -> bool:
        """True if the question was asked before an answer was known."""
        return self.asked != "known_item"

    @classmethod
    def of(cls, pair: QAPair, taxonomies: Taxonomies) -> Accepted:
        """Return the pair's place in the mix; polarity is read from its answer."""
        kind = taxonomies.question_type(pair.question_type)
        said = polarity(pair.answer, taxonomies.wording.of(pair.language)) if kind.polar else None
        return cls(pair.id, pair.dataset_id, pair.question_type, pair.bloom or "", said or "", pair.asked)


@dataclass(frozen=True)
class Progress:
    """Progress of a run.

    Attributes:
        accepted: accepted and tagged pairs of all rounds.
        datasets: ids of the datasets that pairs are made about.
        tried: question type -> candidates asked for so far, rejected ones included.
        exhausted: (dataset id, question type) for which no further evidence was found.
        answered: answers so far to questions asked first, rejected ones included.
    """

    accepted: tuple[Accepted, ...]
    datasets: tuple[str, ...]
    tried: Mapping[str, int] = field(default_factory=dict)
    exhausted: frozenset[tuple[str, str]] = frozenset()
    answered: int = 0

    @property
    def spent(self) -> int:
        """Candidates so far."""
        return sum(self.tried.values()) + self.answered


@dataclass(frozen=True)
class Shortfall:
    """A cell that was not filled, with the reason."""

    cell: Cell
    wanted: int
    got: int
    reason: str


def budget(config: QuotaConfig) -> int:
    """Return the largest total number of candidates, including rejected ones."""
    return config.candidates if config.candidates is not None else _CANDIDATES_PER_ROW * (config.total or 0)


def rest_of(config: GenerateConfig, reached: Progress, asked: frozenset[str], *, hoped: bool = False) -> QuotaConfig:
    """Return the target of the known items: the total less the rows ``asked`` first that it keeps.

    With ``hoped``, rows asked first are counted as their whole share. If the mix has both, the known items have rounds
    of their own after those of people's questions.
    """
    quota, mix = config.quota, config.mix
    taken = wanted_of_people(config, reached.accepted) if hoped else len(asked)
    total = (quota.total or 0) - taken if mix.get("known_item") or not config.asks else 0
    rounds = quota.max_rounds * (2 if mix.get("seeking") else 1)
    return quota.model_copy(update={"total": total, "candidates": budget(quota), "max_rounds": rounds})


def wanted_of_people(config: GenerateConfig, accepted: Iterable[Accepted]) -> int:
    """Count the target's rows that should be asked first: their share, or all of the user's own."""
    total, own = config.quota.total or 0, sum(a.asked == "user" for a in accepted)
    return max(math.ceil(total * config.mix.get("seeking", 0.0)), min(total, own))


def keep_sought(
    config: GenerateConfig, kinds: Sequence[QuestionType], reached: Progress
) -> tuple[Progress, frozenset[str]]:
    """Return the progress without the rows asked first that are over their share, and the ids of those that are kept:
    the user's own; then rows that fill cells, more rows of types and levels of the mix, and others; of each, narrowed
    ones last."""
    room = targets(config.quota, kinds)
    order: list[tuple[bool, int, int, str]] = []
    for origin, id, pair in sorted((_FIRST.index(a.asked), a.id, a) for a in reached.accepted if a.sought):
        cell = _cell(pair, config.quota)
        room[cell] = room.get(cell, 0) - 1
        misfit = (room[cell] < 0 and bool(pair.question_type or config.quota.types)) + (not _wants(config.quota, pair))
        order.append((origin > 0, misfit, origin, id))
    kept = frozenset(id for *_, id in sorted(order)[: wanted_of_people(config, reached.accepted)])
    counted = tuple(a for a in reached.accepted if not a.sought or a.id in kept)
    return replace(reached, accepted=counted), kept


def targets(config: QuotaConfig, kinds: Sequence[QuestionType], accepted: Iterable[Accepted] = ()) -> dict[Cell, int]:
    """Return the wanted pairs per cell; they sum to ``config.total``. Rows asked first, which come on top of it, count:
    a cell that they fill wants fewer.

    Types and levels are fitted to both their mixes at once by iterative proportional fitting (Deming & Stephan 1940),
    over the levels that a type lists as typical; then whole numbers by largest remainder, ties in the order of cells.
    """
    total = config.total or 0
    weights = {k.id: config.types.get(k.id, 0.0 if config.types else 1.0) for k in kinds}
    shares = _fitted(kinds, weights, config.bloom)
    cells: dict[Cell, float] = {}
    polar = {k.id for k in kinds if k.polar}
    for (kind, level), share in shares.items():
        if kind in polar:
            cells[Cell(kind, level, "no")] = share * config.no_share
            cells[Cell(kind, level, "yes")] = share * (1 - config.no_share)
        else:
            cells[Cell(kind, level)] = share
    people = Counter(_cell(a, config) for a in accepted if a.sought)
    whole = _whole(cells, total + people.total())
    return _whole({c: max(0, n - people[c]) for c, n in whole.items()}, total) if people else whole


def wanted_cells(config: QuotaConfig, kinds: Sequence[QuestionType]) -> list[Cell]:
    """Return the cells of which the target wants a pair, in their order."""
    return [cell for cell, count in sorted(targets(config, kinds).items()) if count]


def plan_round(
    config: QuotaConfig, kinds: Sequence[QuestionType], progress: Progress, round: int
) -> dict[str, list[dict[str, object]]]:
    """Return the cells that a later round gives to each dataset, as in `Scope.wanted`; empty if nothing is missing.

    Each missing pair is requested as often as the type's yield so far suggests. Datasets with the fewest accepted pairs
    of the type come first. The counts of all cells sum to at most what the candidate budget leaves.
    """
    left = budget(config) - progress.spent
    if config.total is None or round < 1 or round > config.max_rounds or left <= 0:
        return {}
    missing = {c: n for c, n in missing_cells(config, kinds, progress.accepted).items() if n > 0}
    got = Counter(a.question_type for a in progress.accepted if not a.sought)
    yields = {t: min(1.0, max(_LOWEST_YIELD, got[t] / n)) for t, n in progress.tried.items() if n > 0}
    asked = {c: math.ceil(n / yields.get(c.question_type, 0.5)) for c, n in missing.items()}
    having = Counter((a.dataset_id, a.question_type) for a in progress.accepted)
    given: dict[tuple[str, Cell], int] = defaultdict(int)
    open_cells = sorted(missing, key=lambda c: (-missing[c], c))
    while left > 0 and open_cells:
        # Each cell in turn gets one candidate, so that a small budget is spread over all cells.
        for cell in list(open_cells):
            able = [
                d
                for d in progress.datasets
                if (d, cell.question_type) not in progress.exhausted and given[d, cell] < _PER_DATASET
            ]
            if left <= 0 or asked[cell] <= 0 or not able:
                open_cells.remove(cell)
                continue
            chosen = min(able, key=lambda d: (having[d, cell.question_type] + given[d, cell], d))
            given[chosen, cell] += 1
            asked[cell] -= 1
            left -= 1
    return grouped(
        (dataset, {**{name: value or None for name, value in asdict(cell).items()}, "count": count})
        for (dataset, cell), count in sorted(given.items())
        if count
    )


def select(config: QuotaConfig, kinds: Sequence[QuestionType], accepted: Iterable[Accepted]) -> frozenset[str]:
    """Return the ids of the known items that the target keeps: in each cell the first by id. Without a target, all
    pairs."""
    pairs = sorted(accepted)
    if config.total is None:
        return frozenset(p.id for p in pairs)
    room = targets(config, kinds, pairs)
    kept = set()
    for pair in (p for p in pairs if not p.sought):
        cell = _cell(pair, config)
        if room.get(cell, 0) > 0:
            room[cell] -= 1
            kept.add(pair.id)
    return frozenset(kept)


def missing_cells(config: QuotaConfig, kinds: Sequence[QuestionType], accepted: Sequence[Accepted]) -> dict[Cell, int]:
    """Return a mapping: cell -> pairs still missing, for all cells of the target."""
    got = Counter(_cell(a, config) for a in accepted if not a.sought)
    return {cell: max(0, wanted - got[cell]) for cell, wanted in targets(config, kinds, accepted).items()}


def shortfall(
    config: QuotaConfig,
    kinds: Sequence[QuestionType],
    progress: Progress,
    rejections: Mapping[str, Mapping[str, int]] | None = None,
) -> list[Shortfall]:
    """Return the cells that were not filled, with the likeliest reason.

    Args:
        rejections: question type -> rejection code -> count, of generate and filter.
    """
    if config.total is None:
        return []
    wanted = targets(config, kinds, progress.accepted)
    missing = missing_cells(config, kinds, progress.accepted)
    found = []
    for cell, count in sorted(missing.items()):
        if count:
            reason = _reason(cell, config, progress, (rejections or {}).get(cell.question_type, {}))
            found.append(Shortfall(cell, wanted[cell], wanted[cell] - count, reason))
    return found


def _reason(cell: Cell, config: QuotaConfig, progress: Progress, codes: Mapping[str, int]) -> str:
    most = max(sorted(codes), key=lambda c: codes[c], default="")
    seen = f"; the most frequent rejection of the type is {most} ({codes[most]})" if most else ""
    if progress.datasets and all((d, cell.question_type) in progress.exhausted for d in progress.datasets):
        return "no dataset has further evidence for this type" + seen
    if progress.spent >= budget(config):
        return f"the budget of {budget(config)} candidates was used up" + seen
    elsewhere = sum(a.question_type == cell.question_type and a.bloom != cell.bloom for a in progress.accepted)
    if cell.bloom and elsewhere:
        return f"{elsewhere} accepted pairs of the type have other levels" + seen
    return f"the rounds ended (generate.quota.max_rounds; {_PER_DATASET} a dataset and round)" + seen


def _cell(pair: Accepted, config: QuotaConfig) -> Cell:
    return Cell(pair.question_type, pair.bloom if config.bloom else "", pair.polarity)


def _wants(config: QuotaConfig, pair: Accepted) -> bool:
    """Return whether the mixes have a row's type and level; one that is not given has all, and needs for data."""
    mixes = (config.types, pair.question_type), (config.bloom, pair.bloom)
    return all(not mix or mix.get(name, 0) > 0 for mix, name in mixes)


def _fitted(
    kinds: Sequence[QuestionType], rows: Mapping[str, float], columns: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Return the shares of (type, level). Their margins are as close to both mixes as the types' typical levels
    allow."""
    if not columns:
        return {(k.id, ""): rows[k.id] for k in kinds if rows[k.id] > 0}
    shares: dict[tuple[str, str], float] = {}
    for kind in kinds:
        typical = [level for level in kind.levels if columns.get(level, 0) > 0] or [
            c for c in columns if columns[c] > 0
        ]
        shares.update({(kind.id, level): 1.0 for level in typical if rows[kind.id] > 0})
    row_sum, column_sum = sum(rows.values()) or 1.0, sum(columns.values()) or 1.0
    for _ in range(60):
        for axis, wanted, scale in ((1, columns, column_sum), (0, rows, row_sum)):
            sums: dict[str, float] = defaultdict(float)
            for key, share in shares.items():
                sums[key[axis]] += share
            shares = {
                k: s * (wanted[k[axis]] / scale) / sums[k[axis]] if sums[k[axis]] else 0.0 for k, s in shares.items()
            }
    return shares


def _whole(shares: Mapping[Cell, float], total: int) -> dict[Cell, int]:
    scale = sum(shares.values())
    if not scale or not total:
        return dict.fromkeys(sorted(shares), 0)
    exact = {c: total * shares[c] / scale for c in sorted(shares)}
    counts = {c: math.floor(x) for c, x in exact.items()}
    rest = total - sum(counts.values())
    for cell in sorted(exact, key=lambda c: (-(exact[c] - counts[c]), c))[:rest]:
        counts[cell] += 1
    return counts


def progress(run: RunView, taxonomies: Taxonomies, before: int | None = None, *, distinct: bool = False) -> Progress:
    """Count what was asked for and accepted in the rounds before ``before`` (None: in all).

    A resumed run looks at earlier rounds only, so that it plans what it planned before. With ``distinct``, a pair that
    release will drop as a near-duplicate does not count as accepted, so a later round replaces it.
    """

    def counts(round: int) -> bool:
        return before is None or round < before

    tried: Counter[str] = Counter(p.question_type for p in run.records("generate", QAPair) if counts(p.round))
    exhausted: set[tuple[str, str]] = set()
    for rejection in run.rejections("generate"):
        if rejection.question_type is None or not counts(_round(rejection.provenance)):
            continue
        if rejection.code != "no_evidence":
            tried[rejection.question_type] += 1
        elif rejection.dataset_id:
            exhausted.add((rejection.dataset_id, rejection.question_type))
    pairs = [p for p in run.pairs() if counts(p.round)]
    repeated = _repeated(pairs, taxonomies) if distinct else frozenset()
    accepted = tuple(Accepted.of(p, taxonomies) for p in pairs if p.id not in repeated)
    answered = sum(counts(p.round) for p in run.records("answer", QAPair))
    return Progress(accepted, run.subjects(), dict(tried), frozenset(exhausted), answered)


def _repeated(pairs: Sequence[QAPair], taxonomies: Taxonomies) -> frozenset[str]:
    if not pairs:
        return frozenset()
    asked = (Asked(p.id, p.dataset_id, p.question, p.answer, p.question_type) for p in pairs)
    return frozenset(d.id for d in resolve(asked, taxonomies.wording.of(pairs[0].language)).drops)


def rejection_codes(run: RunView) -> dict[str, Counter[str]]:
    """Return a mapping: question type -> rejection code -> count, of generate and filter."""
    codes: dict[str, Counter[str]] = defaultdict(Counter)
    for stage in ("answer", "generate", "filter"):
        for rejection in run.rejections(stage):
            if rejection.question_type:
                codes[rejection.question_type][rejection.code] += 1
    return dict(codes)


def within_target(
    run: RunView, ctx: StageContext, releasable: frozenset[str]
) -> tuple[frozenset[str], tuple[str, ...], int, int]:
    """Return the ids of the rows (of those that can be released) that the target keeps, with those that plugins add;
    lines for the card: the target, and each cell with too few rows; and how many rows that the target counts are
    people's questions, and how many it counts in all."""
    target = ctx.config.generate.quota
    kinds = ctx.taxonomies.wanted_types(ctx.config.generate.types, ctx.pack, ctx.config.language)
    reached = progress(run, ctx.taxonomies)
    added = releasable - {a.id for a in reached.accepted}  # by plugins; a target does not count them
    reached = replace(reached, accepted=tuple(a for a in reached.accepted if a.id in releasable))
    reached, asked = keep_sought(ctx.config.generate, kinds, reached)
    quota = rest_of(ctx.config.generate, reached, asked)
    kept = asked | select(quota, kinds, reached.accepted)
    short = shortfall(quota, kinds, reached, rejection_codes(run))
    if not (target.types or target.bloom):  # nobody wants a mix: other known items take the seats that types leave
        spare = sorted(a.id for a in reached.accepted if a.id not in kept)
        kept |= frozenset(spare[: (target.total or 0) - len(kept)])
        short = short if len(kept) < (target.total or 0) else []
    others = sum(a.sought and not _wants(quota, a) for a in reached.accepted)
    lines = [f"Target: {target.total} rows; {len(kept)} were reached."]
    if others:
        lines[0] += f" {others} rows asked first have a type or level that it does not want."
    lines += [f"Shortfall in {s.cell}: {s.got} of {s.wanted} known items, {s.reason}." for s in short]
    return kept | added, tuple(lines), len(asked), len(kept)


def _round(provenance: Provenance | None) -> int:
    """Return the round that an item of generate belonged to: from the second round on, its key ends in ``#round``."""
    _, sign, number = provenance.key.rpartition("#") if provenance else ("", "", "")
    return int(number) if sign and number.isdigit() else 0
