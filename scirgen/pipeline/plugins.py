"""Finding plugins through the entry-point group ``scirgen.plugins``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from scirgen.core.errors import PluginError
from scirgen.core.registry import Plugin, Registry

GROUP = "scirgen.plugins"


@cache
def load_registry() -> Registry:
    """A registry of all installed plugins, in the order of their names (scirgen's own first).

    Raises:
        PluginError: a plugin that does not load, is no `Plugin`, or collides with another; it is named.
    """
    registry = Registry()
    found = {(e.name, e.value): e for e in entry_points(group=GROUP)}
    for point in sorted(found.values(), key=lambda e: (e.name != "scirgen", e.name)):
        try:
            plugin = point.load()
        except Exception as error:
            raise PluginError(
                f"plugin {point.name!r} ({point.value}) failed to load: {error}", hint="Reinstall or uninstall it."
            ) from error
        if not isinstance(plugin, Plugin):
            raise PluginError(
                f"plugin {point.name!r} ({point.value}) is a {type(plugin).__name__}, not a scirgen.Plugin"
            )
        registry.add(plugin)
    return registry
