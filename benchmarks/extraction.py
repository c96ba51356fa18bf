"""Recall of extract and verify against the aspects that ScIRGen-Geo released, with the tokens spent.

    python -m benchmarks.extraction --model URI [--papers 12] [--json FILE]

No paper of ``shared/data`` has released aspects, so that the released statements stand for the paper: those of one
paper under "Introduction" (background, objective), "Methods" (methods, dataset, challenges) and "Results" (findings),
each heading followed by the statements of a paper about another subject, paragraph by paragraph in an order of the
seed. A system is to keep the former for the paper's dataset, and not the latter. What cannot be measured so is
precision within a paper: the sentences that the release left out are not known.

    recall       share of the paper's released sentences that are extracted; that are kept after verify
    same kind    of the kept ones, those kept under the kind of statement under which they were released (or one of
                 several)
    foreign      share of the other paper's sentences that are kept all the same
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import REALDATA
from scirgen.core.config import Config
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Block,
    BlockKind,
    Dataset,
    Document,
    Link,
    SectionClass,
    SectionLabel,
)
from scirgen.core.registry import load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.core.text.words import telling_words
from scirgen.llm.open import open_sessions
from scirgen.stages.base import StageContext, WorkItem, suited
from scirgen.stages.collect.source import SourceSetup
from scirgen.stages.extract.reading import section_sentences
from scirgen.stages.extract.stage import ExtractStage
from scirgen.stages.verify.stage import VerifyStage
from scirgen_geo.released import ReleasedGeoSource

_KINDS = {kind.value.replace("_", " "): kind for kind in AspectCategory}
_SECTIONS = {
    "Introduction": (SectionClass.INTRODUCTION, ("background", "research objective")),
    "Methods": (SectionClass.METHOD, ("methods", "dataset", "challenges")),
    "Results": (SectionClass.EXPERIMENT, ("findings",)),
}
_LEAST_CHARS, _MOST_CHARS = 1500, 14_000
Released = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Case:
    """A document made of released statements.

    ``own`` and ``foreign`` map a paragraph's start to the kind it was released under.
    """

    dataset: Dataset
    document: Document
    labels: tuple[SectionLabel, ...]
    own: dict[int, AspectCategory]
    foreign: dict[int, AspectCategory]


def released(records: Path) -> Iterator[tuple[Dataset, Released]]:
    """(dataset, statements by kind) of each paper with released aspects of a usable size, each paper once."""
    seen: set[str] = set()
    source = ReleasedGeoSource(SourceSetup(input=records))
    with gzip.open(records, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            for paper in record.get("extract_pdfs_data") or ():
                size = sum(len(text) for texts in paper.values() for text in texts)
                key = json.dumps(paper, sort_keys=True)
                if _LEAST_CHARS <= size <= _MOST_CHARS and paper.get("findings") and key not in seen:
                    seen.add(key)
                    dataset = source.dataset(record, records.name)
                    if isinstance(dataset, Dataset):
                        yield dataset, paper


def cases(records: Path, count: int, seed: int) -> list[Case]:
    """``count`` cases, drawn by the seed; the foreign paper shares fewest words with the dataset among five drawn."""
    rng = random.Random(seed)
    every = list(released(records))
    made = []
    for number, (dataset, paper) in enumerate(rng.sample(every, count)):
        subject = telling_words(dataset.text)
        others = [rng.choice(every)[1] for _ in range(5)]
        other = min(others, key=lambda o: len(subject & telling_words(json.dumps(o))))
        made.append(_case(dataset, paper, other, f"paper-{number}", rng))
    return made


def _case(dataset: Dataset, paper: Released, other: Released, id: str, rng: random.Random) -> Case:
    text, blocks, labels = "", list[Block](), list[SectionLabel]()
    own: dict[int, AspectCategory] = {}
    foreign: dict[int, AspectCategory] = {}
    for heading, (label, kinds) in _SECTIONS.items():
        begin = len(text)
        blocks.append(Block(kind=BlockKind.HEADING, start=begin, end=begin + len(heading)))
        text += heading + "\n\n"
        mixed = [
            (k, " ".join(t.split()), to)
            for source, to in ((paper, own), (other, foreign))
            for k in kinds
            for t in source.get(k, ())
        ]
        rng.shuffle(mixed)
        for kind, paragraph, to in mixed:
            to[len(text)] = _KINDS[kind]
            blocks.append(Block(kind=BlockKind.PARAGRAPH, start=len(text), end=len(text) + len(paragraph)))
            text += paragraph + "\n\n"
        labels.append(
            SectionLabel(
                document_id=id,
                paper_id=id,
                start=begin,
                end=len(text),
                heading=heading,
                label=label,
                decided_by="rule",
            )
        )
    return Case(dataset, Document(id=id, paper_id=id, text=text, blocks=tuple(blocks)), tuple(labels), own, foreign)


async def measure_case(case: Case, ctx: StageContext) -> Counter[str]:
    """Counts of one case: sentences, extracted, kept, kept under the released kind, and the same of the foreign
    paper."""
    extracted: list[Aspect] = []
    for label in case.labels:
        key = f"{case.document.paper_id}|{label.label.value}"
        item = WorkItem(key, (case.document, label, case.dataset), {"section": label.label.value})
        result = await suited(ExtractStage(), ctx).process(item, ctx.at("extract", key, "benchmark"))
        extracted += [a for a in result.outputs if isinstance(a, Aspect)]
    link = Link(dataset_id=case.dataset.id, paper_id=case.document.paper_id, found_by="benchmark", used=True)
    item = WorkItem(link.id, (case.dataset, link, case.document, *extracted))
    verified = await suited(VerifyStage(), ctx).process(item, ctx.at("verify", link.id, "benchmark"))
    kept = [a for a in verified.outputs if isinstance(a, Aspect)]
    count: Counter[str] = Counter()
    for sentence in section_sentences(case.document, case.labels):
        block = case.document.block_at(sentence.start)
        assert block is not None
        whose = "own" if block.start in case.own else "foreign"
        kind = case.own.get(block.start) or case.foreign[block.start]
        kinds = {a.category for a in kept if sentence.start == a.span.start}
        count[f"{whose} sentences"] += 1
        count[f"{whose} extracted"] += any(a.span.start == sentence.start for a in extracted)
        count[f"{whose} kept"] += bool(kinds)
        count[f"{whose} same kind"] += kind in kinds
    return count


async def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """All cases with one model."""
    config = Config.model_validate({
        "models": {"generator": arguments.model},
        "limits": {"timeout_s": arguments.timeout_s, "concurrency": arguments.concurrency},
    })  # fmt: skip
    registry, resources = load_registry(), Resources()
    prompts = PromptLibrary(resources)
    drawn = cases(arguments.data / "geo" / "records.jsonl.gz", arguments.papers, arguments.seed)
    sessions = await open_sessions(config, registry, prompts=prompts, needs_scores=False)
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory() as folder:
            taxonomies = Taxonomies(resources)
            ctx = StageContext(config, resources, prompts, taxonomies, registry, Path(folder), sessions.chat)
            counts = await asyncio.gather(*(measure_case(case, ctx) for case in drawn))
        usage = sessions.meter.role("generator").row()
    finally:
        await sessions.aclose()
    total = sum(counts, Counter[str]())
    own, foreign = total["own sentences"], total["foreign sentences"]
    return {
        "model": arguments.model.partition("@")[0], "papers": len(drawn),
        "sentences": own, "foreign_sentences": foreign,
        "recall_extract": round(total["own extracted"] / own, 3), "recall_verify": round(total["own kept"] / own, 3),
        "same_kind": round(total["own same kind"] / max(1, total["own kept"]), 3),
        "foreign_extracted": round(total["foreign extracted"] / foreign, 3),
        "foreign_kept": round(total["foreign kept"] / foreign, 3),
        "calls": usage["calls"], "prompt_tokens": usage["prompt_tokens"], "reply_tokens": usage["completion_tokens"],
        "seconds": round(time.perf_counter() - began, 1), "by_paper": [dict(sorted(c.items())) for c in counts],
    }  # fmt: skip


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="any model URI")
    parser.add_argument("--data", type=Path, default=REALDATA)
    parser.add_argument("--papers", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout-s", type=float, default=600)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    text = json.dumps(asyncio.run(measure(arguments)), indent=2, ensure_ascii=False)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
