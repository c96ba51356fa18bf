"""Stage 3: gives every heading run of a document a section class, by rules if they decide, otherwise by the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, create_model

from scirgen.core.config import Config
from scirgen.core.records import BlockKind, Document, Provenance, SectionClass, SectionLabel, appendices
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.section.rules import HeadingRules, Run, heading_runs

_BEGINNING_CHARS = 600
_MAX_OUTLINE = 60
_MAX_CALLS = 60
"""Largest number of model calls for one paper; rules decide about its further headings."""
_MAX_AT_ONCE = 24
_FORMAL = 0.002  # signs and words of programs and formulas in a character; reviews have fewer
_PROSE = {BlockKind.PARAGRAPH, BlockKind.LIST_ITEM}
_OPENING = re.compile(r"[\W\d]*(?:summary|synthesis|perspectives?|resumo|resumen)\W*$", re.I)


class SectionStage(Stage):
    """One item per document; its labels cover the whole text."""

    name = "section"
    version = 7

    def uses(self, config: Config) -> Uses:
        if not config.section.use_model:
            return Uses(config=("section",), taxonomies=("sections",))
        return Uses(config=("section",), prompts=("section/label",), taxonomies=("sections",), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        for document in scope.outputs("parse", Document):
            yield WorkItem(key=document.paper_id, inputs=(document,))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Label the runs.

        Raises:
            ModelError: the model was needed and did not answer.
        """
        document = item.one(Document)
        rules = HeadingRules(ctx.taxonomies.sections.sections)
        runs = heading_runs(document)
        decided = label_by_rules(document, runs, rules)
        # A paper with a thousand unusual headings must not cost a thousand calls.
        most = _MAX_CALLS * _MAX_AT_ONCE
        open_runs = [i for i, label in enumerate(decided) if label is None][:most]
        by_model: dict[int, tuple[SectionClass, Provenance]] = {}
        if ctx.config.section.use_model and ctx.chat_session is not None and ctx.chat_session.pack != "small":
            for part in batched(open_runs):
                by_model |= await self._ask(document, runs, part, ctx)
        labels = []
        for index, run in enumerate(runs):
            label, provenance = by_model.get(index, (decided[index], ctx.provenance()))
            labels.append(
                SectionLabel(
                    document_id=document.id,
                    paper_id=document.paper_id,
                    start=run.start,
                    end=run.end,
                    heading=run.heading,
                    heading_path=run.path,
                    label=label or fallback(runs, decided, index),
                    decided_by="model" if index in by_model else "rule",
                    provenance=provenance,
                )
            )
        return StageResult(outputs=tuple(labels))

    async def _ask(
        self, document: Document, runs: Sequence[Run], places: Sequence[int], ctx: StageContext
    ) -> dict[int, tuple[SectionClass, Provenance]]:
        """Label all sections that the rules leave open in one call."""
        sections = [
            f"Section {n}: {' > '.join((*runs[i].path, runs[i].heading))}\nIt begins: {_beginning(document, runs[i])}"
            for n, i in enumerate(places, 1)
        ]
        classes = ctx.taxonomies.sections.sections
        prompt = ctx.prompt("label").render(
            classes=[{"id": c.id.value, "name": c.name, "definition": c.definition} for c in classes],
            title=document.title,
            outline="\n".join("  " * len(r.path) + r.heading for r in runs[:_MAX_OUTLINE] if r.heading),
            sections="\n\n".join(sections),
        )
        ids = tuple(c.id.value for c in classes)
        answer = await ctx.chat.ask(prompt, classes_reply(len(places), ids), seed=ctx.seed(*places))
        provenance = ctx.provenance(prompt, [answer.reply_key])
        return {i: (answer.value.of(n), provenance) for n, i in enumerate(places, 1)}


class Classes(BaseModel):
    """One field a section, ``s1``, ``s2``..., so that a reply that leaves one out is invalid."""

    def of(self, number: int) -> SectionClass:
        """Return the class of section ``number``, counted from 1."""
        return SectionClass(getattr(self, f"s{number}"))


