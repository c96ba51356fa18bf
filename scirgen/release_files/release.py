"""Reads any release folder. The release stage writes it.

```
release.json                 ReleaseInfo: description, counts, leakage, and every file with its SHA-256
train|dev|test.jsonl         ReleaseRow
corpus/without-paper.jsonl   CorpusDocument: each dataset's title and description
corpus/with-paper.jsonl      the same, with what was extracted from the dataset's papers
corpus/passages.jsonl        Passage: records, and papers cut into whole sentences; closed ones: quotations
corpus/papers.jsonl          PaperRow        corpus/aspects.jsonl   AspectRow
qrels/train|dev|test.tsv     query-id, corpus-id, score (BEIR's header); qrels/passages has grades of passages
README.md, croissant.json    dataset card and Croissant metadata; further formats in folders of their names
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import GenericAlias
from typing import Any, Final, Literal, TypeVar

from pydantic import Field, JsonValue, ValidationError, create_model

from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import read_json, read_records
from scirgen.core.files.named import ordinary
from scirgen.core.records import Id, Ids, Medium, Origin, Record, SpanRole

R = TypeVar("R", bound=Record)

SPLITS: Final = ("train", "dev", "test")
SETTINGS: Final = ("without-paper", "with-paper")
SCHEMA: Final = 1
PASSAGE_TOKENS: Final = 100
PASSAGE_QRELS: Final = "qrels/passages"
GRADES: Final = (0, 1, 2)
"""Grades of a passage: it was read and does not help, adds to the answer, carries it or its main part."""
FEWEST_OTHERS: Final = 10
"""Passages that are not gold, per query: with fewer, figures by passage say nothing and are not printed."""

Split = Literal["train", "dev", "test"]


class PlaceRow(Record):
    """The characters [start, end) of a passage's ``text``."""

    passage: Id
    start: int
    end: int


class EvidenceRow(Record):
    """A verbatim piece of text that supports the answer. ``start`` and ``end`` count characters of the parsed document
    or of the dataset's ``metadata``, ``places`` those of the release's own passages."""

    document_id: Id
    source: Literal["dataset", "paper"]
    start: int
    end: int
    text: str
    page: int | None = Field(default=None, description="1-based page of the paper's file")
    bbox: tuple[float, ...] = Field(
        default=(), description="x0, y0, x1, y1 on that page in PDF points from its top left; empty if not known"
    )
    places: tuple[PlaceRow, ...] = Field(
        default=(), description="its passages in order, each with the part of its text that belongs to the evidence"
    )
    section: str | None = None
    role: SpanRole = Field(default="answer", description="context: it only says what or where the answer is about")
    medium: Medium = Field(default="text", description="header: of a table; caption: of a figure or a table")
    headers: tuple[str, ...] = Field(default=(), description="of a table's cell: what its headers say, outermost first")
    licence: str = "unknown"


class ScoreRow(Record):
    """A measured score of the pair, from a scorer or a gate. Its per-token details stay in the run."""

    name: str
    value: float
    threshold: float | None = None
    passed: bool | None = None


class RevisionRow(Record):
    """The text of a field before people corrected it."""

    field: str
    before: str
    by: str = Field(description="guideline that the people followed: id@version#hash")


