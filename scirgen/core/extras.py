"""Packages that only some users need: what is said where one is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scirgen.core.errors import MissingExtraError


@contextmanager
def require(extra: str, purpose: str, note: str = "") -> Iterator[None]:
    """Import in its body what an extra brings: ``with require("local", "models in process"): import torch``.

    Args:
        extra: of the project; the hint names it.
        purpose: what the packages are for, in the plural or as a thing: "models in process", "Parquet".
        note: follows the command in the hint.

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
