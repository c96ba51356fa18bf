"""The pipeline's parts alone, on any files: `parse`, `match`, `score` and `tag`, as commands and from Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_parts.parts import match, parse, score, tag

__all__ = ["PLUGIN", "match", "parse", "score", "tag"]

_COMMANDS = {
    "parse": "Read papers: structure, places on the page, front matter.",
    "match": "Decide which papers of a folder use which datasets.",
    "score": "Measure how much a context supports an answer, row by row.",
    "tag": "Find question types and Bloom levels, row by row.",
}
PLUGIN = Plugin(
    "scirgen-parts",
    __version__,
    tuple(Provided("command", name, f"scirgen_parts.command:{name}", about) for name, about in _COMMANDS.items()),
)


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("scirgen_parts.parts"), name)
    raise AttributeError(f"module 'scirgen_parts' has no attribute {name!r}")
