"""One generic registry of plugins: lazy ``module:attribute`` targets, typed by kind; it refuses name collisions."""

from __future__ import annotations

import difflib
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, TypeVar

from scirgen.core.errors import MissingExtraError, PluginError

CONTRACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "stage": ("name", "uses(config)", "items(scope, ctx)", "async process(item, ctx)"),
    "source": ("name", "revision(cursor)", "datasets(cursor)", "papers(dataset)", "fetch(paper)"),
    "papers": ("name", "papers(dataset)", "fetch(paper)"),
    "dataset_lookup": ("by_doi(doi)", "by_title(title)"),
    "record_form": (),
    "http_client": ("json(url)", "reply(url)", "download(url)", "close()"),
    "domain": ("name", "title", "root"),
    "chat_model": ("async start()", "async chat(request)", "async aclose()"),
    "known_model": ("title", "languages", "note"),
    "scoring_model": ("async start()", "async score(requests)", "async aclose()"),
    "parser": ("parse(path, options)",),
    "match_strategy": ("name", "needs", "async judge(pair, ctx)"),
    "generation_strategy": ("name", "prompts", "writes_together", "async generate(task, ctx)"),
    "gate": ("code", "explanation", "async check(pairs, material, ctx)"),
    "faithfulness": (
        "name",
        "needs",
        "prompts",
        "default_threshold",
        "only_unsure",
        "check(ctx)",
        "identity(ctx)",
        "why(score)",
        "async score(pairs, material, ctx)",
    ),
    "entailment": ("__init__(uri, options)", "identity", "counts_words", "async entail(pairs)"),
    "embedder": ("open(name)", "identify(name, setting)", "describe(name)", "embed(texts, role)"),
    "release_format": ("write(release, folder)",),
    "engine": ("async start(ctx, sessions, replies)", "async execute(stage, item, ctx)", "async aclose()"),
    # Doors: what a plugin adds to scirgen itself (docs/plugins.md, "Doors").
    "command": (),
    "step": ("stage", "reads", "writes", "item", "after"),
    "settings": ("model_fields",),
    "record": ("model_validate_json", "model_dump_json"),
    "release_part": ("name", "taxonomies", "fingerprint(config)", "material(run, ctx)"),
    "further_request": ("name", "prompt", "reply", "variables(most, turn, ctx)", "read(further, task, ctx)"),
    "row_fields": ("name", "fields", "fingerprint(config)", "values(run, ctx)"),
    "reader": ("claims(path)", "groups(path, split, language)"),
    "labels": ("read(folders)", "fingerprint(folders)"),
    "codes": ("items()",),
    "resources": (),
    "taxonomy": ("model_fields", "model_validate"),
    "kind": (),
}
"""kind -> the members that it must have, with the arguments of methods. docs/plugins.md has an example of each kind; a
plugin adds a kind of its own with an entry of kind ``kind``, whose target is a tuple of that form. A name is unique
within its kind."""


OWN: Final = "scirgen"
"""The generator's package and distribution: its classes have versions that are raised by hand."""


@dataclass(frozen=True)
class Provided:
    """One thing that a plugin provides; looked up by (kind, name) and imported on first use."""

    kind: str
    name: str
    target: str
    summary: str = ""
    extra: str | None = None


@dataclass(frozen=True)
class Plugin:
    """The object to which an entry point of the group ``scirgen.plugins`` must resolve."""

    name: str
    version: str
    provides: tuple[Provided, ...] = ()


