"""Step answer: grades what was found for the questions about one subject, then answers each with the sentences that
carry the answer, narrows it once to what the passages say, or says that they do not answer it. Where passages of
several documents were found, it also writes questions that only two of them answer together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, Field, create_model

from scirgen.core.config import Config
from scirgen.core.corpus import Passage, Sentence
from scirgen.core.corpus.questions import Pool, Pooled, Question, Regraded, Unanswered
from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.fingerprint import content_id, derived_seed, digest
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import LINKED, Failure, Grade, QAPair, Record, Rejection, Span, same_fields
from scirgen.core.text.analysis import terms
from scirgen.core.text.language import language_name
from scirgen.core.text.passages import count_words
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem

TOGETHER: Final = 4
"""Most questions that one call answers. They are about one subject, so their pools share passages, and a call with four
costs little more than one with one."""

_LEAST_SHOWN = 8
"""Passages of each question's pool that a call shows whatever their length."""
_SHOWN_WORDS = {"answer": 3000, "data": 3600}
"""Words of passages, or of records, that one call shows, if the model's window holds them."""
_RECORD_WORDS = 120
_TITLE = 160
_HEADING = 100
"""Characters of a title and of a heading that a call shows."""
_WORDS_PER_TOKEN = 0.6
_WINDOW_SHARE = 0.6
_DEFAULT_CONTEXT = 8192
_NEAREST = 5
_PARTS = 10_000
_OWN = 3
"""Passages of the document that a question was asked about that are shown whatever else is found."""
_LINKED = 2
"""Most linked questions of one call."""
_BESIDE = 6
"""Passages of other documents that a call for linked questions shows if those that help are of one document."""


class Graded(BaseModel):
    """The grade of one passage for one question."""

    passage: int
    grade: Literal[1, 2]


class Answered(BaseModel):
    """The reply to one question. A passage that ``grades`` omits does not help."""

    grades: list[Graded]
    verdict: Literal["answered", "part", "not_here"]
    lines: list[int]
    about: list[int]
    answer: str
    lacking: str
    narrower: str


class Linked(BaseModel):
    """A question that two documents answer together, with its answer; ``lines`` and ``about`` as in `Answered`."""

    type: str
    question: str
    answer: str
    lines: list[int]
    about: list[int]


@dataclass(frozen=True)
class _Line:
    passage: Passage
    sentence: Sentence

    @property
    def text(self) -> str:
        return self.passage.said(self.sentence)


@dataclass(frozen=True)
class _Shown:
    """The contents of one call: the passages in the order of the prompt, and their numbered lines."""

    passages: tuple[Passage, ...]
    lines: tuple[_Line, ...]

    def cited(self, numbers: Sequence[int]) -> list[_Line]:
        """Return the lines of these numbers, without those that do not exist."""
        return [self.lines[n - 1] for n in dict.fromkeys(numbers) if 0 < n <= len(self.lines)]

    def grades(self, reply: Answered) -> dict[str, int]:
        """Return the grade of every passage by id; 0 for those that the reply omits."""
        given = {self.passages[g.passage - 1].id: int(g.grade) for g in reply.grades}
        return dict.fromkeys((p.id for p in self.passages), 0) | given


