"""Switches the rules of the layout off, one after the other: ``python -m benchmarks.parsing --ablate``.

A rule is a function that returns a bool, which then returns False, or a pattern, which then matches nothing. Pages are
read once. A paper in which a rule never says yes cannot change without it, so only the others are laid out again.
"""

from __future__ import annotations

import importlib
import json
import pickle
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import scirgen_pdf
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf import parser as pdf
from scirgen_pdf.headings.trees import classifier

_NEVER = re.compile(r"(?!)")
_READING = ("scirgen_pdf.reading", "scirgen_pdf.parser")  # its pages are kept


class Rule(NamedTuple):
    """A function or pattern of a module."""

    name: str
    held: Any

    @property
    def off(self) -> Any:
        """The stand-in while it is off."""
        return _NEVER if isinstance(self.held, re.Pattern) else lambda *_, **__: False


class _Witness:
    """Stands for a rule and notes when it says yes."""

    def __init__(self, held: Any, note: Callable[[], object]) -> None:
        self._held, self._note = held, note

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        answer = self._held(*arguments, **named)
        if answer:
            self._note()
        return answer

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._held, name)
        if not callable(method):
            return method

        def called(*given: Any, **named: Any) -> Any:
            answer = method(*given, **named)
            if self._held.search(given[1]) if name == "sub" else answer:
                self._note()
            return answer

        return called


def rules() -> list[Rule]:
    """Return the rules of the layout's modules, in the order of the modules' names."""
    found: list[Rule] = []
    for info in pkgutil.walk_packages(scirgen_pdf.__path__, "scirgen_pdf."):
        module = importlib.import_module(info.name)
        for name, held in vars(module).items() if not info.name.startswith(_READING) else ():
            own = isinstance(held, FunctionType) and held.__module__ == info.name
            if isinstance(held, re.Pattern) or (own and held.__annotations__.get("return") == "bool"):
                found.append(Rule(f"{info.name.removeprefix('scirgen_pdf.')}.{name}", held))
    return found


@contextmanager
def replaced(rule: Rule, other: Any) -> Iterator[None]:
    """Put another object in the place of a rule in every module that holds it."""
    modules = [module for key, module in list(sys.modules.items()) if key.startswith("scirgen")]
    places = [(module, name) for module in modules for name, value in vars(module).items() if value is rule.held]
    for module, name in places:
        setattr(module, name, other)
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, rule.held)


class Pages:
    """The pages of a paper, read once."""

    def __init__(self, path: Path, reader: str) -> None:
        """Read the pages with ``reader``."""
        given: list[Any] = []
        kept = pdf.lay_out
        pdf.lay_out = lambda *arguments: given.append(pickle.dumps(arguments)) or kept(*arguments)
        try:
            _, self._outline = pdf.read_layout(path, ParserOptions(no_extract="parse", reader=reader))
        finally:
            pdf.lay_out = kept
        self._given = given[0]

    def laid_out(self) -> str:
        """Return what the layout makes of the pages now, as JSON; or the error, where it needs a rule."""
        for name, module in list(sys.modules.items()):
            for held in list(vars(module).values()) if name.startswith("scirgen") else ():
                if hasattr(held, "cache_clear") and held is not classifier:
                    held.cache_clear()  # a remembered answer asks no rule
        try:
            layout = pdf.lay_out(*pickle.loads(self._given))
            paper = pdf.analyse(layout, self._outline, "", classifier())
        except Exception as error:
            return repr(error)
        return json.dumps(
            [paper.title, paper.abstract, paper.authors, [(b.kind, b.level, b.text) for b in paper.blocks]]
        )


def ablate(paths: Sequence[Path], reader: str, report: Callable[[str], None]) -> None:
    """Report each rule with the number of papers that change without it, and some of their names."""
    papers = {path.stem: Pages(path, reader) for path in paths}
    before = {name: pages.laid_out() for name, pages in papers.items()}
    yes: dict[str, dict[str, None]] = defaultdict(dict)
    for name, pages in papers.items():
        with ExitStack() as stack:
            for rule in rules():
                witness = _Witness(rule.held, lambda rule=rule, name=name: yes[rule.name].setdefault(name))  # type: ignore[misc]
                stack.enter_context(replaced(rule, witness))
            pages.laid_out()
    for rule in rules():
        with replaced(rule, rule.off):
            changed = [name for name in yes[rule.name] if papers[name].laid_out() != before[name]]
        report(f"{len(changed):4} of {len(yes[rule.name]):3} papers in which it says yes: {rule.name} {changed[:3]}")
