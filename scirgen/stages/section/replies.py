"""The model of the stage's structured reply."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, create_model

from scirgen.core.records import SectionClass


class Classes(BaseModel):
    """One field a section, ``s1``, ``s2``..., so that a reply that leaves one out is invalid."""

    def of(self, number: int) -> SectionClass:
        """The class of section ``number``, counted from 1."""
        return SectionClass(getattr(self, f"s{number}"))


def classes_reply(count: int, ids: tuple[str, ...]) -> type[Classes]:
    """`Classes` for ``count`` sections."""
    fields: dict[str, Any] = {f"s{n}": (Literal[ids], ...) for n in range(1, count + 1)}
    return create_model("Classes", __base__=Classes, **fields)
