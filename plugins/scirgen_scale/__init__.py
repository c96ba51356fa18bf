"""Ray clusters, vLLM in process, and runs in parts: where a run computes when one process and one server are not
enough."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from scirgen import Plugin, Provided, __version__

if TYPE_CHECKING:
    from scirgen_scale.merging.merge import merge

__all__ = ["PLUGIN", "merge"]

PLUGIN = Plugin(
    "scirgen-scale",
    __version__,
    (
        Provided("engine", "ray", "scirgen_scale.ray_engine:RayEngine", "actors on a Ray cluster", "ray"),
        Provided("settings", "ray", "scirgen_scale.settings:RayConfig"),
        Provided("command", "merge", "scirgen_scale.merging.command:merge", "Make one release from several runs."),
        Provided("command", "generate --ray-address", "scirgen_scale.options:RAY_ADDRESS"),
        Provided("command", "estimate --ray-address", "scirgen_scale.options:RAY_ADDRESS"),
        Provided("chat_model", "vllm", "scirgen_scale.vllm_local:VLLMChat", "vLLM in process", "vllm"),
        Provided("scoring_model", "vllm", "scirgen_scale.vllm_local:VLLMScoring", "vLLM in process", "vllm"),
    ),
)


def __getattr__(name: str) -> object:
    if name == "merge":
        return getattr(import_module("scirgen_scale.merging.merge"), name)
    raise AttributeError(f"module 'scirgen_scale' has no attribute {name!r}")
