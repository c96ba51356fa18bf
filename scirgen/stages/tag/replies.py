"""The models of the stage's structured replies."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, create_model


class Levels(BaseModel):
    """One field a question, ``q1``, ``q2``..., so that a reply that leaves one out is invalid."""

    def of(self, number: int) -> str:
        """Return the level of question ``number``, counted from 1."""
        return str(getattr(self, f"q{number}"))


def levels_reply(count: int, ids: tuple[str, ...]) -> type[Levels]:
    """Make the class `Levels` for ``count`` questions."""
    fields: dict[str, Any] = {f"q{n}": (Literal[ids], ...) for n in range(1, count + 1)}
    return create_model("Levels", __base__=Levels, **fields)
