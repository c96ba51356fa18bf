"""The schemas of structured replies. They are made for the requested types, so that constrained decoding can use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.taxonomy import LanguageWording, QuestionType

_CONFIG = ConfigDict(extra="ignore")

MOST_EVIDENCE: Final = 4
"""Lines that a pair may cite."""


class Pair(BaseModel):
    """A pair about evidence that was given."""

    model_config = _CONFIG
    question: str
    answer: str


class Declined(BaseModel):
    """A pair that the material does not carry."""

    model_config = _CONFIG
    declined: str = Field(description="why, in a few words")


class CitedPair(BaseModel):
    """A pair with the numbers of its lines, evidence first so that the model reads before it writes."""

    model_config = _CONFIG
    evidence: list[int] = Field(description="numbers of the lines")
    which: str = Field(default="", description="what the question must name")
    question: str
    answer: str


class QuotedPair(BaseModel):
    """A pair with its lines quoted."""

    model_config = _CONFIG
    evidence: list[str] = Field(description="the lines, copied character for character")
    which: str = Field(default="", description="what the question must name")
    question: str
    answer: str


class Pairs(BaseModel):
    """One field a wish, ``p1``, ``p2``..., so that a reply says something to each of them."""

    model_config = _CONFIG

    def of(self, number: int) -> CitedPair | QuotedPair | Declined:
        """The reply to wish ``number``, counted from 1."""
        found: CitedPair | QuotedPair | Declined = getattr(self, f"p{number}")
        return found


class TypeChoice(BaseModel):
    """Ids of question types, best first."""

    model_config = _CONFIG
    types: list[str]


def pair_reply(kind: QuestionType, wording: LanguageWording) -> type[Pair]:
    """`Pair`, with the answer limited to the language's yes and no if the type is answered by these."""
    return create_model("Pair", __base__=Pair, **_answer(kind, wording))


def pairs_reply(kinds: Sequence[QuestionType], wording: LanguageWording, lines: int, *, quotes: bool) -> type[Pairs]:
    """`Pairs` for one wish of each of ``kinds``, in order. Limits of the schema that go beyond the form are not checked in a reply.

    Args:
        lines: evidence is numbers from 1 to this.
        quotes: evidence is quotations instead.
    """
    base: type[CitedPair | QuotedPair] = QuotedPair if quotes else CitedPair
    items: dict[str, Any] = {"type": "string"} if quotes else {"type": "integer", "minimum": 1, "maximum": lines}
    evidence: Any = list[str] if quotes else list[int]
    field = Field(json_schema_extra={"items": items, "minItems": 1, "maxItems": MOST_EVIDENCE})
    plain = create_model("Pair", __base__=base, evidence=(evidence, field))
    words: Any = {"enum": list(yes_no(wording))}
    polar = create_model(
        "YesNoPair", __base__=base, evidence=(evidence, field), answer=(str, Field(json_schema_extra=words))
    )
    fields: dict[str, Any] = {
        f"p{n}": ((polar if kind.polar else plain) | Declined, ...) for n, kind in enumerate(kinds, 1)
    }
    return create_model("Pairs", __base__=Pairs, **fields)


def type_choice(ids: tuple[str, ...], count: int) -> type[TypeChoice]:
    """`TypeChoice` among the given ids, ``count`` of them or fewer."""
    choice: Any = Literal[ids]
    fields: dict[str, Any] = {"types": (list[choice], Field(max_length=count))}
    return create_model("TypeChoice", __base__=TypeChoice, **fields)


def yes_no(wording: LanguageWording) -> tuple[str, str]:
    """The language's words for Yes and No as a whole answer."""
    yes, no = next(iter(wording.affirmative), "yes"), next(iter(wording.negative), "no")
    return yes[:1].upper() + yes[1:], no[:1].upper() + no[1:]


def _answer(kind: QuestionType, wording: LanguageWording) -> dict[str, Any]:
    return {"answer": (Literal[yes_no(wording)], ...)} if kind.polar else {}
