"""Step ask: questions about the subject of a record or paper, by people who have not read it.

Who asks about a record sees its title and description; who asks about a paper sees a sheet with its subject alone. Code
refuses what a person without the text could not write.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, create_model

from scirgen.claims.borrowed import borrowed, coined
from scirgen.core.config import Config
from scirgen.core.corpus import Reading
from scirgen.core.corpus.questions import Question, Wants
from scirgen.core.errors import ConfigError, ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.fingerprint import content_id, derived_seed, digest, file_sha256
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Dataset, Document, Frozen, Rejection
from scirgen.core.registry import Registry
from scirgen.core.text.analysis import terms
from scirgen.core.text.language import language_name
from scirgen.core.text.textmatch import jaccard
from scirgen.stages.ask.given import hosted, read_questions
from scirgen.stages.ask.subjects import Topic, material_of, other_languages, read_in, record_sheet, sheet, subjects_of
from scirgen.stages.base import RunView, Scope, Stage, StageContext, StageResult, Uses, WorkItem

AGAIN = "again"
"""Key of a later round's cell that asks about a subject again: the id of its record or document."""

_LIKE = 8
"""Questions of ``generate.like`` that one call shows."""
_EARLIER = 60
_NEAR = 0.8
"""Share of words in common from which a question is a copy of an earlier one."""


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
    types: tuple[str, ...] = Field(
        default=(), description="ids in graesser.yaml of the types in which people ask what is known; empty: all"
    )


class OtherWords(BaseModel):
    """A wish in other words, for the search; with ``translations`` if it is searched in other languages."""

    other_words: list[str] = Field(min_length=1, max_length=2)


class Asked(OtherWords):
    """One question in a reply; with a ``type`` if the prompt names question types."""

    need: str
    form: str
    question: str


class Needs(BaseModel):
    """A reply."""

    questions: list[Asked]


def seeking_share(config: Config, pack: str) -> float:
    """Return the share of released rows whose question comes before its answer; 0 for models that need the small
    prompts."""
    return config.generate.mix.get("seeking", 0.0) if pack == "standard" and not config.generate.off else 0.0