class ReleaseRow(Record):
    """One question of a split with its answer."""

    id: Id
    dataset_id: Id = Field(description="the gold dataset; the one it was made with, if no dataset uses its papers")
    dataset_ids: Ids = Field(default=(), description="all datasets that answer it, if there are several")
    split: Split
    question: str
    answer: str
    question_type: str = Field(description="id in taxonomies/graesser.yaml")
    about: Literal["dataset", "paper"] | None = Field(
        default=None,
        description="source of the answer: the dataset's record, or a paper that uses it; None: a paper that no "
        "dataset uses, or unknown",
    )
    bloom: str | None = Field(default=None, description="C1..C6")
    needs_documents: int = Field(
        default=0,
        description="documents that the answer needs: those without which a judge could not give it, if one was asked; "
        "else by the words that they hold",
    )
    linked: str = Field(
        default="",
        description="how the documents that it needs answer it together (bridge, comparison, agreement, change, "
        "other), if a judge could not answer it without each of two",
    )
    needs_facts: int = Field(default=0, description="pieces of evidence that it needs, counted so")
    language: str = "en"
    strategy: str = ""
    group: str = Field(default="", description="connected component; no component is in two splits")
    evidence: tuple[EvidenceRow, ...] = ()
    passages: tuple[str, ...] = Field(
        default=(),
        description="ids of the passages that hold the evidence; without an answer, the nearest",
    )
    scores: tuple[ScoreRow, ...] = ()
    unsure: bool = Field(default=False, description="the faithfulness scores could not decide, and no judge did")
    mended: bool = Field(default=False, description="the judge, looking again, added or dropped evidence")
    asked: Origin = Field(
        default="known_item",
        description="seeking: by somebody who had not read the text; narrowed: such a question, cut down to what the "
        "texts say; known_item: written from a known answer; user: the user's own",
    )
    form: str = Field(default="question", description="question, keywords, plan or request")
    need: str = Field(default="", description="what the one who asks is about to do")
    given_id: Id = Field(default="", description="the user's own id of the question")
    depth: int = Field(default=0, description="number of passages or records that were read and graded to answer it")
    found_by: tuple[str, ...] = Field(
        default=(),
        description="the searches that found those that answer it: question, rewording 1, in pt; subject: none did, it "
        "is of the document that the question was asked about",
    )
    guessable: bool | None = Field(
        default=None, description="true: a model without documents gives the answer's main part; null: not measured"
    )
    model: str | None = Field(default=None, description="model that wrote question and answer")
    prompt: str | None = Field(default=None, description="prompt that they were written with: id@version#hash")
    checked: int = Field(default=0, description="number of people who checked the row and kept it")
    history: tuple[RevisionRow, ...] = Field(default=(), description="corrections by people")

    def added(self) -> dict[str, object]:
        """Return the fields that plugins added, by name, as JSON values."""
        names = type(self).model_fields.keys() - ReleaseRow.model_fields.keys()
        return self.model_dump(mode="json", include=set(names)) if names else {}

    @property
    def gold(self) -> tuple[str, ...]:
        """Ids of the datasets that answer it; none, if only papers that no dataset uses do."""
        unused = self.about is None and self.asked != "known_item"
        return () if unused else self.dataset_ids or (self.dataset_id,)


class RowField(Record):
    """A field that a plugin of kind ``row_fields`` adds to the rows."""

    name: str
    plugin: str = Field(description="registered name of what adds it")
    description: str = ""
    feature: dict[str, JsonValue] = Field(description="its type in the notation of Hugging Face's features")
    default: JsonValue = Field(default=None, description="the value in rows that the plugin says nothing of")


FEATURES: Final[dict[type, str]] = {str: "string", int: "int64", float: "float64", bool: "bool"}
"""Types of single values and their names in Hugging Face's notation."""


def row_model(fields: Sequence[RowField]) -> type[ReleaseRow]:
    """Make the class `ReleaseRow` with the fields that plugins added."""
    if not fields:
        return ReleaseRow
    more: dict[str, Any] = {
        f.name: (_kind(f.feature, f.name), Field(default=f.default, description=f.description, validate_default=True))
        for f in fields
    }
    return create_model("ReleaseRow", __base__=ReleaseRow, **more)


def _kind(feature: Any, name: str) -> Any:
    """Return the type that a feature describes; single values may be missing."""
    kinds: dict[str, Any] = {dtype: kind for kind, dtype in FEATURES.items()}
    inner = feature.get("list")
    if inner is None:
        return kinds[feature["dtype"]] | None
    if isinstance(inner, str):
        return GenericAlias(tuple, (kinds[inner], ...))
    columns: dict[str, Any] = {c["name"]: (_kind(c, c["name"]), () if "list" in c else None) for c in inner}
    return GenericAlias(tuple, (create_model(name, __base__=Record, **columns), ...))


