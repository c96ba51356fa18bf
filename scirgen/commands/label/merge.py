"""Merges labels into a folder: checks every line, drops nothing silently, and passes disagreements to a third
person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scirgen.commands.label.pages import pictures_of, write_adjudication
from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import numbered_records
from scirgen.core.registry import suggest
from scirgen.qa.labels import ADJUDICATOR, CORRECTED, LINE_HINT, Item, Label, LabelSet, write_lines

_FIELDS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "faithful": {"stands_alone": ("yes", "no"), "fits_type": ("yes", "no"), **dict.fromkeys(CORRECTED, ())},
    "query": {"query": (), "aspects": ()},
}
"""task -> further field -> the values it may have; (): any text."""


@dataclass(frozen=True)
class Merged:
    """The result of a merge.

    Attributes:
        taken: annotator -> finished labels.
        unfinished: annotator -> drafts that lack a label, a reason or a further answer.
        disputed: items that still need a decision of the third person.
        page: ``adjudicate.html``, or None if no item is disputed.
    """

    taken: dict[str, int]
    unfinished: dict[str, int]
    disputed: tuple[Item, ...]
    page: Path | None


def merge(labels: LabelSet, files: Sequence[Path]) -> Merged:
    """Check and merge files of labels; write the page for the third person.

    Args:
        labels: the folder.
        files: files from the page's Download button, of any annotator including the adjudicator.

    Raises:
        InputError: a file or line is wrong (the message names it); nothing is merged.
    """
    found: dict[str, dict[str, Label]] = {}
    unfinished: dict[str, int] = {}
    for file in files:
        lines = ((f"{file}:{n}", label) for n, label in _numbered(file))
        for annotator, mine in check(labels, lines).items():
            if annotator in found:
                raise InputError(
                    f"{file}: another file already has labels of {annotator}", hint="Give one file per person."
                )
            found[annotator] = {k: v for k, v in mine.items() if not v.unfinished()}
            unfinished[annotator] = len(mine) - len(found[annotator])
    return take(labels, found, unfinished)


def merge_collected(labels: LabelSet, lines: Iterable[tuple[str, Label]]) -> Merged:
    """Merge labels that a server collected, given with their places instead of as files.

    Raises:
        InputError: as `check`.
    """
    found = check(labels, lines)
    finished = {a: {k: v for k, v in mine.items() if not v.unfinished()} for a, mine in found.items()}
    return take(labels, finished, {a: len(found[a]) - len(finished[a]) for a in found})


def take(labels: LabelSet, found: dict[str, dict[str, Label]], unfinished: dict[str, int]) -> Merged:
    """Store checked labels of some annotators and write the page for the third person."""
    for annotator, mine in found.items():
        if lost := labels.labels.get(annotator, {}).keys() - mine.keys():
            raise InputError(
                f"{len(lost)} labels of {annotator} that were merged earlier are missing in the new file",
                hint=f"Load {labels.folder / 'labels' / (annotator + '.jsonl')} into the page first, then download again.",
            )
    for annotator, mine in found.items():
        write_lines(
            labels.folder / "labels" / f"{annotator}.jsonl",
            [_in_order(mine[i.id]) for i in labels.items if i.id in mine],
        )
    again = LabelSet(labels.folder)
    disputed = tuple(i for i in again.items if again.settled(i.id).how == "open")
    page = write_adjudication(again, disputed, pictures_of(again)) if disputed else None
    return Merged({a: len(v) for a, v in again.labels.items()}, unfinished, disputed, page)


def _in_order(label: Label) -> Label:
    """The label with its fields sorted by name, so the same labels give the same bytes."""
    return label.model_copy(update={"fields": dict(sorted(label.fields.items()))})


def check(labels: LabelSet, lines: Iterable[tuple[str, Label]]) -> dict[str, dict[str, Label]]:
    """Annotator -> item -> label, from lines with their places.

    Raises:
        InputError: a label belongs to another sample, task or guideline, or to an unknown item or person, has a value
            unknown to the task, or occurs twice. The message names the place.
    """
    sample = labels.sample
    choices = {c.id for c in sample.choices}
    people = {*sample.annotators, ADJUDICATOR}
    found: dict[str, dict[str, Label]] = {}
    for where, label in lines:
        if label.sample != sample.id:
            raise InputError(
                f"{where}: a label of sample {label.sample}, but {labels.folder} has sample {sample.id}",
                hint="Merge it into the folder that its page came from.",
            )
        if label.guideline != sample.guideline or label.task != sample.task:
            raise InputError(
                f"{where}: made with guideline {label.guideline} (task {label.task}), not with {sample.guideline}",
                hint="Labels made with different guidelines cannot be merged.",
            )
        if label.item not in labels.by_id:
            raise InputError(f"{where}: unknown item {label.item!r}", hint="The file was edited by hand, or damaged.")
        if label.annotator not in people:
            raise InputError(
                f"{where}: {label.annotator!r} is not an annotator of this sample",
                hint=suggest(label.annotator, people) or f"Known: {', '.join(sorted(people))}.",
            )
        if label.label and label.label not in choices:
            raise InputError(f"{where}: unknown label {label.label!r}", hint=f"Known: {', '.join(sorted(choices))}.")
        known = _FIELDS.get(sample.task, {})
        for name, value in label.fields.items():
            allowed = known.get(name)
            if allowed is None or (allowed and value not in allowed):
                raise InputError(f"{where}: {name} = {value!r} is not an answer to a question of this task")
        mine = found.setdefault(label.annotator, {})
        if label.item in mine:
            raise InputError(
                f"{where}: {label.annotator} labelled item {label.item} twice", hint="Delete one of the lines."
            )
        mine[label.item] = label
    return found


def _numbered(file: Path) -> Iterable[tuple[int, Label]]:
    found = list(numbered_records(file, Label, hint=LINE_HINT))
    if not found:
        raise InputError(f"{file} contains no labels", hint="Use the page's Download button.")
    return found
