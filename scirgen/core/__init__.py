"""The layer that all others build on; also scirgen's version, and how a package exports names of other modules."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

__version__ = "0.1.0"


def exported(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the imports of its ``__init__.pyi``.

    The stub lists the names once, for type checkers and for here. They are imported on first use, so that `scirgen
    --help` and plugin manifests import nothing heavy.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    places = {
        alias.asname or alias.name: (str(node.module), alias.name)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def resolve(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = places[name]
        return getattr(import_module(module), attribute)

    return resolve, lambda: sorted(places), list(places)
