"""Strict YAML: duplicate and unknown keys are errors that name file and line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError, ValidationInfo

from scirgen.core.errors import ResourceError
from scirgen.core.files.named import ordinary

M = TypeVar("M", bound=BaseModel)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.2's booleans, true and false. YAML 1.1 also reads ``no`` (Norwegian), ``on`` and ``y`` as booleans, and
    these are words."""


_BOOLEANS = "tag:yaml.org,2002:bool"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != _BOOLEANS]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOLEANS, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def parse_yaml(text: str) -> object:
    """Return the value of a YAML text, with YAML 1.2's booleans.

    Raises:
        yaml.YAMLError: the text is not valid YAML.
    """
    return yaml.load(text, _Loader)  # noqa: S506 (a safe loader)


def load_yaml(path: Path) -> tuple[object, dict[tuple[str | int, ...], int]]:
    """Parse a YAML file.

    Returns:
        The value, and the 1-based line of every key path in it.

    Raises:
        ResourceError: not readable, not YAML, or a key given twice.
    """
    try:
        text = ordinary(path, _MAX_CHARACTERS).read_text(encoding="utf-8")
    except OSError as error:
        raise ResourceError(f"{path}: cannot be read: {error.strerror or error}", hint="Check the path.") from error
    except UnicodeDecodeError as error:
        found = f"byte 0x{error.object[error.start]:02x} at {error.start}"
        raise ResourceError(f"{path}: not UTF-8 text ({found})", hint="Save it as UTF-8.") from error
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            lines: dict[tuple[str | int, ...], int] = {}
            if node is not None:
                _walk(node, (), lines, path, set())
            value = loader.construct_document(node) if node is not None else None
            if not _is_bounded(value):
                raise ResourceError(
                    f"{path}: too large when its aliases are expanded",
                    hint=f"A file may have {_MAX_VALUES:,} values and {_MAX_CHARACTERS:,} characters.",
                )
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise ResourceError(
            f"{path}:{line}: not valid YAML: {error.problem or error.context}", hint=_advice(text, error)
        ) from error
    except yaml.reader.ReaderError as error:
        at = f"{path}:{text.count(chr(10), 0, error.position) + 1}" if isinstance(error.position, int) else str(path)
        raise ResourceError(f"{at}: not valid YAML: {error.reason}", hint="Remove the control character.") from error
    except (ValueError, RecursionError) as error:
        # An invalid date ("2024-13-01"), or endlessly nested lists.
        raise ResourceError(f"{path}: not valid YAML: {error}", hint="Put quotation marks around the value.") from error
    return value, lines


_MAX_VALUES = 200_000
_MAX_CHARACTERS = 10_000_000


def _is_bounded(value: object) -> bool:
    """Check whether a value stays small when each alias is written out; whoever validates or hashes it does that."""
    values = characters = 0
    left = [value]
    while left:
        one = left.pop()
        values += 1
        if isinstance(one, str):
            characters += len(one)
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
        if values > _MAX_VALUES or characters > _MAX_CHARACTERS or len(left) > _MAX_VALUES:
            return False
    return True


def _advice(text: str, error: yaml.MarkedYAMLError) -> str:
    """Return the most likely cause of a syntax error, if the line shows it."""
    row = error.problem_mark.line if error.problem_mark else -1
    line = next(iter(text.splitlines()[row : row + 1]), "")
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "The line starts with a tab; indent YAML with spaces."
    indented = any(said in str(error.problem) for said in ("mapping values", "expected key", "expected ':'"))
    if ("{{" in line or "{%" in line) and (": " in line.partition("{")[0] or not indented):
        return "Write templates as a block (|) on separate lines, or in quotation marks."
    if ": " in line.partition(": ")[2]:
        return "Put quotation marks around a value that contains a colon."
    return "Check the indentation of this line and of the one above it." if indented else ""


def load_model(path: Path, model: type[M], *, shipped: bool = False) -> M:
    """Parse a YAML file into a strict pydantic model; ``shipped``: see `validate`.

    Raises:
        ResourceError: as `load_yaml`, or the content does not fit the model; file, line and "did you mean" are named.
    """
    value, lines = load_yaml(path)
    if not isinstance(value, dict):
        raise ResourceError(f"{path}:1: expected a mapping at the top level, found {type(value).__name__}")
    return validate(value, model, str(path), lines, shipped=shipped)


