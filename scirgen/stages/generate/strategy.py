"""The interface of generation strategies (plugins of kind ``generation_strategy``). The stage makes records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from pydantic import BaseModel

from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import AspectCategory, Dataset, Span, cells_text
from scirgen.core.taxonomy import QuestionType
from scirgen.stages.base import StageContext

Polarity = Literal["yes", "no"]
About = Literal["dataset", "paper"]


@dataclass(frozen=True)
class Passage:
    """A verbatim piece of the material.

    ``category`` is None for the catalogue's metadata; ``topic`` is the title of its source; ``context`` says what a
    statement is about that does not say so itself, and ``context_span`` is the place of the paper that says so.
    ``aspect_id`` is the id of the aspect that it shows; ``cells`` are its own, of a table.
    """

    span: Span
    category: AspectCategory | None = None
    paper_id: str | None = None
    topic: str = ""
    context: str = ""
    context_span: Span | None = None
    aspect_id: str = ""
    cells: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """The words of the passage; of a table, its cells after their headers."""
        return cells_text(self.cells) or self.span.text

    @property
    def about(self) -> About:
        """The subject of a question that it answers."""
        return "dataset" if self.category is None else "paper"


@dataclass(frozen=True)
class SourcePaper:
    """A paper that questions are asked about.

    ``start`` tells who wrote it and when: its authors and year, or else the beginning of its text. ``datasets``: (id,
    title) of all datasets of the run that it uses.
    """

    id: str
    title: str = ""
    start: str = ""
    datasets: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Wish:
    """One wanted pair.

    Attributes:
        kind: the question type; None if the strategy chooses one of the task's (datasets without papers).
        bloom: the requested level, C1..C6.
        polarity: for yes-or-no questions, the requested answer.
        position: for questions that name options, the place of the right one, 0 or 1.
        about: whether the record or a paper should answer it; None: either.
    """

    kind: QuestionType | None
    bloom: str | None = None
    polarity: Polarity | None = None
    position: int = 0
    about: About | None = None


@dataclass(frozen=True)
class Task:
    """One work item of the generate stage. ``kinds`` are the types that the wishes may have; ``papers`` are the papers
    of its passages."""

    dataset: Dataset
    passages: tuple[Passage, ...]
    kinds: tuple[QuestionType, ...]
    wishes: tuple[Wish, ...]
    round: int = 0
    papers: tuple[SourcePaper, ...] = ()


GenerationTask = Task
"""The public name of `Task`."""


@dataclass(frozen=True)
class Draft:
    """A candidate that is not yet checked. Its evidence is spans of the task's passages."""

    kind: QuestionType
    question: str
    answer: str
    evidence: tuple[Span, ...] = ()
    bloom: str | None = None
    note: str = ""
    prompt: RenderedPrompt | None = None
    replies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Discard:
    """A wish without a pair, with the rejection code; ``text`` is the model's text. With a ``passage``: a statement of
    a paper that no call showed.
    """

    kind: QuestionType | None
    code: str
    reason: str
    text: str = ""
    prompt: RenderedPrompt | None = None
    replies: tuple[str, ...] = field(default=())
    passage: Passage | None = None


@dataclass(frozen=True)
class Further:
    """A plugin's field of a reply (`scirgen.stages.generate.further`), with the drafts of the reply's pairs in their
    order, followed by the discards for the wishes that produced no pair."""

    name: str
    value: BaseModel
    written: tuple[Draft | Discard, ...]
    prompt: RenderedPrompt
    replies: tuple[str, ...]


class GenerationStrategy(Protocol):
    """Turns a task into drafts: one `Draft` or `Discard` for each wish.

    Attributes:
        prompts: names of the prompts it renders, in either pack; they enter the stage's fingerprint.
        writes_together: whether its tasks have up to ``generate.types_per_call`` types each instead of one.
        asks_each_dataset: optional; True: a paper that several datasets use is in the tasks of each of them.
    """

    name: ClassVar[str]
    prompts: ClassVar[tuple[str, ...]]
    writes_together: ClassVar[bool]

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard | Further]:
        """Write the wanted pairs.

        Raises:
            ModelError: transport and access errors; replies that cannot be used are `Discard`s instead.
        """
