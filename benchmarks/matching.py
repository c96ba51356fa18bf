"""Precision and recall of the match strategies that need no model, on real papers and records.

    python -m benchmarks.matching --data ../shared/data [--json FILE]

Two sets of pairs. "records": the 40 catalogue records of ``geo/released`` against all papers; positives are the records
whose DOI, or whose introducing paper's DOI and acronym, ``datasets_used`` of ``papers/index.json`` gives to a paper.
"named": the other datasets of ``datasets_used``, known by no more than the name and DOI written there; positives are the
papers that list them. Every other combination is a negative, so that a paper which uses a dataset without the index saying
so counts as a false positive.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import Iterable
from pathlib import Path

from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, Document, Paper, SectionLabel
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
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


async def measure(folder: Path) -> dict[str, object]:
    """All strategies on both sets."""
    resources = Resources()
    ctx = StageContext(
        Config(), resources, PromptLibrary(resources), Taxonomies(resources), load_registry(), Path(), stage="match"
    )
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


def main() -> None:
    """Print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    table = asyncio.run(measure(arguments.data))
    text = json.dumps({"matching": table}, indent=2, ensure_ascii=False)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
