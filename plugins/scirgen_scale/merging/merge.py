"""Makes one run of several: derives its settings, copies the parts' results, releases them, and writes the manifest."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from scirgen import Config, ConfigError, InputError, Observer, Run, StageContext, __version__
from scirgen.core.config import NOT_FINGERPRINTED, load_config, section_model
from scirgen.core.corpus import Reading
from scirgen.core.resources import find_domain
from scirgen.core.safety.files import mode_beside, replacing
from scirgen.pipeline.engine import Engine
from scirgen.pipeline.manifest import write_manifest
from scirgen.pipeline.plan import plan
from scirgen.pipeline.run import build_stages
from scirgen.pipeline.runner import Outcome, Runner, stage_fingerprint
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.view import MERGED, StoreView
from scirgen.plugin import PromptLibrary, Registry, Resources, StoreError, Taxonomies, blocking, load_registry
from scirgen.report import write_report
from scirgen_scale.merging.copying import copy_parts
from scirgen_scale.merging.parts import (
    Part,
    differences,
    differing,
    leaves,
    mapped,
    open_parts,
    settle_overlap,
    unfinished,
)

_OWN = ("release", "generate.quota", "generate.types", "seed")
"""Settings that decide the result of a merge, beside those of plugins that only a release reads. They are those of the
person who merges, never of a part, which may come from someone else. All others belong to the parts."""

_TOTAL = "generate.quota.total"

_ANEW = ("counts", "judged_nothing", "usage", "usage_last_invocation", "merged")
"""Entries of a part's manifest that are counted again for all parts together."""


UNJUDGED = (
    "What somebody asked was not searched in all parts: passages and datasets of the others are unjudged for it, not "
    "of grade 0. Running generate on the merged run searches all of them."
)
"""The note on the card about parts in which somebody asked."""


def merge(
    out: str | Path,
    parts: Sequence[str | Path],
    *,
    mixed: bool = False,
    partial: bool = False,
    first_wins: bool = False,
    config_file: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    report: bool = True,
    observer: Observer | None = None,
) -> Run:
    """Make one release from several finished runs, as if they had been one. It calls no model and only reads the parts.

    Args:
        out: the merged run's folder (release, manifest, report); the parts stay where they are.
        parts: folders of runs, or of merged runs, which stand for their parts.
        mixed: allow parts that were made with different models, prompts, settings or seeds; the card says so.
        partial: allow parts that are unfinished or have failed items; the card reports it.
        first_wins: if several parts have different results for a dataset, take those of the part named first.
        config_file: a YAML file of settings; only those of the release are used.
        settings: dotted setting -> value, of the release (``release.*``, ``generate.quota.*``, ``seed``,
            ``overrides``).
        report: also write report.html.
        observer: receives the events of the run.

    Returns:
        The merged run. Everything that reads a run's folder can read it, as long as the parts stay where they are.

    Raises:
        ScirgenError: the parts cannot become one release, or only with one of the permissions above; nothing is
            written.
    """
    folder, observer = Path(out), observer or Observer()
    registry = load_registry()
    with ExitStack() as closing:
        opened = open_parts([Path(part) for part in parts], closing)
        notes = check_parts(opened, mixed=mixed, partial=partial)
        file = Path(config_file) if config_file else None
        config, unused = merged_config(opened, file, settings or {}, registry)
        for line in unused:
            observer.note(f"settings of the parts that this merge does not use: {line}; change it with --set")
        taken = settle_overlap(opened, first_wins=first_wins)
        if all(next(part.view.pairs(), None) is None for part in opened):
            raise ConfigError(
                "the parts have no accepted pair", code="nothing_made",
                hint="See what was rejected: scirgen status PART.",
            )  # fmt: skip
        store = closing.enter_context(_fresh(folder, opened))
        observer.note(f"{len(opened)} part(s) with {sum(map(len, taken.values())):,} datasets: copying their results")
        copy_parts(store, opened, taken)
        if searched_apart(store, opened):
            notes.append(UNJUDGED)
        _mark(store, opened, notes)
        outcome = _release(store, config, registry, folder, observer, opened, taken, notes)
    if report:
        write_report(folder)
    return Run(folder, outcome)


