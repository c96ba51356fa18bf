"""A folder of labels that people (or judges) gave to a frozen sample: its records, and reading it.

```
L/sample.json      Sample: task, guideline, strata, annotators; its id is the hash of the items
L/items.jsonl      Item: what is shown, and what stays hidden (verdict, scores)
L/contexts.json    key -> text, shared by items
L/labels/A.jsonl   Label: the merged labels of one annotator; adjudicator.jsonl: the third person's
L/agreement.json   statistics and the verdict on judges (`scirgen label agree`)
```
Drawing, pages, merging and agreement are `scirgen_label`; `reviews` gives a release what it takes from a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, ValidationError

from scirgen import InputError, Record
from scirgen.core.prompts import Choice
from scirgen.plugin import Box, digest, read_json
from scirgen_bench.rowfiles import first_problem, numbered_records

TaskName = Literal["faithful", "relevance", "query", "level", "link", "facet"]
Part = Literal["dev", "test"]
Annotator = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")]
"""A name that is also a file's name: no path, no hidden file."""
Finite = Annotated[float, Field(allow_inf_nan=False, ge=-1e9, le=1e9)]
NotNegative = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e9)]  # a field's own `ge` would not replace -1e9
R = TypeVar("R", bound=Record)

ADJUDICATOR: Final = "adjudicator"
"""The annotator name of the third person, who sees only the items that the others disagree on."""

UNSURE: Final = "unsure"
"""The label of an annotator who cannot decide; counts as no label in statistics, and goes to the adjudicator."""

CORRECTED: Final = ("corrected_question", "corrected_answer")
"""Fields of a faithfulness label that hold a better wording."""


@dataclass(frozen=True)
class Task:
    """The question that annotators answer about an item.

    Attributes:
        name: the name of the task and of its guideline, ``prompts/label/NAME.yaml``.
        scale: labels from low to high; empty if they have no order.
        reason: whether a label needs a reason (ScIRGen's protocol for faithfulness).
        required: further fields that a label needs.
    """

    name: TaskName
    scale: tuple[str, ...] = ()
    reason: bool = False
    required: tuple[str, ...] = ()


TASKS: Final[Mapping[str, Task]] = {
    "faithful": Task("faithful", reason=True, required=("stands_alone", "fits_type")),
    "relevance": Task("relevance", scale=("0", "1", "2", "3")),
    "query": Task("query"),
    "level": Task("level", scale=("C1", "C2", "C3", "C4", "C5", "C6")),
    "link": Task("link"),
    "facet": Task("facet"),
}


class Marked(Record):
    """A piece of evidence with the text around it."""

    text: str
    before: str = ""
    after: str = ""
    where: str = ""
    document: str = Field(default="", description="id of the paper or dataset it comes from")
    page: int | None = Field(default=None, description="1-based")
    bbox: Box | None = None


class Shown(Record):
    """The part of an item that an annotator sees. Nothing here may give away a verdict, a score, a model or another
    label."""

    question: str
    answer: str = ""
    question_type: str = Field(default="", description="name of the type")
    type_definition: str = ""
    evidence: tuple[Marked, ...] = ()
    title: str = Field(default="", description="of the dataset, or of the document to be graded")
    text: str = Field(default="", description="of the document to be graded")
    aspects: tuple[str, ...] = Field(default=(), description="of a drafted query")
    context: str = Field(default="", description="key in contexts.json: the whole context, shown on demand")


class Hidden(Record):
    """The part of an item that is not shown to annotators."""

    verdict: str = Field(default="", description="kept, rejected_by_score, rejected_by_gate; or a judge's grade")
    code: str = Field(default="", description="why it was rejected")
    question_type: str = Field(default="", description="id of the type")
    dataset_id: str = ""
    scores: dict[str, Finite] = Field(default={}, description="score name -> value")


class Item(Record):
    """One item of a sample.

    ``id`` is opaque; ``record`` is the question-answer pair's id, or ``query|document``. ``weight`` is how many items
    of the population it stands for within its part: stratum size / items of the stratum in that part.
    """

    id: str
    record: str
    part: Part
    stratum: str
    weight: NotNegative = Field(gt=0)
    cluster: str = Field(description="dataset or query: items of one cluster are not independent")
    shown: Shown
    hidden: Hidden = Hidden()