@dataclass
class Registry:
    """A set of plugins. Instances share no state."""

    _entries: dict[tuple[str, str], tuple[str, Provided]] = field(default_factory=dict)
    plugins: dict[str, Plugin] = field(default_factory=dict)
    broken: dict[str, PluginError] = field(default_factory=dict)
    """Installed plugins that do not load, by name, each with its error."""
    shipped: set[str] = field(default_factory=set)
    """Plugins of scirgen's own distribution, whose tests load all that they provide."""

    def refuse_broken(self) -> None:
        """Check that all installed plugins loaded, as a run needs.

        Raises:
            PluginError: one did not.
        """
        for error in self.broken.values():
            raise error

    def add(self, plugin: Plugin) -> None:
        """Register all that a plugin provides.

        Raises:
            PluginError: an unknown kind, or a (kind, name) that another plugin already claims; the message names both.
        """
        known = {*CONTRACTS, *self.names("kind"), *(i.name for i in plugin.provides if i.kind == "kind")}
        added: dict[tuple[str, str], tuple[str, Provided]] = {}
        for item in plugin.provides:
            if item.kind not in known:
                raise PluginError(
                    f"plugin {plugin.name!r} provides the unknown kind {item.kind!r}", hint=suggest(item.kind, known)
                )
            key = (item.kind, item.name)
            if key in self._entries or key in added:
                other = (self._entries | added)[key][0]
                raise PluginError(
                    f"plugins {other!r} and {plugin.name!r} both provide {item.kind} {item.name!r}",
                    hint="Uninstall one of them, or rename what it provides.",
                )
            added[key] = (plugin.name, item)
        self._entries |= added
        self.plugins[plugin.name] = plugin

    def names(self, kind: str) -> list[str]:
        """Return the registered names of a kind, sorted."""
        return sorted(name for k, name in self._entries if k == kind)

    def provider(self, kind: str, name: str) -> str:
        """Return the name of the plugin that provides (kind, name); "" if none does."""
        return self._entries[kind, name][0] if (kind, name) in self._entries else ""

    def entries(self) -> Mapping[tuple[str, str], tuple[str, Provided]]:
        """Return (kind, name) -> (plugin's name, entry)."""
        return dict(self._entries)

    def get(self, kind: str, name: str) -> object:
        """Import and return the target of (kind, name).

        Raises:
            PluginError: unknown name ("did you mean"), or the target cannot be imported.
            MissingExtraError: it needs an optional dependency; the hint names the extra.
        """
        try:
            plugin, item = self._entries[(kind, name)]
        except KeyError:
            faulty = "".join(f" {error.message}." for error in self.broken.values())
            raise PluginError(f"unknown {kind} {name!r}", hint=suggest(name, self.names(kind)) + faulty) from None
        module, _, attribute = item.target.partition(":")
        try:
            loaded = importlib.import_module(module)
        except Exception as error:
            if item.extra and isinstance(error, ImportError):
                raise MissingExtraError(
                    f"{kind} {name!r} needs a package that is not installed: {error}",
                    hint=f"Install it with: pip install 'scirgen[{item.extra}]'",
                ) from error
            raise PluginError(
                f"plugin {plugin!r} failed to load {item.target!r}: {described(error)}",
                hint="Fix, reinstall or remove the plugin.",
            ) from error
        if not hasattr(loaded, attribute):
            raise PluginError(
                f"plugin {plugin!r} names {item.target!r}, which does not exist",
                hint=suggest(attribute, [n for n in vars(loaded) if not n.startswith("_")]),
            )
        found: object = getattr(loaded, attribute)
        if _package(item) != OWN:
            wanted = self.contract(kind)
            if problems := shape_problems(item.kind, item.name, found, wanted):
                raise PluginError(
                    f"plugin {plugin!r}: {item.kind} {name!r} ({item.target} in {getattr(loaded, '__file__', '?')}): "
                    + "; ".join(problems),
                    hint=f"A {item.kind} needs: {', '.join(wanted)}. docs/plugins.md has a complete example.",
                )
        return found

    def contract(self, kind: str) -> tuple[str, ...]:
        """Return the members that a kind must have.

        Raises:
            PluginError: no such kind, or a plugin's contract is not a tuple of texts.
        """
        if kind in CONTRACTS:
            return CONTRACTS[kind]
        found = self.get("kind", kind)
        if not (isinstance(found, tuple) and all(isinstance(member, str) for member in found)):
            raise PluginError(f"kind {kind!r}: its contract must be a tuple of member names")
        return found

    def place_of(self, error: Exception) -> str:
        """Return the innermost line of a plugin's code that an exception passed through, with plugin and method; "" if
        there is none. Plugins of scirgen's own distribution do not count."""
        own = {_package(item): plugin for plugin, item in self._entries.values() if plugin not in self.shipped}
        for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
            if plugin := own.get(str(frame.f_globals.get("__name__")).partition(".")[0]):
                code = frame.f_code
                return f"plugin {plugin!r}: {code.co_qualname}() in {Path(code.co_filename).name}, line {line}"
        return ""

    def summaries(self, kind: str) -> dict[str, tuple[str, str]]:
        """Return a mapping: name -> (plugin's name, summary) of every entry of a kind, in the order of registration;
        imports nothing."""
        return {name: (plugin, item.summary) for (k, name), (plugin, item) in self._entries.items() if k == kind}

    def verify(self, named: Iterable[str]) -> None:
        """Import what other plugins provide under one of these names, so a faulty plugin is an error before any work.

        Args:
            named: every text in the settings; a URI's scheme counts as a name.

        Raises:
            PluginError: an object cannot be imported, or lacks a member of its kind; the message names it and its
            file.
        """
        names = {part for text in named for part in (text, text.partition(":")[0])}
        for (kind, name), (plugin, _) in self._entries.items():
            if name in names and plugin not in self.shipped:
                with suppress(MissingExtraError):
                    self.get(kind, name)


