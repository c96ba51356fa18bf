"""Predicts calls, tokens, cost and hours of a run: command `estimate`, and the same from Python."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_estimate.estimating import Estimate, aestimate, estimate

__all__ = ["PLUGIN", "Estimate", "aestimate", "estimate"]

PLUGIN = Plugin(
    "scirgen-estimate",
    __version__,
    (
        Provided(
            "command",
            "estimate",
            "scirgen_estimate.command:estimate",
            "Predict calls, tokens, cost and hours of a run.",
        ),
    ),
)


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("scirgen_estimate.estimating"), name)
    raise AttributeError(f"module 'scirgen_estimate' has no attribute {name!r}")
