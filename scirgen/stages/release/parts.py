"""The door ``release_part``: what a plugin adds to a release beside the rows, such as retrieval tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from scirgen.core.config import Config
from scirgen.core.errors import PluginError
from scirgen.core.records import Dataset, Rejection
from scirgen.core.registry import Registry
from scirgen.stages.base import RunView, StageContext

if TYPE_CHECKING:
    from scirgen.release_files.release import Release


class ReleaseMaterial(Protocol):
    """The view that a part has of a release's content."""

    @property
    def datasets(self) -> Mapping[str, Dataset]:
        """The datasets by id."""
        ...

    @property
    def uses(self) -> Mapping[str, tuple[str, ...]]:
        """Dataset id -> ids of the papers that use it."""
        ...


@dataclass(frozen=True)
class PartWritten:
    """The result of writing a part.

    Attributes:
        info: fields of ``release.json`` (`ReleaseInfo`), such as ``tasks``.
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

    def weights(self, uses: Mapping[str, tuple[str, ...]]) -> Counter[str]:
        """Dataset id -> weight that balances the splits of a release without rows.

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

    def export(self, form: str, release: Release, folder: Path) -> None:  # noqa: B027 (most parts have one form)
        """Write the part in a release format (``beir``, ``trec`` ...) into the format's folder; by default nothing."""


class ReleasePart(ABC):
    """Makes a `PartContent` from a run. It is asked if the settings name it in ``steps`` or have a section of its
    name."""

    name: ClassVar[str]
    taxonomies: ClassVar[tuple[str, ...]] = ()

    def fingerprint(self, config: Config) -> str:
        """Hash of the files outside the run that the part reads."""
        return ""

    @abstractmethod
    def material(self, run: RunView, ctx: StageContext) -> PartContent:
        """The part's content, from the whole run."""


def release_parts(config: Config, registry: Registry) -> list[ReleasePart]:
    """The parts that the settings ask for, by name.

    Raises:
        PluginError: a plugin's part is not a `ReleasePart` class.
    """
    found: list[ReleasePart] = []
    for name in registry.names("release_part"):
        if name in config.steps or name in config.sections:
            made = registry.get("release_part", name)
            if not (isinstance(made, type) and issubclass(made, ReleasePart)):
                raise PluginError(f"release part {name!r} is not a ReleasePart subclass")
            found.append(made())
    return found
