"""Opens the parts of a merge, locks them against writers, and validates them. `copying` copies their results, and
`merge` decides the settings of the merged release."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from scirgen import InputError, Record
from scirgen.pipeline.store import COLUMNS, Store, StoredResult
from scirgen.pipeline.views.view import StoreView
from scirgen.plugin import StoreError, grouped

_SHOWN = 5
_LONGEST = 300


@dataclass(frozen=True)
class Part:
    """A run that becomes part of another one.

    Attributes:
        name: the folder's name, with as much of its path as distinguishes it from the other parts.
        folder: the run's folder.
        view: the run's state, opened for reading.
    """

    name: str
    folder: Path
    view: StoreView

    def finished(self) -> str:
        """Return the digest of the run's state when its whole catalogue was done; "" if it never was."""
        return self.view.store.meta("finished") or ""

    def items(self, dataset_id: str) -> list[tuple[str, str, str, str, int]]:
        """Return the stage, key, fingerprint, status and the result's number of each item of a dataset."""
        with self.view.store.guarded():
            return self.view.store.db.execute(
                "SELECT m.stage, m.key, r.fingerprint, r.status, r.id "
                "FROM members m JOIN results r ON r.id=m.result_id WHERE m.dataset_id=? ORDER BY 1,2,3",
                (dataset_id,),
            ).fetchall()

    def content(self, result_id: int) -> list[Record]:
        """Return the outputs and rejections of a result."""
        with self.view.store.guarded():
            row = self.view.store.db.execute(f"SELECT {COLUMNS} FROM results r WHERE r.id=?", (result_id,)).fetchone()
        result = StoredResult(*row)
        return [*result.outputs(), *result.rejections()]


def made(part: Part) -> list[str]:
    """Return the stages whose results a merge uses unchanged, so their settings must match."""
    return [stage for stage in part.view.stages() if stage not in ("collect", "release")]


def open_parts(folders: Sequence[Path], closing: ExitStack) -> list[Part]:
    """Open finished runs for reading and keep writers out of them until ``closing`` closes.

    Raises:
        InputError: a folder is not a run.
        StoreError: its store is damaged or from a newer scirgen, or a process is writing to it.
        InputError: a run is named twice.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        if not (folder / "run.db").is_file() and (folder / "release.json").is_file():
            raise StoreError(
                f"{folder} is a release, not a run: it has no run.db",
                hint="A merge needs the folders that --out named.",
            )
        if folder.resolve() in found:
            raise InputError(f"{folder} is named twice among the parts", hint="Name each run once.")
        found[folder.resolve()] = folder
    parts: list[Part] = []
    for folder, name in zip(found.values(), _names(list(found)), strict=True):
        closing.enter_context(_held(folder))
        view = closing.enter_context(StoreView(Store(folder / "run.db", writable=False)))
        parts.append(Part(name, folder, view))
    return parts


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the folders' last names, with as much of the path as distinguishes them."""
    for length in range(1, max(len(f.parts) for f in folders) + 1):
        names = ["/".join(f.parts[-length:]) for f in folders]
        if len(set(names)) == len(names):
            break
    return names


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Take a shared lock on a part: other merges may read it, and runs that would write to it are refused."""
    descriptor = _lock_file(folder / "run.lock")
    if descriptor is None:
        # A copy without a readable lock file: no process writes there either.
        yield
        return
    try:
        _share(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock_file(path: Path) -> int | None:
    # A part may come from someone else: its lock file may be a link to one of our files, or a pipe, which would block.
    with suppress(OSError):
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    return None


def _share(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        raise StoreError(
            f"{folder} is in use by process {holder}", code="locked", hint="Wait for it to finish, or stop it."
        ) from error


def unfinished(part: Part) -> str:
    """Describe what is missing in a part; "" for a finished one."""
    funnel = part.view.funnel()
    failed = sum(row.get("failed", 0) + row.get("partial", 0) for row in funnel.values())
    said = []
    if waiting := part.view.waiting():
        said.append(f"{waiting:,} of {len(part.view.dataset_ids()):,} datasets are not complete")
    if failed:
        said.append(f"{failed:,} items failed")
    if not said and part.finished() != part.view.state_digest():
        said.append("it was stopped before the end of its catalogue")
    return ", ".join(said)


def differences(parts: Sequence[Part]) -> list[str]:
    """Return the differences in how the parts were made, one line each: "what: value (parts), other value (parts)";
    empty if there are none.

    The fingerprints of the stages decide. What a part collected may differ, and the merge decides the settings of the
    release itself.
    """
    manifests = {p.name: p.view.manifest() for p in parts}
    stages = sorted({stage for part in parts for stage in made(part)})
    done = {n: {f"stage {s}": mapped(m, "stages").get(s) for s in stages} for n, m in manifests.items()}
    if not differing({name: {**row, "seed": manifests[name].get("seed")} for name, row in done.items()}):
        return []
    return differing({name: _facts(manifest, stages) for name, manifest in manifests.items()}) or differing(done)


def differing(facts: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return one line for each fact that differs between parts, with the parts that have each value."""
    lines = []
    for name in sorted({key for row in facts.values() for key in row}):
        holders = grouped((_shown_value(row.get(name)), part) for part, row in facts.items())
        if len(holders) > 1:
            lines.append(f"{name}: " + ", ".join(f"{value} ({', '.join(who)})" for value, who in holders.items()))
    return lines


