"""The user's own questions: a file of lines or JSON Lines. Nobody refuses their words."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from scirgen.core.corpus.questions import Question, Wants
from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import first_problem, open_text, parse_lines
from scirgen.core.files.named import MOST_NAMED_BYTES
from scirgen.core.fingerprint import content_id
from scirgen.core.records import Frozen, Id

_HINT = 'Write one question a line, or {"question": "...", "id": "...", "wants": "answer"} with id and wants optional.'
_MOST = 2_000
"""Characters of a question at most."""
_ASKS = ("?", "？", "؟", "?\"", "?”")  # fmt: skip


class Given(Frozen):
    """A question of the file. ``wants`` is data for those that datasets answer."""

    question: str
    id: Id = ""
    wants: Wants = "answer"


def read_questions(path: Path) -> Iterator[Given]:
    """Yield the questions of a file, each once, in its order.

    Raises:
        InputError: it cannot be read or has none, a line is not a question, two have one id, or one has two.
    """
    lines: dict[str, int] = {}
    ids: dict[str, int] = {}
    with open_text(path, hint=_HINT, most=MOST_NAMED_BYTES) as file:
        text = file.read().removeprefix("\ufeff")
    as_json = text.lstrip().startswith("{")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        given = _parsed(line, f"{path}:{number}") if as_json else Given(question=line)
        given = given.model_copy(update={"question": " ".join(given.question.split())})
        if not given.question or len(given.question) > _MOST:
            raise InputError(f"{path}:{number}: a question has 1 to {_MOST:,} characters", hint=_HINT)
        if given.id and ids.setdefault(given.id, number) != number:
            raise InputError(f"{path}:{number}: line {ids[given.id]} already has the id {given.id!r}", hint=_HINT)
        if lines.setdefault(given.question, number) == number:
            yield given
        elif given.id and ids[given.id] == number:
            why = f"line {lines[given.question]} already asks this, without the id {given.id!r}"
            raise InputError(f"{path}:{number}: {why}", hint=_HINT)
    if not lines:
        raise InputError(f"{path} has no questions", hint=_HINT)


def _parsed(line: str, where: str) -> Given:
    [read] = parse_lines([line])
    if read.problem:
        raise InputError(f"{where}: not valid JSON: {read.problem}", hint=_HINT)
    try:
        return Given.model_validate(read.value)
    except ValidationError as error:
        raise InputError(f"{where}: {first_problem(error)}", hint=_HINT) from error


def hosted(given: Sequence[Given], subjects: Sequence[str]) -> dict[str, list[Question]]:
    """Return a mapping: dataset id -> the user's questions that are processed with it.

    The dataset does not determine what a question is about. Each question goes to the subject with the highest joint
    hash, so a new dataset moves few.
    """
    found: dict[str, list[Question]] = {}
    for one in given:
        id = content_id("qst", "user", one.id, one.question)
        host = max(subjects, key=lambda subject: (zlib.crc32(f"{id}|{subject}".encode()), subject))
        question = Question(
            id=id,
            dataset_id=host,
            document_id="",
            wants=one.wants,
            text=one.question,
            form="question" if one.question.endswith(_ASKS) else "request",
            asked="user",
            given_id=one.id,
        )
        found.setdefault(host, []).append(question)
    return found
