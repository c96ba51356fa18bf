"""Fits the ensemble of the bundled scorer on labelled answers, and says what the filter's default rejects of each kind, out of sample.

Each answer is judged by coefficients that were fitted without its dataset or its piece of evidence; the parts `HELD` were never fitted on.
Measured log-probabilities stay in ``--cache``: a run that was cut short goes on where it stopped. ``--write`` stores the shipped coefficients.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from benchmarks.labelled_pairs import HELD, TRUE, Row, rivals, rows
from scirgen.commands.calibrate.calibrate import with_score
from scirgen.commands.calibrate.ensemble import Fitted, Measured, fit, measure, write
from scirgen.commands.calibrate.quality import Judged, auc_interval, roc_auc
from scirgen.core.config import Config, FilterConfig, ModelsConfig
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import QAPair, Score
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.base import ModelIdentity
from scirgen.llm.cache import ReplyCache
from scirgen.llm.encoders.entailment import content_identity
from scirgen.llm.open import open_scoring
from scirgen.llm.score_session import CachedScoreSession
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material, Verdict
from scirgen.stages.filter.faithfulness.contrast import ContrastScorer
from scirgen.stages.filter.faithfulness.ensemble import SHIPPED, Group
from scirgen.stages.filter.faithfulness.rival import Rival, RivalScorer
from scirgen.stages.filter.gates.evidence import NotSupportedGate

DESCRIPTION: Final = (
    "benchmarks/data/hand_pairs.jsonl without its held-out parts, and answers of a strong language model to questions about five datasets "
    "of ScIRGen-Geo and one paper, with swaps and changed digits made of them (benchmarks/labelled_pairs.py)."
)
LOOSE: Final = 0.5
"""What true answers that share few words with their evidence count in the fit (docs/benchmarks/faithfulness.md has the figures for others)."""

PARTS: Final = ("strong", "hand", *HELD)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness_pairs", description=__doc__)
    parser.add_argument("--model", default="bundled:smollm2-135m", help="any scorer's URI")
    parser.add_argument(
        "--cache", type=Path, default=Path(".faithfulness-cache.sqlite"), help="measured log-probabilities"
    )
    parser.add_argument(
        "--rejected", type=float, default=0.03, help="share of true answers that the threshold may reject"
    )
    parser.add_argument("--loose", type=float, default=LOOSE, help="what true answers in other words count in the fit")
    parser.add_argument(
        "--entailment", default="", help="hf:ID_OR_DIR: fit and show the ensemble with nli before it, too"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--write", action="store_true", help="store the coefficients that ship with scirgen")
    arguments = parser.parse_args()
    if arguments.write and arguments.entailment:
        parser.error("no coefficients with an entailment model ship: leave --entailment out to --write")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    result = asyncio.run(run(arguments))
    print_tables(result)
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


@asynccontextmanager
async def opened(
    model: str, cache: Path | str, *, writer: bool = True, options: Mapping[str, str] | None = None, **settings: object
) -> Any:
    """A context for the filter with this scorer, its options and these settings; with a writer, rivals that are given can be scored."""
    chosen = FilterConfig.model_validate(settings)
    config = Config(models=ModelsConfig(generator=model, options=dict(options or {})), filter=chosen)
    resources, registry = Resources(), load_registry()
    session = CachedScoreSession(await open_scoring(model, config, registry), cache=ReplyCache.open(cache))
    given: Any = SimpleNamespace(identity=ModelIdentity("given", "rivals", ""), pack="standard")
    with tempfile.TemporaryDirectory() as folder:
        yield StageContext(
            config, resources, PromptLibrary(resources), Taxonomies(resources), registry, Path(folder),
            given if writer else None, session, stage="filter", key="benchmark",
        )  # fmt: skip
    await session.aclose()


async def run(arguments: argparse.Namespace) -> dict[str, Any]:
    every = rows()
    parts = [part for part in PARTS if any(r.part == part for r in every)]
    async with opened(arguments.model, arguments.cache, entailment=arguments.entailment) as ctx:
        if arguments.entailment:
            every = await _with_nli(every, ctx)
        plain = await _measured(every, ctx)
        answered = [replace(r, pair=await _with_rival(r.pair, text, ctx)) for r, text in rivals(every)]
        twice = await _measured(answered, ctx)
        fitted_on = [m for r, m in zip(every, plain, strict=True) if r.part not in HELD] + twice
        fitted = fit(
            fitted_on, ctx.scorer.identity, description=DESCRIPTION, rejected=arguments.rejected,
            typical=("written", "close", "right"), weights={"loose": arguments.loose},
            entailment=content_identity(arguments.entailment),
        )  # fmt: skip
        outside = {
            name: _outside(every, plain, fitted, name) for name in ("", "+nli") if f"text{name}" in fitted.file.groups
        }
        decided = await _decided(every, plain, outside, fitted, ctx)
    if arguments.write:
        write(SHIPPED / f"{arguments.model.partition(':')[2]}.json", fitted)
    return {
        "model": str(ctx.scorer.identity), "thresholds": {g: one.threshold for g, one in fitted.file.groups.items()},
        "rejected": {part: {n: shares(every, flags, part) for n, flags in decided.items()} for part in parts},
        "auc": {f"ensemble{name}": {part: auc_by_kind(every, values, part) for part in parts} for name, values in outside.items()},
        "rival": fitted.summary(fitted_on).get("text+rival"),
    }  # fmt: skip


async def _decided(
    every: Sequence[Row],
    plain: Sequence[Measured],
    outside: Mapping[str, Sequence[float]],
    fitted: Fitted,
    ctx: StageContext,
) -> dict[str, list[bool]]:
    """What is rejected, by each of the filter's parts and by all together."""
    decided = {f"ensemble{name}": _below(plain, values, fitted, name) for name, values in outside.items()}
    decided["contrast"] = await _contrast(every, ctx)
    by_gate = _gate(every, ctx)
    decided["not_supported"] = [not v.accept for v in by_gate]
    decided["its numbers and names"] = [not v.accept and v.score is None for v in by_gate]
    for name in outside:
        for gate in ("its numbers and names", "not_supported"):
            together = zip(decided[f"ensemble{name}"], decided["contrast"], decided[gate], strict=True)
            decided[f"ensemble{name}, contrast, {gate}"] = [any(flags) for flags in together]
    return decided


