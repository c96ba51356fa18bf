"""Grades a pool with one or more model judges, and an adjudicator for pairs on which two differ. All grades are kept.

As in CSFCube (NeurIPS 2021) and DORIS-MAE (NeurIPS 2023); but judges are models, and each grade has its judge's name. A
reply without exactly one answer is a failure; it never counts as a grade.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scirgen import ModelError
from scirgen.core.text.untrusted import unfenced
from scirgen.plugin import ChatSession, PromptLibrary, RenderedPrompt, derived_seed, grouped
from scirgen_bench.tasks.pools import Pool
from scirgen_bench.tasks.records import Grade
from scirgen_bench.tasks.task_files import ADJUDICATED, AbstractRow, Task, TaskDocument, TaskQuery, requirements
from scirgen_bench.tasks.taxonomies import Facets

_WORDS = 400
_REQUIREMENT = ("aspect", "sub_aspect")


class GradeReply(BaseModel):
    """A judge's reply on one facet, or on a dataset for a need or a question."""

    model_config = ConfigDict(extra="forbid")
    reason: str
    grade: Literal[0, 1, 2, 3]


class ShortReply(GradeReply):
    """The reply of a small model, which would go on about its reason until the reply is cut.

    Not for every judge: some servers refuse schemas that limit the length of a text.
    """

    reason: str = Field(max_length=200)


@dataclass(frozen=True)
class Asked:
    """One thing to grade: a query (or one requirement of it) and a document."""

    query: TaskQuery
    document: str
    found_by: tuple[str, ...]


@dataclass
class Graded:
    """Grades, and the pairs that could not be graded: (query, document, judge, why)."""

    grades: list[Grade] = field(default_factory=list)
    failed: list[tuple[str, str, str, str]] = field(default_factory=list)


def to_grade(everything: Sequence[TaskQuery], queries: Sequence[TaskQuery], pool: Pool) -> list[Asked]:
    """Return every pooled pair of the ``queries``. For a need of many parts, every different requirement with every
    document.

    Args:
        everything: all queries of the task with their parts.
        queries: those that were pooled.
        pool: see `make_pool`.
    """
    known = {q.id: q for q in everything}
    needed = requirements(everything)
    return [
        Asked(known[part], document, tuple(by))
        for q in queries
        for part in needed.get(q.id) or (q.id,)
        for document, by in sorted(pool[q.id].items())
    ]


