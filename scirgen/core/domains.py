"""Finds a domain and resolves a run's settings from all their layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scirgen.core.config import LoadedConfig, load_config
from scirgen.core.errors import ConfigError, PluginError
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Domain

GENERAL = Domain(
    name="general",
    title="Any field",
    root=Path(__file__).parent / "no-overrides",
    description="the built-in prompts and taxonomies, with examples from many fields",
)
"""The default domain: it overrides nothing and has no sample."""


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
    *,
    domain: str | None = None,
    config_file: Path | None = None,
    flags: Mapping[str, object] | None = None,
    reads: tuple[str, ...] = (),
) -> tuple[LoadedConfig, Domain]:
    """Resolve all layers: defaults < domain < file < flags.

    Args:
        domain: name of the domain; None: the one of the settings.
        config_file: a YAML file of settings.
        flags: dotted setting -> value.
        reads: the sections and settings that the caller reads; empty: all. A flag outside them is an error.

    Raises:
        ConfigError: and its subclasses, for wrong values, unknown keys, an unknown domain, a setting that is not read.
    """
    unread = [k for k in flags or {} if reads and not any(k == r or k.startswith(f"{r}.") for r in reads)]
    given = {**(flags or {}), "domain": domain}
    chosen = load_config(file=config_file, flags=given).config.domain
    if unread:
        raise ConfigError(
            f"the setting {unread[0]} changes nothing here", hint=f"This command reads only: {', '.join(reads)}."
        )
    pack = find_domain(chosen)
    layer = (pack.name, pack.config_file) if pack.config_file else None
    return load_config(domain_file=layer, file=config_file, flags=given), pack
