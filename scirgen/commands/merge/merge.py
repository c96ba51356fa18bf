"""Makes one release from several runs: derives its settings, runs the release stage on the merged view, and writes the
manifest."""

from __future__ import annotations

import os
import platform
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path

from scirgen.commands.merge.parts import differences, differing, leaves, unfinished
from scirgen.core.config import Config, load_config
from scirgen.core.errors import ConfigError, StoreError
from scirgen.core.safety.files import mode_beside, replacing
from scirgen.core.version import __version__
from scirgen.pipeline.manifest import write_manifest
from scirgen.pipeline.observer import Observer
from scirgen.pipeline.runner import Outcome, stage_fingerprint, write_release
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.merged_view import PARTS, MergedNote, MergedView, PartNote
from scirgen.pipeline.views.part_view import Part
from scirgen.stages.base import Stage, StageContext, StageResult, WorkItem

_OWN = ("release", "generate.quota", "generate.types", "seed")
"""Settings that decide the result of a merge. All others belong to the parts."""

_TOTAL = "generate.quota.total"

_ANEW = ("counts", "judged_nothing", "usage", "usage_last_invocation", "merged")
"""Entries of a part's manifest that are counted again for all parts together."""


def check_parts(parts: Sequence[Part], *, mixed: bool, partial: bool) -> list[str]:
    """Refuse parts that cannot become one release or were not permitted; return notes for the card.

    Args:
        parts: the parts.
        mixed: allow parts that were made differently.
        partial: allow parts that are unfinished or have failed items.

    Raises:
        StoreError: a part is unfinished.
        ConfigError: parts of several domains or languages, or made differently.
    """
    notes = []
    for part in parts:
        if not part.view.manifest():
            raise StoreError(
                f"{part.folder} was stopped before it wrote its manifest", hint="Run it again with the same options."
            )
        if missing := unfinished(part):
            if not partial:
                raise StoreError(
                    f"{part.folder} is not finished: {missing}", code="unfinished",
                    hint="Run it again with the same options, or merge what is there: --partial.",
                )  # fmt: skip
            notes.append(f"{part.name} is incomplete: {missing}.")
    basic = {p.name: {k: p.view.manifest().get(k) for k in ("domain", "language")} for p in parts}
    if lines := differing(basic):
        raise ConfigError(
            f"the parts cannot be one release, {'; '.join(lines)}", hint="Merge the parts of each domain and language."
        )
    if lines := differences(parts):
        if not mixed:
            raise ConfigError(
                f"the parts were made differently: {'; '.join(lines)}", code="mixed",
                hint="Run them again with the same settings, or release them together anyway with --mixed.",
            )  # fmt: skip
        notes.append(f"The parts were made differently: {'; '.join(lines)}.")
    return notes


def merged_config(parts: Sequence[Part], file: Path | None, flags: Mapping[str, object]) -> Config:
    """The settings of the merged release: the parts' own, then the file's, then the flags'.

    Args:
        parts: checked ones.
        file: a YAML file of settings, such as the parts were run with; settings that do not concern a release are
            ignored.
        flags: dotted setting -> value.

    Raises:
        ConfigError: a flag does not concern a release, or parts disagree on a setting that is not given.
    """
    given: dict[str, object] = {}
    if file is not None:
        loaded = load_config(file=file)
        given = {key: value for key, value, origin in loaded.rows() if origin != "default" and _concerns(key)}
    for key, value in flags.items():
        if not _concerns(key):
            raise ConfigError(
                f"{key} cannot be set in a merge, because its parts already exist",
                hint=f"A merge accepts overrides, {', '.join(_OWN)}, and settings below them.",
            )
        given |= leaves({key: value})
    theirs = {p.name: _own_settings(p.view.manifest()) for p in parts}
    if not any(row.get(_TOTAL) for row in [given, *theirs.values()]):
        # Without a target, its other settings do not matter.
        theirs = {n: {k: v for k, v in row.items() if not k.startswith("generate.")} for n, row in theirs.items()}
    open_ = {
        name: {k: v for k, v in row.items() if not any(_covers(g, k) for g in given)} for name, row in theirs.items()
    }
    # If a part's version of scirgen does not know a setting, the other parts decide it.
    known = {key: value for row in reversed(open_.values()) for key, value in row.items()}
    if lines := differing({name: {**known, **row} for name, row in open_.items()}):
        raise ConfigError(
            f"the parts' settings of the release differ, {'; '.join(lines)}",
            hint="Choose a value with --set KEY=VALUE.",
        )
    manifest = parts[0].view.manifest()
    basic = {key: manifest[key] for key in ("domain", "language")}
    return load_config(flags={**basic, **known, **given}).config


def _concerns(key: str) -> bool:
    return key == "overrides" or any(_covers(own, key) for own in _OWN)


def _covers(key: str, other: str) -> bool:
    return other == key or other.startswith(key + ".")


def _own_settings(manifest: Mapping[str, object]) -> dict[str, object]:
    settings = manifest.get("settings")
    known = leaves(settings) if isinstance(settings, Mapping) else {}
    return {k: v for k, v in {**known, "seed": manifest.get("seed")}.items() if _concerns(k)}


# -- the release -------------------------------------------------------------------------------------------------------


def open_merged(folder: Path, parts: Sequence[Part]) -> Store:
    """The merged run's own store, made on first use.

    Raises:
        StoreError: the folder is an ordinary run, or one of the parts.
    """
    if any(folder.resolve() == part.folder.resolve() for part in parts):
        raise StoreError(f"{folder} is one of the parts", hint="Choose another folder with --out.")
    store = Store(folder / "run.db")
    if store.meta("run") is not None and store.meta(PARTS) is None:
        store.close()
        raise StoreError(f"{folder} already contains a run", hint="Choose another folder with --out.")
    return store


