"""The part of people's labels that a release uses: pairs they found unfaithful, pairs they checked, and corrections. A
plugin of kind ``labels`` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from scirgen.core.errors import PluginError
from scirgen.core.records import QAPair
from scirgen.core.registry import Registry
from scirgen.release_files.release import LabelNote, RevisionRow


@dataclass(frozen=True)
class Reviewed:
    """The labels that a release uses.

    Attributes:
        unfaithful: pair id -> why labels exclude the pair from the release.
        checked: pair id -> number of people who checked the pair.
        wording: pair id -> corrected field (``question``, ``answer``) -> its text.
        history: pair id -> its corrected fields as they were before.
        notes: one for each folder of labels, for card and datasheet.
    """

    unfaithful: Mapping[str, str] = field(default_factory=dict)
    checked: Mapping[str, int] = field(default_factory=dict)
    wording: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    history: Mapping[str, tuple[RevisionRow, ...]] = field(default_factory=dict)
    notes: tuple[LabelNote, ...] = ()

    def corrected(self, pair: QAPair) -> QAPair:
        """Return the pair with the corrected wording; its id stays."""
        texts = self.wording.get(pair.id)
        return pair.model_copy(update=texts) if texts else pair


class LabelReader(Protocol):
    """Reads folders of labels (kind ``labels``, named ``default``)."""

    def read(self, folders: Sequence[Path]) -> Reviewed:
        """Read the folders of labels that a release uses.

        Raises:
            InputError: a folder holds no labels, or two folders settle a pair differently.
            ConfigError: a folder's agreement.json is missing or older than its labels.
        """

    def fingerprint(self, folders: Sequence[Path]) -> str:
        """Return the hash of the folders' content; their paths do not count."""


def label_reader(registry: Registry) -> LabelReader:
    """Open the reader of labels.

    Raises:
        PluginError: no plugin provides one.
    """
    if "default" not in registry.names("labels"):
        raise PluginError(
            "release.labels: no installed plugin reads folders of labels", hint="Install scirgen with its plugins."
        )
    return cast(type[LabelReader], registry.get("labels", "default"))()
