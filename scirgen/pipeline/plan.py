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


INTAKE = Step("collect", "a source adapter", "Dataset, Paper, candidate Link", "a dataset")
"""The intake, which reads the catalogue page by page."""

ALONE = (
    Step("parse", "a paper's file", "Document", "a paper"),
    Step("section", "Document", "SectionLabel", "a paper"),
    Step("match", "dataset metadata x document", "judged Link", "(dataset, paper)"),
)
"""The steps for a dataset that do not depend on other datasets. When all datasets have finished them, shared papers are
known."""

PER_PAPER = (
    Step("extract", "labelled sections of linked papers", "Aspect", "(paper, section)"),
    Step("verify", "aspects x dataset metadata", "kept Aspect", "(dataset, paper)"),
    Step("query", "abstracts + aspects of linked papers", "Query", "(paper, query recipe)"),
)
"""The steps that read used papers."""

PER_ROUND = (
    Step("generate", "metadata + kept aspects x question type", "candidate QAPair", "(dataset, question type)"),
    Step("filter", "candidates of one dataset together", "accepted QAPair", "a dataset"),
    Step("tag", "accepted pairs", "QAPair with its Bloom level", "a batch of pairs"),
)
"""The steps that later rounds repeat for the quota cells still missing."""

RELEASE = Step("release", "all of it", "splits, files, card, report", "a run")
"""The last stage, for the whole run."""

TOGETHER = (*PER_PAPER, *PER_ROUND)
"""The steps after matching, dataset by dataset; they know the other datasets of each paper."""

PER_DATASET = (*ALONE, *TOGETHER)
"""The steps that run dataset by dataset, overlapping."""

PLAN: tuple[Step, ...] = (INTAKE, *PER_DATASET, RELEASE)
