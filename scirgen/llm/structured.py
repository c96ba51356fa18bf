"""Converts a reply's text to a validated value, with strict schemas for requests and tolerant JSON parsing of replies.
`chat_session` does repair turns."""

from __future__ import annotations

import json
import re
from typing import TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError

from scirgen.core.text.tame import tame_strings
from scirgen.llm.base import Schema

T = TypeVar("T", bound=BaseModel)

_FENCED = re.compile(r"```[a-zA-Z0-9_-]*\s*\n(.*?)(?:```|\Z)", re.S)
_LONGEST_TO_FIX = 200_000
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.S)

# Weak references: stages make models for single items, and a run's memory must not grow.
_schemas: WeakKeyDictionary[type[BaseModel], Schema] = WeakKeyDictionary()


class UnparsableReply(ValueError):
    """A reply without a value of the wanted form; the message says what is wrong, for a repair turn."""


def reply_schema(model: type[BaseModel]) -> Schema:
    """Return the JSON schema that a reply must follow, in the strict form that constrained decoders and the hosted APIs
    accept.

    Strict means that every object is closed and lists all its properties as required, and there are no defaults;
    optional fields stay optional by allowing null. The model's docstrings are descriptions in the schema, so editing
    one changes requests and the keys of stored replies.
    """
    schema = _schemas.get(model)
    if schema is None:
        schema = _schemas[model] = _strict(model.model_json_schema())
    return schema


def _strict(node: object) -> dict[str, object]:
    assert isinstance(node, dict)
    out: dict[str, object] = {}
    for key, value in node.items():
        if key in ("default", "examples"):
            continue
        if key in ("properties", "$defs") and isinstance(value, dict):
            out[key] = {name: _strict(part) for name, part in value.items()}
        elif isinstance(value, dict):
            out[key] = _strict(value)
        elif isinstance(value, list):
            out[key] = [_strict(part) if isinstance(part, dict) else part for part in value]
        else:
            out[key] = value
    properties = out.get("properties")
    if isinstance(properties, dict):
        out["required"] = list(properties)
        out["additionalProperties"] = False
    return out


def parse_reply(text: str, model: type[T], *, fix: bool = True) -> T:
    """Find the JSON value in a reply and validate it.

    Tried in order: the whole text; what is inside a code fence; from the first bracket on; and last `json_repair`
    (trailing commas, unquoted keys, missing brackets). A reply without any bracket is never repaired. ``fix=False``
    skips the last step, which would turn a reply cut at max_tokens into a seemingly complete answer.

    Raises:
        UnparsableReply: the message has the validation errors.
    """
    body = _THINKING.sub("", text).strip()
    if not body:
        raise UnparsableReply("The reply is empty.")
    problem: str | None = None
    for candidate in _candidates(body):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        try:
            return model.model_validate(_fitted(tame_strings(value, candidate), model))
        except ValidationError as error:
            problem = problem or describe(error)
    start = min((i for i in (body.find("{"), body.find("[")) if i >= 0), default=-1)
    if problem is None and start >= 0 and fix and len(body) <= _LONGEST_TO_FIX:
        import json_repair  # seldom needed

        try:
            repaired = json_repair.loads(body[start:])
            return model.model_validate(_fitted(tame_strings(repaired), model))
        except ValidationError as error:
            problem = describe(error)
        except (ValueError, RecursionError):
            pass
    raise UnparsableReply(problem or "The reply contains no JSON value.")


def _candidates(body: str) -> list[str]:
    found = [body, *(m.group(1).strip() for m in _FENCED.finditer(body))]
    braces = body.find("{")
    for start in (braces, body.find("[")):
        # A list that begins inside an object is a part of it, never the reply.
        if start > 0 and start <= (braces if braces >= 0 else start):
            try:
                _, end = json.JSONDecoder(strict=False).raw_decode(body, start)
            except (ValueError, RecursionError):
                continue
            found.append(body[start:end])
    return found


def _fitted(value: object, model: type[BaseModel]) -> object:
    """Accept a bare list for an object whose only field is a list, since models often omit the wrapper."""
    fields = model.model_fields
    if isinstance(value, list) and len(fields) == 1:
        return {next(iter(fields)): value}
    return value


def describe(error: ValidationError, limit: int = 8) -> str:
    """Return the validation errors, one line each, without the offending text (it may be long and hostile)."""
    rows = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"- {'.'.join(map(str, row['loc'])) or 'reply'}: {row['msg']}" for row in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"- and {len(rows) - limit} more")
    return "\n".join(lines)
