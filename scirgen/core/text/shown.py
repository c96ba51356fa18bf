"""Counts in messages, and lists that may be too long to show whole."""

from __future__ import annotations

from collections.abc import Iterable


def shown(texts: Iterable[str], most: int = 3) -> str:
    """Return the first ``most`` texts with commas between them, and "..." if more follow."""
    all_of = list(texts)
    return ", ".join([*all_of[:most], *(["..."] if len(all_of) > most else [])])


def counted(number: int, noun: str, plural: str = "") -> str:
    """Format a count: ``1 dataset``, ``2 datasets``."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
