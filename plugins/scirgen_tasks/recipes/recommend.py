"""``recommend``: the need for data behind a paper, as a sentence and as keyphrases (DataFinder, ACL 2023).

The datasets that the paper uses answer it. They are known only at the release, which then also refuses texts that name
one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen import Rejection, StageContext, StageResult, WorkItem
from scirgen.core.text.textmatch import words
from scirgen.plugin import AspectCategory, content_words
from scirgen_bench.tasks.records import Query, QueryForm
from scirgen_bench.tasks.taxonomies import NeedField, needs_of
from scirgen_tasks.recipes.base import PaperMaterial, QueryRecipe, paper_materials, rejected
from scirgen_tasks.recipes.checks import shares_run

_LEAST_WORDS, _MAX_WORDS = 8, 60
_TITLE_RUN = 6
_FIELD_WORDS = 12
_SUPPORTED = 0.5
_MATERIAL = (AspectCategory.OBJECTIVE, AspectCategory.METHODS, AspectCategory.CHALLENGES)
_REASONS: Final = {
    "length": f"the sentence does not have {_LEAST_WORDS} to {_MAX_WORDS} words",
    "copies_title": f"{_TITLE_RUN} consecutive words are from the paper's title",
    "no_fields": "no field of the need could be filled from the text",
}


class NeedReply(BaseModel):
    """The reply: one text a field of the taxonomy (``""`` where the paper says nothing), and the sentence."""

    model_config = ConfigDict(extra="forbid")
    sentence: str = Field(description="what the person wants to do and what the data must hold")


class RecommendRecipe(QueryRecipe):
    """One call per paper: the fields of a need, and one sentence."""

    name = "recommend"
    prompts = ("recommend",)
    taxonomies = ("needs",)

    async def write(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return two queries, or the reason why there are none."""
        (paper,) = paper_materials(item)
        if not paper.abstract:
            return StageResult(rejections=(rejected(ctx, "no_abstract", "the paper has no abstract", "paper"),))
        fields = needs_of(ctx.taxonomies).of(ctx.config.domain)
        prompt = ctx.prompt("recommend").render(
            title=paper.document.title,
            abstract=paper.abstract,
            statements=paper.statements(*_MATERIAL),
            fields=[(f.id, f.name, f.definition) for f in fields],
            language=ctx.config.language,
        )
        reply = await ctx.chat.ask(prompt, reply_model(fields), seed=ctx.seed())
        provenance = ctx.provenance(prompt, (reply.reply_key,))
        given = {f.id: " ".join(str(getattr(reply.value, f.id)).split()) for f in fields}
        stop = ctx.taxonomies.wording.of(ctx.config.language).stop
        filled, rejections = _supported(given, paper, stop, ctx)
        sentence = " ".join(reply.value.sentence.split())
        phrases = keyphrases([filled[f.id] for f in fields if f.in_keyphrases and f.id in filled], stop)
        drafts: list[tuple[QueryForm, str, str]] = [
            ("sentence", sentence, _wrong_sentence(sentence, paper)),
            ("keyphrases", phrases, "" if phrases else "no_fields"),
        ]
        queries: list[Query] = []
        for form, text, code in drafts:
            if code:
                rejections.append(rejected(ctx, code, _REASONS[code], form, text))
                continue
            queries.append(
                Query(
                    id=Query.make_id(self.name, form, paper.paper_id, text),
                    recipe=self.name,
                    form=form,
                    text=text,
                    paper_id=paper.paper_id,
                    fields=tuple(filled.items()),
                    year=paper.year,
                    provenance=provenance,
                )
            )
        return StageResult(tuple(queries), tuple(rejections))


def reply_model(fields: Sequence[NeedField]) -> type[NeedReply]:
    """Make the class `NeedReply` with a text for each field."""
    given: dict[str, Any] = {f.id: (str, Field(description=f.definition)) for f in fields}
    return create_model("NeedReply", __base__=NeedReply, **given)


def keyphrases(texts: Sequence[str], stop: Collection[str]) -> str:
    """Return DataFinder's keyphrases: the fields' words in lower case, without stop words and words that an earlier
    phrase contains.

    "Image classification", "image" -> "image classification".
    """
    kept: list[str] = []
    for word in " ".join(t for t in texts if t).lower().split():
        if word not in stop and word not in " ".join(kept):
            kept.append(word)
    return " ".join(kept)


def _supported(
    given: dict[str, str], paper: PaperMaterial, stop: frozenset[str], ctx: StageContext
) -> tuple[dict[str, str], list[Rejection]]:
    """Return the fields whose words occur in the paper; a field that the model invented is rejected."""
    texts = (paper.document.title, paper.abstract, *paper.statements(*AspectCategory))
    said = set(content_words(" ".join(texts), stop))
    filled: dict[str, str] = {}
    rejections: list[Rejection] = []
    for name, text in given.items():
        needed = content_words(text, stop)
        if not needed:
            continue
        if len(words(text)) > _FIELD_WORDS:
            reason = f"a field has more than {_FIELD_WORDS} words"
            rejections.append(rejected(ctx, "field_length", reason, name, text))
        elif sum(w in said for w in needed) >= _SUPPORTED * len(needed):
            filled[name] = text
        else:
            reason = "fewer than half of its words are in the paper's abstract and statements"
            rejections.append(rejected(ctx, "not_in_paper", reason, name, text))
    return filled, rejections


def _wrong_sentence(sentence: str, paper: PaperMaterial) -> str:
    if not _LEAST_WORDS <= len(words(sentence)) <= _MAX_WORDS:
        return "length"
    return "copies_title" if shares_run(sentence, paper.document.title, _TITLE_RUN) else ""
