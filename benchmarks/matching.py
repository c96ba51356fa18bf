"""Precision and recall of the match strategies on real papers and records: those that need no model, and what a model says.

    python -m benchmarks.matching --data ../shared/data [--model URI] [--json FILE]

Two sets of pairs. "records": the 40 catalogue records of ``geo/released`` against all papers; positives are the records
whose DOI, or whose introducing paper's DOI and acronym, ``datasets_used`` of ``papers/index.json`` gives to a paper.
"named": the other datasets of ``datasets_used``, known by no more than the name and DOI written there; positives are the
papers that list them. Every other combination is a negative, so that a paper which uses a dataset without the index saying
so counts as a false positive.

With ``--model`` the ``model`` strategy judges all positives of both sets and as many hard negatives: for each positive the paper
without the dataset that shares most words with its metadata. ``match.when_unsure`` is taken both ways from the same replies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Document, Paper, SectionLabel
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.core.text.words import telling_words
from scirgen.llm.open import open_sessions
from scirgen.stages.base import StageContext, WorkItem
from scirgen.stages.match.base import Pair
from scirgen.stages.match.stage import strategy
from scirgen.stages.parse.stage import ParseStage
from scirgen.stages.section.stage import SectionStage

STRATEGIES = ("mention", "datafinder", "lexical", "auto")
Read = tuple[Document, tuple[SectionLabel, ...]]


async def read_papers(folder: Path, ctx: StageContext) -> dict[str, Read]:
    """Every paper of the folder that can be parsed, by its file's name without suffix."""
    parse, section = ParseStage(), SectionStage()
    found: dict[str, Read] = {}
    for file in sorted((folder / "papers" / "pdf").glob("*.pdf")):
        parsed = await parse.process(WorkItem(file.stem, (Paper(id=file.stem, file=str(file)),)), ctx)
        for document in (d for d in parsed.outputs if isinstance(d, Document)):
            labelled = await section.process(WorkItem(file.stem, (document,)), ctx)
            found[file.stem] = (document, tuple(x for x in labelled.outputs if isinstance(x, SectionLabel)))
    return found


def catalogue(folder: Path) -> list[Dataset]:
    """The released records, as the ``scirgen-geo`` source reads them."""
    from scirgen.stages.collect.source import SourceSetup
    from scirgen_geo.released import ReleasedGeoSource

    source = ReleasedGeoSource(SourceSetup(input=folder / "geo" / "released"))
    return [d for d in source.datasets() if isinstance(d, Dataset)]


def truth(folder: Path, records: Iterable[Dataset]) -> tuple[set[tuple[str, str]], list[Dataset], set[tuple[str, str]]]:
    """Positives among the records; the other datasets of the index; positives among those."""
    index = json.loads((folder / "papers" / "index.json").read_text(encoding="utf-8"))
    by_doi = {r.doi.lower(): r.id for r in records if r.doi}
    of_records: set[tuple[str, str]] = set()
    named: dict[str, Dataset] = {}
    of_named: set[tuple[str, str]] = set()
    for paper in index:
        for entry in paper.get("datasets_used") or ():
            name, doi = str(entry["name"]), str(entry.get("doi") or "").lower()
            acronym = re.match(r"[A-Za-z]+", name)
            introduced = [
                r.id for r in records
                if entry.get("paper_doi") and acronym and acronym.group() in r.title
                and any(str(entry["paper_doi"]) in related for related in r.related)
            ]  # fmt: skip
            if doi in by_doi or introduced:
                of_records.add((by_doi.get(doi) or introduced[0], paper["name"]))
                continue
            key = re.split(r"[ (:]", name)[0] if re.match(r"[A-Z]{2,}\w*\d*\b", name) else name
            named.setdefault(key, Dataset(id=key, title=name, doi=doi or None))
            of_named.add((key, paper["name"]))
    return of_records, list(named.values()), of_named


async def judge(name: str, datasets: list[Dataset], papers: dict[str, Read], ctx: StageContext) -> set[tuple[str, str]]:
    """(dataset, paper) of all pairs that a strategy calls used."""
    judged = strategy(name, ctx)
    used: set[tuple[str, str]] = set()
    for dataset in datasets:
        for paper, (document, labels) in papers.items():
            if (await judged.judge(Pair(dataset, document, labels, ("folder",)), ctx)).used:
                used.add((dataset.id, paper))
    return used


def score(used: set[tuple[str, str]], positives: set[tuple[str, str]], pairs: int) -> dict[str, object]:
    """Precision, recall and the pairs that are wrong."""
    right = len(used & positives)
    return {
        "pairs": pairs,
        "positives": len(positives),
        "precision": round(right / len(used), 3) if used else None,
        "recall": round(right / len(positives), 3) if positives else None,
        "false_positives": sorted("|".join(p) for p in used - positives),
        "missed": sorted("|".join(p) for p in positives - used),
    }


