"""The records of questions with answers and evidence, and of their measurements."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final, Literal

from pydantic import Field

from scirgen.core.fingerprint import content_id
from scirgen.core.records.base import Id, Ids, Provenance, Record, Span

Origin = Literal["seeking", "narrowed", "known_item", "user"]
"""The origin of a question: somebody asked who had not read the text; the answerer narrowed such a question to what the
passages say; it was written from a known answer; the user gave it."""

ORIGINS: Mapping[str, str] = {
    "seeking": "asked by somebody who had not read the texts",
    "narrowed": "asked so and narrowed to what the texts say",
    "user": "given by the user",
    "known_item": "written from a known answer",
}
"""Each origin in words, for cards and reports."""

LINKED = "linked"
"""Name of the score of a question whose answer cites several documents (`QAPair.needs`), and the strategy of those that
are written for two."""

LINKS: Mapping[str, str] = {
    "bridge": "one document leads to what the other says",
    "comparison": "each says something of one of two things",
    "agreement": "they agree or conflict on one matter",
    "change": "they say how one thing was at different times",
    "other": "joined in another way",
}
"""The ways in which documents together answer a question, in words."""

GUESSED: Final = "guessed"
"""Part of the judge's score: 1 if what a model answers without documents is the answer's main part."""


class Score(Record):
    """One measured quantity of a pair. ``passed`` is None if the value was measured but decides nothing."""

    name: str
    value: float
    threshold: float | None = Field(default=None, description="at or below it the score rejects")
    sure: float | None = Field(default=None, description="above it the score keeps without a judge; None: threshold")
    passed: bool | None = None
    unsure: bool = Field(default=False, description="the value lies between threshold and sure: a judge has to decide")
    model: str | None = None
    prompt_hash: str | None = None
    truncated: bool = False
    tokens: tuple[str, ...] = ()
    logprobs_with: tuple[float, ...] = ()
    logprobs_without: tuple[float, ...] = ()
    detail: str = ""
    abstained: bool = Field(default=False, description="there was nothing to measure; the score decides nothing")
    parts: tuple[tuple[str, float], ...] = Field(default=(), description="components of the value, by name")
    level: str | None = Field(default=None, description="the Bloom level that a judge named in the same call")
    context: tuple[int, ...] | None = Field(
        default=None,
        description="places, from 0, of the spans that a judge calls context; None: it was not asked",
    )


class Doubt(Record):
    """A reason to judge a pair again, from a rule, a score or the judge's first reading."""

    code: str = Field(description="code of the gate, or name of the scorer")
    reason: str


class Grade(Record):
    """The grade of a passage or record that was found for a question: how much it helps to answer it."""

    passage_id: Id
    document_id: Id
    start: int
    end: int
    grade: Literal[0, 1, 2] = Field(
        description="2: it carries the answer or its main part, or, where none does, what the answer takes from it; "
        "1: it adds to it; 0: no"
    )
    found_by: tuple[str, ...] = Field(default=(), description="the searches that found it")


class QAPair(Record):
    """A question with its answer and evidence."""

    id: Id
    dataset_id: Id
    question: str
    answer: str
    question_type: str = Field(description="id in taxonomies/graesser.yaml")
    evidence: tuple[Span, ...] = ()
    about: Literal["dataset", "paper"] | None = Field(
        default=None, description="source of the answer: the dataset's record, or a paper that uses it; None if unknown"
    )
    dataset_ids: Ids = Field(
        default=(), description="all datasets that answer it, dataset_id among them; empty: dataset_id alone"
    )
    strategy: str = ""
    language: str = "en"
    round: int = 0
    note: str = Field(default="", description="how it was made, if that matters (the fact that was changed for a No)")
    intended_bloom: str | None = Field(default=None, description="C1..C6, requested when generating")
    bloom: str | None = Field(default=None, description="C1..C6, assigned by the tag stage")
    scores: tuple[Score, ...] = ()
    unsure: bool = Field(default=False, description="the scores could not decide, and no judge did")
    doubts: tuple[Doubt, ...] = Field(default=(), description="reasons for which the judge looked at it again")
    mended: bool = Field(default=False, description="the judge added or dropped evidence in its second look")
    asked: Origin = "known_item"
    form: str = Field(default="question", description="question, keywords, plan or request")
    need: str = Field(default="", description="what the one who asks is about to do")
    question_id: Id | None = Field(default=None, description="the question of step ask that it answers")
    given_id: Id = Field(default="", description="the user's own id of the question")
    grades: tuple[Grade, ...] = Field(default=(), description="of all that was read to answer it, by passage id")
    from_memory: str | None = Field(
        default=None, description="what a model answers without documents; empty: it does not know; None: not asked"
    )
    asks_back: str = Field(default="", description="what that model would have to ask to understand the question")
    provenance: Provenance | None = None

    @property
    def guessable(self) -> bool | None:
        """True if the judge finds the answer's main part in ``from_memory``; None if that was not measured."""
        if not self.from_memory:
            return None if self.from_memory is None else False
        return next((bool(v) for s in self.scores for name, v in s.parts if name == GUESSED), None)

    @property
    def sought(self) -> bool:
        """True if the question was asked before an answer was known."""
        return self.asked != "known_item"

    @property
    def found_by(self) -> tuple[str, ...]:
        """The searches that found its gold; subject, if none did."""
        gold = [g.found_by or ("subject",) for g in self.grades if g.grade == 2]
        return tuple(sorted({name for names in gold for name in names}))

    @property
    def answer_evidence(self) -> tuple[Span, ...]:
        """The spans that carry the answer."""
        return tuple(s for s in self.evidence if s.role == "answer")

    @property
    def needs(self) -> tuple[str, ...] | None:
        """Ids of the documents without which a judge could not answer it; None if none was asked."""
        return next((tuple(d for d, lost in s.parts if lost) for s in self.scores if s.name == LINKED), None)

    @property
    def link(self) -> str:
        """The way in which the documents that it needs answer it together (`LINKS`); empty for one document."""
        return next((s.detail for s in self.scores if s.name == LINKED), "")

    @property
    def gold(self) -> tuple[str, ...]:
        """Ids of all datasets that answer it; none, if only papers that no dataset uses do."""
        return () if self.sought and self.about is None else self.dataset_ids or (self.dataset_id,)

    def with_gold(self, users: Mapping[str, Iterable[str]], datasets: Container[str]) -> QAPair:
        """Give a pair about papers all datasets that use each of them as gold: in merged runs, those of the other parts
        too. One that somebody asked has those of the run of which any document answers it: none, if no dataset uses
        these papers.

        Args:
            users: paper's document id -> ids of the datasets that use it.
            datasets: ids of all datasets.
        """
        if self.about != "paper" and not self.grades:
            return self
        if self.grades:
            carrying = {g.document_id for g in self.grades if g.grade == 2}
            able = sorted({d for c in carrying for d in users.get(c, {c} if c in datasets else ())})
            if not able:
                return self.model_copy(update={"about": None, "dataset_ids": ()})
            first = self.dataset_id if self.dataset_id in able else able[0]
            return self.model_copy(update={"dataset_id": first, "dataset_ids": tuple(able)})
        found = [set(users[s.document_id]) for s in self.answer_evidence if s.document_id in users]
        gold = tuple(sorted(set.intersection(*found) | {self.dataset_id})) if found else self.gold
        return self if gold == self.dataset_ids else self.model_copy(update={"dataset_ids": gold})

    @staticmethod
    def make_id(dataset_id: str, question_type: str, question: str, answer: str) -> str:
        """Return the content hash, the same on every machine."""
        return content_id("qa", dataset_id, question_type, question, answer)