def classes_reply(count: int, ids: tuple[str, ...]) -> type[Classes]:
    """Make the class `Classes` for ``count`` sections."""
    fields: dict[str, Any] = {f"s{n}": (Literal[ids], ...) for n in range(1, count + 1)}
    return create_model("Classes", __base__=Classes, **fields)


def batched(places: Sequence[int]) -> list[Sequence[int]]:
    """Return the open sections of a paper, grouped by calls; in most papers, one call takes all."""
    return [places[i : i + _MAX_AT_ONCE] for i in range(0, len(places), _MAX_AT_ONCE)]


def label_by_rules(document: Document, runs: Sequence[Run], rules: HeadingRules) -> list[SectionClass | None]:
    """Return the class of each run; None if the rules leave it open.

    The run before the first heading is front matter: title and abstract. A run of references has the class none,
    whatever its heading, as have a lettered appendix and back matter at the end, also below another section.
    """
    labels: list[SectionClass | None] = []
    opening = [run for run in runs if run.heading][:2]
    for run in runs:
        kinds = {b.kind for b in document.blocks_in(run.start, run.end)}
        if not run.heading:
            label: SectionClass | None = SectionClass.INTRODUCTION
        elif BlockKind.REFERENCE in kinds and kinds.isdisjoint(_PROSE):
            label = SectionClass.NONE
        else:
            label = rules.label_path((*run.path, run.heading), document.language)
        if label is SectionClass.CONCLUSION and run in opening and _OPENING.match(run.heading):
            label = SectionClass.INTRODUCTION  # a "Summary" at the beginning; at the end it is a conclusion
        labels.append(label)
    paths = [(*run.path, run.heading) for run in runs]
    found = appendices(zip(paths, labels, strict=True))
    labels = [SectionClass.NONE if path[0] in found else x for path, x in zip(paths, labels, strict=True)]
    for place in reversed(range(len(runs))):
        if rules.label(runs[place].heading, document.language) is not SectionClass.NONE:
            break
        labels[place] = SectionClass.NONE
    return labels


def fallback(runs: Sequence[Run], decided: Sequence[SectionClass | None], index: int) -> SectionClass:
    """Classify a run that neither rules nor a model decide, by the outermost sections before and behind its own.

    It continues the one before it; but if the paper is rich in formulas or programs, it is the method behind an
    introduction or results. In other papers, it is the method between introduction and results. Where methods stand
    behind the results, or there are neither, it is ``experiment``. Back matter between sections says nothing.
    """
    outer = [i for i, run in enumerate(runs) if not run.path]
    own = max((i for i in outer if i <= index), default=index)
    before = [d for i in outer if i <= own and (d := decided[i])]
    behind = [d for i in outer if i > own and (d := decided[i]) and d is not SectionClass.NONE]
    if behind:
        before = [d for d in before if d is not SectionClass.NONE]
    last = before[-1] if before else SectionClass.INTRODUCTION
    formal = sum(run.signs for run in runs) > _FORMAL * runs[-1].end
    if last in (SectionClass.INTRODUCTION, SectionClass.RELATED_WORK):
        named = [d for d in behind if d in (SectionClass.METHOD, SectionClass.EXPERIMENT)]
        last = SectionClass.METHOD if named[-1:] == [SectionClass.EXPERIMENT] else SectionClass.EXPERIMENT
    return SectionClass.METHOD if formal and last is SectionClass.EXPERIMENT else last


def _beginning(document: Document, run: Run) -> str:
    text = document.text[run.start : run.end]
    body = text[len(run.heading) :].strip()[: 3 * _BEGINNING_CHARS]
    spans = sentence_spans(body, document.language)
    end = next((e for _, e in spans if e >= _BEGINNING_CHARS), spans[-1][1] if spans else 0)
    return body[:end][: 2 * _BEGINNING_CHARS]
