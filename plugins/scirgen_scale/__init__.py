"""Ray clusters and vLLM in process: where a run computes when one process and one server are not enough."""

from __future__ import annotations

from scirgen import Plugin, Provided, __version__

PLUGIN = Plugin(
    "scirgen-scale",
    __version__,
    (
        Provided("engine", "ray", "scirgen_scale.ray_engine:RayEngine", "actors on a Ray cluster", "ray"),
        Provided("settings", "ray", "scirgen_scale.settings:RayConfig"),
        Provided("command", "generate --ray-address", "scirgen_scale.options:RAY_ADDRESS"),
        Provided("command", "estimate --ray-address", "scirgen_scale.options:RAY_ADDRESS"),
        Provided("chat_model", "vllm", "scirgen_scale.vllm_local:VLLMChat", "vLLM in process", "vllm"),
        Provided("scoring_model", "vllm", "scirgen_scale.vllm_local:VLLMScoring", "vLLM in process", "vllm"),
    ),
)