def _package(item: Provided) -> str:
    """Return the top-level package of an entry's target."""
    return item.target.partition(":")[0].partition(".")[0]


def shape_problems(kind: str, name: str, found: object, wanted: Sequence[str]) -> list[str]:
    """Return the members that a plugin's object lacks. For a function that makes the object, only its result can be
    checked."""
    if inspect.isfunction(found) or inspect.isbuiltin(found):
        return []
    problems = [f"it lacks {member}" for member in wanted if not _has(found, member.split("(")[0].split(" ")[-1])]
    if problems:
        return problems
    for member in wanted:
        method = getattr(found, member.split("(")[0].split(" ")[-1], None)
        if "(" not in member or not callable(method):
            continue
        if member.startswith("async ") and not inspect.iscoroutinefunction(inspect.unwrap(method)):
            problems.append(f"{method.__name__}() must be async")
        arguments = [a for a in member.split("(")[1].rstrip(")").split(", ") if a]
        try:
            inspect.signature(method).bind(
                *arguments, *(["self"] if inspect.isclass(found) and _takes_self(found, method) else [])
            )
        except TypeError:
            problems.append(f"{method.__name__}() must take ({', '.join(arguments)})")
        except ValueError:
            pass  # a method without a signature, such as one written in C
    code = getattr(found, "code", name) if kind == "gate" else name
    if code != name:
        problems.append(f"it is registered as {name!r}, and its code is {code!r}")
    return problems


T = TypeVar("T")


def returned(method: Callable[..., object], value: object, kind: type[T], wanted: str) -> T:
    """Return the value that a plugin's method returned.

    Raises:
        PluginError: it is not a ``kind``; the message names the class, the method and its file and line.
    """
    if isinstance(value, kind):
        return value
    raise wrong_return(method, value, wanted)


def returned_list(
    method: Callable[..., object], value: object, kinds: type | tuple[type, ...], wanted: str, count: int | None = None
) -> list[Any]:
    """Return the list that a plugin's method returned.

    Raises:
        PluginError: it is not a list of ``kinds``, or not ``count`` long; the message names method, file and line.
    """
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        raise wrong_return(method, value, f"a list of {wanted}")
    found = list(value)
    for one in found:
        if not isinstance(one, kinds):
            raise wrong_return(method, one, wanted)
    if count is not None and len(found) != count:
        raise wrong_return(method, f"{len(found)} of them", f"{count}: one {wanted} for each")
    return found


def known_needs(owner: object, needs: object, known: Iterable[str]) -> None:
    """Check the names that a plugin's class has in ``needs``.

    Raises:
        PluginError: one is unknown ("did you mean").
    """
    name = f"{type(owner).__module__}.{type(owner).__qualname__}"
    if isinstance(needs, str) or not isinstance(needs, Iterable):
        raise PluginError(
            f"{name}: needs must be a tuple of names, not {_in_words(needs)}", hint='Write needs = ("scorer",).'
        )
    for need in needs:
        if need not in known:
            raise PluginError(f"{name}: needs names {need!r}, which does not exist", hint=suggest(str(need), known))


