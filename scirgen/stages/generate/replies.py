"""The shapes of structured replies that generation asks for. They are built for the type at hand, so that constrained decoding helps."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.taxonomy import LanguageWording, QuestionType

_CONFIG = ConfigDict(extra="ignore")


class Pair(BaseModel):
    """A pair about evidence that was given."""

    model_config = _CONFIG
    question: str
    answer: str


class QuotedPair(BaseModel):
    """A pair of the joint strategy, evidence first so that the model reads before it writes."""

    model_config = _CONFIG
    evidence: list[str] = Field(min_length=1, max_length=4)
    question: str
    answer: str


class QuotedPairs(BaseModel):
    """What the joint strategy asks for."""

    model_config = _CONFIG
    pairs: list[QuotedPair]


class TypeChoice(BaseModel):
    """Ids of question types, best first."""

    model_config = _CONFIG
    types: list[str]


def pair_reply(kind: QuestionType, wording: LanguageWording) -> type[Pair]:
    """`Pair`, its answer limited to the language's yes and no where the type is answered so."""
    return create_model("Pair", __base__=Pair, **_answer(kind, wording))


def quoted_reply(kind: QuestionType, wording: LanguageWording, count: int) -> type[QuotedPairs]:
    """`QuotedPairs` of at most ``count`` pairs."""
    item = create_model("QuotedPair", __base__=QuotedPair, **_answer(kind, wording))
    pairs: dict[str, Any] = {"pairs": (list[item], Field(min_length=1, max_length=count))}
    return create_model("QuotedPairs", __base__=QuotedPairs, **pairs)


def type_choice(ids: tuple[str, ...], count: int) -> type[TypeChoice]:
    """`TypeChoice` among the given ids."""
    choice: Any = Literal[ids]
    fields: dict[str, Any] = {"types": (list[choice], Field(min_length=1, max_length=count))}
    return create_model("TypeChoice", __base__=TypeChoice, **fields)


def yes_no(wording: LanguageWording) -> tuple[str, str]:
    """How the language says Yes and No as a whole answer."""
    yes, no = next(iter(wording.affirmative), "yes"), next(iter(wording.negative), "no")
    return yes[:1].upper() + yes[1:], no[:1].upper() + no[1:]


def _answer(kind: QuestionType, wording: LanguageWording) -> dict[str, Any]:
    return {"answer": (Literal[yes_no(wording)], ...)} if kind.polar else {}
