"""`scirgen calibrate --plant`: plants falsehoods among a run's own candidates, and measures how many of them, and of
the good candidates, each gate, each score and the judge reject."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scirgen import Dataset, InputError, Material, QAPair, StageContext, WorkItem
from scirgen.core.records import rejected_pair
from scirgen.core.taxonomy import LanguageWording
from scirgen.pipeline.views.view import StoreView, open_view
from scirgen.plugin import Aspect, Document, grouped
from scirgen.stages.filter.deciding import JUDGE, score_all, scorer_names
from scirgen.stages.filter.faithfulness.calibrated import Coefficients, read_coefficients
from scirgen.stages.filter.second_reader import READER
from scirgen.stages.filter.stage import FilterStage, material_of, select_gates, verdicts_of
from scirgen_bench.calibrate.coefficients import write
from scirgen_bench.calibrate.falsehoods import KINDS, Around, places
from scirgen_bench.calibrate.quality import FEWEST, Judged, auc_interval, roc_auc
from scirgen_bench.intervals import Interval, wilson

GOOD: Final = "good"
FILTER: Final = "all together"
Worded = Callable[[str], LanguageWording]
"""Gives the wording of a language, as `Wording.of`."""
_RARE: Final = ("unit", "swapped", "time", "stronger", "place")
"""The kinds that few answers lend themselves to; they choose first."""
_FRESH: Final[dict[str, object]] = {"scores": (), "doubts": (), "mended": False, "unsure": False, "bloom": None}


@dataclass(frozen=True)
class Planted:
    """A candidate, as the run made it (kind "good") or with an answer made false in one of `KINDS`."""

    pair: QAPair
    kind: str


@dataclass
class Caught:
    """Counts of one gate, score, judge or the whole filter: falsehoods and good candidates that it rejects.

    Attributes:
        kinds: kind of falsehood -> number caught.
        good: number of good candidates that it also takes.
        alone: number of falsehoods that nothing else catches, the whole filter left out.
        deserved: share of what it takes that is false, with Wilson's 95 % interval; None where it takes nothing.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    good: int = 0
    alone: int = 0
    deserved: float | None = None
    interval: Interval | None = None


@dataclass
class PlantedReport:
    """The figures of `measure`. ``auc``: score -> "*" or question type -> AUC, with its interval for "*"."""

    rows: Mapping[str, int]
    caught: dict[str, Caught]
    auc: dict[str, dict[str, float]]
    intervals: dict[str, Interval | None]
    models: tuple[str, ...]
    missed: list[dict[str, str]]
    lost: list[dict[str, str]]
    failed: int = 0

    def as_json(self) -> dict[str, object]:
        """Return plain data in the form of ``--json``."""
        plain = {name: {**vars(one), "kinds": dict(one.kinds)} for name, one in self.caught.items()}
        return {**vars(self), "rows": dict(self.rows), "caught": plain}


def items_of(run: Path, *, each: int, good: int, seed: int, language: Worded) -> list[tuple[WorkItem, list[Planted]]]:
    """Draw a run's candidates and falsify some: for each dataset, return the filter's item and its content.

    A false candidate takes the place of the true one, so that none is rejected as a duplicate.

    Args:
        run: the run's folder.
        each: largest number of falsehoods of each kind.
        good: largest number of candidates that stay as they are.
        seed: of the draw.
        language: gives the wording of a language.

    Raises:
        InputError: the run has no candidates.
    """
    view = open_view(run)
    every = sorted(_candidates(view), key=lambda p: p.id)
    if not every:
        raise InputError(f"{run} has no candidates of the stage filter", hint="Give the folder of a finished run.")
    chosen = _plant(every, each=each, good=good, seed=seed, language=language)
    cited = {s.document_id for p in chosen for s in p.pair.evidence}
    documents = {d.id: d for d in view.records("parse", Document) if d.id in cited}
    datasets = {d.id: d for d in view.records("collect", Dataset)}
    aspects = grouped((aspect.dataset_id or "", aspect) for aspect in view.records("verify", Aspect))
    found: list[tuple[WorkItem, list[Planted]]] = []
    for dataset_id, rows in sorted(grouped((one.pair.dataset_id, one) for one in chosen).items()):
        mine = {s.document_id for r in rows for s in r.pair.evidence} & documents.keys()
        papers = [documents[i] for i in sorted(mine)]
        inputs = (datasets[dataset_id], *papers, *aspects.get(dataset_id, ()), *(r.pair for r in rows))
        found.append((WorkItem(dataset_id, inputs, {"round": 0}), rows))
    return found


