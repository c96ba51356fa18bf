"""Stage 7: candidate question-answer pairs from metadata and kept aspects, one item for a dataset and a group of types.

Strategies write; this module decides what is requested, finds the evidence and makes the records. Stage filter judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, cast

from scirgen.core.config import Config, GenerateConfig
from scirgen.core.corpus.printed import as_printed
from scirgen.core.errors import ConfigError, ReplyInvalidError, ReplyTruncatedError
from scirgen.core.fingerprint import content_id, digest
from scirgen.core.grouped import grouped
from scirgen.core.records import Aspect, Dataset, Document, Failure, Paper, QAPair, Record, Rejection, Span
from scirgen.core.registry import returned_list, suggest
from scirgen.core.registry.plugincode import made_of
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.generate.further import definitions, further_requests, records
from scirgen.stages.generate.joint import in_groups
from scirgen.stages.generate.naming import makers
from scirgen.stages.generate.passages import passages
from scirgen.stages.generate.quotas import wanted_cells
from scirgen.stages.generate.strategy import About, Discard, Draft, Further, GenerationStrategy, SourcePaper, Task
from scirgen.stages.generate.wishes import Asked, wishes

ADAPTIVE = "adaptive"
_UNUSABLE = frozenset({ReplyInvalidError.code, ReplyTruncatedError.code})
_PROMPTS = ("joint", "name")
_START_CHARACTERS = 600
_MANY = 1000
"""Pairs of a call that asks for every share of a further request."""


class GenerateStage(Stage):
    """Makes candidates about a dataset and about the papers that belong to it.

    A paper that several datasets use is asked about once, in the items of the first of them by id, unless the strategy
    has `asks_each_dataset`; its questions have all these datasets as gold. With papers, every type is requested;
    without papers, types that the metadata can answer.
    """

    name = "generate"
    writer: ClassVar[str] = "joint"
    """The strategy of ``generate.strategy: auto``."""
    version = 10
    refuse_empty = True

    def uses(self, config: Config) -> Uses:
        """Return what results depend on. Each item's salt has the types and the strategy that it uses, so an edited
        type redoes only the items that request it."""
        return Uses(
            config=("generate", "language", "domain", "seed"),
            prompts=tuple(f"generate/{name}" for name in _PROMPTS),
            roles=("generator",),
        )

    def definitions(self, ctx: StageContext) -> str:
        """Return the hash of the strategy that writes and its prompts, of further requests, and of a target's types."""
        if ctx.config.generate.off:
            return ""
        writer = self.strategy(ctx)
        further = definitions(ctx)
        prompts = [ctx.prompt(name).hash for name in writer.prompts]
        kinds = wanted_types(ctx)  # a target chooses among them, and levels and polarities, for the first round too
        every = ctx.taxonomies.wanted_types(ctx.config.generate.types, ctx.pack, ctx.config.language)
        target = [[k.id for k in kinds], _mix(kinds, ctx)] if kinds != every or _mix(kinds, ctx) else []
        return digest([writer.name, made_of(writer), prompts, further, *target])

    def notes(self, ctx: StageContext) -> Iterable[str]:
        """Yield that the question types do not limit what people ask."""
        if ctx.config.generate.types and ctx.config.generate.asks and ctx.pack == "standard":
            yield "generate.types limits known items alone; generate.mix={known_item: 1} makes only these"

    def check(self, ctx: StageContext) -> None:
        """Refuse further requests of plugins that the strategy would not make."""
        further = [r for r in further_requests(ctx.config, ctx.registry) if r.variables(_MANY, 0, ctx) is not None]
        if further and not ctx.config.generate.off and (name := self.strategy(ctx).name) != "joint":
            raise ConfigError(
                f"{further[0].name} needs generate.strategy=joint, but this run uses {name}",
                hint="Set generate.strategy=joint, and models.pack=standard for a small model.",
            )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield one item for each group of types; one for all types without a paper; in later rounds, only for
        cells of quotas that are not full."""
        if ctx.config.generate.off or not ctx.config.generate.mix.get("known_item"):
            return
        each, own = getattr(self.strategy(ctx), "asks_each_dataset", False), scope.dataset.id
        kept = scope.outputs("verify", Aspect)
        aspects = tuple(a for a in kept if each or scope.users(a.paper_id)[0].id == own)
        inputs: tuple[Dataset | Aspect, ...] = (scope.dataset, *aspects)
        config = ctx.config.generate
        kinds = wanted_types(ctx)
        more = {**paper_parameters(scope, aspects), **_mix(kinds, ctx)}
        if scope.round:
            yield from self._later(scope, inputs, paper_parameters(scope, aspects), ctx)
        elif asked := known_items(ctx, len({a.paper_id for a in aspects})):
            parameters = _chosen(kinds, asked, more)
            yield WorkItem(f"{scope.dataset.id}|{ADAPTIVE}", inputs, parameters, self._salt(kinds, ctx))
        elif kept:
            several = self.strategy(ctx).writes_together
            together = config.types_per_call if several else 1
            counts = _counts(config, bool(aspects), several)
            for group in in_groups(kinds, together):
                name = group[0].id if len(group) == 1 else f"{group[0].id}..{group[-1].id}"
                parameters = {"types": [k.id for k in group], **counts, **more}
                yield WorkItem(f"{scope.dataset.id}|{name}", inputs, parameters, self._salt(group, ctx))
        else:
            parameters = _chosen(kinds, known_items(ctx, 0) or config.types_without_paper, more)
            yield WorkItem(f"{scope.dataset.id}|{ADAPTIVE}", inputs, parameters, self._salt(kinds, ctx))

    def _salt(self, kinds: Sequence[QuestionType], ctx: StageContext) -> str:
        return digest([*(k.hash for k in kinds), self.definitions(ctx)])

    def _later(
        self, scope: Scope, inputs: tuple[Dataset | Aspect, ...], more: Mapping[str, object], ctx: StageContext
    ) -> Iterable[WorkItem]:
        # Step ask has the cells without a type.
        by_type = grouped((str(c["question_type"]), dict(c)) for c in scope.wanted if "question_type" in c)
        for id in sorted(by_type):
            kind = ctx.taxonomies.question_type(id, ctx.config.language)
            key = f"{scope.dataset.id}|{id}#{scope.round}"
            parameters: dict[str, object] = {"types": [id], "cells": by_type[id], "round": scope.round, **more}
            yield WorkItem(key, inputs, parameters, self._salt((kind,), ctx))

    def strategy(self, ctx: StageContext) -> GenerationStrategy:
        """Return the strategy that the settings name, or the one for the model's pack.

        Raises:
            ConfigError: the plugin's strategy is not a class.
        """
        configured = ctx.config.generate.strategy
        name = self.writer if configured == "auto" else configured
        found = ctx.registry.get("generation_strategy", name)
        if not isinstance(found, type):
            plugin = ctx.registry.provider("generation_strategy", name)
            raise ConfigError(f"plugin {plugin!r} must register a class as strategy {name!r}", hint="Fix the plugin.")
        return cast("GenerationStrategy", found())

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Have a strategy write, then make candidates with located evidence, or rejections with their codes."""
        dataset = item.one(Dataset)
        asked = item.asked(Asked)
        kinds = tuple(asked.narrowed(ctx.taxonomies.question_type(t, ctx.config.language)) for t in asked.types)
        papers = _papers(item, asked)
        task = Task(
            dataset=dataset,
            passages=passages(dataset, item.of(Aspect), {p.id: p.title for p in papers if p.title}),
            kinds=kinds,
            wishes=wishes(dataset, asked, kinds, ctx),
            round=asked.round or 0,
            papers=papers,
        )
        strategy = self.strategy(ctx)
        given = await strategy.generate(task, ctx)
        written = returned_list(strategy.generate, given, (Draft, Discard, Further), "a scirgen.Draft or Discard")
        pairs: dict[str, QAPair] = {}
        rejections: list[Rejection] = []
        failures: list[Failure] = []
        more: list[Record] = []
        for number, draft in enumerate(written):
            if isinstance(draft, Further):
                made_of = records(draft, task, ctx)
                more += made_of.outputs
                rejections += made_of.rejections
                continue
            if isinstance(draft, Discard) and draft.passage is not None:
                if _first(asked, ctx):
                    about = "Aspect", draft.passage.aspect_id
                    rejections.append(
                        ctx.reject(draft.code, draft.reason, about, dataset_id=dataset.id, record=draft.text)
                    )
                continue
            if isinstance(draft, Discard) and draft.code in _UNUSABLE:
                failures.append(_failure(draft, task, number, ctx))
                continue
            made = _candidate(draft, task, strategy.name, number, ctx)
            if isinstance(made, QAPair) and made.id not in pairs:
                pairs[made.id] = made
            elif isinstance(made, Rejection):
                rejections.append(made)
            else:
                rejections.append(_rejection(draft, task, number, "repeated", "the same pair was written before", ctx))
        return StageResult((*pairs.values(), *more), tuple(rejections), tuple(failures))


