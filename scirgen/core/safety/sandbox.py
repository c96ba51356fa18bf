"""The Jinja sandbox that renders prompts, with limits on time and size. It refuses to print outside text without a
filter.

It has two guards, because prompt files may come from third parties. `check` reads a template before it is ever rendered
and accepts only what prompts need: no calls, no macros, no includes, and no variable printed without `fence` or `inert`
unless it is named under ``trusted``. `fill` marks the values as `Untrusted`, counts loops and output, and refuses to
print a marked one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import jinja2
import jinja2.meta
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from scirgen.core.text.untrusted import Untrusted, fence, inert

MAX_SOURCE = 200_000
"""Largest length of a template, in characters."""
MAX_OUTPUT = 4_000_000
"""Largest length of a rendered message, and of any intermediate string, in characters."""
MAX_STEPS = 200_000
"""Largest number of loop steps in a message, over all loops."""
MAX_DEPTH = 100
"""Deepest nesting of a template."""

_BUDGET = "scirgen budget"  # contains a blank, so no template can name it
_GUARDS = frozenset({"fence", "inert"})
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "join", "last", "length",
    "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr",
    "sort", "string", "sum", "title", "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.Name, nodes.Const,
    nodes.Tuple, nodes.List, nodes.Dict, nodes.Pair, nodes.Keyword, nodes.CondExpr, nodes.Filter, nodes.Test,
    nodes.Getitem, nodes.Getattr, nodes.Slice, nodes.Concat, nodes.Compare, nodes.Operand, nodes.Not, nodes.And, nodes.Or,
    nodes.Neg, nodes.Pos, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod,
)  # fmt: skip


class Placeholder(str):
    """Stands for a variable without a value; its attributes and the two elements that it iterates over are placeholders
    too."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self[:-1]}.{name}>")

    def __iter__(self) -> Iterator[Placeholder]:
        yield Placeholder(f"{self[:-1]}[0]>")
        yield Placeholder(f"{self[:-1]}[1]>")

    def __len__(self) -> int:
        return 2


class PromptError(Exception):
    """An error in a template, with its line (1-based; 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _Budget:
    def __init__(self) -> None:
        self.steps = MAX_STEPS

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise PromptError(f"its loops take more than {MAX_STEPS} steps")


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, made faster for our values: fields of records and keys of dicts are safe without its checks."""

    intercepted_binops = frozenset({"+", "%", "*"})

    def getattr(self, obj: object, attribute: str) -> object:
        kind = type(obj)
        if kind is dict and attribute in cast("dict[str, object]", obj) and not hasattr(dict, attribute):
            return cast("dict[str, object]", obj)[attribute]
        if issubclass(kind, BaseModel) and attribute in kind.__pydantic_fields__:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            raise PromptError("% formats no strings here; use ~ to put texts together")
        if operator == "*" and not all(isinstance(v, (int, float)) and abs(v) < 2**53 for v in (left, right)):
            raise PromptError("* takes two numbers")
        if isinstance(left, (str, list, tuple)) and isinstance(right, (str, list, tuple)):
            _within(len(left) + len(right))
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
        return _Joining().visit(tree)  # type: ignore[no-any-return]