def _candidates(view: StoreView) -> Iterable[QAPair]:
    accepted = view.records("filter", QAPair)
    rejected = (rejected_pair(r) for r in view.rejections("filter") if r.code != "duplicate")
    pairs = {p.id: p.model_copy(update={**_FRESH, "round": 0}) for p in (*accepted, *filter(None, rejected))}
    return [p for p in pairs.values() if p.answer and p.evidence]


def _plant(every: Sequence[QAPair], *, each: int, good: int, seed: int, language: Worded) -> list[Planted]:
    draw = random.Random(seed)
    names = list(dict.fromkeys(n for p in every for n in (*places(p.answer), *places(p.question))))
    answers = grouped((pair.question_type, (pair.dataset_id, pair.answer)) for pair in every)
    left = list(every)
    draw.shuffle(left)
    chosen: list[Planted] = []
    for kind in (*_RARE, *(k for k in KINDS if k not in _RARE)):
        made = 0
        for pair in list(left):
            if made >= each:
                break
            others = [a for d, a in answers[pair.question_type] if d != pair.dataset_id]
            text = KINDS[kind](pair, Around(language(pair.language), names, others, draw))
            if text:
                id = QAPair.make_id(pair.dataset_id, pair.question_type, pair.question, text)
                chosen.append(Planted(pair.model_copy(update={"id": id, "answer": text}), kind))
                left.remove(pair)
                made += 1
    return [*chosen, *(Planted(p, GOOD) for p in left[:good])]


async def measure(
    items: Sequence[tuple[WorkItem, list[Planted]]], ctx: StageContext, tell: Callable[[str], None]
) -> PlantedReport:
    """Run gates, scores, judge and the whole filter over planted candidates.

    Rules see every candidate, whatever the others find. The judge's figures are for its first reading, and for the
    whole filter, in which it looks at doubts again.
    """
    kinds = {r.pair.id: r.kind for _, rows in items for r in rows}
    pairs = {r.pair.id: r.pair for _, rows in items for r in rows}
    taken: defaultdict[str, set[str]] = defaultdict(set)
    values: defaultdict[str, list[Judged]] = defaultdict(list)
    failed, done = 0, 0

    async def one(item: WorkItem, mine: list[QAPair]) -> None:
        nonlocal failed, done
        own = ctx.at("filter", item.key, "planted")
        await _rules(mine, material_of(item), taken, own)
        scored = await score_all(mine, material_of(item), own, [n for n in scorer_names(ctx) if n != JUDGE])
        for pair, error in scored.values():
            failed += error is not None
            for score in pair.scores:
                taken[score.name] |= {pair.id} if score.passed is False else set()
                if not score.abstained:
                    good = kinds[pair.id] == GOOD
                    values[score.name].append(Judged(score.value, good, pair.question_type, cluster=pair.dataset_id))
        result = await FilterStage().process(item, own)
        failed += len(result.failures)
        taken[FILTER] |= {r.record_id for r in result.rejections}
        for made in (*result.outputs, *(rejected_pair(r) for r in result.rejections)):
            if isinstance(made, QAPair):
                read = {s.name: s for s in made.scores}
                if JUDGE in read and read[JUDGE].passed is False:
                    taken[f"{JUDGE}, first reading"].add(made.id)
                if READER in read and not read[READER].value:
                    taken[READER].add(made.id)
        done += 1
        tell(f"measured {done} of {len(items)} datasets")

    await asyncio.gather(*(one(item, [r.pair for r in rows]) for item, rows in items))
    auc = {name: _aucs(found) for name, found in values.items()}
    return PlantedReport(
        rows=Counter(kinds.values()), caught=caught_by(taken, kinds), auc=auc,
        intervals={name: auc_interval(found) for name, found in values.items()},
        models=tuple(str(s.identity) for s in (ctx.score_session, ctx.judge_session or ctx.chat_session) if s),
        missed=[_told(pairs[i], k) for i, k in sorted(kinds.items()) if k != GOOD and i not in taken[FILTER]],
        lost=[_told(pairs[i], k) for i, k in sorted(kinds.items()) if k == GOOD and i in taken[FILTER]], failed=failed,
    )  # fmt: skip