def _first(asked: Asked, ctx: StageContext) -> bool:
    """Return whether an item is the first about its dataset: it alone says which statements no call shows."""
    return not asked.round and asked.types[0] == wanted_types(ctx)[0].id


def _chosen(kinds: Sequence[QuestionType], count: int, more: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of one item that chooses among all types."""
    return {"types": [k.id for k in kinds], "count": min(count, len(kinds)), "adaptive": True, **more}


def known_items(ctx: StageContext, papers: int) -> int:
    """Return the pairs about a dataset and its papers that complete the mix with the questions asked first; 0 if no
    questions are asked first."""
    mix = ctx.config.generate.mix
    if not mix.get("seeking") or ctx.pack != "standard":
        return 0
    return math.ceil(ctx.config.ask.questions_per_subject * (1 + papers) * mix["known_item"] / mix["seeking"])


def _counts(config: GenerateConfig, papers: bool, several: bool) -> dict[str, object]:
    """Count the pairs of a type that an item requests. Where each has a sentence, that decides what it is about."""
    if several:
        return {"about_data": config.pairs_about_data, "count": config.pairs_per_type if papers else 0}
    return {"count": config.pairs_per_type if papers else config.pairs_about_data}


def paper_parameters(scope: Scope, aspects: Sequence[Aspect]) -> dict[str, object]:
    """Return the titles and beginnings of the papers that aspects come from, and the datasets that share one, as
    parameters of items."""
    wanted = {a.paper_id for a in aspects}
    documents = scope.outputs("parse", Document) if wanted else ()
    titles = {d.paper_id: " ".join(d.title.split()) for d in documents if d.paper_id in wanted and d.title.strip()}
    known = {d.paper_id: d for d in documents}
    records = {p.id: as_printed(p, known.get(p.id)) for p in scope.outputs("collect", Paper) if p.id in wanted}
    starts = {d.paper_id: _start(d, records.get(d.paper_id)) for d in documents if d.paper_id in wanted}
    users = {p: [[d.id, d.title] for d in scope.users(p)] for p in sorted(wanted) if len(scope.users(p)) > 1}
    found: dict[str, object] = {"titles": dict(sorted(titles.items()))} if titles else {}
    found |= {"starts": dict(sorted(starts.items()))} if starts else {}
    return found | ({"users": users} if users else {})


def _start(document: Document, paper: Paper | None) -> str:
    """Who wrote a paper and when, for questions that must name it: its authors and year, or how its text begins."""
    year = paper.year if paper else None
    named = makers(paper.authors, year) if paper else ""
    return named or " ".join(document.text[:_START_CHARACTERS].split()) + (f" ({year})" if year else "")


def _papers(item: WorkItem, asked: Asked) -> tuple[SourcePaper, ...]:
    """Return the papers of an item's aspects, in the order of ids."""
    dataset = item.one(Dataset)
    alone = ((dataset.id, dataset.title),)
    return tuple(
        SourcePaper(p, asked.titles.get(p, ""), asked.starts.get(p, ""), asked.users.get(p, alone))
        for p in sorted({a.paper_id for a in item.of(Aspect)})
    )


def wanted_types(ctx: StageContext) -> tuple[QuestionType, ...]:
    """Choose the types that the settings ask this model's pack for; with a target, those of its wanted cells.

    Raises:
        ConfigError: the target's mix names none of these types, or a type or level that does not exist.
    """
    kinds = ctx.taxonomies.wanted_types(ctx.config.generate.types, ctx.pack, ctx.config.language)
    quota, levels = ctx.config.generate.quota, ctx.taxonomies.bloom.levels
    for name, mix, known in ("types", quota.types, ctx.taxonomies.graesser.types), ("bloom", quota.bloom, levels):
        if unknown := sorted(mix.keys() - (ids := {one.id for one in known})):
            raise ConfigError(f"generate.quota.{name}: unknown {unknown[0]!r}", hint=suggest(unknown[0], ids))
    if quota.total is None:
        return kinds
    ids = {cell.question_type for cell in wanted_cells(quota, kinds)}
    if not ids:
        hint = f"This run asks for {', '.join(k.id for k in kinds)}."
        raise ConfigError("generate.quota.types names none of the run's question types", hint=hint)
    return tuple(k for k in kinds if k.id in ids)


def _mix(kinds: Sequence[QuestionType], ctx: StageContext) -> dict[str, object]:
    """Return the levels and polarities that a target wants, as parameters of items; empty if it wants all."""
    quota = ctx.config.generate.quota
    if quota.total is None:
        return {}
    cells = wanted_cells(quota, kinds)
    levels = {k.id: [c.bloom for c in cells if c.question_type == k.id and c.bloom] for k in kinds}
    said = sorted({c.polarity for c in cells if c.polarity}, reverse=True)
    return ({"levels": {k: list(dict.fromkeys(v)) for k, v in levels.items()}} if quota.bloom else {}) | (
        {"polarities": said} if len(said) == 1 else {}
    )


def _candidate(draft: Draft | Discard, task: Task, strategy: str, number: int, ctx: StageContext) -> QAPair | Rejection:
    if isinstance(draft, Discard):
        return _rejection(draft, task, number, draft.code, draft.reason, ctx)
    question, answer = " ".join(draft.question.split()), " ".join(draft.answer.split())
    if not question or not answer:
        return _rejection(draft, task, number, "empty", "the question or the answer is empty", ctx)
    if not any(span.role == "answer" for span in draft.evidence):
        return _rejection(draft, task, number, "no_evidence", "the candidate comes without evidence", ctx)
    about, dataset_ids = _gold(draft.evidence, task)
    return QAPair(
        id=QAPair.make_id(task.dataset.id, draft.kind.id, question, answer),
        dataset_id=task.dataset.id,
        question=question,
        answer=answer,
        question_type=draft.kind.id,
        evidence=draft.evidence,
        about=about,
        dataset_ids=dataset_ids,
        strategy=strategy,
        language=ctx.config.language,
        round=task.round,
        note=draft.note,
        intended_bloom=draft.bloom,
        provenance=ctx.provenance(draft.prompt, draft.replies),
    )


def _gold(spans: Sequence[Span], task: Task) -> tuple[About, tuple[str, ...]]:
    """Return the subject of a pair by its evidence, and the datasets that answer it; for a paper, all that it uses."""
    documents = {p.span.document_id: p.paper_id for p in task.passages if p.paper_id is not None}
    cited = {documents[s.document_id] for s in spans if s.document_id in documents and s.role == "answer"}
    if not cited:
        return "dataset", (task.dataset.id,)
    users = [{id for id, _ in p.datasets} for p in task.papers if p.id in cited]
    return "paper", tuple(sorted(set.intersection(*users))) if users else (task.dataset.id,)


def _failure(draft: Discard, task: Task, number: int, ctx: StageContext) -> Failure:
    """Return the failure for a reply that could not be used. It says nothing of the pair; the next run tries again."""
    hint = "Run again to retry it; if it keeps failing, raise the prompt's max_tokens or take a stronger model."
    record_id = content_id("cand", task.dataset.id, ctx.key, number)
    return Failure(
        stage=ctx.stage, code=draft.code, message=draft.reason, hint=hint, retryable=True, record_id=record_id
    )


def _rejection(draft: Draft | Discard, task: Task, number: int, code: str, reason: str, ctx: StageContext) -> Rejection:
    text = draft.text if isinstance(draft, Discard) else f"{draft.question}\n{draft.answer}"
    return ctx.reject(
        code, reason, ("QAPair", content_id("cand", task.dataset.id, ctx.key, number)), dataset_id=task.dataset.id,
        question_type=draft.kind.id if draft.kind else None, record=text,
        provenance=ctx.provenance(draft.prompt, draft.replies),
    )  # fmt: skip
