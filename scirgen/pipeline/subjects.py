"""Chooses the datasets that a run makes pairs about (``generate.about``). All others are only read and searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from scirgen.core.config import GenerateConfig
from scirgen.core.errors import InputError
from scirgen.core.files.named import ordinary
from scirgen.core.fingerprint import digest
from scirgen.core.records import Dataset
from scirgen.stages.collect.pages import absent, no_record


def requested(config: GenerateConfig) -> tuple[str, ...] | int:
    """Return the ids that the settings list, themselves or in a file; or the number of datasets to draw. () for all.

    Raises:
        InputError: the file cannot be read or names nothing.
    """
    if not isinstance(config.about, str):
        return config.about
    path = Path(config.about)
    if not path.is_file():
        if path.suffix in (".txt", ".csv", ".tsv"):
            raise InputError(f"generate.about: {path} does not exist", hint="Give a file with one id per line.")
        return (config.about,)
    try:
        lines = ordinary(path).read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeError) as error:
        raise InputError(f"generate.about: {path}: {error}", hint="Give a text file with one id per line.") from error
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not found:
        raise InputError(f"generate.about: {path} names no dataset", hint="Give a file with one id per line.")
    return found


def chosen(
    wanted: tuple[str, ...] | int, ids: Sequence[str], datasets: Iterable[Dataset], seed: int
) -> tuple[list[str], tuple[str, ...]]:
    """Return the datasets that are subjects, in the order of ``ids``, and the requested ids that no record has.

    A number is drawn by hashes of the ids, so a few new records change few subjects.

    Raises:
        InputError: no record has any of the requested ids.
    """
    if isinstance(wanted, int):
        drawn = set(sorted(ids, key=lambda id: (digest(seed, "about", id), id))[:wanted])
        return [id for id in ids if id in drawn], ()
    names = {name.lower() for name in wanted}
    missing, found = wanted, set[str]()
    for dataset in datasets:
        if names & {dataset.id.lower(), (dataset.doi or dataset.id).lower()}:
            missing = absent(missing, dataset)
            found.add(dataset.id)
    if not found:
        raise InputError(f"generate.about: {no_record(wanted[:3])}", hint="Look at: scirgen generate --dry-run.")
    return [id for id in ids if id in found], missing
