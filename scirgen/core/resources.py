"""Finds prompt and taxonomy files, and decides which domain overrides which file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scirgen.core.config import LoadedConfig, load_config
from scirgen.core.errors import ConfigError, PluginError, ResourceError
from scirgen.core.files.named import ordinary
from scirgen.core.registry import Registry, load_registry, suggest


def builtin_root() -> Path:
    """Return the folder with ``prompts/`` and ``taxonomies/``: in a wheel, or at the repository's root in a
    checkout."""
    package = Path(__file__).resolve().parent.parent
    packaged = package / "_resources"
    return packaged if packaged.is_dir() else package.parent


@cache
def plugin_roots() -> tuple[tuple[str, Path], ...]:
    """Return (plugin's name, folder) of every installed plugin that brings ``prompts/`` or ``taxonomies/`` of its own.

    Raises:
        PluginError: the plugin's entry of kind ``resources`` is not a path.
    """
    registry = load_registry()
    found: list[tuple[str, Path]] = []
    for name in registry.names("resources"):
        root = registry.get("resources", name)
        if not isinstance(root, Path):
            raise PluginError(f"resources {name!r} must be the path of a folder")
        found.append((name, root))
    return tuple(found)


@dataclass(frozen=True)
class Domain:
    """A domain: a name, a folder of overrides and the sources it provides.

    ``root`` may hold ``prompts/``, ``taxonomies/``, ``config.yaml`` and ``sample/`` (a small corpus the domain runs on
    when no input is given). A file overrides the built-in one with the same relative path.
    """

    name: str
    title: str
    root: Path
    description: str = ""

    @property
    def config_file(self) -> Path | None:
        """The domain's config layer, if it has one."""
        path = self.root / "config.yaml"
        return path if path.is_file() else None

    @property
    def sample(self) -> Path | None:
        """The domain's packaged sample corpus, if it has one."""
        path = self.root / "sample"
        return path if path.is_dir() else None


@dataclass(frozen=True)
class Resource:
    """A resource file: its id (relative path without suffix), its path, and where it comes from."""

    id: str
    path: Path
    origin: str


@dataclass(frozen=True)
class Resources:
    """Built-in resources and those of plugins, overlaid by a domain's, overlaid by the user's own folder."""

    domain: Domain | None = None
    overrides: Path | None = None

    def __post_init__(self) -> None:
        folder = self.overrides
        if folder is not None and not any((folder / f).is_dir() for f in ("prompts", "taxonomies")):
            lacking = "has neither prompts/ nor taxonomies/" if folder.is_dir() else "is not a folder"
            raise ResourceError(f"{folder} {lacking}", hint=f"scirgen prompts copy tag/bloom --into {folder} makes it.")
        if folder is not None:
            self._refuse_unused(folder)

    def _refuse_unused(self, folder: Path) -> None:
        """Raise an error for a file of the user that nothing would ever read, since it is probably a mistake, and for a
        device or a pipe, which may never end."""
        known = {kind: Resources(self.domain).find(kind) for kind in ("prompts", "taxonomies")}
        places = {id.rpartition("/")[2]: f"{kind}/{id}.yaml" for kind, ids in known.items() for id in ids}
        for path in sorted(folder.rglob("*.y*ml")):
            kind, _, id = path.relative_to(folder).with_suffix("").as_posix().partition("/")
            if kind not in known:
                if path.stem in places:
                    raise ResourceError(f"{path} would be ignored", hint=f"Its place is {folder / places[path.stem]}.")
                continue
            try:
                ordinary(path)
            except OSError as error:
                raise ResourceError(f"{path}: {error.strerror}", hint="Remove it, or put a file there.") from error
            if path.suffix != ".yaml":
                raise ResourceError(f"{path} would be ignored", hint=f"Call it {path.with_suffix('.yaml').name}.")
            if id not in known[kind]:
                raise ResourceError(f"{path} overrides nothing: there is no {kind}/{id}", hint=suggest(id, known[kind]))
            if id == "untrusted":
                raise ResourceError(f"{path} would be ignored", hint="It guards every run and cannot be overridden.")

    def layers(self) -> list[tuple[str, Path]]:
        """Return (origin, root), lowest priority first."""
        found = [("scirgen", builtin_root()), *plugin_roots()]
        if self.domain is not None:
            found.append((self.domain.name, self.domain.root))
        if self.overrides is not None:
            found.append((str(self.overrides), self.overrides))
        return found

    def find(self, folder: str) -> dict[str, Resource]:
        """Return all resources below ``folder`` ("prompts", "taxonomies"), by id, overrides applied."""
        return {r.id: r for r in self._walk(folder)}

    def get(self, folder: str, name: str) -> Resource:
        """Return one resource.

        Raises:
            ResourceError: no resource has that id; similar names are suggested.
        """
        found = self.find(folder)
        if name not in found:
            raise ResourceError(f"no such file in {folder}: {name!r}", hint=suggest(name, found))
        return found[name]

    def _walk(self, folder: str) -> Iterator[Resource]:
        plugins = dict(plugin_roots())
        owners: dict[str, str] = {}
        for origin, root in self.layers():
            base = root / folder
            for path in sorted(base.rglob("*.yaml")):
                id = path.relative_to(base).with_suffix("").as_posix()
                if plugins.get(origin) == root and id in owners:
                    raise ResourceError(
                        f"{path}: {owners[id]} already has {folder}/{id}",
                        hint="Give the plugin's file another name; only a domain or --overrides replaces a file.",
                    )
                owners[id] = origin
                yield Resource(id, path, origin)


GENERAL = Domain(
    name="general",
    title="Any field",
    root=Path(__file__).parent / "no-overrides",
    description="the built-in prompts and taxonomies, with examples from many fields",
)
"""The default domain: it overrides nothing and has no sample."""


def find_domain(name: str, registry: Registry | None = None) -> Domain:
    """Return a domain by name.

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
            f"this command does not use the setting {unread[0]}", hint=f"This command reads only: {', '.join(reads)}."
        )
    pack = find_domain(chosen)
    layer = (pack.name, pack.config_file) if pack.config_file else None
    return load_config(domain_file=layer, file=config_file, flags=given), pack
