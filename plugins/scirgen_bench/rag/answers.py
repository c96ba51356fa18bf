"""Reads a system's chunks and answers: JSON Lines of ``{id, chunks: [{text, document?}], answer}``."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scirgen import InputError
from scirgen.plugin import read_objects

_FORM = (
    'Each line: {"id": a question\'s id, "chunks": [{"text": ..., "document": ... (may be missing)}], "answer": ...}.'
)


class Chunk(BaseModel):
    """A piece of text that a system gave its model."""

    model_config = ConfigDict(frozen=True)
    text: str
    document: str | None = None


class Given(BaseModel):
    """One line: the chunks that a system found for a question, best first, and its answer."""

    model_config = ConfigDict(frozen=True)
    id: str
    chunks: tuple[Chunk, ...] = ()
    answer: str = ""


def read_answers(path: Path) -> dict[str, Given]:
    """Return the system's answer by question id.

    Raises:
        InputError: a line has another form, or an id occurs twice (the line is named).
    """
    found: dict[str, Given] = {}
    for number, value in read_objects(path, hint=_FORM):
        try:
            given = Given.model_validate(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"{path}, line {number}: {where}: {first['msg']}", hint=_FORM) from error
        if given.id in found:
            raise InputError(f"{path}, line {number}: the id {given.id} occurs twice", hint=_FORM)
        found[given.id] = given
    return found