class Stratum(Record):
    """A stratum: how many items the population has, and how many were drawn for each part."""

    name: str
    population: int
    dev: int
    test: int


class Sample(Record):
    """``sample.json``: a frozen sample. ``id`` is the hash of task and items, so that it identifies the sample that a
    label belongs to."""

    schema_version: int = 1
    id: str
    task: TaskName
    source: str = Field(description="name of what was drawn from")
    kind: str = Field(description="run, or the format of a question-answer set")
    guideline: str = Field(description="id@version#hash of the guideline")
    text: str = Field(description="the guideline as annotators read it")
    choices: tuple[Choice, ...]
    annotators: tuple[Annotator, ...]
    language_models: tuple[Annotator, ...] = Field(
        default=(), description="the annotators that are language models, not people"
    )
    strata_by: tuple[str, ...]
    strata: tuple[Stratum, ...]
    seed: int = 0
    margin: Finite = 0.075
    round: int = Field(default=1, description="raised when a new test part is drawn")


class Label(Record):
    """One annotator's label of one item. ``fields`` holds the answers to the further questions of the task."""

    sample: str
    item: str
    task: TaskName
    annotator: Annotator
    label: str
    reason: str = ""
    fields: dict[str, str] = Field(default={}, description="further question -> answer")
    seconds: NotNegative = Field(default=0.0, description="time the item was in view")
    guideline: str

    def unfinished(self) -> str:
        """Return what the label lacks to be complete; "" if nothing."""
        task = TASKS[self.task]
        if not self.label:
            return "label"
        if task.reason and not self.reason.strip():
            return "reason"
        return next((f for f in task.required if not self.fields.get(f)), "")


@dataclass(frozen=True)
class Settled:
    """The final label of an item.

    Attributes:
        label: None while annotators disagree, or if the final label is "unsure".
        how: ``single`` (one annotator), ``agreed``, ``adjudicated``, ``open`` (to be adjudicated), ``unsure``,
            ``none``.
        annotators: number of annotators who labelled it.
        people: number of them that are people, not language models.
        corrected: field of `CORRECTED` -> corrected text, if all annotators who gave one gave the same.
    """

    label: str | None
    how: str
    annotators: int
    corrected: Mapping[str, str] = field(default_factory=dict)
    people: int = 0


