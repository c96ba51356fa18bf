"""The shape of the tagger's structured reply."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Level = Literal["C1", "C2", "C3", "C4", "C5", "C6"]


class TaggedQuestion(BaseModel):
    """One question's level, by the number it was shown under."""

    model_config = ConfigDict(extra="ignore")
    number: int
    level: Level


class TaggedQuestions(BaseModel):
    """A batch's levels."""

    model_config = ConfigDict(extra="ignore")
    levels: list[TaggedQuestion]
