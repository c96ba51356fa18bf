"""Stage 7: candidate question-answer pairs from metadata and kept aspects, one item a (dataset, question type).

Strategies write; this module decides what is asked for, finds the evidence and makes the records. See filter for judging.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from scirgen.core.config import Config
from scirgen.core.errors import ConfigError, ReplyInvalidError, ReplyTruncatedError
from scirgen.core.fingerprint import content_id, digest
from scirgen.core.records import Aspect, Dataset, Document, Failure, QAPair, Rejection, Span
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.generate.adaptive import AdaptiveStrategy
from scirgen.stages.generate.locate import locate
from scirgen.stages.generate.passages import passages
from scirgen.stages.generate.strategy import Discard, Draft, GenerationStrategy, Polarity, Task, Wish

ADAPTIVE = "adaptive"
_UNUSABLE = frozenset({ReplyInvalidError.code, ReplyTruncatedError.code})
_PROMPTS = ("joint", "evidence", "question", "answer", "types")


class GenerateStage(Stage):
    """Writes candidates. With papers: every type, ``pairs_per_type`` each; without: the types the metadata can answer."""

    name = "generate"
    version = 4

    def uses(self, config: Config) -> Uses:
        """Types and the strategy are not listed: each item's salt holds what it uses of them, so that editing one type redoes
        only that."""
        return Uses(
            config=("generate", "language", "domain", "seed"),
            prompts=tuple(f"generate/{name}" for name in _PROMPTS),
            roles=("generator",),
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """One item a type; one for all types when there is no paper; in later rounds only what quotas still miss."""
        if ctx.config.query.only:
            return
        aspects = scope.outputs("verify", Aspect)
        inputs: tuple[Dataset | Aspect, ...] = (scope.dataset, *aspects)
        kinds = ctx.taxonomies.question_types(ctx.config.generate.types, ctx.config.language)
        titles = paper_titles(scope, aspects)
        if scope.round:
            yield from self._later(scope, inputs, titles, ctx)
        elif aspects:
            for kind in kinds:
                key = f"{scope.dataset.id}|{kind.id}"
                yield WorkItem(
                    key,
                    inputs,
                    {"types": [kind.id], "count": ctx.config.generate.pairs_per_type, **titles},
                    _salt(ctx, kind.hash),
                )
        else:
            count = min(ctx.config.generate.types_without_paper, len(kinds))
            parameters: dict[str, object] = {"types": [k.id for k in kinds], "count": count, "adaptive": True}
            yield WorkItem(f"{scope.dataset.id}|{ADAPTIVE}", inputs, parameters, _salt(ctx, *(k.hash for k in kinds)))

    def _later(
        self, scope: Scope, inputs: tuple[Dataset | Aspect, ...], titles: Mapping[str, object], ctx: StageContext
    ) -> Iterable[WorkItem]:
        by_type: dict[str, list[dict[str, object]]] = {}
        for cell in scope.wanted:
            by_type.setdefault(str(cell["question_type"]), []).append(dict(cell))
        for id in sorted(by_type):
            kind = ctx.taxonomies.question_type(id, ctx.config.language)
            key = f"{scope.dataset.id}|{id}#{scope.round}"
            parameters: dict[str, object] = {"types": [id], "cells": by_type[id], "round": scope.round, **titles}
            yield WorkItem(key, inputs, parameters, _salt(ctx, kind.hash))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Have a strategy write, then turn drafts into candidates with located evidence, or rejections with their codes."""
        dataset = item.one(Dataset)
        kinds = tuple(
            ctx.taxonomies.question_type(str(t), ctx.config.language)
            for t in cast("list[str]", item.parameters["types"])
        )
        adaptive = bool(item.parameters.get("adaptive"))
        task = Task(
            dataset=dataset,
            passages=passages(
                dataset, item.of(Aspect), cast("Mapping[str, str] | None", item.parameters.get("titles"))
            ),
            kinds=kinds,
            wishes=_wishes(item, kinds, ctx),
            round=cast("int", item.parameters.get("round", 0)),
        )
        strategy = _strategy(ctx, adaptive)
        written = await strategy.generate(task, ctx)
        name = f"{ADAPTIVE}+{_writer_name(ctx)}" if adaptive else strategy.name
        pairs: dict[str, QAPair] = {}
        rejections: list[Rejection] = []
        failures: list[Failure] = []
        for number, draft in enumerate(written):
            if isinstance(draft, Discard) and draft.code in _UNUSABLE:
                failures.append(_failure(draft, task, number, ctx))
                continue
            made = _candidate(draft, task, name, number, ctx)
            if isinstance(made, QAPair) and made.id not in pairs:
                pairs[made.id] = made
            elif isinstance(made, Rejection):
                rejections.append(made)
            else:
                rejections.append(_rejection(draft, task, number, "repeated", "the same pair was written before", ctx))
        return StageResult(tuple(pairs.values()), tuple(rejections), tuple(failures))


