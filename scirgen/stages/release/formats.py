"""The protocol of a release format: a plugin of kind ``release_format``."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from scirgen.release_files.release import Release


@runtime_checkable
class ReleaseFormat(Protocol):
    """Writes a release in another shape. Registered by name; the name is also the folder it writes to."""

    def write(self, release: Release, folder: Path) -> None:
        """Write ``folder`` (which does not exist yet) from the release.

        The same release gives the same bytes: no clock times, no absolute paths. Rows are streamed, not collected.

        Raises:
            MissingExtraError: a library the format needs is not installed.
        """