class LabelSet:
    """An opened folder of labels."""

    def __init__(self, folder: Path) -> None:
        """Open and check a folder.

        Raises:
            InputError: it is not a folder of labels, or its files do not belong together.
        """
        self.folder = folder
        _refuse_links(folder)
        if not (folder / "sample.json").is_file():
            raise InputError(f"{folder} has no sample.json", hint="Make one with: scirgen label draw RUN --out L/")
        self.sample = read_record(folder / "sample.json", Sample)
        self.items = tuple(read_lines(folder / "items.jsonl", Item))
        if sample_id(self.sample.task, self.items) != self.sample.id:
            raise InputError(
                f"{folder / 'items.jsonl'} was changed after the draw: its hash differs from the one in sample.json",
                hint="Restore the file, or draw again into a new folder.",
            )
        self.by_id = {i.id: i for i in self.items}
        self.labels: dict[str, dict[str, Label]] = {}
        for path in sorted((folder / "labels").glob("*.jsonl")):
            self.labels[path.stem] = {label.item: label for label in read_lines(path, Label)}

    @property
    def task(self) -> Task:
        return TASKS[self.sample.task]

    @property
    def annotators(self) -> tuple[str, ...]:
        """The annotators whose labels were merged, without the adjudicator."""
        return tuple(a for a in sorted(self.labels) if a != ADJUDICATOR)

    def contexts(self) -> dict[str, str]:
        """Return a mapping: key -> whole context."""
        return self.texts("contexts.json")

    def texts(self, name: str) -> dict[str, str]:
        """Read a file of the folder that maps keys to texts.

        Raises:
            InputError: it cannot be read, or is not such a file.
        """
        path = self.folder / name
        found = read_json(path, hint="Restore the file, or draw again.", most=_MAX_CONTEXTS)
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            raise InputError(f"{path} does not map keys to texts", hint="Restore the file, or draw again.")
        return found

    def part(self, name: Part | None) -> list[Item]:
        """Return the items of one part, in their order; None: all."""
        return [i for i in self.items if name is None or i.part == name]

    def column(self, annotator: str, items: Sequence[Item]) -> list[str | None]:
        """Return an annotator's labels of these items; None for an item without a label, or with "unsure"."""
        mine = self.labels.get(annotator, {})
        return [label.label if (label := mine.get(i.id)) and label.label != UNSURE else None for i in items]

    def settled(self, item_id: str) -> Settled:
        """Return the final label of an item: the adjudicator's, else the one that all annotators gave."""
        readers = [a for a, mine in self.labels.items() if item_id in mine]
        return replace(self._settled(item_id), people=sum(a not in self.sample.language_models for a in readers))

    def _settled(self, item_id: str) -> Settled:
        given = [self.labels[a][item_id] for a in self.annotators if item_id in self.labels[a]]
        last = self.labels.get(ADJUDICATOR, {}).get(item_id)
        if last is not None:
            label = None if last.label == UNSURE else last.label
            how = "unsure" if label is None else "adjudicated"
            return Settled(label, how, len(given) + 1, _corrections([last]))
        if not given:
            return Settled(None, "none", 0)
        if len(given) == 1:
            single = None if given[0].label == UNSURE else given[0].label
            return Settled(single, "single" if single else "unsure", 1, _corrections(given))
        if disputed(given):
            return Settled(None, "open", len(given))
        return Settled(given[0].label, "agreed", len(given), _corrections(given))

    def content_hash(self) -> str:
        """Return the hash of the sample and of all labels. A release made with them depends on it."""
        labels = [
            label.model_dump(mode="json") for a in sorted(self.labels) for _, label in sorted(self.labels[a].items())
        ]
        return digest(self.sample.model_dump(mode="json"), labels)


_MAX_CONTEXTS = 2**30


def _refuse_links(folder: Path) -> None:
    """Check that nothing in a folder of labels is a link, since its files are written by their names.

    Raises:
        InputError: something is.
    """
    inside = [*folder.iterdir(), *(folder / "labels").glob("*")] if folder.is_dir() else []
    if link := next((p for p in sorted(inside) if p.is_symlink()), None):
        raise InputError(f"{link} is a link, and links in a folder of labels are not followed", hint="Remove it.")


def disputed(labels: Sequence[Label]) -> bool:
    """Check whether these labels of one item need a third person: they differ, one is "unsure", or two corrections
    differ."""
    if len({x.label for x in labels}) > 1 or any(x.label == UNSURE for x in labels):
        return True
    return any(len({x.fields[f].strip() for x in labels if x.fields.get(f, "").strip()}) > 1 for f in CORRECTED)


def _corrections(labels: Sequence[Label]) -> dict[str, str]:
    found = {f: {x.fields[f].strip() for x in labels if x.fields.get(f, "").strip()} for f in CORRECTED}
    return {f: next(iter(texts)) for f, texts in found.items() if len(texts) == 1}


def sample_id(task: str, items: Sequence[Item]) -> str:
    """Return the hash of a sample."""
    return digest("sample", task, [i.model_dump(mode="json") for i in items])[:16]


def read_record(path: Path, kind: type[R]) -> R:
    """Return one record from a JSON file.

    Raises:
        InputError: the file cannot be read, or does not hold one.
    """
    try:
        return kind.model_validate(read_json(path, hint="Restore the file."))
    except ValidationError as error:
        raise InputError(f"{path} cannot be read: {first_problem(error)}", hint="Restore the file.") from error


def read_lines(path: Path, kind: type[R]) -> Iterator[R]:
    """Yield the records from JSON Lines.

    Raises:
        InputError: the file cannot be read, or a line is not such a record; the message names file and line.
    """
    return (record for _, record in numbered_records(path, kind, hint=LINE_HINT))


LINE_HINT = "Each line is a label as the page's Download button writes it."
