"""Shows what each part of the filter adds: one row a part, with the good answers that it loses and the false ones it
catches.

It fits the coefficients of ``calibrated`` on labelled answers; each answer is judged by coefficients and edges that
were
fitted without its dataset or piece of evidence. The parts `HELD` and ``fresh`` are never fitted on. Log-probabilities
and
replies stay in ``--cache``. ``--write`` stores the coefficients that ship.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.labelled_pairs import TRUE, Row, by_hand, rows
from scirgen.core.config import Config, FilterConfig, LimitsConfig, ModelsConfig
from scirgen.core.records import Dataset, QAPair, Score
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Gate, Material
from scirgen.stages.filter.deciding import select_scorers
from scirgen.stages.filter.faithfulness.calibrated import SHIPPED, features, measured_words, read_coefficients
from scirgen.stages.filter.gates.evidence import NotSupportedGate
from scirgen.stages.filter.stage import select_gates
from scirgen_bench.calibrate.calibrate import opened
from scirgen_bench.calibrate.coefficients import Fitted, Measured, fit, write
from scirgen_bench.calibrate.quality import Judged, auc_interval, roc_auc

DESCRIPTION: Final = (
    "benchmarks/data/hand_pairs.jsonl without its held-out parts; answers of a strong language model to "
    "questions about "
    "five datasets of ScIRGen-Geo and one paper, with swaps and changed digits made of them; and its 202 candidates in "
    "five fields (benchmarks/labelled_pairs.py)."
)
FIT: Final = ("strong", "hand", "desk")
EDGES: Final = ("strong", "desk")
"""The parts that the edges come from: answers of a strong writer, as a run has them."""
LOOSE: Final = 0.5
"""Weight in the fit of true answers that share few words with their evidence."""
KINDS: Final = ("swap", "number", "negated", "direction", "swapped", "subtle", "flip")
EASY: Final = ("swap", "number", "negated")


@dataclass
class Part:
    """The verdict of one part of the filter on each answer: rejected (False), kept (True), or unsure (None), with its
    values and its processor time."""

    decided: list[bool | None]
    values: list[float] | None = None
    seconds: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="any scorer's URI")
    parser.add_argument("--cache", type=Path, default=Path(".ablation-cache.sqlite"))
    parser.add_argument("--pairs", type=Path, help="more answers, in the form of data/hand_pairs.jsonl: part fresh")
    parser.add_argument("--precision", type=float, default=0.98, help="wanted of the rejected, and of the kept")
    parser.add_argument("--entailment", default="", help="hf:ID_OR_DIR: adds the row nli")
    parser.add_argument("--judge", default="", help="a chat model's URI: adds the row llm_judge")
    parser.add_argument("--sample", type=int, default=0, help="judge this many answers of each kind and part; 0: all")
    parser.add_argument("--part", action="append", help="show only these parts")
    parser.add_argument("--write", action="store_true", help="store the coefficients that ship with scirgen")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    result = asyncio.run(run(arguments))
    print_tables(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    every = rows()
    if arguments.pairs:
        every += [replace(r, part="fresh") for r in by_hand(arguments.pairs)]
    parts: dict[str, Part] = {"none": Part([True] * len(every))}
    config = _config(arguments)
    async with scoring(arguments.model, config, arguments.cache) as ctx:
        gates = [g for g in select_gates(config, ctx.registry) if not g.models() and not g.after_scores]
        form = [g for g in gates if not isinstance(g, NotSupportedGate) and not {"sources", "evidence"} & set(g.needs)]
        parts["form gates"] = await _gated(every, form, ctx)
        parts["not_supported"] = await _gated(every, [NotSupportedGate()], ctx)
        shifts, parts["shift"] = await _scored("shift", every, [r.pair for r in every], ctx)
        fitted, parts["calibrated"] = _calibrated(every, shifts, arguments.precision, ctx)
        parts["calibrated"].seconds += parts["shift"].seconds
        if arguments.entailment:
            _, parts["nli"] = await _scored("nli", every, [r.pair for r in every], ctx)
    if arguments.judge:
        parts["llm_judge"] = await _judged(every, arguments.sample, config)
    if arguments.write:
        path = SHIPPED / f"{arguments.model.partition(':')[2]}.json"
        known = {"aucs": read_coefficients(path).aucs} if path.is_file() else {}
        write(path, fitted.file.model_copy(update=known))
    shown = arguments.part or list(dict.fromkeys(r.part for r in every))
    return {
        "model": arguments.model, "coefficients": fitted.file.model_dump(mode="json"),
        "fit": fitted.summary(
            [m for r, m in zip(every, _measured(every, shifts, ctx), strict=True) if m is not None and r.part in FIT]
        ),
        "parts": {part: table(every, parts, part) for part in shown},
    }  # fmt: skip


def _config(arguments: argparse.Namespace) -> Config:
    models = ModelsConfig(generator=arguments.model, scorer=arguments.model, judge=arguments.judge)
    chosen = FilterConfig(entailment=arguments.entailment, faithfulness=("llm_judge",))
    return Config(models=models, filter=chosen, limits=LimitsConfig(timeout_s=7000))


@asynccontextmanager
async def scoring(model: str, config: Config, cache: Path | str) -> AsyncIterator[StageContext]:
    """Open a context of the filter with this scorer, whose log-probabilities stay in the cache."""
    registry = load_registry()
    session = CachedScoreSession(await open_scoring(model, config, registry), cache=ReplyCache.open(cache))
    async with opened(
        config.model_copy(update={"filter": FilterConfig(faithfulness=())}), Resources(), registry
    ) as ctx:
        yield replace(ctx, config=config, score_session=session)
    await session.aclose()


async def _gated(every: Sequence[Row], gates: Sequence[Gate], ctx: StageContext) -> Part:
    started = time.process_time()
    decided: list[bool | None] = []
    for row in every:
        title = Dataset(id=row.fold, title=row.fold) if row.part == "desk" else None
        material = Material(title, (), row.context)
        verdicts = [(await gate.check([row.pair], material, ctx))[0] for gate in gates]
        decided.append(False if any(not v.accept for v in verdicts) else None)
    return Part(decided, seconds=time.process_time() - started)


async def _scored(
    name: str, every: Sequence[Row], pairs: Sequence[QAPair], ctx: StageContext
) -> tuple[list[Score], Part]:
    """Score all answers, those to the same evidence together; raises the first error."""
    (scorer,) = select_scorers([name], ctx.registry)
    reject, sure = scorer.edges(ctx.config)
    started = time.process_time()
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(every):
        groups.setdefault(evidence_of(row), []).append(i)
    found: dict[int, Score] = {}
    for evidence, index in groups.items():
        scores = await scorer.score([pairs[i] for i in index], Material(None, (), evidence), ctx)
        for i, score in zip(index, scores, strict=True):
            if isinstance(score, Exception):
                raise score
            found[i] = score
    values = [found[i].value for i in range(len(every))]
    decided = [None if polar(r) or reject < v <= sure else v > sure for r, v in zip(every, values, strict=True)]
    return [found[i] for i in range(len(every))], Part(decided, values, time.process_time() - started)


def evidence_of(row: Row) -> str:
    return "\n".join(s.text for s in row.pair.evidence)


def _measured(every: Sequence[Row], shifts: Sequence[Score], ctx: StageContext) -> list[Measured | None]:
    found: list[Measured | None] = []
    for row, shift in zip(every, shifts, strict=True):
        said = measured_words(row.pair, Material(None, (), evidence_of(row)), ctx)
        values = None if said is None else features(shift, said)
        found.append(None if values is None else Measured(values, row.faithful, row.fold, row.made))
    return found


def _calibrated(
    every: Sequence[Row], shifts: Sequence[Score], precision: float, ctx: StageContext
) -> tuple[Fitted, Part]:
    """Fit on `FIT`, and decide on every answer out of sample."""
    started = time.process_time()
    measured = _measured(every, shifts, ctx)
    seconds = time.process_time() - started
    index = [i for i, (r, m) in enumerate(zip(every, measured, strict=True)) if m is not None and r.part in FIT]
    fitted = fit(
        [m for i in index if (m := measured[i]) is not None], ctx.scorer.identity, description=DESCRIPTION,
        precision=precision, weights={"loose": LOOSE}, edges_from=[every[i].part in EDGES for i in index],
    )  # fmt: skip
    values = [0.0 if m is None else fitted.file.probability(m.values) for m in measured]
    decided: list[bool | None] = [
        None if m is None or fitted.file.reject < v <= fitted.file.sure else v > fitted.file.sure
        for m, v in zip(measured, values, strict=True)
    ]
    for i, value, verdict in zip(index, fitted.outside, fitted.decided, strict=True):
        values[i], decided[i] = value, verdict
    return fitted, Part(decided, values, seconds)


async def _judged(every: Sequence[Row], sample: int, config: Config) -> Part:
    """Ask the judge about a sample, in random order; the others are unsure."""
    rng = random.Random(0)
    groups: dict[tuple[str, str], list[int]] = {}
    for i, row in enumerate(every):
        groups.setdefault((row.part, row.made), []).append(i)
    chosen = [i for g in groups.values() for i in (rng.sample(g, min(sample, len(g))) if sample else g)]
    by_fold: dict[str, list[int]] = {}
    for i in sorted(chosen, key=lambda _: rng.random()):
        by_fold.setdefault(every[i].fold, []).append(i)
    decided: list[bool | None] = [None] * len(every)
    (judge,) = select_scorers(["llm_judge"], load_registry())
    async with opened(config, Resources(), load_registry()) as ctx:
        asked = [
            judge.score(
                [every[i].pair.model_copy(update={"id": f"pair{n}"}) for n, i in enumerate(index)],
                Material(None, (), ""), ctx,
            )
            for index in by_fold.values()
        ]  # fmt: skip
        for index, scores in zip(by_fold.values(), await asyncio.gather(*asked), strict=True):
            for i, score in zip(index, scores, strict=True):
                if isinstance(score, Exception):
                    raise score
                decided[i] = score.value > judge.default_threshold
    return Part(decided)


def polar(row: Row) -> bool:
    return row.pair.answer.strip(" .").lower() in ("yes", "no")


def table(every: Sequence[Row], parts: Mapping[str, Part], name: str) -> dict[str, Any]:
    """For each part of the filter: answers rejected (and unsure) by kind, alone and with those before it; AUC."""
    index = [i for i, r in enumerate(every) if r.part == name]
    kinds = sorted({every[i].made for i in index}, key=lambda k: (k not in TRUE, KINDS.index(k) if k in KINDS else 0))
    found: dict[str, Any] = {}
    before = [False] * len(every)
    for title, part in parts.items():
        # The calibrated probability decides in the shift's place.
        mine = [d is False for d in part.decided]
        together = [a or b for a, b in zip(before, mine, strict=True)]
        if title not in ("none", "shift"):
            before = together
        found[title] = {
            "alone": {k: _counts(every, part.decided, index, k) for k in kinds},
            "together": {k: sum(together[i] for i in index if every[i].made == k) for k in kinds},
            "auc": {
                label: _auc(every, part.values, index, of) for label, of in (("easy", EASY), ("subtle", ("subtle",)))
            } if part.values else {},
            "ms_a_pair": round(1000 * part.seconds / len(every), 1),
        }  # fmt: skip
    return found


def _counts(every: Sequence[Row], decided: Sequence[bool | None], index: Sequence[int], kind: str) -> list[int]:
    """Rejected, unsure, and all answers of a kind."""
    mine = [decided[i] for i in index if every[i].made == kind]
    return [sum(d is False for d in mine), sum(d is None for d in mine), len(mine)]


def _auc(every: Sequence[Row], values: Sequence[float], index: Sequence[int], kinds: Sequence[str]) -> list[Any] | None:
    """AUC with interval of some kinds of false answers against all true ones, Yes and No left out."""
    chosen = [i for i in index if not polar(every[i]) and (every[i].faithful or every[i].made in kinds)]
    judged = [Judged(values[i], every[i].faithful, cluster=every[i].fold) for i in chosen]
    return [roc_auc(judged), auc_interval(judged)] if len({j.faithful for j in judged}) > 1 else None


def print_tables(result: Mapping[str, Any]) -> None:
    """Print one table for each part of the labels: rejected with all parts before, then alone as rejected + unsure."""
    for part, found in result["parts"].items():
        kinds = {k: n[2] for k, n in found["none"]["alone"].items()}
        print(
            f"\n| {part} | "
            + " | ".join(f"{k} ({n})" for k, n in kinds.items())
            + " | AUC easy | AUC subtle | ms a pair |"
        )
        print("|---" * (len(kinds) + 4) + "|")
        for title, one in found.items():
            cells = [str(one["together"][k]) + _unsure(title, one["alone"][k]) for k in kinds]
            print(
                f"| {title} | "
                + " | ".join(cells)
                + f" | {_area(one, 'easy')} | {_area(one, 'subtle')} | {one['ms_a_pair']} |"
            )
    print("\nA cell: rejected by this part and those above it (unsure by this part).")
    print(json.dumps(result["fit"], indent=1))


def _unsure(title: str, counts: Sequence[int]) -> str:
    return f" ({counts[1]})" if title in ("shift", "calibrated") and counts[1] else ""


def _area(one: Mapping[str, Any], label: str) -> str:
    found = one["auc"].get(label)
    if not found:
        return ""
    area, interval = found
    return f"{area:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


if __name__ == "__main__":
    main()
