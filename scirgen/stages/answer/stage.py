"""Step answer: grades what was found for a question, then answers it with the sentences that carry the answer, narrows
it once to what the passages say, or says that they do not answer it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, create_model

from scirgen.core.config import Config
from scirgen.core.corpus import Passage, Sentence
from scirgen.core.fingerprint import content_id
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.questions import Pool, Pooled, Question, Unanswered
from scirgen.core.records import Grade, QAPair, Record, Span
from scirgen.core.text.analysis import terms
from scirgen.core.text.language import language_name
from scirgen.core.text.passages import count_words
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem

_LEAST_SHOWN = 8
_SHOWN_WORDS = {"answer": 2400, "data": 3200}
"""Words of passages, or of records, that one call shows, if the model's window holds them."""
_RECORD_WORDS = 160
_WORDS_PER_TOKEN = 0.6
_WINDOW_SHARE = 0.6
_DEFAULT_CONTEXT = 8192
_NEAREST = 5
_OWN = 3
"""Passages of the document that a question was asked about that are shown whatever else is found."""


class Answered(BaseModel):
    """The parts of a reply that do not depend on the number of passages."""

    verdict: Literal["answered", "part", "not_here"]
    answer: str
    lines: list[int]
    about: list[int]
    lacking: str
    narrower: str


@dataclass(frozen=True)
class _Line:
    passage: Passage
    sentence: Sentence

    @property
    def text(self) -> str:
        return _text(self.passage, self.sentence)


class AnswerStage(Stage):
    """One item is a question with its pool."""

    name: ClassVar[str] = "answer"

    def uses(self, config: Config) -> Uses:
        """Both prompts and the model; nothing if nobody asks."""
        if not config.generate.asks:
            return Uses()
        return Uses(config=("language", "seed"), prompts=("answer/passages", "answer/datasets"), roles=("generator",))

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        """The questions of this round for which something was found."""
        pools = {p.id: p for p in scope.outputs("search", Pool)}
        asked = (*scope.outputs("ask", Question), *scope.outputs("answer", Question))
        for question in sorted((q for q in asked if q.round == scope.round), key=lambda q: q.id):
            if question.id in pools:
                yield WorkItem(question.key, (question, pools[question.id]))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """One candidate, one narrowed question, or one `Unanswered`.

        Raises:
            ModelError: the reply cannot be used; the next run asks again.
        """
        question, pool = item.one(Question), item.one(Pool)
        shown = _shown(question, pool, ctx)
        if not shown:
            return StageResult((_unanswered(question, (), "nothing was found"),))
        order = list(shown)
        random.Random(ctx.seed("order")).shuffle(order)
        lines = [_Line(p, s) for p in order for s in _sentences(p, question)]
        prompt = _prompt(question, order, lines, ctx)
        answer = await ctx.chat.ask(prompt, _reply(len(order)), seed=ctx.seed())
        reply: Any = answer.value
        grades = {p.id: int(getattr(reply.grades, f"p{n}")) for n, p in enumerate(order, 1)}
        if reply.verdict == "answered":
            pooled = {e.passage.id: e for e in pool.entries}
            return self._answered(question, order, lines, reply, grades, pooled, (prompt, answer.reply_key), ctx)
        outputs: list[Record] = []
        narrowed = _narrowed(question, " ".join(reply.narrower.split()), ctx.config.language)
        if reply.verdict == "part" and narrowed is not None:
            outputs.append(narrowed)
        else:
            nearest = sorted((p for p in shown if grades[p.id]), key=lambda p: -grades[p.id])
            outputs.append(_unanswered(question, nearest[:_NEAREST], reply.lacking))
        return StageResult(tuple(outputs))

    def _answered(
        self, question: Question, order: Sequence[Passage], lines: Sequence[_Line], reply: Answered,
        grades: dict[str, int], pooled: Mapping[str, Pooled], made: tuple[RenderedPrompt, str],
        ctx: StageContext,
    ) -> StageResult:  # fmt: skip
        text = " ".join(reply.answer.split())
        carrying = [lines[n - 1] for n in dict.fromkeys(reply.lines) if 0 < n <= len(lines)]
        about = [lines[n - 1] for n in dict.fromkeys(reply.about) if 0 < n <= len(lines)]
        for line in carrying:  # a passage that carries a part of the answer is not without use
            grades[line.passage.id] = max(1, grades[line.passage.id])
        gold = [p for p in order if grades[p.id] == 2]
        told = ("Question", question.id)
        if not text or not carrying:
            code, why = ("empty", "no answer") if not text else ("no_evidence", "the answer cites no sentence")
            return StageResult(rejections=(self._refused(code, why, told, question, text, ctx),))
        if not any(line.passage.id in {p.id for p in gold} for line in carrying):
            why = "the answer cites no passage of grade 2"
            return StageResult(rejections=(self._refused("no_gold", why, told, question, text, ctx),))
        spans = [_span(line, "answer") for line in carrying]
        spans += [_span(line, "context") for line in about if line not in carrying]
        able = sorted({id for p in gold for id in pooled[p.id].dataset_ids}) or [question.dataset_id]
        pair = QAPair(
            id=QAPair.make_id(question.dataset_id, question.question_type, question.text, text),
            dataset_id=question.dataset_id if question.dataset_id in able else able[0],
            question=question.text,
            answer=text,
            question_type=question.question_type,
            evidence=tuple(spans),
            about="dataset" if all([*pooled[p.id].dataset_ids] == [p.document_id] for p in gold) else "paper",
            dataset_ids=tuple(able),
            strategy="asked",
            language=ctx.config.language,
            round=question.round,
            asked=question.asked,
            form=question.form,
            need=question.need,
            question_id=question.id,
            given_id=question.given_id,
            grades=tuple(_grade(pooled[p.id], grades[p.id]) for p in sorted(order, key=lambda p: p.id)),
            provenance=ctx.provenance(made[0], (made[1],)),
        )  # fmt: skip
        return StageResult((pair,))

    def _refused(
        self, code: str, why: str, told: tuple[str, str], question: Question, text: str, ctx: StageContext
    ) -> Any:
        return ctx.reject(
            code, why, told, dataset_id=question.dataset_id, question_type=question.question_type or None,
            record=f"{question.text}\n{text}",
        )  # fmt: skip


