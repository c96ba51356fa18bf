"""Assigns components to train, dev and test by rows, with a random seed, independent of the order of arrival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scirgen.core.fingerprint import digest
from scirgen.release_files.release import SPLITS


@dataclass(frozen=True)
class Component:
    """Datasets that must be in one split, with their number of questions (``rows``). Every split gets the same share of
    each ``stratum``."""

    name: str
    datasets: tuple[str, ...]
    rows: int
    stratum: str = ""


def assign(components: Sequence[Component], ratios: Sequence[float], seed: int) -> dict[str, str]:
    """Component name -> split.

    Within a stratum, the seed decides the order of components. Each goes to the split that lacks most of its share,
    among those that have room for it, or if none has, to the split that lacks most rows. Then, if a split with a share
    got no rows and another can spare a component, it gets the smallest one.
    """
    total = sum(ratios)
    shares = [r / total for r in ratios]
    result: dict[str, str] = {}
    for stratum in sorted({c.stratum for c in components}):
        members = sorted((c for c in components if c.stratum == stratum), key=lambda c: digest("split", seed, c.name))
        _assign_stratum(members, shares, result)
    _fill_empty(components, shares, result)
    return result


def _assign_stratum(members: Sequence[Component], shares: Sequence[float], result: dict[str, str]) -> None:
    rows = sum(c.rows for c in members)
    counted = [c for c in members if c.rows]
    target = [rows * share for share in shares]
    given = [0.0] * len(SPLITS)
    for component in counted:
        open_ = [i for i, share in enumerate(shares) if share > 0]
        fits = [i for i in open_ if given[i] + component.rows <= target[i]]
        if fits:
            chosen = max(fits, key=lambda i: ((target[i] - given[i]) / target[i], -i))
        else:
            chosen = max(open_, key=lambda i: (target[i] - given[i], -i))
        given[chosen] += component.rows
        result[component.name] = SPLITS[chosen]
    # Datasets without an accepted question are only documents, so their split does not matter.
    result.update((c.name, SPLITS[0]) for c in members if not c.rows)


def _fill_empty(components: Sequence[Component], shares: Sequence[float], result: dict[str, str]) -> None:
    with_rows = sorted((c for c in components if c.rows), key=lambda c: (c.rows, c.name))
    for split, share in reversed(list(zip(SPLITS, shares, strict=True))):
        if share <= 0 or any(result[c.name] == split for c in with_rows):
            continue
        for component in with_rows:
            holder = result[component.name]
            if sum(result[c.name] == holder for c in with_rows) > 1:
                result[component.name] = split
                break


def split_of_datasets(components: Sequence[Component], chosen: Mapping[str, str]) -> dict[str, str]:
    """Dataset id -> split."""
    return {d: chosen[c.name] for c in components for d in c.datasets}