def write_corpus(
    folder: str | Path, parts: Sequence[str | Path], *, partial: bool = False, observer: Observer | None = None
) -> Reading:
    """Write one corpus of what several runs have read, which each can search (``search.corpus``); return what it was
    read from. It calls no model and only reads the parts, which need no questions yet (``generate.off``).

    Args:
        folder: the corpus's folder, which is replaced as a whole if it holds a corpus.
        parts: folders of runs.
        partial: allow parts that are unfinished or have failed items.
        observer: receives notes.

    Raises:
        ScirgenError: the parts cannot become one release, or the folder holds something else; nothing is written.
    """
    place = Path(folder)
    if place.exists() and not (place.is_dir() and not any(place.iterdir())):
        try:
            Reading.open(place)
        except InputError as error:
            raise InputError(
                f"--corpus: {place} is not a corpus", hint="Give a new folder, or that of a corpus."
            ) from error
    place.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as closing:
        opened = open_parts([Path(part) for part in parts], closing)
        for line in check_parts(opened, mixed=False, partial=partial):
            (observer or Observer()).note(line)
        taken = settle_overlap(opened, first_wins=False)
        aside = closing.enter_context(TemporaryDirectory(prefix=".merge-", dir=place.parent))
        store = closing.enter_context(Store(Path(aside) / "run.db"))
        copy_parts(store, opened, taken)
        view = StoreView(store)
        reading = Reading.of(view)
        reading.written(place, view)
        return reading


def _release(
    store: Store,
    config: Config,
    registry: Registry,
    folder: Path,
    observer: Observer,
    parts: Sequence[Part],
    taken: Mapping[str, Collection[str]],
    notes: Sequence[str],
) -> Outcome:
    """Release what the parts gave, and write the manifest."""
    resources = Resources(find_domain(config.domain, registry), Path(config.overrides) if config.overrides else None)
    ctx = StageContext(
        config, resources, PromptLibrary(resources), Taxonomies(resources), registry, folder,
        log=logging.getLogger("scirgen"),
    )  # fmt: skip
    intake, *_, release = plan(registry, config)
    stages = build_stages(registry, (intake, release))
    outcome = blocking(Runner(store, ctx, stages, Engine(config), None, observer, plan=(intake, release)).run())
    if any(map(unfinished, parts)):
        store.set_meta("finished", "")
    fingerprint = stage_fingerprint(stages[release.stage], ctx)[:12]
    _write_table(folder / "parts.tsv", taken)
    write_manifest(folder, store, merged_manifest(parts, taken, notes, ctx, fingerprint))
    view = StoreView(store)
    failed = sum(row.get("failed", 0) + row.get("partial", 0) for row in view.funnel().values())
    partial = failed or view.waiting() or outcome.status != "success"
    return Outcome("partial" if partial else "success", len(view.dataset_ids()), failed)


def _fresh(folder: Path, parts: Sequence[Part]) -> Store:
    """Return the store of the merged run.

    Raises:
        StoreError: the folder has another run, or is one of the parts.
    """
    if any(folder.resolve() == part.folder.resolve() for part in parts):
        raise StoreError(f"{folder} is one of the parts", hint="Choose another folder with --out.")
    store = Store(folder / "run.db")
    if store.meta("run") is not None and not store.meta(MERGED):
        store.close()
        raise StoreError(f"{folder} already contains a run", hint="Choose another folder with --out.")
    return store