def _shown(question: Question, pool: Pool, ctx: StageContext) -> tuple[Passage, ...]:
    """The best of the pool that fit the window, at least eight; what the question was asked about first."""
    window = ctx.chat.capabilities.context_tokens or _DEFAULT_CONTEXT
    room = min(_SHOWN_WORDS[question.wants], int(window * _WINDOW_SHARE * _WORDS_PER_TOKEN))
    own = [e.passage for e in pool.entries if e.passage.document_id == question.document_id][:_OWN]
    chosen: list[Passage] = []
    used = 0
    for passage in (*own, *(e.passage for e in pool.entries if e.passage not in own)):
        count = min(count_words(passage.text), _RECORD_WORDS) if question.wants == "data" else count_words(passage.text)
        if len(chosen) >= _LEAST_SHOWN and used + count > room:
            break
        chosen.append(passage)
        used += count
    return tuple(chosen)


def _sentences(passage: Passage, question: Question) -> tuple[Sentence, ...]:
    """The sentences of a passage that are shown: of a record, its beginning."""
    if question.wants == "answer":
        return passage.sentences
    found: list[Sentence] = []
    used = 0
    for sentence in passage.sentences:
        used += count_words(_text(passage, sentence))
        if found and used > _RECORD_WORDS:
            break
        found.append(sentence)
    return tuple(found)


def _text(passage: Passage, sentence: Sentence) -> str:
    return passage.text[sentence.start - passage.start : sentence.end - passage.start]


def _prompt(question: Question, order: Sequence[Passage], lines: Sequence[_Line], ctx: StageContext) -> RenderedPrompt:
    passages = [
        {
            "number": number,
            "title": passage.title,
            "heading": passage.heading,
            "lines": [f"[{n}] {' '.join(ln.text.split())}" for n, ln in enumerate(lines, 1) if ln.passage is passage],
        }
        for number, passage in enumerate(order, 1)
    ]
    return ctx.prompt("datasets" if question.wants == "data" else "passages").render(
        question=question.text,
        need=question.need.replace("_", " ") or "not stated",
        passages=passages,
        narrow=question.asked == "seeking",
        language=language_name(ctx.config.language),
    )


def _reply(count: int) -> type[BaseModel]:
    """`Answered` after one grade a passage, so that a reply that leaves one out is invalid."""
    fields: dict[str, Any] = {f"p{n}": (Literal[0, 1, 2], ...) for n in range(1, count + 1)}
    grades = create_model("Grades", **fields)
    parts: dict[str, Any] = {name: (field.annotation, ...) for name, field in Answered.model_fields.items()}
    return create_model("Answered", grades=(grades, ...), **parts)


def _narrowed(question: Question, text: str, language: str) -> Question | None:
    """The question that the answerer narrowed, if it may: once, and in the words of the question or its rewordings."""
    if question.asked != "seeking" or not text or text == question.text:
        return None
    if set(terms(text, language)) - set(terms(question.words, language)):
        return None
    id = content_id("qst", question.dataset_id, question.document_id, text)
    return question.model_copy(
        update={"id": id, "text": text, "asked": "narrowed", "round": question.round + 1, "rewordings": ()}
    )


def _unanswered(question: Question, nearest: Sequence[Passage], lacking: str) -> Unanswered:
    return Unanswered(
        id=question.id, dataset_id=question.dataset_id, question=question, lacking=lacking, nearest=tuple(nearest)
    )


def _span(line: _Line, role: Literal["answer", "context"]) -> Span:
    placed = line.sentence
    return Span(
        document_id=line.passage.document_id, start=placed.start, end=placed.end, text=line.text, page=placed.page,
        bbox=placed.bbox, role=role,
    )  # fmt: skip


def _grade(pooled: Pooled, grade: int) -> Grade:
    passage = pooled.passage
    return Grade.model_validate(
        {"passage_id": passage.id, "document_id": passage.document_id, "start": passage.start, "end": passage.end,
         "grade": grade, "found_by": pooled.found_by}
    )  # fmt: skip