class AskStage(Stage):
    """One item is a dataset's record, or a paper or a part of a long one: a paper is asked about once, in the items of
    the first dataset that uses it or, if none does, that it was read for. The user's own questions are shared out
    among the datasets, one item each."""

    name: ClassVar[str] = "ask"
    version: ClassVar[int] = 2
    refuse_empty: ClassVar[bool] = True

    def __init__(self) -> None:
        self._view: RunView | None = None
        self._given: dict[str, list[Question]] = {}
        self._reading = Reading()
        self._like: tuple[str, ...] = ()
        self._languages: tuple[str, ...] = ()

    def uses(self, config: Config) -> Uses:
        """Return the prompt, the seekers, the question types and the writer; no model if no question is asked first."""
        if not config.generate.asks:
            return Uses()
        return Uses(
            config=("ask", "language", "seed"),
            prompts=("ask/needs", "ask/reword", "ask/subject"),
            taxonomies=("graesser", "seekers"),
            roles=("generator",),
        )

    def definitions(self, ctx: StageContext) -> str:
        """Hash of the files that the settings name."""
        config = ctx.config.generate
        return digest([file_sha256(Path(name)) if name else "" for name in (config.questions, config.like)])

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse files of questions that cannot be read."""
        for name in filter(None, (config.generate.questions, config.generate.like)):
            list(read_questions(Path(name)))

    def check(self, ctx: StageContext) -> None:
        """Refuse questions that the model cannot be asked to answer."""
        if ctx.config.generate.questions and ctx.pack != "standard":
            raise ConfigError(
                f"{ctx.chat.identity} is too small to answer generate.questions from passages",
                hint="Take a larger model, or set models.pack: standard.",
            )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield the user's questions; the record; the papers that are asked about here. In later rounds, those of them
        that are asked about again."""
        self._read(scope, ctx)
        languages: dict[str, object] = {"languages": self._languages} if self._languages else {}
        if not scope.round:
            for question in self._given.get(scope.dataset.id, ()):
                yield WorkItem(f"user|{question.id}", (question,), languages)
        if not seeking_share(ctx.config, ctx.pack):
            return
        again = {str(cell[AGAIN]): cell["count"] for cell in scope.wanted if AGAIN in cell}
        asked = [q for q in scope.outputs("ask", Question) if q.asked == "seeking"]
        shown: dict[str, object] = {**({"like": self._like} if self._like else {}), **languages}
        for subject in subjects_of(scope, self._reading):
            wants = "data" if subject.id == scope.dataset.id else "answer"
            parameters: dict[str, object] = {"wants": wants, "subject": subject.id, "part": subject.part, **shown}
            if not scope.round:
                yield WorkItem(subject.key, subject.inputs, parameters)
            elif subject.id in again:
                earlier = sorted((q for q in asked if q.subject == subject.id), key=lambda q: (q.round, q.id))
                more = {"round": scope.round, "count": again[subject.id]}
                yield WorkItem(f"{subject.key}#{scope.round}", (*subject.inputs, *earlier), {**parameters, **more})

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return the questions that somebody without the text could have asked; a rejection for each other one.

        Raises:
            ModelError: the reply cannot be used; the next run asks again.
        """
        earlier = item.of(Question)
        if not item.of(Dataset):
            return StageResult((await _reworded(item, ctx),))
        task = item.asked(_Task)
        dataset, document = item.one(Dataset), next(iter(item.of(Document)), None)
        # A title is the text's own words as well, even where the sheet does not show it.
        names = coined((document.title,) if document else (dataset.title,))
        shown = await _sheet(document, task.part, names, ctx) if document else record_sheet(dataset)
        if not shown:
            told = ("Document", document.id if document else dataset.id)
            why = "its subject cannot be told without its own words"
            return StageResult(rejections=(ctx.reject("no_subject", why, told, dataset_id=dataset.id),))
        own = "" if document else shown  # the sheet of a paper is in wider words already
        seekers = ctx.taxonomies.load("seekers", Seekers)
        prompt, reply = _prompt(task, shown, [q.text for q in earlier], seekers, ctx)
        answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed())
        questions: dict[str, Question] = {}
        rejections: list[Rejection] = []
        origin = ctx.provenance(prompt, (answer.reply_key,))
        for asked in answer.value.questions:
            made = _question(asked, dataset, document.id if document else dataset.id, task)
            code, why = "borrowed", borrowed(made.text, own, names)
            if not why and _near(made, (*earlier, *questions.values()), ctx.config.language):
                code, why = "repeated", "it was asked before"
            if why:
                told = ("Question", made.id)
                rejections.append(
                    ctx.reject(code, why, told, dataset_id=dataset.id, record=made.model_dump_json(), provenance=origin)
                )
                continue
            rewordings = tuple(w for w in made.rewordings if not borrowed(w, "", names))
            questions[made.id] = made.model_copy(update={"rewordings": rewordings, "provenance": origin})
        return StageResult(tuple(questions.values()), tuple(rejections))

    def _read(self, scope: Scope, ctx: StageContext) -> None:
        """Read the user's files once a run, and share out the questions among its subjects."""
        if ctx.run is not None and self._view is ctx.run:
            return
        config, asks = ctx.config.generate, ctx.config.generate.asks
        self._view, self._given = ctx.run, {}
        if asks:
            shared = ctx.config.search.corpus
            self._reading = Reading.searched(ctx.run, shared) if ctx.run else read_in(scope)
        if config.about:  # then the user says what is asked about
            self._reading = self._reading.model_copy(update={"hosts": {}})
        if config.questions and not config.off:
            subjects = ctx.run.subjects() if ctx.run and config.about else self._reading.datasets
            self._given = hosted(list(read_questions(Path(config.questions))), subjects or (scope.dataset.id,))
        self._languages = other_languages(self._reading.languages, ctx.config.language)
        self._like = tuple(g.question for g in read_questions(Path(config.like))) if config.like else ()


class _Searched(Frozen):
    """The parameters of an item with the user's question: the other languages of the passages."""

    languages: tuple[str, ...] = ()


class _Task(_Searched):
    """The parameters of an item about a subject."""

    wants: Wants
    subject: str
    part: int
    like: tuple[str, ...] = ()
    count: int = 0
    round: int = 0


async def _reworded(item: WorkItem, ctx: StageContext) -> Question:
    """Return the user's question with other words for the search, if the model gives some; its own words stay."""
    question, languages = item.one(Question), item.asked(_Searched).languages
    prompt = ctx.prompt("reword").render(question=question.text, languages=[language_name(c) for c in languages])
    try:
        reply = await ctx.chat.ask(prompt, _with_translations(OtherWords, len(languages)), seed=ctx.seed())
    except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError):
        return question
    return question.model_copy(update=_other_words(reply.value, languages))


