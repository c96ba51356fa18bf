"""Worst cases for regular expressions: which patterns the package holds, and texts that make a backtracking engine
suffer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as code
from re import _parser as parser
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
_CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
_FLAGS = {
    "I": re.I,
    "IGNORECASE": re.I,
    "S": re.S,
    "DOTALL": re.S,
    "X": re.X,
    "VERBOSE": re.X,
    "M": re.M,
    "MULTILINE": re.M,
    "A": re.A,
}
PUMP = 30_000
"""Characters of a worst case: at a quadratic cost, about a second or more."""


def package_patterns() -> Iterator[tuple[str, str | bytes, int]]:
    """(where, pattern, flags) of every literal pattern given to ``re`` in the package."""
    for path in sorted(p for folder in ("scirgen", "plugins") for p in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value
            for node in ast.walk(tree) if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)
        }  # fmt: skip
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.args):
                continue
            pattern = _literal(node.args[0], constants)
            if pattern is None:
                continue
            flags = 0
            for given in [*node.args[1:], *(k.value for k in node.keywords if k.arg == "flags")]:
                for part in ast.walk(given):
                    if isinstance(part, ast.Attribute) and part.attr in _FLAGS:
                        flags |= _FLAGS[part.attr]
            yield f"{path.relative_to(ROOT)}:{node.lineno}", pattern, flags


def _literal(node: ast.AST, constants: dict[str, ast.expr]) -> str | bytes | None:
    """A pattern's text, names of the module's own constants filled in; what is only known at run time stands as
    ``x``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return node.value
    if isinstance(node, ast.Name) and node.id in constants:
        return _literal(constants[node.id], {})
    if isinstance(node, ast.JoinedStr):
        parts = [_literal(v.value if isinstance(v, ast.FormattedValue) else v, constants) for v in node.values]
        return "".join(p if isinstance(p, str) else "x" for p in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left, constants), _literal(node.right, constants)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    return None


def taxonomy_patterns() -> Iterator[tuple[str, str, int]]:
    """Every text in the taxonomies that is written as a pattern; each is tried as the package compiles it."""
    for path in [*sorted((ROOT / "taxonomies").glob("*.yaml")), *sorted((ROOT / "plugins").rglob("taxonomies/*.yaml"))]:
        if path.name == "untrusted.yaml":  # RE2, linear by construction; tried in its own test
            continue
        for text in _texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
            if re.search(r"\\[bswd]|\(\?|\[[^\]]+\]|\.\*|\)\?", text):
                yield f"{path.relative_to(ROOT)}", text, re.I


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def worst_cases(pattern: str | bytes, flags: int, size: int = PUMP) -> list[str]:
    """Texts in which each repetition of the pattern matches for long, and what follows it does not."""
    text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    try:
        tree = parser.parse(text, flags)
    except re.error:
        return []
    pumps: list[tuple[str, str]] = []
    _walk(tree, "", pumps)
    found: dict[str, None] = {}
    for prefix, body in pumps[:14]:
        if not body:
            continue
        times = max(1, size // len(body))
        for tail in ("\x00", "!"):
            found[prefix + body * times + tail] = None
        if prefix:
            unit = prefix + body
            found[unit * max(1, size // len(unit)) + "\x00"] = None
    return list(found)


def _walk(tree: Any, prefix: str, pumps: list[tuple[str, str]]) -> str:
    """One text that the tree matches; notes (what comes before, what can be repeated) of each repetition."""
    made = ""
    for op, argument in tree:
        before = prefix + made
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            low, high, inner = argument
            body = _walk(inner, before, pumps)
            if high > 20:
                pumps.append((before[-60:], body))
            made += body * max(1 if high else 0, min(low, 3))
        elif op is code.SUBPATTERN:
            made += _walk(argument[3], before, pumps)
        elif op is code.ATOMIC_GROUP:
            made += _walk(argument, before, pumps)
        elif op is code.BRANCH:
            options = [_walk(branch, before, pumps) for branch in argument[1]]
            made += options[0]
        elif op in (code.ASSERT, code.ASSERT_NOT):
            _walk(argument[1], before, pumps)
        elif op is code.LITERAL:
            made += chr(argument)
        elif op is code.NOT_LITERAL:
            made += "b" if argument == ord("a") else "a"
        elif op is code.ANY:
            made += "a"
        elif op is code.IN:
            made += _of_class(argument)
    return made


def _of_class(items: Any) -> str:
    negated = bool(items) and items[0][0] is code.NEGATE
    matcher = re.compile(_class_text(items))
    for candidate in "a 0A.,-\n<>()[]\"'/_:;%@\u4e00":
        if bool(matcher.match(candidate)):
            return candidate
    for op, argument in items:
        if not negated and op is code.LITERAL:
            return chr(argument)
        if not negated and op is code.RANGE:
            return chr(argument[0])
    return "a"


def _class_text(items: Any) -> str:
    names = {
        code.CATEGORY_DIGIT: r"\d", code.CATEGORY_NOT_DIGIT: r"\D", code.CATEGORY_SPACE: r"\s",
        code.CATEGORY_NOT_SPACE: r"\S", code.CATEGORY_WORD: r"\w", code.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    parts = []
    for op, argument in items:
        if op is code.NEGATE:
            parts.append("^")
        elif op is code.LITERAL:
            parts.append(re.escape(chr(argument)))
        elif op is code.RANGE:
            parts.append(f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}")
        elif op is code.CATEGORY:
            parts.append(names.get(argument, ""))
    return f"[{''.join(parts)}]"
