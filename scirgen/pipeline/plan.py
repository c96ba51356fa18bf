"""The pipeline, in order. A newcomer reads this first."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One stage of the plan: what it reads and writes, and what one work item is."""

    stage: str
    reads: str
    writes: str
    item: str


PLAN: tuple[Step, ...] = (
    Step("collect", "a source adapter", "Dataset, Paper, candidate Link", "a catalogue page"),
    Step("parse", "a paper's file", "Document", "a paper"),
    Step("section", "Document", "SectionLabel", "a paper"),
    Step("match", "dataset metadata x document", "judged Link", "(dataset, paper)"),
    Step("extract", "labelled sections of linked papers", "Aspect", "(paper, section)"),
    Step("verify", "aspects x dataset metadata", "kept Aspect", "(dataset, paper)"),
    Step("generate", "metadata + kept aspects x question type", "candidate QAPair", "(dataset, question type)"),
    Step("filter", "candidates of one dataset together", "accepted QAPair", "a dataset"),
    Step("tag", "accepted pairs", "QAPair with its Bloom level", "a batch of pairs"),
    Step("release", "all of it", "splits, files, card, report", "a run"),
)

PER_DATASET = PLAN[1:9]
"""The steps that run dataset by dataset, overlapping; collect feeds them and release closes the run."""

PER_ROUND = PLAN[6:9]
"""The steps that later rounds repeat for the quota cells still missing."""
