"""Records of questions asked first: questions of people who have not read the text, the passages found for them, and
the questions that no passage answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from scirgen.core.corpus.cut import Passage
from scirgen.core.records import Frozen, Id, Ids, Origin, Provenance, QAPair, Record, Rejection, rejected_pair

Wants = Literal["data", "answer"]
"""The wish of one who asks: datasets, or an answer from what is written."""


class Question(Record):
    """A question before the search for passages that answer it."""

    id: Id
    dataset_id: Id = Field(description="the dataset whose subject, or whose paper's, it is about")
    document_id: Id = Field(
        description="what its subject was taken from: a paper's document, or a record; empty if the user asks"
    )
    subject: str = Field(default="", description="id of the record, document or part of one")
    wants: Wants
    text: str
    need: str = Field(default="", description="what the one who asks is about to do")
    form: str = Field(default="question", description="question, keywords, plan or request")
    question_type: str = Field(default="", description="id in taxonomies/graesser.yaml; empty for other forms")
    rewordings: tuple[str, ...] = Field(default=(), description="for search only")
    translations: tuple[tuple[str, str], ...] = Field(default=(), description="(language, text), for search only")
    asked: Origin = "seeking"
    round: int = 0
    given_id: Id = Field(default="", description="the user's own id of it")
    provenance: Provenance | None = None

    @property
    def key(self) -> str:
        """Key of its items. The key of a user's question does not depend on the dataset that it is processed with."""
        return f"user|{self.id}" if self.asked == "user" else f"{self.dataset_id}|{self.id}"

    @property
    def words(self) -> str:
        """The text, its need and its rewordings: the words that a narrowed question may use."""
        return " ".join((self.text, self.need, *self.rewordings))


class Pooled(Record):
    """A passage of a pool, and the searches that found it: ``question``, ``rewording 1``, ``in pt``, ``..., dense``."""

    passage: Passage
    found_by: tuple[str, ...] = ()
    dataset_ids: Ids = Field(default=(), description="the datasets that use its paper; of a record, the record's own")


class Pool(Record):
    """Everything found for a question, best first. Its content is its fingerprint: a new paper that no search finds
    changes nothing."""

    id: Id = Field(description="the question's")
    dataset_id: Id
    entries: tuple[Pooled, ...]


class Unanswered(Record):
    """A question that the passages found for it do not answer."""

    id: Id = Field(description="the question's")
    dataset_id: Id
    question: Question
    lacking: str = Field(default="", description="what the passages do not say")
    nearest: tuple[Passage, ...] = Field(default=(), description="those that come closest, best first")


class Fate(Frozen):
    """The outcome of one of the user's questions.

    Attributes:
        outcome: answered: it is a row; not here: nothing read answers it; rejected: its answer was; open: not done yet.
        why: what the passages lack, or the reason of the rejection.
    """

    question: str
    given_id: str = ""
    outcome: Literal["answered", "not here", "rejected", "open"]
    why: str = ""


def fates(
    asked: Iterable[Question],
    unanswered: Iterable[Unanswered],
    accepted: Iterable[QAPair],
    rejections: Iterable[Rejection],
) -> list[Fate]:
    """Return the fates of the user's questions, those without a row first; [] if the run has none.

    Args:
        asked, unanswered: outputs of steps ask and answer.
        accepted: the accepted pairs.
        rejections: those of steps answer, filter and release.
    """
    own = {q.id: q for q in asked if q.asked == "user"}
    if not own:
        return []
    found = {u.id: ("not here", u.lacking or "the passages found do not answer it") for u in unanswered}
    pairs = {p.id: p.question_id for p in accepted if p.question_id in own}
    found |= dict.fromkeys(pairs.values(), ("answered", ""))
    for one in rejections:
        pair = rejected_pair(one) if one.record_kind == "QAPair" and one.record_id not in pairs else None
        question = pair.question_id if pair else pairs.get(one.record_id, one.record_id)
        if question in own:
            found[question] = "rejected", f"{one.code}: {one.reason}"
    told = {id: found.get(id, ("open", "")) for id in own}
    made = [Fate(question=q.text, given_id=q.given_id, outcome=told[id][0], why=told[id][1]) for id, q in own.items()]
    return sorted(made, key=lambda fate: fate.outcome == "answered")


class Regraded(Record):
    """The grades of one call of step answer, and those of a second grader, who saw the passages in another order."""

    id: Id = Field(description="the first question's")
    dataset_id: Id
    grades: tuple[tuple[int, int], ...] = Field(description="(first, second) of each question and passage")
    by: str = Field(description="the second grader's model")