class AnswerStage(Stage):
    """One item is up to four questions about one subject with their pools."""

    name: ClassVar[str] = "answer"
    version: ClassVar[int] = 7

    def notes(self, ctx: StageContext) -> Iterable[str]:
        """Yield that linked questions are left out, where the settings ask for them and no judge reads them."""
        if ctx.config.generate.asks and ctx.pack == "standard" and _wants_links(ctx) and not ctx.judged:
            yield "no linked questions: only a judge can tell that they need two documents (filter.faithfulness)"

    def definitions(self, ctx: StageContext) -> str:
        """Return whether linked questions are left out for want of a judge."""
        return "" if ctx.judged else "unjudged"

    def uses(self, config: Config) -> Uses:
        """Return the prompts, the model and the judge's; nothing if no questions are asked first."""
        if not config.generate.asks:
            return Uses()
        return Uses(
            config=("language", "seed", "filter.second_reader", "generate.mix", "generate.types"),
            prompts=("answer/passages", "answer/datasets", "answer/linked", "answer/memory"),
            roles=("generator", "judge") if config.models.judge else ("generator",),
        )

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """Yield the questions of this round for which something was found, by subject."""
        pools = {p.id: p for p in scope.outputs("search", Pool)}
        asked = (*scope.outputs("ask", Question), *scope.outputs("answer", Question))
        questions = [q for q in asked if q.round == scope.round and q.id in pools]
        for _, group in groupby(sorted(questions, key=lambda q: (*_subject(q), q.id)), key=_subject):
            several = list(group)
            calls = -(-len(several) // TOGETHER)
            for at in range(calls):
                part = several[at * len(several) // calls : (at + 1) * len(several) // calls]
                # A user's question is answered alone, so it does not depend on the others of the file.
                key = part[0].key if part[0].asked == "user" else f"{scope.dataset.id}|{digest([q.id for q in part])}"
                yield WorkItem(key, (*part, *(pools[q.id] for q in part)), salt=self.definitions(ctx))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Return one candidate, one narrowed question, or one `Unanswered` for each question.

        Raises:
            ModelError: the reply cannot be used; the next run asks again.
        """
        questions, pools = item.of(Question), item.of(Pool)
        found = best_passages(questions, pools, ctx)
        if not found:
            return StageResult(tuple(_unanswered(q, (), "nothing was found") for q in questions))
        shown = _shown(found, questions[0], ctx.seed("order"))
        prompt = _prompt(questions, shown, ctx)
        reply = await ctx.chat.ask(prompt, _reply(len(questions), len(found)), seed=ctx.seed())
        every = {e.passage.id: e.model_copy(update={"found_by": ()}) for pool in pools for e in pool.entries}
        settled: list[Record] = []
        failures: list[Failure] = []
        helpful: set[str] = set()
        for number, (question, pool) in enumerate(zip(questions, pools, strict=True), 1):
            one: Answered = getattr(reply.value, f"q{number}")
            helpful |= {id for id, grade in shown.grades(one).items() if grade}
            pooled = every | {e.passage.id: e for e in pool.entries}
            settled.append(self._settled(question, shown, one, pooled, (prompt, reply.reply_key), ctx))
        if helpful and _may_link(questions[0], found, ctx):
            told = _of_several([p for p in shown.passages if p.id in helpful], found)
            try:
                settled += await self._linked(questions, told, every, ctx)
            except ModelError as error:
                if error.fatal:
                    raise
                failures.append(Failure.of(self.name, error, questions[0].id))
        rejections = [one for one in settled if isinstance(one, Rejection)]
        outputs = [one for one in settled if not isinstance(one, Rejection)]
        if questions[0].wants == "answer":
            outputs = await _from_memory(outputs, ctx)
        if derived_seed(ctx.config.seed, "second grader", item.key) % _PARTS < ctx.config.filter.second_reader * _PARTS:
            outputs += await _graded_again(questions, shown, reply.value, ctx)
        return StageResult(tuple(outputs), tuple(rejections), tuple(failures))

    def _settled(
        self, question: Question, shown: _Shown, reply: Answered, pooled: Mapping[str, Pooled],
        made: tuple[RenderedPrompt, str], ctx: StageContext,
    ) -> Record:  # fmt: skip
        """Return the candidate, the narrowed question, what is not answered, or an answer's rejection."""
        grades = shown.grades(reply)
        if reply.verdict == "answered":
            return self._answered(question, shown, reply, grades, pooled, made, ctx)
        narrowed = _narrowed(question, " ".join(reply.narrower.split()), ctx.config.language)
        if reply.verdict == "part" and narrowed is not None:
            return narrowed
        nearest = sorted((p for p in shown.passages if grades[p.id]), key=lambda p: (-grades[p.id], p.id))
        return _unanswered(question, nearest[:_NEAREST], reply.lacking)

    def _answered(
        self, question: Question, shown: _Shown, reply: Answered, grades: dict[str, int],
        pooled: Mapping[str, Pooled], made: tuple[RenderedPrompt, str], ctx: StageContext,
    ) -> Record:  # fmt: skip
        carrying, about = shown.cited(reply.lines), shown.cited(reply.about)
        cited = {line.passage.id for line in carrying}
        spread = len(cited) > 1 and 2 not in grades.values()
        for id in cited:  # a passage that carries a part of the answer is not without use
            grades[id] = 2 if spread else max(1, grades[id])
        return self._candidate(question, reply.answer, carrying, about, grades, pooled, made, ctx)

    async def _linked(
        self, questions: Sequence[Question], told: Sequence[Passage], pooled: Mapping[str, Pooled], ctx: StageContext
    ) -> list[QAPair | Rejection]:
        """Write questions that two documents answer together from the passages that help; the filter asks each without
        each of the documents.

        Raises:
            ModelError: the reply cannot be used.
        """
        shown = _shown(told, questions[0], ctx.seed("linked"))
        wanted = ctx.taxonomies.wanted_types(ctx.config.generate.types, ctx.pack, ctx.config.language)
        kinds = [k for k in wanted if k.answer_form == "long" and k.question.form == "question"] or wanted
        prompt = ctx.prompt("linked").render(
            questions=[q.text for q in questions], types=kinds, most=_LINKED, **_printed(shown, ctx)
        )
        kind: Any = Literal[tuple(k.id for k in kinds)]
        one: Any = create_model("Linked", __base__=Linked, type=(kind, ...))
        pairs: Any = Annotated[list[one], Field(max_length=_LINKED)]
        reply = await ctx.chat.ask(prompt, create_model("Links", pairs=(pairs, ...)), seed=ctx.seed("linked"))
        found: list[QAPair | Rejection] = []
        for pair in reply.value.pairs:  # type: ignore[attr-defined]
            text, carrying = " ".join(pair.question.split()), shown.cited(pair.lines)
            fresh = {"id": content_id("qst", ctx.key, text), "text": text, "question_type": pair.type, "need": ""}
            question = questions[0].model_copy(update={**fresh, "asked": "known_item", "form": "question"})
            grades = {line.passage.id: 2 for line in carrying}
            made = prompt, reply.reply_key
            found.append(
                self._candidate(question, pair.answer, carrying, shown.cited(pair.about), grades, pooled, made, ctx)
            )
        return found

    def _candidate(
        self, question: Question, answer: str, carrying: Sequence[_Line], about: Sequence[_Line],
        grades: Mapping[str, int], pooled: Mapping[str, Pooled], made: tuple[RenderedPrompt, str], ctx: StageContext,
    ) -> QAPair | Rejection:  # fmt: skip
        """Return the pair of an answer on these lines, or its rejection."""
        text = " ".join(answer.split())
        gold = [pooled[id].passage for id, grade in grades.items() if grade == 2]
        code, why = "", ""
        if not text or not carrying:
            code, why = ("empty", "no answer") if not text else ("no_evidence", "the answer cites no sentence")
        elif not any(line.passage.id in {p.id for p in gold} for line in carrying):
            code, why = "no_gold", "the answer cites no passage of grade 2"
        elif question.asked == "known_item" and len({line.passage.document_id for line in carrying}) < 2:
            code, why = "one_document", "the answer cites one document"
        if code:
            return ctx.reject(
                code, why, ("Question", question.id), dataset_id=question.dataset_id,
                question_type=question.question_type or None, record=f"{question.text}\n{text}",
            )  # fmt: skip
        spans = [_span(line, "answer") for line in carrying]
        heading = [h for line in (*carrying, *about) for h in _heads(line)]
        spans += [_span(line, "context") for line in dict.fromkeys((*about, *heading)) if line not in carrying]
        able = sorted({id for p in gold for id in pooled[p.id].dataset_ids}) or [question.dataset_id]
        return QAPair(
            id=QAPair.make_id(question.dataset_id, question.question_type, question.text, text),
            dataset_id=question.dataset_id if question.dataset_id in able else able[0],
            question=question.text,
            answer=text,
            question_type=question.question_type,
            evidence=tuple(spans),
            about="dataset" if all([*pooled[p.id].dataset_ids] == [p.document_id] for p in gold) else "paper",
            dataset_ids=tuple(able),
            strategy=LINKED if question.asked == "known_item" else "asked",
            language=ctx.config.language,
            round=question.round,
            asked=question.asked,
            form=question.form,
            need=question.need,
            question_id=question.id,
            given_id=question.given_id,
            grades=tuple(_grade(pooled[id], grades[id]) for id in sorted(grades)),
            provenance=ctx.provenance(made[0], (made[1],)),
        )


def _may_link(question: Question, found: Sequence[Passage], ctx: StageContext) -> bool:
    """Return whether linked questions are wanted: passages of two documents were found for people who asked, and a
    judge reads rows that are written from a known answer."""
    several = len({p.document_id for p in found}) > 1
    return several and question.wants == "answer" and question.asked == "seeking" and _wants_links(ctx) and ctx.judged


def _wants_links(ctx: StageContext) -> bool:
    mix = ctx.config.generate.mix
    return bool(mix.get("seeking") and mix.get("known_item"))


def _of_several(told: list[Passage], found: Sequence[Passage]) -> list[Passage]:
    """Return the passages that help; if all are of one document, with the first that were found in others."""
    own = {p.document_id for p in told}
    return told if len(own) > 1 else [*told, *(p for p in found if p.document_id not in own)][: len(told) + _BESIDE]


def _subject(question: Question) -> tuple[str, str, str]:
    """Return the things that questions of one call have in common."""
    return question.wants, question.document_id or question.id, question.asked


def best_passages(questions: Sequence[Question], pools: Sequence[Pool], ctx: StageContext) -> tuple[Passage, ...]:
    """Return the best of all pools that fit the window, without tables that are not read as cells: what they were
    asked about, then their first entries, their second ones, and so on, at least eight of each."""
    window = ctx.chat.capabilities.context_tokens or _DEFAULT_CONTEXT
    wants = questions[0].wants
    room = min(_SHOWN_WORDS[wants], int(window * _WINDOW_SHARE * _WORDS_PER_TOKEN))
    chosen: dict[str, Passage] = {}
    used = 0
    for rank, passage in _in_turn(questions, pools):
        if passage.id in chosen or (passage.medium == "table" and not any(s.heads for s in passage.sentences)):
            continue
        count = min(count_words(passage.text), _RECORD_WORDS) if wants == "data" else count_words(passage.text)
        if rank >= _LEAST_SHOWN and used + count > room:
            break
        chosen[passage.id] = passage
        used += count
    return tuple(chosen.values())


def _shown(found: Iterable[Passage], question: Question, seed: int) -> _Shown:
    """Return the passages in an order that says nothing of how well they were found."""
    order = list(found)
    random.Random(seed).shuffle(order)
    return _Shown(tuple(order), tuple(_Line(p, s) for p in order for s in _sentences(p, question)))


async def _from_memory(made: Sequence[Record], ctx: StageContext) -> list[Record]:
    """Return the outputs, the candidates among them with what the judge's model answers without documents, and what it
    would ask back."""
    pairs = [one for one in made if isinstance(one, QAPair)]
    if not pairs:
        return [*made]
    asked = [{"number": n, "text": pair.question} for n, pair in enumerate(pairs, 1)]
    prompt = ctx.prompt("memory").render(questions=asked, language=language_name(ctx.config.language))
    fields: dict[str, Any] = {f"{letter}{n}": (str, ...) for n, _ in enumerate(pairs, 1) for letter in "ba"}
    reply = await ctx.judge.ask(prompt, create_model("FromMemory", **fields), seed=ctx.seed("memory"))
    said = {name: " ".join(getattr(reply.value, name).split()) for name in fields}
    told = (
        pair.model_copy(update={"asks_back": _asked_back(said[f"b{n}"]), "from_memory": said[f"a{n}"]})
        for n, pair in enumerate(pairs, 1)
    )
    return [next(told) if isinstance(one, QAPair) else one for one in made]


def _asked_back(said: str) -> str:
    """Return what is asked; "" for a reply that asks nothing ("None.")."""
    return said if said.endswith(("?", "？", "؟")) else ""


async def _graded_again(
    questions: Sequence[Question], shown: _Shown, first: BaseModel, ctx: StageContext
) -> list[Regraded]:
    """Return the grades of the judge, or of the same model, for the passages in another order; none if it fails."""
    other = _shown(sorted(shown.passages, key=lambda p: p.id), questions[0], ctx.seed("second grader"))
    reply = _reply(len(questions), len(other.passages))
    try:
        second = await ctx.judge.ask(_prompt(questions, other, ctx), reply, seed=ctx.seed("second grader"))
    except ScirgenError as error:
        if error.fatal:
            raise
        ctx.log.warning("%s: the second grader failed: %s", questions[0].id, error)
        return []
    grades: list[tuple[int, int]] = []
    for number in range(1, len(questions) + 1):
        one, two = shown.grades(getattr(first, f"q{number}")), other.grades(getattr(second.value, f"q{number}"))
        grades += [(one[id], two[id]) for id in sorted(one)]
    of = questions[0]
    return [Regraded(id=of.id, dataset_id=of.dataset_id, grades=tuple(grades), by=str(ctx.judge.identity))]


def _in_turn(questions: Sequence[Question], pools: Sequence[Pool]) -> Iterator[tuple[int, Passage]]:
    """Yield the entries of the pools by rank, from 0; before them, the best of what the questions were asked about."""
    for question, pool in zip(questions, pools, strict=True):
        own = [e.passage for e in pool.entries if e.passage.document_id == question.document_id]
        yield from ((0, passage) for passage in own[:_OWN])
    for rank in range(max((len(pool.entries) for pool in pools), default=0)):
        yield from ((rank, pool.entries[rank].passage) for pool in pools if rank < len(pool.entries))


def _sentences(passage: Passage, question: Question) -> tuple[Sentence, ...]:
    """Return the sentences of a passage that are shown: of a record, its beginning."""
    if question.wants == "answer":
        return passage.sentences
    found: list[Sentence] = []
    used = 0
    for sentence in passage.sentences:
        used += count_words(passage.said(sentence))
        if found and used > _RECORD_WORDS:
            break
        found.append(sentence)
    return tuple(found)


def _prompt(questions: Sequence[Question], shown: _Shown, ctx: StageContext) -> RenderedPrompt:
    return ctx.prompt("datasets" if questions[0].wants == "data" else "passages").render(
        questions=[
            {"number": n, "text": q.text, "need": q.need.replace("_", " ") or "not stated"}
            for n, q in enumerate(questions, 1)
        ],
        narrow=questions[0].asked == "seeking",
        **_printed(shown, ctx, records=questions[0].wants == "data"),
    )


def _printed(shown: _Shown, ctx: StageContext, *, records: bool = False) -> dict[str, object]:
    """Return the passages as a prompt's variables: below the number and heading of each, its numbered sentences. The
    documents' titles come first, each once; a record begins with its own."""
    titles = {p.document_id: p.title[:_TITLE] for p in shown.passages}
    short = {id: f"D{n}" for n, id in enumerate(titles, 1)}
    lines = [] if records else [f"{short[id]}: {title}" for id, title in titles.items()]
    for n, passage in enumerate(shown.passages, 1):
        told = f": {heading}" if (heading := " ".join(passage.heading.split())[:_HEADING]) else ""
        lines.append(f"Record {n}" if records else f"Passage {n}, {short[passage.document_id]}{told}")
        own = ((n, line) for n, line in enumerate(shown.lines, 1) if line.passage is passage)
        lines += [f"[{n}] {' '.join(line.text.split())}" for n, line in own]
    return {"passages": lines, "language": language_name(ctx.config.language)}


def _reply(questions: int, passages: int) -> type[BaseModel]:
    """Make a model with `Answered` once a question, so that a reply that leaves one out is invalid."""
    number: Any = Annotated[int, Field(ge=1, le=passages)]
    graded: Any = create_model("Graded", __base__=Graded, passage=(number, ...))
    grades: Any = Annotated[list[graded], Field(max_length=passages)]
    answered: Any = create_model("Answered", __base__=Answered, grades=(grades, ...))
    fields: dict[str, Any] = {f"q{n}": (answered, ...) for n in range(1, questions + 1)}
    return create_model("Replies", **fields)


def _narrowed(question: Question, text: str, language: str) -> Question | None:
    """Return the question that the answerer narrowed, if it may: once, in words of the question or its rewordings."""
    if question.asked != "seeking" or not text or text == question.text:
        return None
    if set(terms(text, language)) - set(terms(question.words, language)):
        return None
    id = content_id("qst", question.dataset_id, question.document_id, text)
    fresh = {"asked": "narrowed", "round": question.round + 1, "rewordings": (), "translations": ()}
    return question.model_copy(update={"id": id, "text": text, **fresh})


def _unanswered(question: Question, nearest: Sequence[Passage], lacking: str) -> Unanswered:
    return Unanswered(
        id=question.id, dataset_id=question.dataset_id, question=question, lacking=lacking, nearest=tuple(nearest)
    )


def _heads(line: _Line) -> list[_Line]:
    """Return the lines that say what a row of a table is."""
    return [_Line(line.passage, s) for s in line.passage.sentences if s.start in line.sentence.heads]


def _span(line: _Line, role: Literal["answer", "context"]) -> Span:
    medium = line.passage.medium
    if medium == "table" and not line.sentence.heads:  # no row of values
        medium = "header" if line.text.lstrip().startswith("|") else "caption"
    more = {"document_id": line.passage.document_id, "text": line.text, "role": role, "medium": medium}
    return Span.model_validate(same_fields(line.sentence, Span) | more)


def _grade(pooled: Pooled, grade: int) -> Grade:
    more = {"passage_id": pooled.passage.id, "grade": grade, "found_by": pooled.found_by}
    return Grade.model_validate(same_fields(pooled.passage, Grade) | more)