def _other_words(said: OtherWords, languages: Sequence[str]) -> dict[str, Any]:
    """Return the fields of `Question` that only the search uses."""
    translated = zip(languages, getattr(said, "translations", ()), strict=False)
    return {
        "rewordings": tuple(" ".join(w.split()) for w in said.other_words if w.strip()),
        "translations": tuple((code, words) for code, words in translated if words.strip()),
    }


async def _sheet(document: Document, part: int, names: frozenset[str], ctx: StageContext) -> str:
    """Return a paper's subject, or a part's, as the writer of questions sees it; later rounds see the same one."""
    text, headings = material_of(document, part)
    prompt = ctx.prompt("subject").render(
        title=document.title, text=text, headings=headings, part=part, language=language_name(ctx.config.language)
    )
    topic = (await ctx.chat.ask(prompt, Topic, seed=derived_seed(ctx.config.seed, document.id, part))).value
    return sheet(topic, f"{document.title}\n{document.abstract}\n{text}", names)


def _prompt(
    task: _Task, shown: str, earlier: Sequence[str], seekers: Seekers, ctx: StageContext
) -> tuple[RenderedPrompt, type[Needs]]:
    """Return the prompt, and the form of its reply."""
    wants, count = task.wants, task.count or ctx.config.ask.questions_per_subject
    forms = _shares(seekers.forms[wants], count)
    # Needs for data have no type of Graesser's: most are plans and keywords.
    kinds = ctx.taxonomies.question_types(seekers.types, ctx.config.language) if wants == "answer" else ()
    like = list(task.like)
    random.Random(ctx.seed("like")).shuffle(like)
    prompt = ctx.prompt("needs").render(
        wants=wants,
        subject=shown,
        count=count,
        roles=list(seekers.roles[wants]),
        needs=[n.model_dump() for n in seekers.needs[wants]],
        forms=[{"id": f.id, "meaning": f.meaning, "count": n} for f, n in forms],
        types=[{"id": k.id, "name": k.name, "definition": k.definition} for k in kinds],
        like=like[:_LIKE],
        earlier=list(earlier)[-_EARLIER:],
        languages=[language_name(code) for code in task.languages],
        language=language_name(ctx.config.language),
    )
    choices = {"need": [n.id for n in seekers.needs[wants]], "form": [f.id for f, _ in forms]}
    if kinds:
        choices["type"] = [*(k.id for k in kinds), "none"]
    return prompt, _reply(choices, count, len(task.languages))


def _near(question: Question, others: Iterable[Question], language: str) -> bool:
    """Check whether a question nearly copies another: most of their words are the same, by stems."""
    mine = frozenset(terms(question.text, language))
    return any(jaccard(mine, frozenset(terms(q.text, language))) >= _NEAR for q in others)


def _reply(choices: Mapping[str, Sequence[str]], count: int, languages: int) -> type[Needs]:
    fields: dict[str, Any] = {name: (Literal[tuple(ids)], ...) for name, ids in choices.items()}
    one: Any = create_model("Asked", __base__=_with_translations(Asked, languages), **fields)
    several: dict[str, Any] = {"questions": (list[one], Field(min_length=1, max_length=count))}
    return create_model("Needs", __base__=Needs, **several)


def _with_translations(kind: type[OtherWords], count: int) -> Any:
    if not count:
        return kind
    exactly: Any = (list[str], Field(min_length=count, max_length=count))
    return create_model(kind.__name__, __base__=kind, translations=exactly)


def _question(asked: Asked, dataset: Dataset, document_id: str, task: _Task) -> Question:
    text = " ".join(asked.question.split())
    typed = getattr(asked, "type", "none") if asked.form == "question" else "none"
    return Question(
        id=content_id("qst", dataset.id, document_id, text),
        dataset_id=dataset.id,
        document_id=document_id,
        subject=task.subject,
        wants=task.wants,
        text=text,
        need=asked.need,
        form=asked.form,
        question_type="" if typed == "none" else typed,
        round=task.round,
        **_other_words(asked, task.languages),
    )


def _shares(forms: Sequence[Form], count: int) -> list[tuple[Form, int]]:
    """Return the number of questions of each form; they sum to ``count``, by largest remainder."""
    total = sum(f.share for f in forms)
    exact = [count * f.share / total for f in forms]
    whole = [math.floor(x) for x in exact]
    rest = sorted(range(len(forms)), key=lambda i: (whole[i] - exact[i], i))[: count - sum(whole)]
    return [(f, n) for i, f in enumerate(forms) if (n := whole[i] + (i in rest))]
