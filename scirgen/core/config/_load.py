"""Merges the layers of settings and remembers where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scirgen.core.config._models import Config
from scirgen.core.errors import ConfigError
from scirgen.core.files.yamlfile import load_yaml, validate
from scirgen.core.secrets import has_user_info


@dataclass(frozen=True)
class LoadedConfig:
    """The resolved config; ``origins`` maps a dotted key to the layer that set it ("default" is left out)."""

    config: Config
    origins: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, object, str]]:
        """(dotted key, value, origin) for every setting."""
        for key, value in _leaves(self.config.model_dump(mode="json")):
            yield (
                key,
                value,
                next((o for k, o in self.origins.items() if key == k or key.startswith(k + ".")), "default"),
            )


def load_config(
    *,
    domain_file: tuple[str, Path] | None = None,
    file: Path | None = None,
    flags: Mapping[str, object] | None = None,
) -> LoadedConfig:
    """Resolve the layers.

    Args:
        domain_file: the domain's name and its ``config.yaml``.
        file: the user's ``--config`` file.
        flags: dotted key -> value, from the command line or the Python API; None values are ignored.

    Raises:
        ResourceError: a file is unreadable, or names an unknown key (file, line, "did you mean").
        ConfigError: a flag's value is not allowed, or an address holds a user name or password.
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    files: Sequence[tuple[str, Path]] = [
        *([(f"domain {domain_file[0]}", domain_file[1])] if domain_file else []),
        *([(str(file), file)] if file else []),
    ]
    for origin, path in files:
        value, lines = load_yaml(path)
        if value is None:
            continue
        if not isinstance(value, dict):
            raise ConfigError(f"{path}: expected settings as 'key: value' lines")
        _refuse_user_info(value, str(path))
        validate(value, Config, str(path), lines)
        _merge(merged, value)
        origins.update(dict.fromkeys((k for k, _ in _leaves(value)), origin))
    for key, setting in (flags or {}).items():
        if setting is None:
            continue
        _merge(merged, _nested(key, setting))
        origins[key] = "flag"
    _refuse_user_info(merged, "settings")
    return LoadedConfig(validate(merged, Config, "settings"), origins)


def _refuse_user_info(value: Mapping[str, object], where: str) -> None:
    """Refuse addresses with a user name or password, since settings go into manifests, stores, logs and releases. The
    message does not repeat the address."""
    for key, item in _leaves(value):
        if has_user_info(str(item)):
            raise ConfigError(
                f"{where}: {key}: an address must not contain a user name or password",
                hint="Put the key into the environment variable that the source or model reads.",
            )


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = dict(value) if isinstance(value, Mapping) else value


def _nested(dotted: str, value: object) -> dict[str, Any]:
    for part in reversed(dotted.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def _leaves(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item
