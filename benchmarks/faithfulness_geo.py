"""Writes out what the filter's default rejects of ScIRGen-Geo's released pairs, so that a person can judge the
rejections.

Draws pairs of a split at random. They have no spans, as in a foreign set of pairs. With ``--passages`` those that
share most with question and answer
stand in for the evidence; then ``--scored`` says how many pairs pass through the scores, too. Answers swapped within
dataset and type are
judged in the same way. ``--read`` writes pairs rejected for want of support and as many kept ones, in mixed order,
without the verdicts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ablation import scoring
from benchmarks.geo_pairs import Entry, Pair, entries
from scirgen.core.config import Config, ModelsConfig
from scirgen.core.fingerprint import digest
from scirgen.core.records import Dataset, QAPair, Span
from scirgen.release_files.qafiles import type_key
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import failing, score_all, sentence
from scirgen.stages.filter.faithfulness.windows import evidence_window
from scirgen.stages.filter.stage import select_gates

JUDGED = ("not_supported", "ensemble", "contrast")
"""The gates and scores that reject for want of support; the other gates look at form."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faithfulness_geo", description=__doc__)
    parser.add_argument("--split", default="dev", choices=("train", "dev"))
    parser.add_argument("--pairs", type=int, default=1000, help="how many are drawn")
    parser.add_argument("--skip", type=int, default=0, help="how many of the drawn ones are left out first")
    parser.add_argument("--swapped", type=int, default=1000, help="of how many a swapped answer is judged too")
    parser.add_argument(
        "--half", choices=("a", "b"), help="of the datasets: rules were chosen on a of train; default: all"
    )
    parser.add_argument("--rejected", type=int, default=50, help="how many rejected pairs --read writes at most")
    parser.add_argument("--passages", action="store_true", help="judge against the passages found as evidence")
    parser.add_argument("--scored", type=int, default=200, help="with --passages: pairs that are scored (4 s each)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True, help="every pair that was drawn, with its verdict")
    parser.add_argument("--read", type=Path, help="as many rejected and kept pairs, in mixed order, without verdicts")
    arguments = parser.parse_args()
    found, swapped = asyncio.run(run(arguments))
    arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(len(found), "released:", Counter(row["by"] for row in found))
    print(len(swapped), "swapped:", Counter(row["by"] for row in swapped))
    if arguments.read:
        chosen = [r for r in found if r["by"] in JUDGED][: arguments.rejected]
        chosen += [r for r in found if r["by"] == "kept"][: len(chosen)]
        random.Random(arguments.seed).shuffle(chosen)
        texts = {e.id: e for e in entries(arguments.split)}
        shown = [_shown(row, texts[row["dataset"]]) for row in chosen]
        arguments.read.write_text("\n".join(shown), encoding="utf-8")


def _shown(row: dict[str, Any], entry: Entry) -> str:
    """The row for a reader: what the dataset says about it, then question and answer."""
    pair = QAPair(
        id="0", dataset_id=entry.id, question=row["question"], answer=row["answer"], question_type=row["type"]
    )
    return f"## {row['number']}\n\n{_found(entry, pair)}\n\nQ: {row['question']}\n\nA: {row['answer']}\n"


async def run(arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Verdicts on the pairs that were drawn, and on the same questions with the answer to another one of the dataset
    and type."""
    chosen = (e for e in entries(arguments.split) if arguments.half in (None, _half(e)))
    drawn = [(entry, pair) for entry in chosen for pair in entry.pairs]
    random.Random(arguments.seed).shuffle(drawn)
    found, swapped = [], []
    model = "bundled:smollm2-135m"
    config = Config(models=ModelsConfig(generator=model))
    async with scoring(model, config, ":memory:") as ctx:
        for n, (entry, pair) in enumerate(drawn[arguments.skip :][: arguments.pairs]):
            score = not arguments.passages or n < arguments.scored
            others = _others(entry, pair) if n < arguments.swapped else []
            for answers, into in (((pair.answer,), found), (others[:1], swapped)):
                for answer in answers:
                    row = await judged(
                        entry, replace(pair, answer=answer), ctx, score=score, passages=arguments.passages
                    )
                    into.append({"number": n, **row})
    return found, swapped


def _found(entry: Entry, pair: QAPair) -> str:
    """The passages of a dataset's text that share most with a pair."""
    return evidence_window(pair, Material(None, (), entry.context)).text


def _half(entry: Entry) -> str:
    return "a" if int(digest("half", entry.id)[:4], 16) % 2 else "b"


def _others(entry: Entry, pair: Pair) -> list[str]:
    """Answers to other questions of the dataset and type, in an order that says nothing; none for yes and no."""
    answers = {p.answer for p in entry.pairs if p.kind == pair.kind and p.answer.lower() != pair.answer.lower()}
    if type_key(pair.kind) == "verification":
        return []
    return sorted(answers, key=lambda a: digest("swap", pair.question, a))


async def judged(entry: Entry, pair: Pair, ctx: StageContext, *, score: bool, passages: bool) -> dict[str, Any]:
    """The pair with what rejected it (``by``); "kept", or "not scored" where only the gates judged it."""
    kind = type_key(pair.kind)
    bare = QAPair(id="0", dataset_id=entry.id, question=pair.question, answer=pair.answer, question_type=kind)
    text = _found(entry, bare) if passages else entry.context
    span = Span(document_id=entry.id, start=0, end=len(text), text=text)
    candidate = bare.model_copy(update={"evidence": (span,)}) if passages else bare
    dataset = Dataset(id=entry.id, title=entry.title or "untitled")
    material = Material(dataset, (), entry.context, {entry.id: text})
    row = {"dataset": entry.id, "type": kind, "question": pair.question, "answer": pair.answer}
    gates = [
        g for g in select_gates(ctx.config, ctx.registry) if passages or not {"evidence", "sources"} & set(g.needs)
    ]
    for gate in gates:
        (verdict,) = await gate.check([candidate], material, ctx)
        if not verdict.accept:
            return {**row, "by": gate.code, "reason": verdict.reason}
    if not score:
        return {**row, "by": "not scored"}
    scored, error = (await score_all([candidate], material, ctx))["0"]
    if error:
        raise error
    shown = {**row, "scores": {s.name: None if s.abstained else s.value for s in scored.scores}}
    against = failing(scored)
    if against is None:
        return {**shown, "by": "kept"}
    return {**shown, "by": against.name, "reason": sentence(against, ctx.registry)}


if __name__ == "__main__":
    main()
