"""Step ask: questions about the subject of a record or paper, by people who have not read it.

Who asks about a record sees its title and description; who asks about a paper sees a sheet with its subject alone. Code
refuses what a person without the text could not write.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, create_model

from scirgen.claims.borrowed import borrowed, coined
from scirgen.core.config import Config
from scirgen.core.fingerprint import content_id
from scirgen.core.questions import Question, Wants
from scirgen.core.records import Aspect, BlockKind, Dataset, Document, Frozen, Rejection
from scirgen.core.text.language import language_name
from scirgen.core.text.passages import count_words
from scirgen.stages.ask.subject import Subjects, most_subjects, sheet
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem

_SHOWN_WORDS = 250
_HEADINGS = 25


class Need(Frozen):
    """A reason to ask."""

    id: str
    meaning: str


class Form(Frozen):
    """A form in which people write what they want; ``share`` of the questions about a subject."""

    id: str
    meaning: str
    share: float = Field(gt=0)


class Seekers(Frozen):
    """``taxonomies/seekers.yaml``: who asks, what for, in what form."""

    version: int
    sources: tuple[str, ...] = ()
    roles: dict[Wants, tuple[str, ...]]
    needs: dict[Wants, tuple[Need, ...]]
    forms: dict[Wants, tuple[Form, ...]]


class Asked(BaseModel):
    """One question in a reply; with a ``type`` if the prompt names question types."""

    need: str
    form: str
    question: str
    other_words: list[str] = Field(min_length=1, max_length=2)


class Needs(BaseModel):
    """A reply."""

    questions: list[Asked]


def seeking_share(config: Config, pack: str) -> float:
    """The share of released rows that begin with somebody who asks; 0 for models that need the small prompts."""
    mix = config.generate.mix
    total = sum(mix.values())
    return mix.get("seeking", 0.0) / total if total and pack == "standard" and not config.generate.off else 0.0


class AskStage(Stage):
    """One item is a dataset's record, or a paper that it uses: a paper of several datasets is asked about once, in the
    items of the first of them."""

    name: ClassVar[str] = "ask"

    def uses(self, config: Config) -> Uses:
        """The prompt, the seekers, the question types and the writer; no model if nobody asks."""
        if not config.generate.mix.get("seeking"):
            return Uses()
        return Uses(
            config=("ask", "language", "seed"),
            prompts=("ask/needs", "ask/subjects"),
            taxonomies=("graesser", "seekers"),
            roles=("generator",),
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """The record, then the papers whose first user the dataset is."""
        if not seeking_share(ctx.config, ctx.pack):
            return
        yield WorkItem(scope.dataset.id, (scope.dataset,), {"wants": "data"})
        aspects = scope.outputs("verify", Aspect)
        used = {a.paper_id for a in aspects}
        for document in sorted(scope.outputs("parse", Document), key=lambda d: d.id):
            paper = document.paper_id
            if paper in used and scope.users(paper)[0].id == scope.dataset.id:
                yield WorkItem(f"{scope.dataset.id}|{paper}", (scope.dataset, document), {"wants": "answer"})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """The questions that somebody without the text could have asked; a rejection for each other one.

        Raises:
            ModelError: the reply cannot be used; the next run asks again.
        """
        dataset, document = item.one(Dataset), next(iter(item.of(Document)), None)
        titles = (document.title,) if document else (dataset.title,)
        names = coined(titles)
        if document is None:
            return await self._asked(_record_sheet(dataset), dataset, None, names, ctx)
        sheets = await self._sheets(document, names, ctx)
        if not sheets:
            why = "its subject cannot be told without its own words"
            told = ("Document", document.id)
            return StageResult(rejections=(ctx.reject("no_subject", why, told, dataset_id=dataset.id),))
        results = await asyncio.gather(*(self._asked(shown, dataset, document, names, ctx) for shown in sheets))
        outputs = {r.id: r for result in results for r in result.outputs if isinstance(r, Question)}
        return StageResult(tuple(outputs.values()), tuple(r for result in results for r in result.rejections))

    async def _sheets(self, document: Document, names: frozenset[str], ctx: StageContext) -> list[str]:
        """The paper's subjects, each as the writer of questions sees it."""
        text = _cut(document.abstract or document.text)
        headings = [document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.HEADING]
        prompt = ctx.prompt("subjects").render(
            title=document.title,
            text=text,
            headings=[" ".join(h.split()) for h in headings[:_HEADINGS]],
            count=most_subjects(count_words(document.text)),
            language=language_name(ctx.config.language),
        )
        reply = (await ctx.chat.ask(prompt, Subjects, seed=ctx.seed("subjects"))).value
        known = f"{document.title}\n{document.abstract}"
        made = (sheet(subject, known, names) for subject in reply.subjects)
        return list(dict.fromkeys(s for s in made if s))

    async def _asked(
        self, shown: str, dataset: Dataset, document: Document | None, names: frozenset[str], ctx: StageContext
    ) -> StageResult:
        """The questions of one call, about one subject."""
        wants: Wants = "answer" if document else "data"
        count = ctx.config.ask.questions_per_subject
        seekers = ctx.taxonomies.load("seekers", Seekers)
        forms = _shares(seekers.forms[wants], count)
        # Needs for data have no type of Graesser's: most are plans and keywords.
        kinds = ctx.taxonomies.question_types((), ctx.config.language) if document else ()
        prompt = ctx.prompt("needs").render(
            wants=wants,
            subject=shown,
            count=count,
            roles=list(seekers.roles[wants]),
            needs=[n.model_dump() for n in seekers.needs[wants]],
            forms=[{"id": f.id, "meaning": f.meaning, "count": n} for f, n in forms],
            types=[{"id": k.id, "name": k.name, "definition": k.definition} for k in kinds],
            earlier=[],
            language=language_name(ctx.config.language),
        )
        reply = _reply([n.id for n in seekers.needs[wants]], [f.id for f, _ in forms], [k.id for k in kinds], count)
        answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed(shown))
        questions: dict[str, Question] = {}
        rejections: list[Rejection] = []
        own = "" if document else shown  # a sheet is in wider words already
        for asked in answer.value.questions:
            made = _question(asked, dataset, document.id if document else dataset.id, wants)
            why = borrowed(made.text, own, names) or ("it was asked before" if made.id in questions else "")
            if why:
                code = "borrowed" if made.id not in questions else "repeated"
                told = ("Question", made.id)
                rejections.append(ctx.reject(code, why, told, dataset_id=dataset.id, record=made.model_dump_json()))
                continue
            rewordings = tuple(w for w in made.rewordings if not borrowed(w, "", names))
            questions[made.id] = made.model_copy(update={"rewordings": rewordings})
        return StageResult(tuple(questions.values()), tuple(rejections))


