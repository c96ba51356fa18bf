"""Stage 5: the six kinds of statements, sentence by sentence, out of the labelled sections of papers that datasets use.

One item is a paper's section class, shared by all datasets of the paper. Stage `verify` then selects the statements for
each dataset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import ClassVar

from scirgen.core.config import Config
from scirgen.core.records import Aspect, Dataset, Document, Link, Rejection, SectionClass, SectionLabel
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.extract.reading import (
    Picked,
    Sentence,
    cell_spans,
    floating,
    read_section,
    section_sentences,
    table_caption,
)

_LONGEST_CAPTION = 160


class ExtractStage(Stage):
    """One item is a paper and a section class; its heading runs are read together."""

    name = "extract"
    for_all_users: ClassVar[bool] = True
    """A flag: the prompt names the datasets that use the paper."""
    version = 13

    def uses(self, config: Config) -> Uses:
        """Return its prompt, the definitions of the aspects, and the model."""
        return Uses(prompts=("extract/aspects",), taxonomies=("aspects",), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield each labelled section of each paper that the dataset is linked to.

        Yield nothing if all questions are asked first, since their answers come from the whole text, unless a plugin's
        step may read statements: its ``reads`` names aspects, it follows this step or ``verify``, or replaces a step.
        """
        config = ctx.config
        if not (config.generate.off or config.generate.mix.get("known_item") or _read_by_a_plugin(ctx)):
            return
        documents = {d.paper_id: d for d in scope.outputs("parse", Document)}
        labels = scope.outputs("section", SectionLabel)
        for link in scope.outputs("match", Link):
            if not link.used or link.paper_id not in documents:
                continue
            document = documents[link.paper_id]
            mine = [x for x in labels if x.paper_id == link.paper_id]
            mine = [*mine, *floating(document, mine)]
            for section in SectionClass:
                runs = tuple(x for x in mine if x.label is section)
                if runs and section is not SectionClass.NONE:
                    key = f"{link.paper_id}|{section.value}"
                    # The item has all datasets of the paper, so that its sections are read once for all of them.
                    users = scope.users(link.paper_id) if self.for_all_users else ()
                    yield WorkItem(key, (document, *runs, *users), {"section": section.value})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        document = item.one(Document)
        labels = [x for x in item.of(SectionLabel) if x.label.value == item.parameters["section"]]
        everything = section_sentences(document, labels)
        sentences = [s for s in everything if not talks_to_machine(s.text)]
        hostile = [_hostile(s, ctx) for s in everything if talks_to_machine(s.text)]
        if not sentences:
            return StageResult(rejections=tuple(hostile))
        picked = await self.read(document, sentences, item.of(Dataset), ctx)
        result = _result(document, picked, ctx)
        return StageResult(result.outputs, (*hostile, *result.rejections))

    async def read(
        self, document: Document, sentences: Sequence[Sentence], datasets: Sequence[Dataset], ctx: StageContext
    ) -> list[Picked]:
        """Return the sentences of a section that are chosen, by aspect."""
        return await read_section(document, sentences, datasets, ctx)


def _hostile(sentence: Sentence, ctx: StageContext) -> Rejection:
    """Return the rejection of a sentence that is not shown to the model."""
    reason = "the sentence addresses a language model, not the paper's readers"
    return ctx.reject("instructions", reason, ("Aspect", f"{ctx.key}|{sentence.number}"), record=sentence.text)


def _read_by_a_plugin(ctx: StageContext) -> bool:
    """Return whether a step that the settings add may read statements."""
    names = {n for n in ctx.registry.names("step") if n in ctx.config.steps or n in ctx.config.sections}
    said = [[str(getattr(ctx.registry.get("step", n), key, "")) for key in ("after", "reads")] for n in names]
    return any(after in ("", "extract", "verify") or "aspect" in reads.lower() for after, reads in said)


def _result(document: Document, picked: Sequence[Picked], ctx: StageContext) -> StageResult:
    """Return the aspects in the document's order; rejections for repeated statements and those that could not be
    located."""
    aspects: dict[str, Aspect] = {}
    rejections: list[Rejection] = []
    for number, choice in enumerate(picked):
        provenance = ctx.provenance(replies=choice.replies)
        if choice.prompt:
            provenance = provenance.model_copy(update={"prompt": choice.prompt, "model": str(ctx.chat.identity)})
        code, reason = choice.code, choice.reason
        if choice.sentence is not None:
            where = choice.sentence
            cells = cell_spans(document, where, choice.cells)
            values = [(c.start, c.end) for c in cells if c.role == "answer"] or [(where.start, where.end)]
            span = document.span(values[0][0], values[-1][1], where.section)
            caption = table_caption(document, where)
            told = shorten(caption.text, _LONGEST_CAPTION, placeholder=" ...") if caption else ""
            aspect = Aspect(
                paper_id=document.paper_id,
                category=choice.category,
                span=span,
                context=choice.context.about if choice.context else told,
                context_span=choice.context.span if choice.context else caption,
                cells=cells,
                provenance=provenance,
            )
            if aspect.id not in aspects:
                aspects[aspect.id] = aspect
                continue
            code, reason = "duplicate", "the same sentence was given for the same aspect before"
        about = ("Aspect", f"{ctx.key}|{choice.category.value}#{number}")
        rejections.append(ctx.reject(code, reason, about, record=choice.reference, provenance=provenance))
    ordered = sorted(aspects.values(), key=lambda a: (a.span.start, a.category))
    return StageResult(tuple(ordered), tuple(rejections))