class _Joining(jinja2.visitor.NodeTransformer):
    """Turns ``a ~ b`` into a filter that checks the size before it joins texts."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
        inside = [self.visit(n) for n in node.nodes]
        return nodes.Filter(nodes.List(inside), "concatenated", [], [], None, None, lineno=node.lineno)


def _within(size: int) -> None:
    if size > MAX_OUTPUT:
        raise PromptError(f"it makes a text of more than {MAX_OUTPUT} characters")


@jinja2.pass_context
def _counted(context: jinja2.runtime.Context, values: Iterable[object]) -> Iterator[object]:
    budget = context.get(_BUDGET)
    for value in values:
        if isinstance(budget, _Budget):
            budget.step()
        yield value


def _concatenated(values: Iterable[object]) -> str:
    texts = list(values)
    parts = [t if isinstance(t, str) else str(t) for t in texts]
    _within(sum(map(len, parts)))
    return _like(texts, "".join(parts))


def _join(values: Iterable[object], separator: str = "", attribute: str | None = None) -> str:
    given = list(values)
    if attribute is not None:
        given = [_environment.getattr(v, attribute) for v in given]
    parts = [v if isinstance(v, str) else str(v) for v in given]
    _within(sum(map(len, parts)) + len(separator) * len(parts))
    return _like([separator, *given], separator.join(parts))


def _replace(text: object, old: str, new: str, count: int | None = None) -> str:
    whole = text if isinstance(text, str) else str(text)
    times = whole.count(old) if count is None else min(count, whole.count(old))
    _within(len(whole) + times * len(new))
    return _like([text, new], whole.replace(old, new, -1 if count is None else count))


def _like(parts: Iterable[object], text: str) -> str:
    return Untrusted(text) if any(isinstance(p, Untrusted) for p in parts) else text


def _printed(value: object) -> object:
    if isinstance(value, Untrusted):
        raise PromptError(
            f"it prints text from outside without a fence: {str.__str__(value)[:40]!r}; write it with | fence"
        )
    if isinstance(value, (str, int, float, jinja2.Undefined)) or value is None:
        return value
    raise PromptError(f"it prints a {type(value).__name__}; print its fields")


_environment = _Sandbox(
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
    autoescape=False,
    finalize=_printed,
)
_environment.globals.clear()
_environment.filters = {name: _environment.filters[name] for name in _FILTERS}
_environment.filters.update(
    {
        "fence": fence, "inert": inert, "counted": _counted, "concatenated": _concatenated, "join": _join, "replace": _replace,
    }
)  # fmt: skip


def variables(source: str) -> set[str]:
    """The variables that a template names.

    Raises:
        PromptError: the text is not a valid template.
    """
    with _errors_of_the_file():
        return jinja2.meta.find_undeclared_variables(_environment.parse(source))


def check(source: str) -> None:
    """Check a template before it is rendered.

    Raises:
        PromptError: it is not valid, or uses a feature that prompts may not use.
    """
    if len(source) > MAX_SOURCE:
        raise PromptError(f"the template has {len(source)} characters; the limit is {MAX_SOURCE}")
    with _errors_of_the_file():
        _check_nodes(_plain.parse(source), 0)


def check_printed(source: str, trusted: Iterable[str]) -> None:
    """Check every branch of a template for outside text that it prints without a filter.

    Args:
        source: a template that passed `check`.
        trusted: ``name`` or ``name.field`` of variables that scirgen's own code or files write.

    Raises:
        PromptError: it prints another variable without a filter.
    """
    _Bare(frozenset(trusted)).body(_plain.parse(source).body, {})


class _errors_of_the_file:
    """Jinja's errors and those of a hostile template (too deep, too large) as `PromptError`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, jinja2.TemplateSyntaxError):
            raise PromptError(str(error.message), error.lineno) from error
        if isinstance(error, jinja2.TemplateError):
            raise PromptError(str(error.message)) from error
        if isinstance(error, (RecursionError, MemoryError, OverflowError)):
            what = {RecursionError: "is nested too deeply", MemoryError: "needs too much memory"}
            raise PromptError(f"it {what.get(type(error), 'computes a number that is too large')}") from error


_plain = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - only parses; as it stands in the file