def _shown_value(value: object) -> str:
    """Write a value of a part for a message: short, and without control characters."""
    text = "not set" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return text if text.isprintable() else json.dumps(text)


def _facts(manifest: Mapping[str, object], stages: Sequence[str]) -> dict[str, object]:
    """Return the facts that explain differences, named like the settings."""
    facts = {name: manifest.get(name) for name in ("scirgen", "seed", "prompt_pack", "reader")}
    facts |= {f"models.{role}": model for role, model in mapped(manifest, "models").items()}
    facts |= {f"taxonomies/{name}": h for name, h in mapped(manifest, "taxonomies").items()}
    facts |= {f"prompts/{name}": h for name, h in mapped(manifest, "prompts").items() if name.split("/")[0] in stages}
    for stage, settings in mapped(manifest, "settings").items():
        if stage in stages and isinstance(settings, Mapping):
            facts |= {f"{stage}.{k}": v for k, v in leaves(settings).items() if not k.startswith("quota")}
    return facts


def leaves(settings: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Return a mapping: dotted name -> value."""
    found: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found |= leaves(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


def mapped(manifest: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return an entry of a manifest that is a mapping; empty if it is missing."""
    value = manifest.get(name)
    return value if isinstance(value, Mapping) else {}


def settle_overlap(parts: Sequence[Part], *, first_wins: bool) -> dict[str, list[str]]:
    """Take each dataset that several parts have from the first of them.

    Args:
        parts: the parts, in the given order.
        first_wins: also if their results differ.

    Returns:
        Part name -> the datasets that are taken from it.

    Raises:
        InputError: parts have different results for a dataset.
    """
    owner: dict[str, Part] = {}
    taken: dict[str, list[str]] = {part.name: [] for part in parts}
    different: list[tuple[str, Part, Part]] = []
    for part in parts:
        for dataset_id in part.view.dataset_ids():
            first = owner.setdefault(dataset_id, part)
            if first is part:
                taken[part.name].append(dataset_id)
            elif not first_wins and not _same(first, part, dataset_id):
                different.append((dataset_id, first, part))
    if different:
        shown = "; ".join(f"{d} ({a.name}, {b.name})" for d, a, b in different[:_SHOWN])
        more = f" and {len(different) - _SHOWN:,} more" if len(different) > _SHOWN else ""
        raise InputError(
            f"{len(different):,} dataset(s) are in several parts with different results: {shown}{more}",
            hint="Leave out one of the parts, or take such datasets from the part named first with --first-wins.",
        )
    return taken


def _same(first: Part, other: Part, dataset_id: str) -> bool:
    """Compare two parts: true if they have the same items for a dataset, with the same model output."""
    mine, theirs = first.items(dataset_id), other.items(dataset_id)
    if [row[:4] for row in mine] != [row[:4] for row in theirs]:
        return False
    # Collected records are compared by content, because they also contain local paths.
    ids = [(a[4], b[4]) for a, b in zip(mine, theirs, strict=True) if a[0] != "collect"]
    return all(first.content(a) == other.content(b) for a, b in ids)
