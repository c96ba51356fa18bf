"""Selects the questions of a release that a benchmark asks; `retrieval`, `pooling` and `qa` use them."""

from __future__ import annotations

from collections.abc import Callable

from scirgen import InputError, Release, ReleaseRow

ALL = "all"
"""Stands for all splits, for releases that are too small to have a test split."""


def is_answerable(row: ReleaseRow) -> bool:
    """Return whether something in the release answers a row (field ``answerable`` of `scirgen_probe`)."""
    return getattr(row, "answerable", True) is not False


def questions_of_split(
    release: Release,
    split: str,
    limit: int | None = None,
    keep: Callable[[ReleaseRow], bool] = is_answerable,
    what: str = "questions",
) -> list[ReleaseRow]:
    """Return the questions of a split, or of `ALL`; with a limit, that many, evenly spaced over the datasets.

    Args:
        release: an opened release.
        split: ``train``, ``dev``, ``test`` or ``all``.
        limit: largest number; None: all.
        keep: selects rows.
        what: what the error calls them.

    Raises:
        InputError: there are none; it says which splits have questions.
    """
    rows = [r for r in release.rows(None if split == ALL else split) if keep(r)]
    if not rows:
        sizes = {name: count.rows for name, count in release.info.splits.items() if count.rows and name != split}
        others = ", ".join(f"{name} ({n:,} questions)" for name, n in sizes.items())
        hint = f"Choose another with --split: {others}, or {ALL}." if others else "No split has questions."
        raise InputError(f"the split {split} of {release.folder} has no {what}", hint=hint)
    return [rows[i * len(rows) // limit] for i in range(limit)] if limit and limit < len(rows) else rows
