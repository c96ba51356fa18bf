"""Merges labels into a folder: checks every line, sets bad ones aside with their places, and passes disagreements to a
third person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scirgen import InputError
from scirgen.plugin import suggest
from scirgen_bench.labels.labelset import ADJUDICATOR, CORRECTED, LINE_HINT, Item, Label, LabelSet
from scirgen_bench.rowfiles import first_problem, open_text
from scirgen_label.files import write_lines
from scirgen_label.pages import pictures_of, write_adjudication

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
        aside: bad lines that were left out: place and problem.
    """

    taken: dict[str, int]
    unfinished: dict[str, int]
    disputed: tuple[Item, ...]
    page: Path | None
    aside: tuple[str, ...] = ()


def merge(labels: LabelSet, files: Sequence[Path]) -> Merged:
    """Check and merge files of labels; write the page for the third person.

    Args:
        labels: the folder.
        files: files from the page's Download button, of any annotator including the adjudicator.

    Raises:
        InputError: a file has no good line (the message names the first bad one), or two files are of one person.
    """
    found: dict[str, dict[str, Label]] = {}
    unfinished: dict[str, int] = {}
    aside: list[str] = []
    for file in files:
        good = check(labels, numbered_lines(file), aside)
        if not good:
            raise InputError(aside[-1] if aside else f"{file} contains no labels", hint=LINE_HINT)
        for annotator, mine in good.items():
            if annotator in found:
                raise InputError(
                    f"{file}: another file already has labels of {annotator}", hint="Give one file per person."
                )
            found[annotator] = {k: v for k, v in mine.items() if not v.unfinished()}
            unfinished[annotator] = len(mine) - len(found[annotator])
    return take(labels, found, unfinished, aside)


def take(
    labels: LabelSet, found: dict[str, dict[str, Label]], unfinished: dict[str, int], aside: Sequence[str] = ()
) -> Merged:
    """Store checked labels of some annotators and write the page for the third person."""
    for annotator, mine in found.items():
        if lost := labels.labels.get(annotator, {}).keys() - mine.keys():
            raise InputError(
                f"{len(lost)} labels of {annotator} that were merged earlier are missing in the new file"
                + (f"; set aside: {aside[0]}" if aside else ""),
                hint=f"Load {labels.folder / 'labels' / (annotator + '.jsonl')} into the page first, then "
                "download again.",
            )
    for annotator, mine in found.items():
        write_lines(
            labels.folder / "labels" / f"{annotator}.jsonl",
            [_in_order(mine[i.id]) for i in labels.items if i.id in mine],
        )
    again = LabelSet(labels.folder)
    disputed = tuple(i for i in again.items if again.settled(i.id).how == "open")
    page = write_adjudication(again, disputed, pictures_of(again)) if disputed else None
    return Merged({a: len(v) for a, v in again.labels.items()}, unfinished, disputed, page, tuple(aside))


def _in_order(label: Label) -> Label:
    """Return the label with its fields sorted by name, so the same labels give the same bytes."""
    return label.model_copy(update={"fields": dict(sorted(label.fields.items()))})


def check(
    labels: LabelSet, lines: Iterable[tuple[str, Label | str]], aside: list[str] | None = None
) -> dict[str, dict[str, Label]]:
    """Sort labels by annotator and item.

    Args:
        labels: the folder.
        lines: labels, or their JSON, with their places.
        aside: takes the place and problem of each bad line; None: the first bad line is an error.

    Raises:
        InputError: a line is not a label, belongs to another sample, task or guideline, or to an unknown item or
            person, has a value unknown to the task, or occurs twice. The message names the place.
    """
    found: dict[str, dict[str, Label]] = {}
    for where, line in lines:
        try:
            label = Label.model_validate_json(line) if isinstance(line, str) else line
            problem, hint = _problem(labels, label, found)
        except ValidationError as error:
            problem, hint = first_problem(error), LINE_HINT
        if not problem:
            found.setdefault(label.annotator, {})[label.item] = label
        elif aside is None:
            raise InputError(f"{where}: {problem}", hint=hint)
        else:
            aside.append(f"{where}: {problem}")
    return found


def _problem(labels: LabelSet, label: Label, found: Mapping[str, Mapping[str, Label]]) -> tuple[str, str]:
    """Say what is wrong with a label, and what helps; two empty texts if nothing."""
    sample = labels.sample
    people = {*sample.annotators, ADJUDICATOR}
    choices = {c.id for c in sample.choices}
    if label.sample != sample.id:
        own = f"a label of sample {label.sample}, but {labels.folder} has sample {sample.id}"
        return own, "Merge it into the folder that its page came from."
    if label.guideline != sample.guideline or label.task != sample.task:
        own = f"made with guideline {label.guideline} (task {label.task}), not with {sample.guideline}"
        return own, "Labels made with different guidelines cannot be merged."
    if label.item not in labels.by_id:
        return f"unknown item {label.item!r}", "The file was edited by hand, or damaged."
    if label.annotator not in people:
        hint = suggest(label.annotator, people) or f"Known: {', '.join(sorted(people))}."
        return f"{label.annotator!r} is not an annotator of this sample", hint
    if label.label and label.label not in choices:
        return f"unknown label {label.label!r}", f"Known: {', '.join(sorted(choices))}."
    known = _FIELDS.get(sample.task, {})
    for name, value in label.fields.items():
        allowed = known.get(name)
        if allowed is None or (allowed and value not in allowed):
            return f"{name} = {value!r} is not an answer to a question of this task", ""
    if label.item in found.get(label.annotator, {}):
        return f"{label.annotator} labelled item {label.item} twice", "Delete one of the lines."
    return "", ""


def numbered_lines(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file that are not blank, with their places."""
    with open_text(file, hint="Use the page's Download button.") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{file}:{number}", line
