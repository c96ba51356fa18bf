"""The registry of plugins, the identity of the code behind a result, and models that plugins describe."""

from scirgen.core.registry._registry import (
    CONTRACTS,
    GROUP,
    OWN,
    Plugin,
    Provided,
    Registry,
    described,
    known_needs,
    load_registry,
    returned,
    returned_list,
    shape_problems,
    suggest,
    wrong_return,
)

__all__ = [
    "CONTRACTS", "GROUP", "OWN", "Plugin", "Provided", "Registry", "described", "known_needs", "load_registry",
    "returned", "returned_list", "shape_problems", "suggest", "wrong_return",
]  # fmt: skip
