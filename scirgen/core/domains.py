"""Finds a domain and resolves a run's settings from all their layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scirgen.core.config import LoadedConfig, load_config
from scirgen.core.errors import PluginError
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Domain


def find_domain(name: str, registry: Registry | None = None) -> Domain:
    """A domain by name.

    Raises:
        PluginError: no such domain ("did you mean"), or the plugin does not provide a `Domain`.
    """
    domain = (registry or load_registry()).get("domain", name)
    if not isinstance(domain, Domain):
        raise PluginError(f"domain {name!r} is a {type(domain).__name__}, not a scirgen.Domain")
    return domain


def resolve_config(
    *, domain: str | None = None, config_file: Path | None = None, flags: Mapping[str, object] | None = None
) -> tuple[LoadedConfig, Domain]:
    """Resolve all layers: defaults < domain < file < flags.

    Raises:
        ConfigError: and its subclasses, for wrong values, unknown keys, an unknown domain.
    """
    given = {**(flags or {}), "domain": domain}
    chosen = load_config(file=config_file, flags=given).config.domain
    pack = find_domain(chosen)
    layer = (pack.name, pack.config_file) if pack.config_file else None
    return load_config(domain_file=layer, file=config_file, flags=given), pack
