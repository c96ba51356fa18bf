"""Turns a list of hits into the measured list: removes duplicates and documents that are too recent, and cuts the
list."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from scirgen import ConfigError
from scirgen_bench.tasks.task_files import TaskDocument


@dataclass(frozen=True)
class Cut:
    """The place at which a list is cut.

    Attributes:
        most: largest number of measured documents.
        hits: number of documents that are searched for.
        published: whether to cut as DataFinder's script does: after raw rank ``most`` if the hit of that rank was kept,
            and otherwise not at all. The script means to stop after ``most`` documents, but its published figures come
            from this rule.
    """

    most: int
    hits: int
    published: bool = False


def parse_cut(text: str, depth: int) -> Cut:
    """Parse ``5`` (the first five that remain), ``datafinder`` (of 20 hits, stop after rank 4) or ``datafinder:5`` (of
    25, rank 5).

    Raises:
        ConfigError: the text has another form.
    """
    name, _, number = text.partition(":")
    count = number or "4" if name == "datafinder" else text
    if not count.isdigit() or int(count) < 1:
        raise ConfigError(f"--cut does not accept {text!r}", hint="Give a number of documents, or datafinder[:N].")
    if name == "datafinder":
        return Cut(int(count), 5 * int(count), published=True)
    return Cut(int(count), depth)


def listed(
    hits: Sequence[tuple[str, float]],
    documents: Mapping[str, TaskDocument],
    *,
    own: Collection[str | None] = (),
    not_after: int | None = None,
    cut: Cut | None = None,
) -> list[tuple[str, float]]:
    """Return the hits that are measured, with the ids under which they count.

    Args:
        hits: (document id, score), best first.
        documents: by id.
        own: ids of the papers that the query was made from; they are left out.
        not_after: documents of a later year are left out; undated ones stay.
        cut: where the list ends; None: nowhere.
    """
    kept: list[tuple[str, float]] = []
    seen: set[str] = set()
    for rank, (hit, score) in enumerate(hits[: cut.hits] if cut else hits, 1):
        document = documents[hit]
        name = document.same_as or hit
        if name in seen:
            continue
        seen.add(name)
        young = not_after is not None and document.year is not None and document.year > not_after
        if young or name in own:
            continue
        kept.append((name, score))
        if cut and (rank == cut.most if cut.published else len(kept) == cut.most):
            break
    return kept