async def _rules(pairs: Sequence[QAPair], material: Material, taken: Mapping[str, set[str]], ctx: StageContext) -> None:
    """Note which pairs each gate takes that asks no model and reads no score."""
    for gate in select_gates(ctx.config, ctx.registry, ctx.pack):
        if gate.models() or "scores" in gate.needs:
            continue
        verdicts = await verdicts_of(gate, pairs, material, ctx)
        taken[gate.code].update(p.id for p, v in zip(pairs, verdicts, strict=True) if not v.accept)


def caught_by(taken: Mapping[str, set[str]], kinds: Mapping[str, str]) -> dict[str, Caught]:
    """Count what each gate or score rejects: falsehoods by kind, good pairs, and pairs that nothing else rejects.

    Args:
        taken: gate or score -> ids of the pairs it takes.
        kinds: pair id -> kind of falsehood, or `GOOD`.
    """
    found: dict[str, Caught] = {}
    for name, ids in taken.items():
        others = set().union(*(s for n, s in taken.items() if n not in (name, FILTER)))
        false = {i for i in ids if kinds[i] != GOOD}
        found[name] = Caught(Counter(kinds[i] for i in false), len(ids) - len(false), len(false - others))
        if ids:
            found[name].deserved = len(false) / len(ids)
            found[name].interval = wilson(len(false), len(ids))
    return found


def _aucs(rows: Sequence[Judged]) -> dict[str, float]:
    """Return the AUC over all rows, and of the types with enough rows of both kinds."""
    whole = roc_auc(rows)
    found = {"*": whole} if whole is not None else {}
    for kind, group in sorted(grouped((r.question_type, r) for r in rows).items()):
        if min(sum(r.faithful for r in group), sum(not r.faithful for r in group)) >= FEWEST:
            found[kind] = roc_auc(group) or 0.0
    return {kind: round(auc, 3) for kind, auc in found.items()}


def _told(pair: QAPair, kind: str) -> dict[str, str]:
    return {"kind": kind, "id": pair.id, "question": pair.question, "answer": pair.answer}


def store_aucs(path: Path, found: PlantedReport) -> Coefficients:
    """Write the shift's AUC by question type into a file of coefficients, which then decide for which types the shift
    decides."""
    made = read_coefficients(path)
    measured = {kind: auc for kind, auc in found.auc.get("shift", {}).items() if kind != "*"}
    made = made.model_copy(update={"aucs": made.aucs | measured})
    write(path, made)
    return made


def as_text(found: PlantedReport) -> str:
    """Format the figures as a table: one line per gate, score and judge."""
    planted = sum(n for kind, n in found.rows.items() if kind != GOOD)
    names = [k for k in KINDS if found.rows[k]]
    lines = [f"{found.rows[GOOD]} candidates as they were, {planted} made false; {', '.join(found.models)}"]
    wide = max(map(len, names), default=0) + 2

    def row(name: str, cells: Sequence[object], false: object, alone: object, good: object, end: str = "") -> str:
        return f"{name:26}" + "".join(f"{c:>{wide}}" for c in cells) + f"{false:>7}{alone:>7}{good:>6}  {end}".rstrip()

    lines.append(row("catches", names, "false", "alone", "good", "deserved"))
    lines.append(row("of", [found.rows[k] for k in names], planted, "", found.rows[GOOD]))
    for name, one in sorted(found.caught.items(), key=lambda kv: (kv[0] == FILTER, -sum(kv[1].kinds.values()), kv[0])):
        if one.deserved is None or one.interval is None:
            continue
        deserved = f"{one.deserved:.2f} [{one.interval[0]:.2f}, {one.interval[1]:.2f}]"
        alone = "" if name == FILTER else one.alone
        lines.append(row(name, [one.kinds[k] for k in names], sum(one.kinds.values()), alone, one.good, deserved))
    if idle := sorted(name for name, one in found.caught.items() if one.deserved is None):
        lines.append(f"found nothing: {', '.join(idle)}")
    for name, aucs in found.auc.items():
        interval = found.intervals[name]
        shown = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
        kinds = ", ".join(f"{k} {v:.2f}" for k, v in aucs.items() if k != "*")
        lines.append(f"AUC of {name}: {aucs.get('*', 0):.2f}{shown}" + (f"; {kinds}" if kinds else ""))
    if found.failed:
        lines.append(f"{found.failed} could not be measured")
    missed = Counter(m["kind"] for m in found.missed)
    if missed:
        lines.append("missed: " + ", ".join(f"{n} {k}" for k, n in missed.most_common()))
    return "\n".join(lines)