def paper_titles(scope: Scope, aspects: Sequence[Aspect]) -> dict[str, dict[str, str]]:
    """Titles of the papers that aspects come from, as a parameter of items; empty where there are none."""
    wanted = {a.paper_id for a in aspects}
    documents = scope.outputs("parse", Document) if wanted else ()
    titles = {d.paper_id: " ".join(d.title.split()) for d in documents if d.paper_id in wanted and d.title.strip()}
    return {"titles": dict(sorted(titles.items()))} if titles else {}


def _salt(ctx: StageContext, *definitions: str) -> str:
    """Hash of the types at hand and of the strategy that writes: its name, its version, its prompts (a plugin's, too)."""
    found = ctx.registry.get("generation_strategy", _writer_name(ctx))
    at = ctx.at("generate", "", "")
    version, prompts = getattr(found, "version", 1), getattr(found, "prompts", ())
    return digest([*definitions, _writer_name(ctx), version, [at.prompt(name).hash for name in prompts]])


def _writer_name(ctx: StageContext) -> str:
    configured = ctx.config.generate.strategy
    if configured not in ("auto", ADAPTIVE):
        return configured
    # Models that follow the standard pack plan several pairs in one call; smaller ones do one thing at a time.
    return "joint" if ctx.chat.pack == "standard" else "evidence"


def _strategy(ctx: StageContext, adaptive: bool) -> GenerationStrategy:
    found = ctx.registry.get("generation_strategy", _writer_name(ctx))
    if not isinstance(found, type):
        raise ConfigError(f"generation strategy {_writer_name(ctx)!r} is not a class", hint="Fix the plugin.")
    writer = cast("GenerationStrategy", found())
    return AdaptiveStrategy(writer) if adaptive else writer


def _wishes(item: WorkItem, kinds: Sequence[QuestionType], ctx: StageContext) -> tuple[Wish, ...]:
    """What each pair should be like. Polarity and the right option's place alternate from a start that the seed decides."""
    start = ctx.seed("polarity") % 2
    cells = cast("list[dict[str, object]] | None", item.parameters.get("cells"))
    if cells is None:
        kind = None if item.parameters.get("adaptive") else kinds[0]
        count = cast("int", item.parameters["count"])
        levels = [kind.bloom[n % len(kind.bloom)] if kind and kind.bloom else None for n in range(count)]
        polarities: list[str | None] = [None] * count
    else:
        kind = kinds[0]
        levels, polarities = [], []
        for cell in cells:
            for _ in range(cast("int", cell.get("count", 1))):
                levels.append(cast("str | None", cell.get("bloom")) or next(iter(kind.bloom), None))
                polarities.append(cast("str | None", cell.get("polarity")))
    return tuple(
        Wish(kind, level, cast("Polarity", polarity or ("yes", "no")[(start + n) % 2]), (start + n) % 2)
        if kind is None or kind.polar
        else Wish(kind, level, None, (start + n) % 2)
        for n, (level, polarity) in enumerate(zip(levels, polarities, strict=True))
    )


def _candidate(draft: Draft | Discard, task: Task, strategy: str, number: int, ctx: StageContext) -> QAPair | Rejection:
    if isinstance(draft, Discard):
        return _rejection(draft, task, number, draft.code, draft.reason, ctx)
    question, answer = " ".join(draft.question.split()), " ".join(draft.answer.split())
    if not question or not answer:
        return _rejection(draft, task, number, "empty", "the question or the answer is empty", ctx)
    spans: list[Span] = list(draft.evidence)
    for quote in draft.quotes:
        span = locate(quote, task.passages, task.dataset)
        if span is None:
            return _rejection(draft, task, number, "not_verbatim", f"not in the material word for word: {quote!r}", ctx)
        spans.append(span)
    if not spans:
        return _rejection(draft, task, number, "no_evidence", "the candidate comes without evidence", ctx)
    return QAPair(
        id=QAPair.make_id(task.dataset.id, draft.kind.id, question, answer),
        dataset_id=task.dataset.id,
        question=question,
        answer=answer,
        question_type=draft.kind.id,
        evidence=tuple(spans),
        strategy=strategy,
        language=ctx.config.language,
        round=task.round,
        note=draft.note,
        intended_bloom=draft.bloom,
        provenance=ctx.provenance(draft.prompt, draft.replies),
    )


def _failure(draft: Discard, task: Task, number: int, ctx: StageContext) -> Failure:
    """A reply that could not be used says nothing about the pair it was to hold: the item is tried again on the next run."""
    hint = "Run again to retry it; if it keeps failing, raise the prompt's max_tokens or take a stronger model."
    record_id = content_id("cand", task.dataset.id, ctx.key, number)
    return Failure(
        stage=ctx.stage, code=draft.code, message=draft.reason, hint=hint, retryable=True, record_id=record_id
    )


def _rejection(draft: Draft | Discard, task: Task, number: int, code: str, reason: str, ctx: StageContext) -> Rejection:
    text = draft.text if isinstance(draft, Discard) else f"{draft.question}\n{draft.answer}"
    return Rejection(
        stage="generate",
        code=code,
        reason=reason,
        record_kind="QAPair",
        record_id=content_id("cand", task.dataset.id, ctx.key, number),
        dataset_id=task.dataset.id,
        question_type=draft.kind.id if draft.kind else None,
        record=text,
        provenance=ctx.provenance(draft.prompt, draft.replies),
    )
