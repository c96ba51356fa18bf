"""Asking a judge: a language model that reads the annotators' guideline, a faithfulness score with its threshold, a
file of labels, or the judges of a graded pool, whose grades come from the prompts that grade pools.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen import Config, InputError, ModelError
from scirgen.core.prompts import Prompt
from scirgen.plugin import (
    ChatSession,
    PromptLibrary,
    Registry,
    Resources,
    Taxonomies,
    derived_seed,
    digest,
    file_sha256,
    open_sessions,
)
from scirgen.stages.filter.deciding import select_scorers
from scirgen_bench.calibrate.calibrate import Labelled, measure_score
from scirgen_bench.labels.labelset import ADJUDICATOR, UNSURE, Item, Label, LabelSet, read_lines
from scirgen_bench.tasks.task_files import ADJUDICATED, read_pool
from scirgen_bench.tasks.taxonomies import Facets, facets_of
from scirgen_label.merge import check

_FILE: Final = "labels:"
_GRADES: Final = "grades:"
_WORDS: Final = 3000
"""Number of words of context that a judge sees; the page shows all of it."""


@dataclass(frozen=True)
class Judged:
    """A judge's labels.

    Attributes:
        judge: its name as given.
        identity: everything that can change its labels: model with revision, prompt and guideline hashes, threshold.
        labels: item id -> label; items without a usable reply are missing.
        failed: error code -> items.
    """

    judge: str
    identity: str
    labels: Mapping[str, str]
    failed: Mapping[str, int]

    @property
    def hash(self) -> str:
        """Short name of the identity."""
        return digest("judge", self.identity)[:12]


def ask_judges(
    labels: LabelSet,
    judges: Sequence[str],
    items: Sequence[Item],
    config: Config,
    resources: Resources,
    registry: Registry,
) -> list[Judged]:
    """Return the judges' labels of some items.

    Args:
        labels: the folder; replies are cached in it, so that asking again costs nothing.
        judges: a model's URI; the name of a faithfulness scorer (``shift``); ``labels:FILE``, labels made elsewhere; or
            ``grades:FOLDER``, every judge of a pool that ``scirgen benchmark pool`` graded.
        items: what to label.
        config: settings of model and scorer.
        resources: source of the guideline.
        registry: registry of scorers and models.

    Raises:
        InputError: the guideline changed since the sample was drawn, or a pool holds none of the items.
    """
    found: list[Judged] = []
    for judge in judges:
        if judge.startswith(_GRADES):
            found += _from_pool(labels, Path(judge.removeprefix(_GRADES)), items, facets_of(Taxonomies(resources)))
        elif judge.startswith(_FILE):
            found.append(_from_file(labels, judge, Path(judge.removeprefix(_FILE)), items))
        elif judge in registry.names("faithfulness"):
            found.append(asyncio.run(_by_score(labels, judge, items, config, resources, registry)))
        else:
            found.append(asyncio.run(_by_guideline(labels, judge, items, config, resources, registry)))
    return found


async def _by_guideline(
    labels: LabelSet, judge: str, items: Sequence[Item], config: Config, resources: Resources, registry: Registry
) -> Judged:
    guideline = PromptLibrary(resources).get(f"label/{labels.sample.task}")
    reference = guideline.reference
    if reference != labels.sample.guideline:
        raise InputError(
            f"the guideline is now {reference}, but the sample was labelled with {labels.sample.guideline}",
            hint="Draw a new sample with: scirgen label draw SOURCE --follow L/, or restore the guideline.",
        )
    config = config.model_copy(update={"models": config.models.model_copy(update={"generator": judge})})
    async with await open_sessions(config, registry, labels.folder / "replies.db", needs_scores=False) as sessions:
        return await judge_with(labels, judge, items, sessions.chat, guideline)


def _from_file(labels: LabelSet, judge: str, file: Path, items: Sequence[Item]) -> Judged:
    found = [x.model_copy(update={"annotator": ADJUDICATOR}) for x in read_lines(file, Label)]
    checked = check(labels, ((f"{file}:{n}", x) for n, x in enumerate(found, 1)))
    given = {k: x.label for k, x in checked.get(ADJUDICATOR, {}).items() if x.label and x.label != UNSURE}
    wanted = {i.id for i in items}
    identity = f"{file.name} sha256:{file_sha256(file)[:12]}"
    return Judged(judge, identity, {k: v for k, v in given.items() if k in wanted}, {})


def _from_pool(labels: LabelSet, folder: Path, items: Sequence[Item], facets: Facets) -> list[Judged]:
    """Return the grades that each judge of a pool gave to the items, as labels 0 to 3.

    The four words of a requirement are the four labels in their order, so that two words with the same grade remain
    different labels.
    """
    if labels.sample.task != "relevance":
        raise InputError(
            f"{folder} holds grades of relevance, but {labels.folder} has labels of the task {labels.sample.task}"
        )
    info, grades = read_pool(folder)
    wanted = {i.record: i.id for i in items}
    label_of = {word.word: str(place) for place, word in enumerate(facets.requirement)}
    given: dict[str, dict[str, str]] = {judge: {} for judge in info.judges if judge != ADJUDICATED}
    for grade in grades:
        item = wanted.get(f"{grade.query_id}|{grade.document_id}")
        if item is not None and grade.judge in given:
            given[grade.judge][item] = label_of.get(grade.label, str(grade.grade))
    if not any(given.values()):
        raise InputError(
            f"{folder} has no grades of the items of {labels.folder}",
            hint=f"Grade them: scirgen benchmark pool RELEASE --task T --judges URI --sample {labels.folder} "
            f"--out {folder}",
        )
    missing = {judge: len(items) - len(found) for judge, found in given.items()}
    return [
        Judged(judge, info.identity(judge), found, {"not_graded": missing[judge]} if missing[judge] else {})
        for judge, found in given.items()
    ]


async def _by_score(
    labels: LabelSet, name: str, items: Sequence[Item], config: Config, resources: Resources, registry: Registry
) -> Judged:
    """Return the labels by a run's scores and the threshold. Scores that the run did not measure are measured now, from
    what annotators saw."""
    if labels.sample.task != "faithful":
        raise InputError(
            f"the score {name} judges faithfulness, not {labels.sample.task}", hint="Name a model instead."
        )
    (scorer,) = select_scorers([name], registry)
    usual = scorer.edges(config)
    given = {"*": usual, **config.filter.thresholds.get(name, {})}
    thresholds = {kind: edge[0] if isinstance(edge, tuple) else edge for kind, edge in given.items()}
    scores = {i.id: i.hidden.scores[name] for i in items if name in i.hidden.scores}
    missing = [i for i in items if i.id not in scores]
    identity = f"score {name} of {labels.sample.source}"
    failed: dict[str, int] = {}
    if missing and "judge" in scorer.needs and not config.models.judge:
        raise InputError(
            f"{name} needs a judge for {len(missing)} items that the run did not judge",
            hint="Name it: --set models.judge=URI",
        )
    if missing:
        contexts = labels.contexts()
        rows = [
            Labelled(
                i.shown.question, i.shown.answer, contexts.get(i.shown.context, "") or i.shown.text, True,
                i.hidden.question_type, {}, evidence=tuple(e.text for e in i.shown.evidence), cluster=i.cluster,
            )
            for i in missing
        ]  # fmt: skip
        values, failed, asked = await measure_score(name, rows, config, resources, registry)
        scores |= {i.id: v for i, v in zip(missing, values, strict=True) if v is not None}
        identity += f", {len(missing)} measured by {asked}"
    labelled = {
        item.id: "yes" if scores[item.id] > thresholds.get(item.hidden.question_type, thresholds["*"]) else "no"
        for item in items
        if item.id in scores
    }
    shown = json.dumps(thresholds, sort_keys=True)
    return Judged(name, f"{identity}, thresholds {shown}", labelled, failed)


async def judge_with(
    labels: LabelSet, judge: str, items: Sequence[Item], chat: ChatSession, guideline: Prompt
) -> Judged:
    """Have a model label items by the annotators' guideline. An item without a usable reply gets no label, never a
    default."""
    reply = _reply_model([c.id for c in guideline.file.choices if c.id != UNSURE])
    variables = _variables(labels, guideline)
    failed: Counter[str] = Counter()

    async def one(item: Item) -> tuple[str, str] | None:
        try:
            prompt = guideline.render(**variables(item))
            answer = await chat.ask(prompt, reply, seed=derived_seed("label", labels.sample.id, item.id))
        except ModelError as error:
            if error.fatal:
                raise
            failed[error.error_code] += 1
            return None
        return item.id, str(answer.value.model_dump()["label"])

    found = dict(f for f in await asyncio.gather(*(one(i) for i in items)) if f is not None)
    identity = f"{chat.identity}, prompt {guideline.reference}"
    return Judged(judge, identity, found, dict(sorted(failed.items())))


def _reply_model(choices: Sequence[str]) -> type[BaseModel]:
    made: type[BaseModel] = create_model(
        "JudgeReply",
        __config__=ConfigDict(extra="forbid"),
        reason=(str, Field(max_length=600)),
        label=(str, Field(json_schema_extra={"enum": list(choices)}, pattern="|".join(f"^{c}$" for c in choices))),
    )
    return made


def _variables(labels: LabelSet, guideline: Prompt) -> Callable[[Item], dict[str, object]]:
    contexts = labels.contexts()
    declared = set(guideline.file.variables)

    def of(item: Item) -> dict[str, object]:
        shown = item.shown
        context = " ".join(contexts.get(shown.context, "").split(" ")[:_WORDS])
        text = " ".join(shown.text.split(" ")[:_WORDS])
        every: dict[str, object] = {
            "question": shown.question,
            "answer": shown.answer,
            "question_type": shown.question_type,
            "type_definition": shown.type_definition,
            "evidence": [f"{e.before}{e.text}{e.after}" for e in shown.evidence],
            "context": context,
            "title": shown.title,
            "text": text,
            "aspects": list(shown.aspects),
        }
        return {k: v for k, v in every.items() if k in declared}

    return of