def _mark(store: Store, parts: Sequence[Part], notes: Sequence[str]) -> None:
    """Give the store what the parts' stores agree on, and the notes for the card."""
    store.set_meta(MERGED, json.dumps(list(notes)))
    for key in ("plan", "steps"):
        said = {part.view.store.meta(key) for part in parts}
        if len(said) == 1 and (value := said.pop()) is not None:
            store.set_meta(key, value)


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
    notes: list[str] = []
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
            f"the parts cannot form one release: {'; '.join(lines)}", hint="Merge each domain and language separately."
        )
    if lines := differences(parts):
        if not mixed:
            raise ConfigError(
                f"the parts were made differently: {'; '.join(lines)}", code="mixed",
                hint="Run them again with the same settings, or release them together anyway with --mixed.",
            )  # fmt: skip
        notes.append(f"The parts were made differently: {'; '.join(lines)}.")
    return notes


def searched_apart(store: Store, parts: Sequence[Part]) -> bool:
    """Return whether somebody asked in a part that did not search what all parts have read."""
    asked = [part.view.manifest().get("corpus") for part in parts if part.view.asked()]
    return len(parts) > 1 and set(asked) - {StoreView(store).content("collect", "parse", "match")} != set()


def merged_config(
    parts: Sequence[Part], file: Path | None, flags: Mapping[str, object], registry: Registry
) -> tuple[Config, list[str]]:
    """Return the settings of the merged release, and a line for each setting of a part that it does not use.

    The settings are the defaults, the domain's, the file's and the flags'. A part's settings are only compared: they
    could name files and models of this machine, and facts about the publisher.

    Args:
        parts: checked ones.
        file: a YAML file of settings, such as the parts were run with; settings that do not concern a release are
            ignored.
        flags: dotted setting -> value.
        registry: knows the plugins' steps.

    Raises:
        ConfigError: a flag does not concern a release.
    """
    steps = {stage for part in parts for stage in part.view.stages()} & set(registry.names("step"))
    own = (*_OWN, *_of_parts(registry), *(key for name in sorted(steps) for key in _of_release(name, registry)))
    given: dict[str, object] = {}
    if file is not None:
        loaded = load_config(file=file)
        given = {key: value for key, value, origin in loaded.rows() if origin != "default" and _concerns(key, own)}
    for key, value in flags.items():
        if not _concerns(key, own):
            raise ConfigError(
                f"{key} cannot be set in a merge, because its parts already exist",
                hint=f"A merge accepts overrides, {', '.join(own)}, and settings below them.",
            )
        given |= leaves({key: value})
    manifest = parts[0].view.manifest()
    pack = find_domain(str(manifest["domain"]), registry)
    loaded = load_config(
        domain_file=(pack.name, pack.config_file) if pack.config_file else None,
        flags={"domain": pack.name, "language": manifest["language"], "steps": sorted(steps), **given},
    )
    mine = {key: value for key, value, _ in loaded.rows() if _concerns(key, own)}
    theirs = {p.name: {k: v for k, v in _settings(p.view.manifest()).items() if k in mine} for p in parts}
    if not any(row.get(_TOTAL) for row in [mine, *theirs.values()]):
        # Without a target, its other settings do not matter.
        mine = {key: value for key, value in mine.items() if not key.startswith("generate.")}
    open_ = {key: value for key, value in mine.items() if not any(_covers(g, key) for g in given)}
    # A part whose version of scirgen does not know a setting does not differ in it.
    rows = {name: open_ | {k: v for k, v in row.items() if k in open_} for name, row in theirs.items()}
    return loaded.config, differing({"this merge": open_, **rows})


def _of_parts(registry: Registry) -> list[str]:
    """Return the sections of release parts that no step reads, so they act in the release alone."""
    sections = set(registry.names("settings")) - set(registry.names("step"))
    return sorted(sections & set(registry.names("release_part")))


def _of_release(step: str, registry: Registry) -> Iterator[str]:
    """Yield the settings of a step that its results do not depend on, so they act in the release."""
    if step in registry.names("settings"):
        for name, field in section_model(step).model_fields.items():
            if field.json_schema_extra == NOT_FINGERPRINTED:
                yield f"{step}.{name}"


def _concerns(key: str, own: Sequence[str]) -> bool:
    return key == "overrides" or any(_covers(one, key) for one in own)


def _covers(key: str, other: str) -> bool:
    return other == key or other.startswith(key + ".")


