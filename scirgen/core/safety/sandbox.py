"""The Jinja sandbox that renders prompts, with limits on time and size. It refuses to print outside text without a
filter.

`docs/safety.md` has the threat model: overrides folders with prompt files are exchanged without code. `check` accepts
only the small part of Jinja that prompts need: no assignments, calls, arithmetic or lists, so a template cannot grow
values. `fill` marks the values as `Untrusted`, counts steps, time and output, and refuses to print a marked value.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, cast

import jinja2
import jinja2.meta
from jinja2 import nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel

from scirgen.core.text.untrusted import Untrusted, fence, inert

MAX_SOURCE: Final = 50_000
"""Largest length of a template, in characters."""
MAX_OUTPUT: Final = 4_000_000
"""Largest length of a rendered message, and of any intermediate string, in characters."""
MAX_STEPS: Final = 200_000
"""Largest number of loop steps in a prompt, over all loops."""
MAX_SECONDS: Final = 2.0
"""Longest time in which a prompt is rendered, in seconds of this thread's processor time."""
MAX_DEPTH: Final = 100
"""Deepest nesting of a template."""

_BUDGET: Final = "scirgen budget"  # contains a blank, so no template can name it
_FILTERS: Final = (
    "capitalize", "count", "d", "default", "first", "items", "last", "length", "lower", "map", "title", "trim",
    "truncate",
    "upper", "wordcount",
)  # fmt: skip
_OWN_FILTERS: Final = ("fence", "inert", "join", "replace")
_OF_LOOP: Final = frozenset({"index", "index0", "first", "last", "length", "revindex", "revindex0"})
_ALLOWED: Final = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Name, nodes.Const, nodes.Keyword,
    nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Getitem, nodes.Getattr, nodes.Slice, nodes.Concat, nodes.Compare,
    nodes.Operand, nodes.Not, nodes.And, nodes.Or, nodes.Neg,
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


class _Outside(Untrusted):
    """A `Placeholder` for text from outside; its fields that the prompt trusts are plain placeholders."""

    trusted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, text: str, trusted: frozenset[str]) -> Placeholder | _Outside:
        """Return the placeholder ``<name.field>``, marked unless the prompt trusts that path."""
        parts = text[1:-1].replace("[0]", "").replace("[1]", "").split(".")
        if any(".".join(parts[: n + 1]) in trusted for n in range(len(parts))):
            return Placeholder(text)
        made = cls(text)
        made.trusted = trusted
        return made

    def __iter__(self) -> Iterator[str]:
        text = str.__str__(self)[:-1]
        yield from (_Outside.of(f"{text}[{n}]>", self.trusted) for n in (0, 1))

    def __len__(self) -> int:
        return 2


class PromptError(Exception):
    """An error in a template, with its line (1-based; 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class Budget:
    """The steps and the time that one prompt may use while it is rendered."""

    def __init__(self) -> None:
        self._steps = MAX_STEPS
        self._until = time.thread_time() + MAX_SECONDS

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise PromptError(f"the template's loops take more than {MAX_STEPS} steps")
        self.check_time()

    def check_time(self) -> None:
        """Raise an error once the time is used up."""
        if time.thread_time() > self._until:
            raise PromptError(f"rendering takes more than {MAX_SECONDS:g} s")


class _Guarded(Untrusted):
    """Text in its fence. It may be printed, but whatever is cut or joined from it may not."""

    __slots__ = ()


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, whose templates reach fields of records, keys of dicts and a few numbers of a loop."""

    def getattr(self, obj: object, attribute: str) -> object:
        kind = type(obj)
        if isinstance(obj, _Outside):
            return _Outside.of(f"{str.__str__(obj)[:-1]}.{attribute}>", obj.trusted)
        if kind is Placeholder:
            return Placeholder(f"{str(obj)[:-1]}.{attribute}>")
        if kind is dict and attribute in cast("dict[str, object]", obj):
            return cast("dict[str, object]", obj)[attribute]
        if issubclass(kind, BaseModel) and attribute in kind.__pydantic_fields__:
            return getattr(obj, attribute)
        if isinstance(obj, LoopContext) and attribute not in _OF_LOOP:
            raise PromptError(f"prompts must not use loop.{attribute}")
        found = super().getattr(obj, attribute)
        if callable(found) and not isinstance(found, jinja2.Undefined):
            raise PromptError(f"prompts must not use {attribute!r} of a {kind.__name__}")
        return found

    def getitem(self, obj: object, argument: object) -> object:
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return super().getitem(obj, cast("Any", argument))

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
        raise PromptError(f"the template produced more than {MAX_OUTPUT} characters")


@jinja2.pass_context
def _counted(context: jinja2.runtime.Context, values: Iterable[object]) -> Iterator[object]:
    budget = context.get(_BUDGET)
    for value in values:
        if isinstance(budget, Budget):
            budget.step()
        yield value


def _concatenated(values: list[object]) -> str:
    parts = [str(v) for v in values]
    _within(sum(map(len, parts)))
    return _like(values, "".join(parts))


def _join(values: Iterable[object], separator: str = "", attribute: str | None = None) -> str:
    if isinstance(values, str) and len(values) > MAX_STEPS:
        raise PromptError("join takes a list")
    given = list(values)
    if attribute is not None:
        given = [_environment.getattr(v, attribute) for v in given]
    parts = [str(v) for v in given]
    _within(sum(map(len, parts)) + len(separator) * len(parts))
    return _like(given, separator.join(parts))


def _replace(text: object, old: str, new: str, count: int | None = None) -> str:
    whole = str(text)
    times = whole.count(old) if count is None else min(count, whole.count(old))
    _within(len(whole) + times * len(new))
    return whole.replace(old, new, -1 if count is None else count)