class UnfaithfulRow(Record):
    """A candidate that a faithfulness score rejected; written where the format ``preference`` is asked for."""

    id: Id
    dataset_id: Id
    question_type: str
    question: str
    answer: str
    score_name: str
    score: float | None = None


class CorpusDocument(Record):
    """One dataset as a document to retrieve; ``title`` and ``text`` are what is indexed."""

    id: Id
    title: str
    text: str
    metadata: str = Field(default="", description="the record's whole metadata; evidence offsets index into it")
    doi: str | None = None
    url: str | None = None
    licence: str = "unknown"
    language: str = "en"
    authors: tuple[str, ...] = ()
    papers: tuple[str, ...] = Field(default=(), description="ids of the papers that use it")
    year: int | None = Field(default=None, description="year of publication")
    same_as: str | None = Field(default=None, description="id of the document that it repeats; counts as that one")


class Passage(Record):
    """A piece of one source, with that source's licence: a record, or whole sentences of a paper (about 100 words)."""

    id: Id
    document_id: Id
    source: Literal["dataset", "paper"]
    dataset_ids: Ids
    start: int
    end: int
    text: str
    licence: str = "unknown"
    whole: bool = Field(default=True, description="false: only what is quoted; the licence does not allow the rest")
    title: str = Field(default="", description="title of the record or paper")
    heading: str = Field(default="", description="headings above it, outermost first")
    authors: tuple[str, ...] = ()
    year: int | None = None

    @property
    def headline(self) -> str:
        """Title, authors and year of its source, by which a question may name it."""
        by = ", ".join((*self.authors, *([str(self.year)] if self.year else ())))
        return f"{self.title} ({by})" if by else self.title

    @property
    def searched(self) -> str:
        """The text that retrievers index."""
        return " ".join(part for part in (self.headline, self.heading, self.text) if part)


class PaperRow(Record):
    """A paper that uses datasets of the release."""

    id: Id
    title: str = ""
    doi: str | None = None
    url: str | None = None
    authors: tuple[str, ...] = ()
    year: int | None = None
    licence: str = "unknown"
    dataset_ids: Ids = ()
    document_id: Id | None = Field(
        default=None, description="its parsed text, as evidence, passages and aspects name it"
    )
    sha256: str | None = Field(default=None, description="SHA-256 of the file that was read")


class AspectRow(Record):
    """A verbatim statement of a paper about one of its datasets' use."""

    id: Id
    dataset_id: Id
    paper_id: Id
    category: str
    text: str
    context: str = Field(
        default="", description="what the sentence is about where it does not say so itself, in the model's words"
    )
    document_id: Id
    start: int
    end: int
    page: int | None = None
    bbox: tuple[float, ...] = ()


class FileRow(Record):
    """A file of the release; ``path`` is relative to the release's folder."""

    path: str
    sha256: str
    bytes: int
    rows: int | None = None


class SplitCount(Record):
    """Size of a split."""

    rows: int = 0
    datasets: int = 0
    groups: int = 0


class LeakageRow(Record):
    """One way in which two splits can overlap, and how often they do."""

    what: str
    left: Split
    right: Split
    shared: int
    of: int = Field(description="number in the right split")


class MadeRow(Record):
    """A model and a prompt that made records of a stage."""

    stage: str
    model: str
    prompt: str = Field(default="", description="id@version#hash; empty if the model was called without a prompt file")


class LinkedInfo(Record):
    """The datasets that answer a task's queries: how often they are used and how old they are then (DataFinder, figures
    4 to 6)."""

    datasets: int
    links: int = Field(description="pairs of a query's paper and a dataset that answers it")
    once: int = Field(description="datasets with one link")
    ten_most: int = Field(description="links of the ten datasets with most links")
    dated: int = Field(default=0, description="links of which the years of paper and dataset are known")
    age_quartiles: tuple[float, ...] = Field(default=(), description="years from the dataset to the paper")