def _reply(needs: Sequence[str], forms: Sequence[str], kinds: Sequence[str], count: int) -> type[Needs]:
    choices = {"need": tuple(needs), "form": tuple(forms)} | ({"type": (*kinds, "none")} if kinds else {})
    fields: dict[str, Any] = {name: (Literal[ids], ...) for name, ids in choices.items()}
    one: Any = create_model("Asked", __base__=Asked, **fields)
    several: dict[str, Any] = {"questions": (list[one], Field(min_length=1, max_length=count))}
    return create_model("Needs", __base__=Needs, **several)


def _question(asked: Asked, dataset: Dataset, document_id: str, wants: Wants) -> Question:
    text = " ".join(asked.question.split())
    typed = getattr(asked, "type", "none") if asked.form == "question" else "none"
    return Question(
        id=content_id("qst", dataset.id, document_id, text),
        dataset_id=dataset.id,
        document_id=document_id,
        wants=wants,
        text=text,
        need=asked.need,
        form=asked.form,
        question_type="" if typed == "none" else typed,
        rewordings=tuple(" ".join(w.split()) for w in asked.other_words if w.strip()),
    )


def _shares(forms: Sequence[Form], count: int) -> list[tuple[Form, int]]:
    """The number of questions of each form; they sum to ``count``, by largest remainder."""
    total = sum(f.share for f in forms)
    exact = [count * f.share / total for f in forms]
    whole = [math.floor(x) for x in exact]
    rest = sorted(range(len(forms)), key=lambda i: (whole[i] - exact[i], i))[: count - sum(whole)]
    return [(f, n) for i, f in enumerate(forms) if (n := whole[i] + (i in rest))]


def _record_sheet(dataset: Dataset) -> str:
    lines = [dataset.title, dataset.description, "; ".join(dataset.keywords)]
    return _cut("\n".join(line for line in lines if line))


def _cut(text: str) -> str:
    words = text.split(" ")
    return text if len(words) <= _SHOWN_WORDS else " ".join(words[:_SHOWN_WORDS])