def _like(parts: Iterable[object], text: str) -> str:
    """Return the text, marked if one of the values that it is made of is."""
    made_of = list(parts)
    for part in made_of:
        # The text of a list or record has lost the marks of what is in it.
        if not isinstance(part, (str, int, float, jinja2.Undefined)) and part is not None:
            raise PromptError(f"the template converts a {type(part).__name__} to text; use its fields")
    return Untrusted(text) if any(isinstance(p, Untrusted) for p in made_of) else text


def _bounded(name: str, filter_: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter within the prompt's time, whose text is marked if any of its arguments is."""
    wants = getattr(filter_, "jinja_pass_arg", None)  # context or environment

    @jinja2.pass_context
    @wraps(filter_, updated=())
    def bounded(context: jinja2.runtime.Context, *given: object, **options: object) -> object:
        budget = context.get(_BUDGET)
        if isinstance(budget, Budget):
            budget.check_time()
        if wants is not None:
            passed: object = context if wants is jinja2.utils._PassArg.context else context.environment
            made = filter_(passed, *given, **options)
        else:
            made = filter_(*given, **options)
        if type(made) is not str:
            return made
        _within(len(made))
        if name in ("fence", "inert"):
            return _Guarded(made)
        first = given[0] if name in ("join", "concatenated") else ()  # these marked their text themselves
        return _like((*(v for v in given if v is not first), *options.values()), made)

    return bounded


def _printed(value: object) -> object:
    if isinstance(value, Untrusted) and type(value) is not _Guarded:
        raise PromptError(
            f"the template prints untrusted text without a fence: {str.__str__(value)[:40]!r}; write it with | fence"
        )
    if isinstance(value, (str, int, float, jinja2.Undefined)) or value is None:
        return value
    raise PromptError(f"the template prints a {type(value).__name__}; print its fields")


_environment = _Sandbox(
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
    autoescape=False,
    optimized=False,  # the optimiser would compute constants without a limit
    finalize=_printed,
)
_environment.globals.clear()
_environment.filters = {
    name: _bounded(name, filter_)
    for name, filter_ in {
        **{name: _environment.filters[name] for name in _FILTERS},
        "fence": fence, "inert": inert, "concatenated": _concatenated, "join": _join, "replace": _replace,
    }.items()
} | {"counted": _counted}  # fmt: skip


def variables(source: str) -> set[str]:
    """Return the variables that a template names.

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


class _errors_of_the_file:
    """Jinja's errors and those of a hostile template (too deep, too large) as `PromptError`."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, jinja2.TemplateSyntaxError):
            raise PromptError(str(error.message), error.lineno) from error
        if isinstance(error, jinja2.TemplateError):
            raise PromptError(str(error.message)) from error
        if isinstance(error, ValueError) and "digits" in str(error):
            raise PromptError("the template contains a number that is too long") from error
        if isinstance(error, AssertionError):
            raise PromptError(f"a filter got a value that it cannot use: {error}") from error
        if isinstance(error, (RecursionError, MemoryError, OverflowError)):
            what = {RecursionError: "is nested too deeply", MemoryError: "needs too much memory"}
            raise PromptError(f"the template {what.get(type(error), 'computes a number that is too large')}") from error


_plain = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)  # noqa: S701 - only parses; as it stands in the file


def _check_nodes(node: nodes.Node, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise PromptError("the template is nested too deeply", node.lineno)
    if not isinstance(node, _ALLOWED):
        name = type(node).__name__.lower()
        raise PromptError(f"prompts must not use {name}; use loops, conditions, fields and filters", node.lineno)
    if isinstance(node, nodes.For) and node.recursive:
        raise PromptError("prompts must not use recursive loops", node.lineno)
    if isinstance(node, nodes.Filter) and node.name not in (*_FILTERS, *_OWN_FILTERS):
        raise PromptError(
            f"no filter named {node.name!r}; there are {', '.join(sorted(_FILTERS + _OWN_FILTERS))}", node.lineno
        )
    for child in node.iter_child_nodes():
        if isinstance(node, nodes.For) and child is node.target and isinstance(child, nodes.Tuple):
            continue  # for key, value in ...
        _check_nodes(child, depth + 1)


def compiled(source: str) -> jinja2.Template:
    """Return the template, ready for `fill`.

    Raises:
        PromptError: the text is not a valid template.
    """
    with _errors_of_the_file():
        return _environment.from_string(source)


def fill(template: jinja2.Template, values: Mapping[str, object], budget: Budget) -> str:
    """Return a rendered message.

    Args:
        template: from `compiled`.
        values: from `marked`.
        budget: shared by the messages of one prompt.

    Raises:
        PromptError: a name is undefined, a value is printed without a filter, or a limit on steps, time or characters
            is exceeded.
    """
    parts: list[str] = []
    size = 0
    with _errors_of_the_file():
        for part in template.generate({**values, _BUDGET: budget}):
            size += len(part)
            _within(size)
            budget.check_time()
            if part:
                parts.append(part)
    return "".join(parts).strip()


def marked(values: Mapping[str, object], trusted: Iterable[str]) -> dict[str, object]:
    """Return the values of a prompt's variables with every string `Untrusted`, except below ``trusted`` paths."""
    paths = frozenset(trusted)
    return {name: _mark(value, name, paths) for name, value in values.items()}


def _mark(value: object, path: str, trusted: frozenset[str]) -> object:
    if path in trusted or isinstance(value, Untrusted):
        return value
    if isinstance(value, Placeholder):
        return _Outside.of(value, trusted)
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