class TaskInfo(Record):
    """Description of a retrieval task of the release."""

    recipe: str
    follows: str = Field(default="", description="the paper whose task it is, as a citation")
    corpus: Literal["datasets", "abstracts"] = Field(description="the documents that its queries search")
    searched: tuple[Literal["title", "text"], ...] = Field(
        default=("title", "text"), description="the part of a dataset that is indexed"
    )
    profile: str = Field(default="trec", description="the convention that its metrics follow by default")
    queries: dict[str, int] = Field(default={}, description="split -> queries that are evaluated")
    grades: int = Field(default=0, description="number of graded pairs; 0 if only gold documents are known")
    judges: tuple[str, ...] = Field(default=(), description="who graded")
    needs_review: bool = Field(default=False, description="whether a person must keep a need before it is graded")
    unvalidated: tuple[str, ...] = Field(default=(), description="judges that have not passed the labels test")
    linked: LinkedInfo | None = Field(default=None, description="the datasets that answer its queries")


class LabelNote(Record):
    """Labels that the release used, with their agreement, the guideline, and the judges that passed the test
    on them."""

    task: str
    annotators: int
    language_models: int = Field(default=0, description="number of the annotators that are language models")
    items: int
    guideline: str
    kappa: float | None = Field(default=None, description="Cohen's, mean over pairs of annotators")
    kappa_interval: tuple[float, ...] = ()
    alpha: float | None = Field(default=None, description="Krippendorff's, nominal")
    alpha_interval: tuple[float, ...] = ()
    margin: float
    judges: tuple[str, ...] = ()
    labels: str = Field(description="hash of the labels")


class ReleaseInfo(Record):
    """``release.json``. It holds no clock times, so the same results give the same bytes."""

    schema_version: int = SCHEMA
    name: str
    origin: str = Field(description="'scirgen run', or the dataset this was imported from")
    citation: str = Field(default="", description="the paper to cite for imported data")
    scirgen: str
    domain: str = ""
    language: str = "en"
    seed: int = 0
    split_rule: str = ""
    splits: dict[str, SplitCount] = Field(default={}, description="split -> its size")
    counts: dict[str, int] = Field(default={}, description="datasets, papers, aspects, passages, rows")
    leakage: tuple[LeakageRow, ...] = ()
    left_out: dict[str, int] = Field(default={}, description="'stage: code' -> number of rejections")
    notes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    made: tuple[MadeRow, ...] = Field(default=(), description="models and prompts of each stage")
    about: dict[str, str] = Field(default={}, description="the publisher's statements on creator, funder, contact, ...")
    licences: dict[str, int] = Field(default={}, description="licence -> number of passages under it")
    labels: tuple[LabelNote, ...] = Field(default=(), description="labels that were used, by people or language models")
    row_fields: tuple[RowField, ...] = Field(default=(), description="fields that plugins added to the rows")
    files: tuple[FileRow, ...] = ()
    tasks: dict[str, TaskInfo] = Field(default={}, description="retrieval tasks, in tasks/NAME")
    tables: dict[str, tuple[tuple[str, ...], ...]] = Field(
        default={}, description="tables of plugins for card and report: caption -> rows of cells, the head first"
    )

    @property
    def papers_alone(self) -> bool:
        """True if every record was made from a paper."""
        return 0 < self.counts.get("links", 0) == self.counts.get("links_own", 0)


