"""A subject that brings nothing new is left; a paper without a subject stops nobody."""

from __future__ import annotations

from typing import cast

import pytest

from scirgen.core.config import Config
from scirgen.core.corpus.questions import Question
from scirgen.core.records import QAPair, Record, Rejection
from scirgen.pipeline.rounds import falls_short, subject_progress
from scirgen.stages.ask.stage import seeking_share
from scirgen.stages.base import RunView
from tests.support.questioning import make_context, pair


def question(id: str, round: int = 0, asked: str = "seeking", subject: str = "doc") -> Question:
    return Question.model_validate(
        {"id": id, "dataset_id": "ds-1", "document_id": "doc", "subject": subject, "wants": "answer", "text": id,
         "round": round, "asked": asked}
    )  # fmt: skip


class View:
    def __init__(self, asked: list[Question], answered: list[Record], refused: list[Rejection], kept: list[QAPair]):
        self.stored = {"ask": asked, "answer": answered}
        self.refused, self.kept = refused, kept

    def records(self, stage, kind):
        return (r for r in self.stored[stage] if isinstance(r, kind))

    def rejections(self, stage):
        return self.refused

    def pairs(self):
        return self.kept


def refused(of: Question) -> Rejection:
    return Rejection.of("ask", "repeated", "it was asked before", ("Question", of.id), record=of.model_dump_json())


def exhausted(*asked: Question, answered: tuple[Record, ...] = (), codes: tuple[Rejection, ...] = ()) -> bool:
    [one] = subject_progress(View(list(asked), list(answered), list(codes), []), 9, set())
    return one.exhausted


def test_only_copies_or_twice_no_answer_exhaust_a_subject() -> None:
    got = pair("x", question_id="a")
    assert not exhausted(question("a"))
    assert exhausted(question("a"), codes=(refused(question("b", 1)),))
    assert exhausted(question("a"), question("b", 1))
    assert not exhausted(question("a"), question("b", 1), answered=(got,))
    assert exhausted(question("a"), question("b", 1), question("c", 2), answered=(got,))


def test_a_narrowed_question_counts_for_the_round_that_asked() -> None:
    narrowed = question("b2", 2, "narrowed")
    got = pair("x", question_id="b2", round=2)
    assert not exhausted(question("a"), question("b", 1), answered=(narrowed, got))


def test_a_paper_without_a_subject_is_no_question() -> None:
    none = Rejection.of("ask", "no_subject", "its subject cannot be told", ("Document", "doc"))
    view = View([question("a")], [pair("x", question_id="a")], [none], [pair("x", question_id="a")])
    [one] = subject_progress(view, 9, {pair("x", question_id="a").id})
    assert (one.asked.total(), one.accepted) == (1, 1)


def test_a_small_model_is_not_asked_by_default_and_the_card_says_so() -> None:
    small, large = (
        make_context(pack=pack, **{"generate.mix": Config().generate.mix})[0] for pack in ("small", "standard")
    )
    assert (seeking_share(small.config, "small"), seeking_share(large.config, "standard")) == (0.0, pytest.approx(0.7))
    (said,) = falls_short(cast("RunView", None), small, 0, 5)
    assert said.endswith("all questions are known items.")
    assert not list(falls_short(cast("RunView", None), large, 4, 5)), "four of five are more than their share"
    known, _ = make_context(pack="small", **{"generate.mix": {"known_item": 1}})
    assert not list(falls_short(cast("RunView", None), known, 0, 5))
