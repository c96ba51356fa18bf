"""Merges the layers of settings and remembers where each value comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from scirgen.core.config._models import Config, section_model
from scirgen.core.errors import ConfigError, ResourceError
from scirgen.core.files.yamlfile import load_yaml, validate
from scirgen.core.registry import load_registry
from scirgen.core.secrets.addresses import has_password

_CODE = ConfigError.code  # also of unknown keys and wrong values


@dataclass(frozen=True)
class LoadedConfig:
    """The resolved config; ``origins`` maps a dotted key to the layer that set it ("default" is left out)."""

    config: Config
    origins: Mapping[str, str]

    def rows(self) -> Iterator[tuple[str, object, str]]:
        """Yield (dotted key, value, origin) for every setting."""
        given = self.config.model_dump(mode="json")
        for name in load_registry().names("settings"):
            # A section that is not set may have fields without a default; those are left out.
            section = self.config.sections.get(name) or section_model(name).model_construct()
            given[name] = section.model_dump(mode="json")
        del given["sections"]
        for key, value in _leaves(given):
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
        validate(_with_sections(value, str(path), lines), Config, str(path), lines, code=_CODE)
        _merge(merged, value)
        origins.update(dict.fromkeys((k for k, _ in _leaves(value)), origin))
    for key, setting in (flags or {}).items():
        if setting is None:
            continue
        _merge(merged, _nested(key, setting))
        origins[key] = "flag"
    _refuse_user_info(merged, "settings")
    return LoadedConfig(validate(_with_sections(merged, "settings"), Config, "settings", code=_CODE), origins)


def _with_sections(
    given: Mapping[str, Any], origin: str, lines: Mapping[tuple[str | int, ...], int] | None = None
) -> dict[str, Any]:
    """Return the settings with plugins' sections, validated, under ``sections``.

    Raises:
        ResourceError: an unknown key, in a section or at the top ("did you mean", sections of plugins included).
    """
    known = load_registry().names("settings")
    own = {key: value for key, value in given.items() if key not in known}
    for key in own:
        if key not in Config.model_fields or key == "sections":
            line = f":{lines[key,]}" if lines and (key,) in lines else ""
            names = [*known, *(f for f in Config.model_fields if f != "sections")]
            near = get_close_matches(key, names, n=1)
            raise ResourceError(
                f"{origin}{line}: unknown key {key!r}", hint=f"Did you mean {near[0]!r}?" if near else "", code=_CODE
            )
    below = {k: {path[1:]: n for path, n in (lines or {}).items() if path[:1] == (k,)} for k in known if k in given}
    own["sections"] = {
        k: validate({} if given[k] is None else given[k], section_model(k), origin, found, under=k, code=_CODE)
        for k, found in below.items()
    }
    return own


def _refuse_user_info(value: Mapping[str, object], where: str) -> None:
    """Refuse addresses with a user name or password, since settings go into manifests, stores, logs and releases. The
    message does not repeat the address."""
    for key, item in _leaves(value):
        if has_password(str(item)):
            raise ConfigError(
                f"{where}: {key}: an address must not contain a user name, password or key",
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