class Release:
    """A release folder, read lazily: iterators hold one row at a time."""

    def __init__(self, folder: str | Path) -> None:
        """Open a release.

        Args:
            folder: the release itself, or a run's folder (its ``release`` is taken).

        Raises:
            InputError: the folder has no release, or one with a newer layout.
        """
        folder = Path(folder)
        inner = folder / "release"
        self.folder = (
            inner if not (folder / "release.json").is_file() and (inner / "release.json").is_file() else folder
        )
        marker = self.folder / "release.json"
        if not marker.is_file():
            run = folder.parent if folder.name == "release" else folder
            if (run / "run.db").is_file():
                raise InputError(
                    f"{folder} is a run without a release yet", hint="Run the same scirgen generate again to finish it."
                )
            raise InputError(
                f"{folder} is not a release: it has no release.json",
                hint="Give the folder 'release' of a run, or make one with: scirgen import scirgen-geo SRC OUT",
            )
        try:
            raw = read_json(marker, hint="Write the release again.")
            if isinstance(raw, dict) and int(raw.get("schema_version", SCHEMA)) > SCHEMA:
                raise InputError(f"{marker} was written by a newer scirgen", hint="Upgrade scirgen.")
            self.info = ReleaseInfo.model_validate(raw)
        except (ValueError, ValidationError) as error:
            raise InputError(f"{marker} is damaged: {error}", hint="Write the release again.") from error

    def rows(self, split: str | None = None) -> Iterator[ReleaseRow]:
        """Yield the questions of one split, or of all in the order train, dev, test; with the fields that plugins
        added."""
        kind = row_model(self.info.row_fields)
        for name in SPLITS if split is None else (split,):
            yield from self._read(f"{name}.jsonl", kind)

    def corpus(self, setting: str = "without-paper") -> Iterator[CorpusDocument]:
        """Return the documents in the order of ids; both settings have the same ids."""
        if setting not in SETTINGS:
            raise InputError(f"unknown corpus setting {setting!r}", hint=f"Known: {', '.join(SETTINGS)}.")
        return self._read(f"corpus/{setting}.jsonl", CorpusDocument)

    def passages(self) -> Iterator[Passage]:
        """Return the passages by source."""
        return self._read("corpus/passages.jsonl", Passage)

    def unfaithful(self) -> Iterator[UnfaithfulRow]:
        """Return the candidates that a faithfulness score rejected, by id; only in releases with the format
        ``preference``."""
        return self._read("unfaithful.jsonl", UnfaithfulRow)

    def papers(self) -> Iterator[PaperRow]:
        """Return the papers by id."""
        return self._read("corpus/papers.jsonl", PaperRow)

    def aspects(self) -> Iterator[AspectRow]:
        """Return the aspects by dataset."""
        return self._read("corpus/aspects.jsonl", AspectRow)

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """Return a mapping: query id -> document id -> relevance."""
        return read_qrels(self.folder / "qrels" / f"{split}.tsv")

    def passage_qrels(self, split: str | None) -> dict[str, dict[str, int]]:
        """Return a mapping: query id -> passage id -> grade: 2 carries the answer or its main part, 1 adds to it, 0 was
        read and does not help; a passage that is not there was not judged. None: of all splits. Empty without such
        grades."""
        files = [self.folder / PASSAGE_QRELS / f"{name}.tsv" for name in ([split] if split else SPLITS)]
        return {id: grades for file in files if file.is_file() for id, grades in read_qrels(file).items()}

    def _read(self, name: str, kind: type[R]) -> Iterator[R]:
        return read_records(self.folder / name, kind)


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Return the grades from a qrels file in BEIR's form; it may lack the header.

    Raises:
        InputError: it cannot be read (the line is named).
    """
    table: dict[str, dict[str, int]] = {}
    try:
        lines = ordinary(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="Give a qrels file in BEIR's form.") from error
    for number, line in enumerate(lines, 1):
        cells = line.split("\t")
        if number == 1 and not cells[-1].strip().lstrip("-").isdigit():
            continue
        if len(cells) != 3 or not cells[2].strip().lstrip("-").isdigit():
            raise InputError(f"{file}, line {number}: expected query-id, corpus-id, score")
        table.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    return table
