"""Identifies the code behind a result: scirgen's own classes by hand-raised versions, all others by a hash of their
code, so that the results of an edited plugin are made again."""

from __future__ import annotations

import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.registry import OWN, Registry

_MAX_FILES = 500


def made_of(plugin: object) -> str:
    """Return a hash that changes when an object's results may change: its ``version``, if any, and its class's code,
    unless that is scirgen's own."""
    return digest(getattr(plugin, "version", 1), plugin_code(type(plugin)))


def plugin_code(plugin: type) -> str:
    """Return a hash of a plugin's code; empty for the generator's own classes.

    It covers the modules of the class and its bases and, if such a module is in a package, the whole package.
    A class without a file (in a notebook) is hashed by the byte code of its methods.
    """
    found: set[str] = set()
    for kind in plugin.__mro__:
        top = kind.__module__.partition(".")[0]
        if top in ("builtins", "typing", "abc", "pydantic", OWN):
            continue
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None)
        if file is None or not Path(file).is_file():
            found.update(digest(n, _code(v)) for n, v in sorted(vars(kind).items()) if callable(v))
        elif top == kind.__module__ and Path(file).name != "__init__.py":
            found.add(file_sha256(Path(file)))
        else:
            found.update(_package(top))
    return digest(sorted(found)) if found else ""


def _package(name: str) -> tuple[str, ...]:
    """Return the hashes of a package's Python files."""
    root = Path(str(getattr(sys.modules.get(name), "__file__", ""))).parent
    files = sorted(root.rglob("*.py"))[:_MAX_FILES] if root.name == name else []
    return tuple(file_sha256(f) for f in files)


def _code(method: object) -> str:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)  # type: ignore[arg-type]
    if code is None:
        return ""
    return digest(
        code.co_code.hex(), code.co_names, [str(c) for c in code.co_consts if isinstance(c, (str, int, float))]
    )


def provided_code(registry: Registry, kind: str, name: str) -> tuple[str, ...]:
    """Return a hash of the package that provides a plugin, which is not imported; nothing for the generator's own."""
    found = registry.entries().get((kind, name))
    top = found[1].target.partition(":")[0].partition(".")[0] if found else ""
    spec = find_spec(top) if top and top != OWN else None
    if spec is None or spec.origin is None:
        return ()
    file = Path(spec.origin)
    files = sorted(file.parent.rglob("*.py"))[:_MAX_FILES] if file.name == "__init__.py" else [file]
    return (digest([file_sha256(f) for f in files]),)
