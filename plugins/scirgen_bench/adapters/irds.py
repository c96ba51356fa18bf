"""Registers a release's ``ir_datasets`` folder with the ir_datasets package under ids like
``scirgen/NAME/SETTING/SPLIT``."""

from __future__ import annotations

from pathlib import Path

from scirgen import InputError
from scirgen.plugin import MissingExtraError, read_json

_GRADES = {
    2: "passage that carries the answer or its main part", 1: "gold dataset, or passage that adds to the answer",
    0: "read, and of no help",
}  # fmt: skip
_REGISTERED: dict[str, Path] = {}
"""Id -> folder, in this process: ir_datasets keeps the data that an id was first registered with."""


def register(folder: str | Path) -> list[str]:
    """Register every id of the folder's ``datasets.json``; afterwards ``ir_datasets.load(id)`` gives docs, queries and
    qrels.

    Args:
        folder: a run's folder, a release, or ``RELEASE/ir_datasets``, written by the release format of that name.

    Returns:
        The ids, sorted.

    Raises:
        InputError: the folder has no such index, or another release already has one of its ids.
        MissingExtraError: ir_datasets is not installed.
    """
    places = (Path(folder), Path(folder) / "ir_datasets", Path(folder) / "release" / "ir_datasets")
    folder = next((p for p in places if (p / "datasets.json").is_file()), Path(folder))
    index = folder / "datasets.json"
    if not index.is_file():
        raise InputError(
            f"there is no ir_datasets/ in {folder}", hint="Write the release with release.formats: [ir_datasets]."
        )
    try:
        import ir_datasets
        from ir_datasets.datasets.base import Dataset
        from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries
        from ir_datasets.util import LocalDownload
    except ImportError as error:
        raise MissingExtraError(f"this needs ir_datasets: {error}", hint="pip install ir_datasets") from error
    table: dict[str, dict[str, str]] = read_json(index, hint="Write the release again.")
    for name, files in table.items():
        parts = [TsvDocs(LocalDownload(folder / files["docs"]), namespace=name.replace("/", "_"))]
        if "queries" in files:
            parts.append(TsvQueries(LocalDownload(folder / files["queries"])))
            parts.append(TrecQrels(LocalDownload(folder / files["qrels"]), _GRADES))
        if name in _REGISTERED and _REGISTERED[name] != folder.resolve():
            raise InputError(
                f"the name {name} is already used by {_REGISTERED[name]}",
                hint="Give each release its own name: release.name.",
            )
        if name not in ir_datasets.registry:
            ir_datasets.registry.register(name, Dataset(*parts))
            _REGISTERED[name] = folder.resolve()
    return sorted(table)
