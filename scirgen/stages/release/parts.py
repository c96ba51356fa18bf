"""Plugins of kinds ``release_part``, which add data to a release, and ``row_fields``, which add fields to its rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from scirgen.core.config import Config
from scirgen.core.errors import PluginError
from scirgen.core.records import Dataset, QAPair, Record, Rejection
from scirgen.core.registry import Registry, returned, wrong_return
from scirgen.release_files.release import ReleaseRow, RowField
from scirgen.stages.base import RunView, StageContext, asked_for
from scirgen.stages.release.describe.features import feature


class ReleaseMaterial(Protocol):
    """The view that a part has of a release's content."""

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        """The datasets by id."""

    @property
    def uses(self) -> Mapping[str, tuple[str, ...]]:
        """Dataset id -> ids of the papers that use it."""


@dataclass(frozen=True)
class PartWritten:
    """The result of writing a part.

    Attributes:
        info: fields of ``release.json`` (`ReleaseInfo`), such as ``tasks``, or ``tables`` for card and report.
        counts: further counts of ``release.json``.
        lines: path inside the release -> number of lines.
        rejections: what the part left out.
    """

    info: Mapping[str, object] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    rejections: tuple[Rejection, ...] = ()


class PartContent(ABC):
    """The addition of one plugin to one release."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for the card."""
        return ()

    def pairs(self) -> Iterable[QAPair]:
        """Return the questions that the plugin adds to the rows; one with an empty answer has no answer in the
        release."""
        return ()

    def weights(self, uses: Mapping[str, tuple[str, ...]]) -> Counter[str]:
        """Return a mapping: dataset id -> weight that balances the splits of a release without rows.

        Args:
            uses: dataset id -> ids of the papers that use it.
        """
        return Counter()

    @abstractmethod
    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Write the part's files into the release's folder.

        Args:
            folder: the release that is being written; rows and corpora are there already.
            content: the content of the release.
            split_of: dataset id -> split.
        """


class ReleasePart(ABC):
    """Makes a `PartContent` from a run. It is asked if the settings name it in ``steps`` or have a section of its
    name."""

    name: ClassVar[str]
    taxonomies: ClassVar[tuple[str, ...]] = ()

    def fingerprint(self, config: Config) -> str:
        """Return the hash of the files outside the run that the part reads."""
        return ""

    @abstractmethod
    def material(self, run: RunView, ctx: StageContext) -> PartContent:
        """Return the part's content, from the whole run."""


class RowFields(ABC):
    """Adds typed fields to the rows of a release. It is asked if the settings name it in ``steps`` or have a section of
    its name.

    ``fields`` is a `Record` whose fields are added: each a single value, or a tuple of single values or of records of
    such, with a description and a default, which rows have that `values` says nothing of.
    """

    name: ClassVar[str]
    fields: ClassVar[type[Record]]

    def fingerprint(self, config: Config) -> str:
        """Return the hash of the files outside the run, and of the settings, that the values depend on."""
        return ""

    @abstractmethod
    def values(self, run: RunView, ctx: StageContext) -> Mapping[str, Record]:
        """Pair id -> its fields."""


def row_fields(config: Config, registry: Registry) -> list[RowFields]:
    """Return the added fields that the settings ask for, by name.

    Raises:
        PluginError: what a plugin registered is not a `RowFields` class, or its fields cannot be added.
    """
    found: list[RowFields] = asked_for("row_fields", RowFields, config, registry)
    taken = dict.fromkeys(ReleaseRow.model_fields, "scirgen")
    for one in found:
        for column in one.fields.model_fields:
            if column in taken:
                raise PluginError(f"row fields {one.name!r}: the field {column!r} already belongs to {taken[column]}")
            taken[column] = one.name
    columns(found)
    return found


def columns(chosen: Sequence[RowFields]) -> tuple[RowField, ...]:
    """Return the added fields as ``release.json`` has them.

    Raises:
        PluginError: a field has no default, or a type that has no column.
    """
    found: list[RowField] = []
    for one in chosen:
        try:
            defaults = one.fields().model_dump(mode="json")
            for name, field_ in one.fields.model_fields.items():
                found.append(
                    RowField(
                        name=name,
                        plugin=one.name,
                        description=field_.description or "",
                        feature=feature(field_.annotation),
                        default=defaults[name],
                    )
                )
        except (TypeError, ValueError) as error:
            raise PluginError(f"row fields {one.name!r}: {one.fields.__name__}: {error}") from error
    return tuple(found)


def added_values(chosen: Sequence[RowFields], run: RunView, ctx: StageContext) -> dict[str, dict[str, object]]:
    """Pair id -> the fields that plugins add to its row.

    Raises:
        PluginError: a plugin returned something else than its fields by pair id.
    """
    found: dict[str, dict[str, object]] = {}
    for one in chosen:
        values = one.values(run, ctx)
        if not isinstance(values, Mapping):
            raise wrong_return(one.values, values, "a mapping of pair id to record")
        for pair_id, record in values.items():
            returned(one.values, record, one.fields, f"{one.fields.__name__} records")
            found.setdefault(pair_id, {}).update(record.model_dump())
    return found


def release_parts(config: Config, registry: Registry) -> list[ReleasePart]:
    """Return the parts that the settings ask for, by name.

    Raises:
        PluginError: a plugin's part is not a `ReleasePart` class.
    """
    return asked_for("release_part", ReleasePart, config, registry)


def part_contents(parts: Iterable[ReleasePart], run: RunView, ctx: StageContext) -> list[PartContent]:
    """Return the content of each part.

    Raises:
        PluginError: a plugin returned something else.
    """
    found: list[PartContent] = []
    for part in parts:
        made: object = part.material(run, ctx)
        if not isinstance(made, PartContent):
            raise wrong_return(part.material, made, "a PartContent")
        found.append(made)
    return found