def wrong_return(method: Callable[..., object], value: object, wanted: str) -> PluginError:
    """Return the error for a plugin's method that returned a value of the wrong form."""
    plain = inspect.unwrap(getattr(method, "__func__", method))
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__qualname__", type(method).__name__)
    place = f" ({code.co_filename}, line {code.co_firstlineno})" if code else ""
    of = {item.target.partition(":")[0]: plugin for plugin, item in load_registry().entries().values()}
    whose = f"plugin {of[plain.__module__]!r}" if plain.__module__ in of else plain.__module__
    said = f"{whose}: {name}(){place} returned {_in_words(value)}, not {wanted}"
    return PluginError(said, hint="Fix the plugin; docs/plugins.md has an example of each kind.")


def _in_words(value: object) -> str:
    """Describe a value: its repr if that is short, else its type."""
    text = repr(value)
    return f"{text} of type {type(value).__name__}" if len(text) <= _SHORT else f"a {type(value).__name__}"


_SHORT = 40


def _has(found: object, member: str) -> bool:
    """Return whether an object has a member, or a class sets it when it is instantiated (``self.name = ...``)."""
    if hasattr(found, member):
        return not (inspect.isclass(found) and member in getattr(found, "__abstractmethods__", ()))
    code = getattr(getattr(found, "__init__", None), "__code__", None)
    return inspect.isclass(found) and code is not None and member in code.co_names


def _takes_self(kind: type, method: object) -> bool:
    raw = inspect.getattr_static(kind, getattr(method, "__name__", ""), None)
    return not isinstance(raw, (staticmethod, classmethod))


def described(error: Exception, place: str = "") -> str:
    """Describe an error in a plugin's code on one line: class, message, and the place (`Registry.place_of`), else the
    innermost line, which syntax errors already name."""
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if place:
        return f"{said} ({place})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<frozen")]
    if isinstance(error, SyntaxError) or len(frames) < 2:
        return said
    return f"{said} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


_LONG_LIST = 25
_CLOSE = 0.65
"""Similarity of a misspelt word; "temprature" has .6 with "structured"."""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known word and the list of all words; the list is omitted if it is long and a word
    is close."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=_CLOSE)
    if near and len(names) > _LONG_LIST:
        return f"Did you mean {near[0]!r}?"
    listing = ", ".join(names) if names else "none"
    return (f"Did you mean {near[0]!r}? " if near else "") + f"Known: {listing}."


GROUP = "scirgen.plugins"


@cache
def load_registry() -> Registry:
    """Return a registry of all installed plugins, in the order of their names (scirgen's own first).

    A plugin that does not load, is not a `Plugin` or collides with another is in ``broken``, and provides nothing.
    """
    registry = Registry()
    found = {(e.name, e.value): e for e in entry_points(group=GROUP)}
    plugins: list[Plugin] = []
    for point in sorted(found.values(), key=lambda e: (e.name != "scirgen", e.name)):
        try:
            plugin = point.load()
        except Exception as error:
            said = f"plugin {point.name!r} ({point.value}) failed to load: {described(error)}"
            registry.broken[point.name] = PluginError(said, hint="Reinstall or uninstall it.")
            continue
        if isinstance(plugin, Plugin):
            plugins.append(plugin)
            if point.dist is not None and point.dist.name == OWN:
                registry.shipped.add(plugin.name)
        else:
            said = f"plugin {point.name!r} ({point.value}) is a {type(plugin).__name__}, not a scirgen.Plugin"
            registry.broken[point.name] = PluginError(said, hint="Reinstall or uninstall it.")
    # Plugins that bring kinds come first, since others may provide things of these kinds.
    for plugin in sorted(plugins, key=lambda p: not any(i.kind == "kind" for i in p.provides)):
        try:
            registry.add(plugin)
        except PluginError as error:
            registry.broken[plugin.name] = error
    return registry