def validate(
    value: object,
    model: type[M],
    origin: str,
    lines: dict[tuple[str | int, ...], int] | None = None,
    *,
    shipped: bool = False,
    under: str = "",
    code: str = ResourceError.code,
) -> M:
    """Validate ``value``; errors name ``origin``, the line if known, and keys below ``under``.

    ``shipped``: the file is part of scirgen, whose tests check its regular expressions, so they are not checked on each
    read. ``code``: the error's; settings have their own.
    """
    try:
        return model.model_validate(value, context={"shipped": shipped})
    except ValidationError as error:
        problems = [_describe(e, model, origin, lines or {}, value, under) for e in error.errors()[:5]]
        hint = next((p[1] for p in problems if p[1]), "")
        if not hint and code != ResourceError.code and error.errors()[0]["type"] == "extra_forbidden":
            hint = "CHANGELOG.md says which settings are gone."
        raise ResourceError("; ".join(p[0] for p in problems), hint=hint, code=code) from error


def _compiles(pattern: str, info: ValidationInfo) -> str:
    if not (info.context or {}).get("shipped"):
        try:
            re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A field that holds a regular expression."""


def _describe(
    error: Any, model: type[BaseModel], origin: str, lines: dict[tuple[str | int, ...], int], value: object, under: str
) -> tuple[str, str]:
    loc = tuple(step for step in error["loc"] if step != "[key]")
    if not loc and error["type"] in ("model_type", "dict_type"):
        return (
            f"{origin}: expected 'key: value' lines, found {'nothing' if value is None else type(value).__name__}",
            "",
        )
    line = next((lines[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in lines), None)
    where = f"{origin}:{line}" if line else origin
    dotted = ".".join(filter(None, (under, _dotted(loc, value))))
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(loc[-1]), _known_keys(model, loc[:-1]), n=1)
        return f"{where}: unknown key {dotted!r}", f"Did you mean {near[0]!r}?" if near else ""
    if error["type"] == "dict_type":
        return f"{where}: {dotted}: must have the form {{key: value}}", ""
    if error["type"] in ("tuple_type", "list_type"):
        return f"{where}: {dotted}: must be a list, such as [{error['input']}]", ""
    return f"{where}: {dotted}: {error['msg'].removeprefix('Value error, ')}", ""


def _dotted(loc: tuple[str | int, ...], value: object) -> str:
    """Write a path as ``types[definition].question.any_of``: list entries by their id, else by number."""
    text = ""
    for step in loc:
        value = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else (
            value.get(step) if isinstance(value, dict) else None
        )  # fmt: skip
        id = value.get("id") if isinstance(step, int) and isinstance(value, dict) else None
        text += f"[{id}]" if isinstance(id, str) else f".{step}" if text else str(step)
    return text


def _known_keys(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Return the field names of the model found by following ``path`` through nested models."""
    current: object = model
    for step in path:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(step))
            current = field.annotation if field else None
        elif isinstance(step, int) or current is not None:
            types = (a for a in getattr(current, "__args__", ()) if isinstance(a, type))
            current = next((a for a in types if issubclass(a, BaseModel)), None)
    while current is not None and not (isinstance(current, type) and issubclass(current, BaseModel)):
        current = next((a for a in getattr(current, "__args__", ()) if a is not type(None)), None)
    return list(current.model_fields) if current is not None else []


def _walk(
    node: yaml.Node, path: tuple[str | int, ...], lines: dict[tuple[str | int, ...], int], file: Path, met: set[int]
) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in met:  # an alias: its content is checked where it is defined
        return
    met.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[Hashable] = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ResourceError(f"{file}:{key.start_mark.line + 1}: a key must be plain text")
            name = key.value
            if name in seen:
                raise ResourceError(f"{file}:{key.start_mark.line + 1}: key {name!r} is given twice")
            seen.add(name)
            lines[(*path, name)] = key.start_mark.line + 1
            _walk(value, (*path, name), lines, file, met)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _walk(value, (*path, index), lines, file, met)