def hard_pairs(
    datasets: Sequence[Dataset], positives: set[tuple[str, str]], papers: Mapping[str, Read]
) -> list[tuple[Dataset, str]]:
    """Each positive, and for each the negative paper that shares most words with its dataset, each pair once."""
    words = {name: telling_words(document.text) for name, (document, _) in papers.items()}
    by_id = {d.id: d for d in datasets}
    found: dict[tuple[str, str], Dataset] = {}
    for id, paper in sorted(positives):
        found[id, paper] = by_id[id]
        mine = telling_words(by_id[id].text)
        others = [n for n in sorted(papers) if (id, n) not in positives and (id, n) not in found]
        found[id, max(others, key=lambda n: len(mine & words[n]))] = by_id[id]
    return [(dataset, paper) for (_, paper), dataset in found.items()]


async def ask(
    model: str,
    pairs: Sequence[tuple[Dataset, str]],
    positives: set[tuple[str, str]],
    papers: Mapping[str, Read],
    ctx: StageContext,
    timeout_s: float,
) -> dict[str, object]:
    """The verdicts of the ``model`` strategy on pairs, by truth, and its figures with unclear kept and dropped."""
    config = Config.model_validate(
        {"models": {"generator": model}, "limits": {"timeout_s": timeout_s, "concurrency": 64}}
    )
    sessions = await open_sessions(config, ctx.registry, prompts=ctx.prompts, needs_scores=False)
    chat = replace(ctx, config=config, chat_session=sessions.chat)
    judged, named = strategy("model", chat), strategy("mention", ctx)
    table: dict[str, object] = {"pairs": len(pairs), "positives": sum((d.id, p) in positives for d, p in pairs)}

    async def verdict(dataset: Dataset, paper: str, how: StageContext) -> tuple[str, bool]:
        pair = Pair(dataset, *papers[paper], ("folder",))
        said = await judged.judge(pair, how.at("match", f"{dataset.id}|{paper}", "benchmark"))
        return "used" if said.used else said.code, said.used or (await named.judge(pair, ctx)).used

    try:
        for unsure in ("drop", "keep"):
            settings = config.model_copy(update={"match": config.match.model_copy(update={"when_unsure": unsure})})
            how = replace(chat, config=settings)
            said = await asyncio.gather(*(verdict(d, p, how) for d, p in pairs))
            ids = [(d.id, p) for d, p in pairs]
            of = {
                truth: Counter(v for i, (v, _) in zip(ids, said, strict=True) if (i in positives) == truth)
                for truth in (True, False)
            }
            table[f"unsure_{unsure}"] = {
                "verdicts_on_positives": dict(of[True]),
                "verdicts_on_negatives": dict(of[False]),
                "model": score({i for i, (v, _) in zip(ids, said, strict=True) if v == "used"}, positives, len(ids)),
                "mention_or_model": score(
                    {i for i, (_, either) in zip(ids, said, strict=True) if either}, positives, len(ids)
                ),
            }
        table["usage"] = sessions.meter.role("generator").row()
    finally:
        await sessions.aclose()
    return table


def _context() -> StageContext:
    resources = Resources()
    return StageContext(
        Config(), resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(), stage="match"
    )


async def measure(folder: Path) -> dict[str, object]:
    """The strategies without a model, on both sets."""
    ctx = _context()
    papers = await read_papers(folder, ctx)
    records = catalogue(folder)
    of_records, named, of_named = truth(folder, records)
    of_named = {p for p in of_named if p[1] in papers}
    table: dict[str, object] = {"papers": len(papers), "records": len(records), "named": len(named)}
    for name in STRATEGIES:
        begun = time.perf_counter()
        on_records = score(await judge(name, records, papers, ctx), of_records, len(records) * len(papers))
        seconds = time.perf_counter() - begun
        on_named = score(await judge(name, named, papers, ctx), of_named, len(named) * len(papers))
        rate = round(len(records) * len(papers) / seconds, 1)
        table[name] = {"records": on_records, "named": on_named, "pairs_per_s": rate}
    return table


async def measure_model(folder: Path, model: str, timeout_s: float) -> dict[str, object]:
    """The ``model`` strategy on the labelled pairs."""
    ctx = _context()
    papers = await read_papers(folder, ctx)
    records = catalogue(folder)
    of_records, named, of_named = truth(folder, records)
    positives = {p for p in of_records | of_named if p[1] in papers}
    pairs = hard_pairs([*records, *named], positives, papers)
    return await ask(model, pairs, positives, papers, ctx, timeout_s)


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