async def release(store: Store, view: MergedView, ctx: StageContext, stage: Stage, observer: Observer) -> Outcome:
    """Write the release of the joined view completely or not at all, unless the folder already has it.

    Raises:
        ScirgenError: it cannot be written; the earlier release stays.
    """
    if next(view.pairs(), None) is None:
        raise ConfigError(
            "the parts have no accepted pair", code="nothing_made", hint="See what was rejected: scirgen status PART."
        )
    ctx.run = view

    def process(stage: Stage, item: WorkItem, fingerprint: str) -> Awaitable[StageResult]:
        return stage.process(item, ctx.at(stage.name, item.key, fingerprint))

    # The notes are part of the release. Without notes, the fingerprint is that of a single run that did the parts' work.
    await write_release(stage, store, ctx, observer, process, view.state_digest(), *view.notes())
    failed = sum(row.get("failed", 0) + row.get("partial", 0) for row in view.funnel().values())
    return Outcome("partial" if failed or view.waiting() else "success", len(view.dataset_ids()), failed)


def remember_parts(folder: Path, store: Store, view: MergedView, elsewhere: Mapping[str, Sequence[str]]) -> None:
    """Mark the store as a merged run, which is read through its parts from now on."""
    parts = tuple(
        PartNote(
            name=part.name,
            path=str(part.folder.resolve()),
            relative=os.path.relpath(part.folder.resolve(), folder.resolve()),
            state=part.view.finished(),
            elsewhere=tuple(elsewhere.get(part.name, ())),
        )
        for part in view.parts
    )
    store.set_meta(PARTS, MergedNote(parts=parts, notes=view.notes()).model_dump_json())


# -- the manifest ------------------------------------------------------------------------------------------------------


def write_merged_manifest(folder: Path, store: Store, view: MergedView, ctx: StageContext, stage: Stage) -> None:
    """RUN/manifest.json (what all parts share, then each part with what is its own) and RUN/parts.tsv (dataset, part).

    Raises:
        StoreError: they cannot be written.
    """
    manifests = {p.name: p.view.manifest() for p in view.parts}
    said = {name: {k: v for k, v in m.items() if k not in _ANEW} for name, m in manifests.items()}
    shared = common(list(said.values()))
    config = ctx.config.model_dump(mode="json")
    settings = {**_mapping(shared, "settings"), "release": config["release"]}
    settings["generate"] = {**_mapping(settings, "generate"), "quota": config["generate"]["quota"]}
    manifest: dict[str, object] = {
        **shared,
        "scirgen": __version__,
        "python": platform.python_version(),
        "seed": ctx.config.seed,
        "models": _models(list(manifests.values())),
        "settings": settings,
        "stages": {**_mapping(shared, "stages"), "release": stage_fingerprint(stage, ctx)[:12]},
        "usage": _summed([m.get("usage") for m in manifests.values()]),
        "merged": {
            "notes": list(view.notes()),
            "parts": [
                {
                    "name": part.name,
                    "datasets": len(part.view.dataset_ids()),
                    "state": part.view.finished(),
                    "usage": manifests[part.name].get("usage"),
                    **without(said[part.name], shared),
                }
                for part in view.parts
            ],
        },
    }
    _write_table(folder / "parts.tsv", view)
    write_manifest(folder, store, manifest, view)


def common(values: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The entries that are equal in all mappings, at any depth."""
    found: dict[str, object] = {}
    for key in [k for k in values[0] if all(k in v for v in values)]:
        row = [v[key] for v in values]
        if all(isinstance(v, Mapping) for v in row):
            found[key] = common([v for v in row if isinstance(v, Mapping)])
        elif all(v == row[0] for v in row):
            found[key] = row[0]
    return found


def without(value: Mapping[str, object], shared: Mapping[str, object]) -> dict[str, object]:
    """The entries of a mapping that are not in ``shared``."""
    found: dict[str, object] = {}
    for key, inner in value.items():
        other = shared.get(key)
        if isinstance(inner, Mapping) and isinstance(other, Mapping):
            if rest := without(inner, other):
                found[key] = rest
        elif key not in shared:
            found[key] = inner
    return found


def _mapping(of: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = of.get(name)
    return value if isinstance(value, Mapping) else {}


def _models(manifests: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Role -> its model, or the models if parts used several."""
    found: dict[str, dict[str, None]] = {}
    for manifest in manifests:
        for role, model in _mapping(manifest, "models").items():
            found.setdefault(role, {})[str(model)] = None
    return {role: ", ".join(models) for role, models in sorted(found.items())}


def _summed(usages: Sequence[object]) -> dict[str, object]:
    """Usage of all parts together; a value that is unknown in one part is unknown in the sum."""
    rows = [u for u in usages if isinstance(u, Mapping)]
    found: dict[str, object] = {}
    for key in sorted({k for row in rows for k in row}):
        values = [row[key] for row in rows if key in row]
        if any(isinstance(v, Mapping) for v in values):
            found[key] = _summed(values)
        else:
            found[key] = None if any(v is None for v in values) else sum(values)
    return found


def _write_table(path: Path, view: MergedView) -> None:
    try:
        with replacing(path, mode=mode_beside(path.with_name("run.db"))) as out:
            out.write(b"dataset_id\tpart\n")
            out.writelines(f"{dataset_id}\t{part}\n".encode() for dataset_id, part in view.owners())
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", hint="Free some space, then merge again."
        ) from error
