"""Labels by people: draw a sample, make its page, merge labels, measure agreement, test judges, exchange labels."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_label.agree import measure_agreement, read_labels

__all__ = ["PLUGIN", "ROOT", "measure_agreement", "read_labels"]

ROOT = Path(__file__).parent
PLUGIN = Plugin(
    "scirgen-label",
    __version__,
    (
        Provided(
            "command",
            "label",
            "scirgen_label.cli:label",
            "Collect labels from people: draw, label, merge, measure agreement; test judges.",
            "labels",
        ),
        Provided("command", "benchmark agreement", "scirgen_label.judge_agreement:agreement"),
        Provided("resources", "scirgen-label", "scirgen_label:ROOT"),
    ),
)


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module("scirgen_label.agree"), name)
    raise AttributeError(f"module 'scirgen_label' has no attribute {name!r}")