def _settings(manifest: Mapping[str, object]) -> dict[str, object]:
    return {**leaves(mapped(manifest, "settings")), "seed": manifest.get("seed")}


# -- the manifest ------------------------------------------------------------------------------------------------------


def merged_manifest(
    parts: Sequence[Part],
    taken: Mapping[str, Collection[str]],
    notes: Sequence[str],
    ctx: StageContext,
    release_fingerprint: str,
) -> dict[str, object]:
    """Return the manifest: facts that all parts share, then each part with its own."""
    manifests = {p.name: p.view.manifest() for p in parts}
    said = {name: {k: v for k, v in m.items() if k not in _ANEW} for name, m in manifests.items()}
    shared = common(list(said.values()))
    config = ctx.config.model_dump(mode="json")
    settings = {**mapped(shared, "settings"), "release": config["release"]}
    settings["generate"] = {**mapped(settings, "generate"), "quota": config["generate"]["quota"]}
    shared = {**shared, "settings": settings}
    return {
        **shared,
        "scirgen": __version__,
        "python": platform.python_version(),
        "seed": ctx.config.seed,
        "models": _models(list(manifests.values())),
        "stages": {**mapped(shared, "stages"), "release": release_fingerprint},
        "usage": _summed([m.get("usage") for m in manifests.values()]),
        "merged": {
            "notes": list(notes),
            "parts": [
                {
                    "name": part.name,
                    "datasets": len(taken[part.name]),
                    "state": part.finished(),
                    "usage": manifests[part.name].get("usage"),
                    **without(said[part.name], shared),
                }
                for part in parts
            ],
        },
    }


def common(values: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return the entries that are equal in all mappings, at any depth."""
    found: dict[str, object] = {}
    for key in [k for k in values[0] if all(k in v for v in values)]:
        row = [v[key] for v in values]
        if all(isinstance(v, Mapping) for v in row):
            found[key] = common([v for v in row if isinstance(v, Mapping)])
        elif all(v == row[0] for v in row):
            found[key] = row[0]
    return found


def without(value: Mapping[str, object], shared: Mapping[str, object]) -> dict[str, object]:
    """Return the entries of a mapping that ``shared`` lacks or has with another value."""
    found: dict[str, object] = {}
    for key, inner in value.items():
        other = shared.get(key)
        if isinstance(inner, Mapping) and isinstance(other, Mapping):
            if rest := without(inner, other):
                found[key] = rest
        elif inner != other:
            found[key] = inner
    return found


def _models(manifests: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Return a mapping: role -> its model, or the models if parts used several."""
    found: dict[str, dict[str, None]] = {}
    for manifest in manifests:
        for role, model in mapped(manifest, "models").items():
            found.setdefault(role, {})[str(model)] = None
    return {role: ", ".join(models) for role, models in sorted(found.items())}


def _summed(usages: Sequence[object]) -> dict[str, object]:
    """Return the usage of all parts together; a value that is unknown in one part is unknown in the sum."""
    rows = [u for u in usages if isinstance(u, Mapping)]
    found: dict[str, object] = {}
    for key in sorted({k for row in rows for k in row}):
        values = [row[key] for row in rows if key in row]
        if any(isinstance(v, Mapping) for v in values):
            found[key] = _summed(values)
        else:
            numbers = [v for v in values if isinstance(v, int | float)]
            found[key] = sum(numbers) if len(numbers) == len(values) else None
    return found


def _write_table(path: Path, taken: Mapping[str, Collection[str]]) -> None:
    """RUN/parts.tsv: dataset, part.

    Raises:
        StoreError: it cannot be written.
    """
    rows = sorted((dataset_id, name) for name, ids in taken.items() for dataset_id in ids)
    try:
        with replacing(path, mode=mode_beside(path.with_name("run.db"))) as out:
            out.write(b"dataset_id\tpart\n")
            out.writelines(f"{dataset_id}\t{part}\n".encode() for dataset_id, part in rows)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", hint="Free some space, then merge again."
        ) from error