async def _with_nli(every: Sequence[Row], ctx: StageContext) -> list[Row]:
    scored = await with_score("nli", [r.pair for r in every], [_material(r.pair) for r in every], ctx)
    return [replace(row, pair=pair) for row, pair in zip(every, scored, strict=True)]


async def _measured(answers: Sequence[Row], ctx: StageContext) -> list[Measured]:
    """Raises the first error: figures of a part of the answers would look like those of all."""
    labels = [(r.faithful, r.fold, r.made) for r in answers]
    found = await measure([r.pair for r in answers], labels, [_material(r.pair) for r in answers], ctx)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return [one for one in found if isinstance(one, Measured)]


def _material(pair: QAPair) -> Material:
    return Material(None, (), "\n".join(s.text for s in pair.evidence))


async def _with_rival(pair: QAPair, text: str, ctx: StageContext) -> QAPair:
    (score,) = await RivalScorer().compared([pair], {pair.id: Rival(text, "")}, _material(pair), ctx)
    if isinstance(score, Exception):
        raise score
    return pair.model_copy(update={"scores": (score,)})


def _outside(answers: Sequence[Row], measured: Sequence[Measured], fitted: Fitted, name: str) -> list[float]:
    """The probability of each answer, with an entailment model for the name "+nli"; from coefficients of the other folds where it was fitted on."""
    at = iter(range(len(answers)))
    found = []
    for row, one in zip(answers, measured, strict=True):
        group = _group(one, name)
        known = (
            fitted.file.groups[group].probability(one.values) if row.part in HELD else fitted.outside[group][next(at)]
        )
        if known is None:
            raise ValueError(f"{group}: the fold of {row.fold!r} could not be left out")
        found.append(known)
    return found


def _group(one: Measured, name: str) -> Group:
    return cast(Group, one.group + name)


def _below(measured: Sequence[Measured], values: Sequence[float], fitted: Fitted, name: str) -> list[bool]:
    return [v <= fitted.file.groups[_group(m, name)].threshold for v, m in zip(values, measured, strict=True)]


async def _contrast(answers: Sequence[Row], ctx: StageContext) -> list[bool]:
    return [_falls((await ContrastScorer().score([r.pair], _material(r.pair), ctx))[0]) for r in answers]


def _gate(answers: Sequence[Row], ctx: StageContext) -> list[Verdict]:
    return [NotSupportedGate().judge(r.pair, Material(None, (), r.context), ctx) for r in answers]


def _falls(score: Score | Exception) -> bool:
    if isinstance(score, Exception) or score.abstained:
        return False
    return score.value <= ContrastScorer.default_threshold


def _kinds(answers: Sequence[Row], part: str) -> Iterator[str]:
    made = {r.made for r in answers if r.part == part}
    yield from sorted(made, key=lambda kind: (kind not in TRUE, kind))


def shares(answers: Sequence[Row], flags: Sequence[bool], part: str) -> dict[str, str]:
    found = {}
    for kind in _kinds(answers, part):
        mine = [f for r, f in zip(answers, flags, strict=True) if r.part == part and r.made == kind]
        found[kind] = f"{sum(mine)} of {len(mine)}"
    return found


def auc_by_kind(answers: Sequence[Row], values: Sequence[float], part: str) -> Mapping[str, Any]:
    """Of each kind of false answers against the true ones of its part; yes and no among themselves."""
    found = {}
    for kind in (k for k in _kinds(answers, part) if k not in TRUE):
        judged = [
            Judged(v, r.faithful, cluster=r.fold)
            for r, v in zip(answers, values, strict=True)
            if r.part == part and (r.made == kind or (r.faithful and polar(r) == (kind == "flip")))
        ]
        found[kind] = [roc_auc(judged), auc_interval(judged)]
    return found


def polar(row: Row) -> bool:
    return row.pair.answer.strip(" .").lower() in ("yes", "no")


def print_tables(result: dict[str, Any]) -> None:
    """Markdown: for each part what is rejected, and the ensemble's AUC by kind."""
    for part, rejected in result["rejected"].items():
        kinds = list(next(iter(rejected.values())))
        print(f"\n| {part}: rejected by | " + " | ".join(kinds) + " |\n" + "|---" * (1 + len(kinds)) + "|")
        for name, shares in rejected.items():
            print(f"| {name} | " + " | ".join(shares.values()) + " |")
        for name, areas in result["auc"].items():
            print(f"| AUC of {name} | " + " | ".join(_cell(areas[part].get(kind)) for kind in kinds) + " |")
    print(f"\nThresholds: {result['thresholds']}\nWith a rival: {result['rival']}")


def _cell(value: Sequence[Any] | None) -> str:
    if value is None or value[0] is None:
        return ""
    area, interval = value
    return f"{area:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


if __name__ == "__main__":
    main()
