"""The schemas of structured replies, made for the requested types, so that constrained decoding can use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from scirgen.core.taxonomy import LanguageWording

_CONFIG = ConfigDict(extra="ignore")

MOST_EVIDENCE: Final = 4
"""Lines that a pair may cite."""


class CitedPair(BaseModel):
    """A pair with the numbers of its lines, evidence first so that the model reads before it writes."""

    model_config = _CONFIG
    type: str
    evidence: list[int] = Field(description="numbers of the lines that answer")
    about: list[int] = Field(default=[], description="numbers of lines that only say of what the answer holds")
    which: str = Field(default="", description="what the question must name")
    question: str
    answer: str


class Pairs(BaseModel):
    """The pairs that a writer chose to write."""

    model_config = _CONFIG
    pairs: Sequence[CitedPair]
    fewer: str = Field(default="", description="why there are fewer pairs than asked for, in a few words")


def pairs_reply(types: Sequence[str], max_pairs: int, lines: int) -> type[Pairs]:
    """Make the class `Pairs` of some types. Limits of the schema that go beyond the form are not checked in a reply.

    Args:
        types: ids of the types.
        most: number of pairs at most.
        lines: evidence is numbers from 1 to this.
    """
    items: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": lines}
    evidence = Field(json_schema_extra={"items": items, "minItems": 1, "maxItems": MOST_EVIDENCE})
    about: Any = Field(default=[], json_schema_extra={"items": items})
    kind = Field(json_schema_extra={"enum": list(types)})
    pair = create_model(
        "Pair", __base__=CitedPair, type=(str, kind), evidence=(list[int], evidence), about=(list[int], about)
    )
    listed: Any = list[pair]
    return create_model("Pairs", __base__=Pairs, pairs=(listed, Field(json_schema_extra={"maxItems": max_pairs})))


def yes_no(wording: LanguageWording) -> tuple[str, str]:
    """Return the language's words for Yes and No as a whole answer."""
    yes, no = next(iter(wording.affirmative), "yes"), next(iter(wording.negative), "no")
    return yes[:1].upper() + yes[1:], no[:1].upper() + no[1:]
