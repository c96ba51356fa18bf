"""Precision and recall of the match strategies on real papers, by rule and with a model.

    python -m benchmarks.matching --data ../shared/data [--model URI] [--json FILE]

``data/matching_records.jsonl`` has records of datasets from eight fields, written for this benchmark from what papers
state: for
each the papers that use it (``uses``), and papers of the same or a near field that do not (``near``), the hard
negatives. A paper
whose model was trained on a dataset does not use it. Every candidate is found in the folder of papers, so nothing
states a relation.
Without a model, all other pairs of record and paper are judged as well, as easy negatives.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Document, Paper, SectionLabel
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.open import open_sessions
from scirgen.stages.base import StageContext, WorkItem
from scirgen.stages.match.base import Judgement, Pair
from scirgen.stages.match.stage import strategy
from scirgen.stages.parse.stage import ParseStage
from scirgen.stages.section.stage import SectionStage

STRATEGIES = ("mention", "datafinder", "auto")
FOLDERS = ("papers/pdf", "papers2/pdf", "desk/run/papers")
RECORDS = Path(__file__).parent / "data" / "matching_records.jsonl"
Read = tuple[Document, tuple[SectionLabel, ...]]
Key = tuple[str, str]


@dataclass(frozen=True)
class Pairs:
    """Records, and the (dataset, paper) pairs that are positives and hard negatives."""

    datasets: Mapping[str, Dataset]
    fields: Mapping[str, str]
    uses: frozenset[Key]
    near: frozenset[Key]


def read_pairs(papers: Iterable[str]) -> Pairs:
    """The records of the benchmark, with the pairs whose papers could be read."""
    rows = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    known = set(papers)
    datasets = {
        row["id"]: Dataset(
            id=row["id"], title=row["title"], description=row["description"], keywords=tuple(row["keywords"])
        )
        for row in rows
    }
    uses, near = (frozenset((r["id"], p) for r in rows for p in r[name] if p in known) for name in ("uses", "near"))
    return Pairs(datasets, {row["id"]: row["field"] for row in rows}, uses, near)


async def read_papers(folder: Path, ctx: StageContext) -> dict[str, Read]:
    """Every paper that can be parsed, by its file's name without suffix."""
    parse, section = ParseStage(), SectionStage()
    found: dict[str, Read] = {}
    for file in sorted(file for name in FOLDERS for file in (folder / name).glob("*.pdf")):
        parsed = await parse.process(WorkItem(file.stem, (Paper(id=file.stem, file=str(file)),)), ctx)
        for document in (d for d in parsed.outputs if isinstance(d, Document)):
            labelled = await section.process(WorkItem(file.stem, (document,)), ctx)
            found[file.stem] = (document, tuple(x for x in labelled.outputs if isinstance(x, SectionLabel)))
    return found


async def judge(
    name: str, pairs: Pairs, keys: Iterable[Key], papers: Mapping[str, Read], ctx: StageContext
) -> dict[Key, Judgement]:
    """The strategy's judgement on each pair."""
    judged = strategy(name, ctx.registry)

    async def one(key: Key) -> Judgement:
        pair = Pair(pairs.datasets[key[0]], *papers[key[1]], ("folder",))
        return await judged.judge(pair, ctx.at("match", "|".join(key), "benchmark"))

    ordered = sorted(keys)
    return dict(zip(ordered, await asyncio.gather(*map(one, ordered)), strict=True))


def score(judged: Mapping[Key, Judgement], pairs: Pairs) -> dict[str, object]:
    """Precision, recall, the calls that were made, and the pairs that are wrong."""
    used = {key for key, judgement in judged.items() if judgement.used}
    wanted = pairs.uses & judged.keys()
    right = len(used & wanted)
    return {
        "pairs": len(judged),
        "positives": len(wanted),
        "precision": round(right / len(used), 3) if used else None,
        "recall": round(right / len(wanted), 3) if wanted else None,
        "asked": sum(bool(judgement.replies) for judgement in judged.values()),
        "false_positives": sorted("|".join(p) for p in used - wanted),
        "missed": sorted(f"{'|'.join(p)} ({judged[p].code})" for p in wanted - used),
    }


def _context() -> StageContext:
    resources = Resources()
    return StageContext(
        Config(), resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(), stage="match"
    )


async def measure(folder: Path) -> dict[str, object]:
    """The strategies without a model."""
    ctx = _context()
    papers = await read_papers(folder, ctx)
    pairs = read_pairs(papers)
    hard = pairs.uses | pairs.near
    others = [(d, p) for d in pairs.datasets for p in papers if (d, p) not in hard]
    table: dict[str, object] = {
        "papers": len(papers), "records": len(pairs.datasets), "fields": len(set(pairs.fields.values())),
    }  # fmt: skip
    for name in STRATEGIES:
        begun = time.perf_counter()
        easy = await judge(name, pairs, others, papers, ctx)
        rate = round(len(others) / (time.perf_counter() - begun), 1)
        on_easy = sorted("|".join(key) for key, judgement in easy.items() if judgement.used)
        table[name] = {
            "hard": score(await judge(name, pairs, hard, papers, ctx), pairs),
            "easy": {"pairs": len(others), "used": on_easy}, "pairs_per_s": rate,
        }  # fmt: skip
    return table


async def measure_model(folder: Path, model: str, timeout_s: float) -> dict[str, object]:
    """``auto`` with a model, on positives and hard negatives."""
    ctx = _context()
    papers = await read_papers(folder, ctx)
    pairs = read_pairs(papers)
    config = Config.model_validate(
        {"models": {"generator": model}, "limits": {"timeout_s": timeout_s, "concurrency": 64}}
    )
    sessions = await open_sessions(config, ctx.registry, prompts=ctx.prompts, needs_scores=False)
    try:
        chat = replace(ctx, config=config, chat_session=sessions.chat)
        judged = await judge("auto", pairs, pairs.uses | pairs.near, papers, chat)
        return score(judged, pairs) | {"usage": sessions.meter.role("generator").row()}
    finally:
        await sessions.aclose()


def main() -> None:
    """Print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", help="measure the model strategy with this model instead of the rules")
    parser.add_argument("--timeout-s", type=float, default=600)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.model:
        table = asyncio.run(measure_model(arguments.data, arguments.model, arguments.timeout_s))
    else:
        table = asyncio.run(measure(arguments.data))
    text = json.dumps({"matching": table}, indent=2, ensure_ascii=False)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
