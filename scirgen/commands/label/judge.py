"""Asking a judge: a language model that reads the annotators' guideline, a faithfulness score with its threshold, or a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.commands.label.merge import check
from scirgen.core.config import Config
from scirgen.core.errors import InputError, ModelError
from scirgen.core.fingerprint import derived_seed, digest, file_sha256
from scirgen.core.prompts import Prompt, PromptLibrary
from scirgen.core.registry import Registry
from scirgen.core.resources import Resources
from scirgen.llm.cache import ReplyCache
from scirgen.llm.open import open_sessions
from scirgen.llm.session import ChatSession
from scirgen.qa.labels import ADJUDICATOR, UNSURE, Item, Label, LabelSet, read_lines

_FILE: Final = "labels:"
_WORDS: Final = 3000
"""Words of context that a judge is shown; the page shows all of it."""


@dataclass(frozen=True)
class Judged:
    """A judge's labels.

    Attributes:
        judge: as it was named.
        identity: everything that could change its labels: model with revision, prompt and guideline hashes, threshold.
        labels: item id -> label; items without a usable reply are not in it.
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


def ask_judge(
    labels: LabelSet, judge: str, items: Sequence[Item], config: Config, resources: Resources, registry: Registry
) -> Judged:
    """A judge's labels of some items.

    Args:
        labels: the folder; replies are cached in it, so that asking again costs nothing.
        judge: a model's URI; the name of a faithfulness scorer (``shift``); or ``labels:FILE``, labels made elsewhere.
        items: what to label.
        config: settings of model and scorer.
        resources: where the guideline is found.
        registry: where scorers and models are looked up.

    Raises:
        InputError: the guideline changed since the sample was drawn, or a score was not measured by the run.
    """
    if judge.startswith(_FILE):
        return _from_file(labels, judge, Path(judge.removeprefix(_FILE)), items)
    if judge in registry.names("faithfulness"):
        return _by_score(labels, judge, items, config)
    guideline = PromptLibrary(resources).get(f"label/{labels.sample.task}")
    reference = f"{guideline.id}@{guideline.file.version}#{guideline.hash[:12]}"
    if reference != labels.sample.guideline:
        raise InputError(
            f"the guideline is {reference} now; the sample was labelled with {labels.sample.guideline}",
            hint="Draw a new sample with: scirgen label draw SOURCE --follow L/, or restore the guideline.",
        )
    return asyncio.run(_by_model(labels, judge, items, config, guideline, registry))


def _from_file(labels: LabelSet, judge: str, file: Path, items: Sequence[Item]) -> Judged:
    found = [x.model_copy(update={"annotator": ADJUDICATOR}) for x in read_lines(file, Label)]
    checked = check(labels, ((f"{file}:{n}", x) for n, x in enumerate(found, 1)))
    given = {k: x.label for k, x in checked.get(ADJUDICATOR, {}).items() if x.label and x.label != UNSURE}
    wanted = {i.id for i in items}
    identity = f"{file.name} sha256:{file_sha256(file)[:12]}"
    return Judged(judge, identity, {k: v for k, v in given.items() if k in wanted}, {})


def _by_score(labels: LabelSet, name: str, items: Sequence[Item], config: Config) -> Judged:
    if labels.sample.task != "faithful":
        raise InputError(
            f"the score {name} judges faithfulness, not {labels.sample.task}", hint="Name a model instead."
        )
    thresholds = config.filter.thresholds.get(name, {})
    common = thresholds.get("*", config.filter.threshold)
    given: dict[str, str] = {}
    missing = 0
    for item in items:
        threshold = thresholds.get(item.hidden.question_type, common)
        value = item.hidden.scores.get(name)
        if value is None:
            missing += 1
        elif threshold is not None:
            given[item.id] = "yes" if value > threshold else "no"
    if not given:
        why = "its threshold is not given" if missing < len(items) else "the run did not measure it for these items"
        raise InputError(
            f"the score {name} cannot judge: {why}",
            hint=f"Give a threshold with --set filter.threshold=NUMBER, or score with: scirgen calibrate --labels {labels.folder}",
        )
    shown = json.dumps({"*": common, **thresholds}, sort_keys=True)
    return Judged(
        name,
        f"score {name} of {labels.sample.source}, thresholds {shown}",
        given,
        {"not_scored": missing} if missing else {},
    )


async def _by_model(
    labels: LabelSet, judge: str, items: Sequence[Item], config: Config, guideline: Prompt, registry: Registry
) -> Judged:
    config = config.model_copy(update={"models": config.models.model_copy(update={"generator": judge})})
    sessions = await open_sessions(
        config, registry, ReplyCache.open(labels.folder / "replies.db"), needs_scores=False
    )  # fmt: skip
    try:
        return await judge_with(labels, judge, items, sessions.chat, guideline, config.limits.concurrency)
    finally:
        await sessions.aclose()


async def judge_with(
    labels: LabelSet, judge: str, items: Sequence[Item], chat: ChatSession, guideline: Prompt, concurrency: int = 8
) -> Judged:
    """Have a model label items by the annotators' guideline. An item without a usable reply gets no label, never a default."""
    reply = _reply_model([c.id for c in guideline.file.choices if c.id != UNSURE])
    variables = _variables(labels, guideline)
    gate = asyncio.Semaphore(concurrency)
    failed: dict[str, int] = {}

    async def one(item: Item) -> tuple[str, str] | None:
        async with gate:
            try:
                prompt = guideline.render(**variables(item))
                answer = await chat.ask(prompt, reply, seed=derived_seed("label", labels.sample.id, item.id))
            except ModelError as error:
                if error.fatal:
                    raise
                failed[error.error_code] = failed.get(error.error_code, 0) + 1
                return None
        return item.id, str(answer.value.model_dump()["label"])

    found = dict(f for f in await asyncio.gather(*(one(i) for i in items)) if f is not None)
    identity = f"{chat.identity}, prompt {guideline.id}@{guideline.file.version}#{guideline.hash[:12]}"
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
            "question": shown.question, "answer": shown.answer, "question_type": shown.question_type,
            "type_definition": shown.type_definition, "evidence": [f"{e.before}{e.text}{e.after}" for e in shown.evidence],
            "context": context, "title": shown.title, "text": text, "aspects": list(shown.aspects),
        }  # fmt: skip
        return {k: v for k, v in every.items() if k in declared}

    return of
