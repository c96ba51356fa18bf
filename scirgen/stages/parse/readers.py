"""The libraries that open PDFs, and the choice between them. A run chooses once, so that all its papers have one
reader."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec

from scirgen.core.config import Config
from scirgen.core.errors import MissingExtraError

READERS = {"pymupdf": "pymupdf", "pdfium": "pypdfium2"}
"""Reader -> its package, whose module has the same name; ``auto`` takes the first that is installed."""
_EXTRAS = {"pymupdf": "pymupdf", "pdfium": "pdf"}


def chosen(reader: str) -> str:
    """Return the reader that a setting names; for ``auto`` the first one that is installed, or "" without any.

    Raises:
        MissingExtraError: it is not installed.
    """
    found = [name for name, package in READERS.items() if find_spec(package)]
    if reader == "auto":
        return next(iter(found), "")
    if reader not in found:
        raise MissingExtraError(
            f"the PDF reader {reader!r} is not installed", hint=f"pip install 'scirgen[{_EXTRAS[reader]}]'"
        )
    return reader


def with_reader(config: Config) -> Config:
    """Return the settings with the reader that ``parse.reader: auto`` means on this machine.

    Raises:
        MissingExtraError: the set reader is not installed.
    """
    reader = chosen(config.parse.reader)
    return config.model_copy(update={"parse": config.parse.model_copy(update={"reader": reader or "auto"})})


def reader_in_use(reader: str) -> str:
    """Return the reader with the version of its package, for fingerprints and manifests; "none" without any."""
    name = chosen(reader)
    return f"{name} {metadata.version(READERS[name])}" if name else "none"
