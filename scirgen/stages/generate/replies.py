"""The shapes of structured replies that generation asks for."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.taxonomy import QuestionType


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore")


class QuotedPair(_Reply):
    """A pair of the joint strategy, evidence first so that the model reads before it writes."""

    evidence: list[str] = Field(min_length=1, max_length=4)
    question: str
    answer: str


class QuotedPairs(_Reply):
    """What the joint strategy asks for."""

    pairs: list[QuotedPair]


class PlainPair(_Reply):
    """A pair about evidence that was given."""

    question: str
    answer: str


def type_choice(kinds: tuple[QuestionType, ...], count: int) -> type[BaseModel]:
    """A reply that names ``count`` of the types by id."""
    return create_model(
        "TypeChoice",
        __config__=ConfigDict(extra="ignore"),
        types=(list[str], Field(min_length=1, max_length=count, json_schema_extra={"items": {"type": "string", "enum": [k.id for k in kinds]}})),
    )  # fmt: skip
