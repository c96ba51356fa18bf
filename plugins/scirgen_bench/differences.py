"""Compares two question sets row by row, such as runs before and after a prompt was edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scirgen.plugin import QARow
from scirgen.release_files.qafiles import QAFile

KINDS: Final = ("same", "changed", "removed", "added")


@dataclass(frozen=True)
class Difference:
    """A row of one set with its counterpart in the other; ``old`` or ``new`` is None where there is none."""

    dataset_id: str
    old: QARow | None
    new: QARow | None

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "same" if _words(self.old) == _words(self.new) else "changed"


def differences(old: QAFile, new: QAFile) -> Iterator[Difference]:
    """Yield a difference for each row of either set, dataset by dataset.

    Rows are counterparts if question and answer are the same; else if the question is; else if they are of one type
    and cite the same piece of text. A row has one counterpart at most.
    """
    sides = [{g.dataset_id: g.rows for g in file.groups()} for file in (old, new)]
    for dataset_id in sorted({*sides[0], *sides[1]}):
        yield from _of_dataset(dataset_id, *(side.get(dataset_id, ()) for side in sides))


def _of_dataset(dataset_id: str, old: Sequence[QARow], new: Sequence[QARow]) -> Iterator[Difference]:
    taken: set[int] = set()
    for keys in _KEYS:
        left: dict[Hashable, list[int]] = {}
        for n, row in enumerate(new):
            for key in keys(row) if n not in taken else ():
                left.setdefault(key, []).append(n)
        rest = []
        for row in old:
            found = next((n for key in keys(row) for n in left.get(key, ()) if n not in taken), None)
            if found is None:
                rest.append(row)
                continue
            taken.add(found)
            yield Difference(dataset_id, row, new[found])
        old = rest
    yield from (Difference(dataset_id, row, None) for row in old)
    yield from (Difference(dataset_id, None, row) for n, row in enumerate(new) if n not in taken)


def _words(row: QARow) -> tuple[str, str]:
    return row.question, row.answer or ""


_KEYS: Final[tuple[Callable[[QARow], Iterable[Hashable]], ...]] = (
    lambda row: [_words(row)],
    lambda row: [row.question.casefold()],
    lambda row: [(row.question_type, s.document_id, s.start, s.end) for s in row.evidence],
)


def counts(found: Sequence[Difference]) -> dict[str, int]:
    """Return the number of rows of each of `KINDS`."""
    number = Counter(one.kind for one in found)
    return {kind: number[kind] for kind in KINDS}
