"""The pipeline as data: one tuple of steps, in order. A newcomer reads this first; `runner` has the loop over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from scirgen.core.config import Config
from scirgen.core.errors import PluginError
from scirgen.core.registry import Registry, suggest


@dataclass(frozen=True)
class Step:
    """One step of the plan.

    Attributes:
        stage: the step's name: results, settings and prompts are filed under it.
        reads: the records it reads, in words.
        writes: the records it makes, in words.
        item: the subject of one work item, in words.
        barrier: every dataset finishes this step before any dataset begins the next one.
        repeat: "quota": later rounds repeat the step for the quota cells that are still missing. A step on pairs
            without the repeat does not see the pairs of later rounds.
        after: for a plugin's new step, the step that it follows. It adds records, which later steps read under its
            name; a plugin that drops pairs is a gate, and one that changes them replaces the step. Empty for one that
            replaces the step of its name, whose barrier and repeat it keeps.
        by: the registered stage that does the work, if it has another name than the step.
    """

    stage: str
    reads: str
    writes: str
    item: str
    barrier: bool = False
    repeat: Literal["", "quota"] = ""
    after: str = ""
    by: str = ""


PLAN: tuple[Step, ...] = (
    Step("collect", "a source adapter", "Dataset, Paper, candidate Link", "a dataset"),
    Step("parse", "a paper's file", "Document", "a paper"),
    Step("section", "Document", "SectionLabel", "a paper"),
    # Datasets that share a paper are known once all are matched: the later steps read it once for all of them.
    Step("match", "dataset metadata x document", "judged Link", "(dataset, paper)", barrier=True),
    Step("extract", "labelled sections of linked papers", "Aspect", "(paper, section class)"),
    Step("verify", "aspects x dataset metadata", "kept Aspect", "(dataset, paper)"),
    # What is searched is everything that the run has read, so every dataset is read before anything is searched.
    Step(
        "ask",
        "a dataset's record, or what a paper is about",
        "Question",
        "a dataset or paper",
        barrier=True,
        repeat="quota",
    ),
    Step("search", "Question x all that was read", "Pool", "a question", repeat="quota"),
    Step("answer", "Question x Pool", "candidate QAPair, narrowed Question, Unanswered", "a question", repeat="quota"),
    Step(
        "generate",
        "metadata + kept aspects x question type",
        "candidate QAPair",
        "(dataset, group of question types)",
        repeat="quota",
    ),
    Step("filter", "candidates of one dataset together", "accepted QAPair", "a dataset", repeat="quota"),
    Step("tag", "accepted pairs", "QAPair with its Bloom level", "a batch of pairs", repeat="quota"),
    Step("release", "all of it", "splits, files, card", "a run"),
)
"""The steps. The first is the runner's intake, which reads the catalogue; the last is for the whole run; the steps
between them run dataset by dataset, and datasets overlap."""

WRITERS = ("answer", "generate")
"""The steps that make candidates."""


def plan(registry: Registry, config: Config) -> tuple[Step, ...]:
    """Return the plan of a run: `PLAN`, completed by the steps that plugins add and settings ask for: named in
    ``steps``, or with a settings section of their name.

    Raises:
        PluginError: the settings name an unknown step, or what a plugin registered is not a `Step`.
    """
    known = registry.names("step")
    if unknown := sorted(set(config.steps) - set(known)):
        raise PluginError(f"unknown step {unknown[0]!r}", hint=suggest(unknown[0], known))
    added: list[Step] = []
    for name in known:
        if name in config.steps or name in config.sections:
            step = registry.get("step", name)
            if not isinstance(step, Step):
                raise PluginError(f"step {name!r} is not a scirgen.Step")
            added.append(step)
    # Which datasets are chosen is known once all are read.
    steps = (replace(s, barrier=True) if s.stage == "parse" and config.generate.about else s for s in PLAN)
    return completed(tuple(steps), added)


def completed(steps: Sequence[Step], added: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with those of plugins: each follows the step it names, or replaces the step of its name.

    Steps that follow the same one are ordered by name, so the plan does not depend on the order of installation.

    Raises:
        PluginError: a step follows none of the plan's, or two plugins add or replace one step.
    """
    names = [step.stage for step in steps]
    found = list(steps)
    waiting: list[Step] = []
    for step in sorted(added, key=lambda step: step.stage, reverse=True):
        if step.stage in (s.stage for s in waiting) or (step.stage in names and found[names.index(step.stage)].by):
            raise PluginError(
                f"several plugins provide the step {step.stage}", hint="Name one of them in the settings."
            )
        if step.stage in names[1:]:
            old = found[names.index(step.stage)]
            found[names.index(step.stage)] = replace(step, barrier=old.barrier, repeat=old.repeat, after="")
        else:
            waiting.append(step)
    while waiting:
        placed = [step for step in waiting if step.after in {s.stage for s in found[:-1]}]
        if not placed:
            raise PluginError(
                f"step {waiting[0].stage} follows {waiting[0].after!r}, which is not a step before the release",
                hint=f"The steps are {', '.join(s.stage for s in found)}.",
            )
        for step in placed:
            found.insert([s.stage for s in found].index(step.after) + 1, step)
        waiting = [step for step in waiting if step not in placed]
    return tuple(found)


def phases(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Return the steps that run dataset by dataset, divided after each barrier."""
    found: list[tuple[Step, ...]] = []
    phase: list[Step] = []
    for step in steps[1:-1]:
        phase.append(step)
        if step.barrier or step is steps[-2]:
            found.append(tuple(phase))
            phase = []
    return found


def repeated(steps: Sequence[Step], why: str) -> tuple[Step, ...]:
    """Return the steps repeated in each later round."""
    return tuple(step for step in steps if step.repeat == why)