class Judging:
    """Grades with one task's material; judges are chat sessions by name.

    Attributes:
        prompts_read: judge -> the prompts that it was asked with, id@version#hash.
    """

    def __init__(
        self,
        task: Task,
        prompts: PromptLibrary,
        facets: Facets,
        setting: str = "without-paper",
        *,
        seed: int = 0,
        progress: Callable[[int], None] = lambda done: None,
    ) -> None:
        self._prompts, self._facets, self._seed = prompts, facets, seed
        self.prompts_read: dict[str, set[str]] = defaultdict(set)
        self._progress, self._done = progress, 0
        self._documents: dict[str, TaskDocument] = {d.id: d for d in task.documents(setting)}
        self._abstracts: dict[str, AbstractRow] = (
            {a.id: a for a in task.abstracts()} if task.info.corpus == "abstracts" else {}
        )

    def prompt_tokens(self, asked: Sequence[Asked]) -> int:
        """Return the estimated tokens of all prompts of one judge, at four characters each. No model is called."""
        return sum(len(text) for a in asked for _, text in self._rendered(a, "standard").messages) // 4

    async def judge(self, asked: Sequence[Asked], name: str, chat: ChatSession) -> Graded:
        """Have one judge grade all pairs. Replies are cached, so a second call asks only about new pairs."""
        return _gathered(await asyncio.gather(*(self._one(a, name, chat) for a in asked)))

    async def settle(self, asked: Sequence[Asked], grades: Iterable[Grade], name: str, chat: ChatSession) -> Graded:
        """Have an adjudicator grade the facet pairs on which the judges differ; it sees all their replies."""
        by = grouped(((g.query_id, g.document_id), g) for g in grades)
        given = [(a, by.get((a.query.id, a.document), [])) for a in asked if a.query.facet]
        open_ = [(a, opinions) for a, opinions in given if differ(opinions)]
        return _gathered(await asyncio.gather(*(self._one(a, name, chat, opinions) for a, opinions in open_)))

    async def _one(
        self, asked: Asked, name: str, chat: ChatSession, opinions: Sequence[Grade] = ()
    ) -> Grade | tuple[str, str, str, str]:
        query = asked.query
        seed = derived_seed(self._seed, "grade", query.id, asked.document, bool(opinions))
        try:
            prompt = self._rendered(asked, chat.pack, opinions)
            self.prompts_read[ADJUDICATED if opinions else name].update(
                (name, prompt.reference) if opinions else (prompt.reference,)
            )
            if query.form in _REQUIREMENT:
                value, label, reason, reply = await self._requirement(prompt, chat, seed)
            else:
                schema = ShortReply if chat.pack == "small" else GradeReply
                answer = await chat.ask(prompt, schema, seed=seed)
                value, reason, reply = answer.value.grade, unfenced(answer.value.reason), answer.reply_key
                label = self._facets.labels.get(value, "") if query.facet else ""
        except ModelError as error:
            if error.fatal:
                raise
            return query.id, asked.document, name, f"{error.error_code}: {error.message}"
        except AmbiguousReply as error:
            return query.id, asked.document, name, f"ambiguous_label: {error}"
        finally:
            self._done += 1
            self._progress(self._done)
        return Grade(
            query_id=query.id,
            document_id=asked.document,
            judge=ADJUDICATED if opinions else name,
            grade=value,
            label=label,
            reason=reason,
            found_by=asked.found_by,
            reply=reply,
        )

    async def _requirement(self, prompt: RenderedPrompt, chat: ChatSession, seed: int) -> tuple[int, str, str, str]:
        words = self._facets.requirement
        answer = await chat.ask_text(prompt, seed=seed)
        word = word_in(answer.text, [w.word for w in words])
        return next(w.grade for w in words if w.word == word), word, unfenced(answer.text), answer.reply_key

    def _rendered(self, asked: Asked, pack: str, opinions: Sequence[Grade] = ()) -> RenderedPrompt:
        query = asked.query
        if query.form in _REQUIREMENT:
            name = "grade/requirement"
        elif query.facet:
            name = "grade/adjudicate" if opinions else "grade/facet"
        else:
            name = "benchmark/relevance"
        return self._prompts.get(name, pack).render(**self._material(asked, opinions))

    def _material(self, asked: Asked, opinions: Sequence[Grade]) -> dict[str, object]:
        query, document = asked.query, asked.document
        if query.form in _REQUIREMENT:
            paper = self._abstracts[document]
            words = [(w.word, w.definition) for w in self._facets.requirement]
            return {"requirement": query.text, "title": paper.title, "abstract": paper.text, "words": words}
        if not query.facet:
            found = self._documents[document]
            text = found.searched.removeprefix(found.title).split()
            return {"question": query.text, "title": found.title, "text": " ".join(text[:_WORDS])}
        facet = self._facets.facet(query.facet)
        own, other = self._abstracts[query.paper_id or ""], self._abstracts[document]
        material: dict[str, object] = {
            "facet": facet.name,
            "definition": facet.definition,
            "grades": self._facets.scale(facet),
            "query_title": own.title,
            "query": [f"[{s.label or 'other'}] {s.text}" for s in own.sentences],
            "title": other.title,
            "candidate": [f"[{s.label or 'other'}] {s.text}" for s in other.sentences],
        }
        if opinions:
            material["opinions"] = [{"grade": g.grade, "reason": g.reason} for g in opinions]
        return material


class AmbiguousReply(Exception):
    """A reply contains none of the words, or more than one."""


def word_in(text: str, words: Sequence[str]) -> str:
    """Return the word that a reply contains in capitals, as a whole word (AGREE is not in DISAGREE).

    Raises:
        AmbiguousReply: none of them, or more than one.
    """
    found = [w for w in words if re.search(rf"(?<![A-Z]){w}(?![A-Z])", text)]
    if len(found) != 1:
        raise AmbiguousReply(f"{', '.join(found)} in one reply" if found else "none of the words in the reply")
    return found[0]


def differ(grades: Sequence[Grade]) -> bool:
    """Check whether judges disagree and the pair is not settled."""
    return len({g.grade for g in grades}) > 1 and not any(g.judge == ADJUDICATED for g in grades)


def _gathered(found: Sequence[Grade | tuple[str, str, str, str]]) -> Graded:
    return Graded([f for f in found if isinstance(f, Grade)], [f for f in found if not isinstance(f, Grade)])
