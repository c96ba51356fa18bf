"""Imports of optional packages, with a clear error if one is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scirgen.core.errors import MissingExtraError


@contextmanager
def require(extra: str, purpose: str, note: str = "") -> Iterator[None]:
    """Wrap the import of an extra's packages: ``with require("local", "models in process"): import torch``.

    Args:
        extra: name of the extra, for the hint.
        purpose: what the packages are for, such as "models in process" or "Parquet".
        note: text after the command in the hint.

    Raises:
        MissingExtraError: an import failed.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"a package for {purpose} is not installed: {error}",
            hint=f"Install it with: pip install 'scirgen[{extra}]'{note}",
        ) from error