def _check_nodes(node: nodes.Node, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise PromptError("it is nested too deeply", node.lineno)
    if not isinstance(node, _ALLOWED):
        name = type(node).__name__.lower()
        raise PromptError(f"prompts must not use {name}; use loops, conditions, fields and filters", node.lineno)
    if isinstance(node, nodes.For) and node.recursive:
        raise PromptError("prompts must not use recursive loops", node.lineno)
    if isinstance(node, nodes.Filter) and node.name not in (*_FILTERS, *_GUARDS):
        raise PromptError(f"no filter named {node.name!r}", node.lineno)
    if isinstance(node, nodes.Getattr) and node.attr in ("previtem", "nextitem", "changed", "cycle"):
        raise PromptError(f"prompts must not use loop.{node.attr}", node.lineno)
    for child in node.iter_child_nodes():
        _check_nodes(child, depth + 1)


class _Bare:
    """Finds values that a template prints without a filter. ``scope`` maps loop variables and assigned names to the
    paths they stand for."""

    def __init__(self, trusted: frozenset[str]) -> None:
        self._trusted = trusted

    def body(self, body: list[nodes.Node], scope: dict[str, frozenset[str]]) -> None:
        for node in body:
            if isinstance(node, nodes.Output):
                for printed in node.nodes:
                    self._printed(printed, scope)
            elif isinstance(node, nodes.For):
                inner = {**scope, "loop": frozenset({"loop"})}
                self._bind(node.target, self._roots(node.iter, scope), inner)
                self.body(node.body, inner)
                self.body(node.else_, scope)
            elif isinstance(node, nodes.If):
                for part in (node.body, node.elif_, node.else_):
                    self.body(cast("list[nodes.Node]", part), scope)
            elif isinstance(node, nodes.Assign):
                # An assignment in a branch may or may not have happened: both are counted.
                roots = self._roots(node.node, scope)
                self._bind(node.target, roots, scope)

    def _printed(self, node: nodes.Node, scope: dict[str, frozenset[str]]) -> None:
        if isinstance(node, nodes.Filter) and node.name in _GUARDS:
            return
        if isinstance(node, nodes.CondExpr):
            self._printed(node.expr1, scope)
            if node.expr2 is not None:
                self._printed(node.expr2, scope)
            return
        for filtered in node.find_all(nodes.Filter):
            if filtered.name in _GUARDS:
                raise PromptError(f"| {filtered.name} must be the last filter, so nothing cuts its result", node.lineno)
        for path in sorted(self._roots(node, scope)):
            if path != "loop" and not self._trusts(path):
                raise PromptError(f"prints {path!r} bare", node.lineno)

    def _trusts(self, path: str) -> bool:
        parts = path.split(".")
        return any(".".join(parts[: n + 1]) in self._trusted for n in range(len(parts)))

    def _roots(self, node: nodes.Node, scope: dict[str, frozenset[str]]) -> frozenset[str]:
        """The paths (``name`` or ``name.field``) of the variables in an expression."""
        if isinstance(node, nodes.Name):
            return scope.get(node.name, frozenset({node.name}))
        if isinstance(node, nodes.Getattr):
            return frozenset(r if r == "loop" else f"{r}.{node.attr}" for r in self._roots(node.node, scope))
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return frozenset(f"{r}.{node.arg.value}" for r in self._roots(node.node, scope))
        if isinstance(node, nodes.CondExpr):
            kept = [node.expr1] + ([node.expr2] if node.expr2 is not None else [])
            return frozenset().union(*(self._roots(n, scope) for n in kept))
        if isinstance(node, (nodes.Test, nodes.Compare, nodes.Not)):
            return frozenset()
        if isinstance(node, nodes.Filter) and node.name in ("length", "count", "wordcount", "int", "float"):
            return frozenset()
        return frozenset().union(*(self._roots(n, scope) for n in node.iter_child_nodes()))

    def _bind(self, target: nodes.Node, roots: frozenset[str], scope: dict[str, frozenset[str]]) -> None:
        for name in [target] if isinstance(target, nodes.Name) else target.find_all(nodes.Name):
            assert isinstance(name, nodes.Name)
            scope[name.name] = roots | (scope.get(name.name, frozenset()) if name.name != "loop" else frozenset())


def compiled(source: str) -> jinja2.Template:
    """The template, ready for `fill`.

    Raises:
        PromptError: the text is not a valid template.
    """
    with _errors_of_the_file():
        return _environment.from_string(source)


def fill(template: jinja2.Template, values: Mapping[str, object]) -> str:
    """A rendered message.

    Args:
        template: from `compiled`.
        values: from `marked`.

    Raises:
        PromptError: a name is undefined, a value is printed without a filter, or a limit on steps or characters is
        exceeded.
    """
    parts: list[str] = []
    size = 0
    with _errors_of_the_file():
        for part in template.generate({**values, _BUDGET: _Budget()}):
            size += len(part)
            _within(size)
            parts.append(part)
    return "".join(parts).strip()


def marked(values: Mapping[str, object], trusted: Iterable[str]) -> dict[str, object]:
    """The values of a prompt's variables with every string `Untrusted`, except below the paths in ``trusted``."""
    paths = frozenset(trusted)
    return {name: _mark(value, name, paths) for name, value in values.items()}


def _mark(value: object, path: str, trusted: frozenset[str]) -> object:
    if path in trusted or isinstance(value, (Placeholder, Untrusted)):
        return value
    if isinstance(value, str):
        return Untrusted(value)
    if isinstance(value, Mapping):
        return {k: _mark(v, f"{path}.{k}", trusted) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mark(v, path, trusted) for v in value]
    if isinstance(value, BaseModel):
        return {name: _mark(getattr(value, name), f"{path}.{name}", trusted) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _mark(getattr(value, f.name), f"{path}.{f.name}", trusted) for f in dataclasses.fields(value)}
    return value
