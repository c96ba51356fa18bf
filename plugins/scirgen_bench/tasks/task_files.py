"""The retrieval tasks of a release: their queries, grades and abstracts, and reading them.

```
tasks/TASK/queries.jsonl           TaskQuery: a Query with its split
tasks/TASK/qrels/train|dev|test.tsv  query-id, corpus-id, score: grades settled over the judges, or 1 for gold
tasks/TASK/grades.jsonl            Grade: each judge's grades, if there are any
tasks/TASK/drafts.jsonl            needs of many parts with their aspects, for people to check (scirgen label)
corpus/abstracts.jsonl             AbstractRow: papers as documents, for tasks whose documents are papers
```
`Questions` shows a release's own questions in the same shape.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median_low

from pydantic import Field

from scirgen import ConfigError, InputError, Record, Release
from scirgen.plugin import SPLITS, TaskInfo, grouped, read_json, suggest
from scirgen.release_files.release import Split, read_qrels
from scirgen_bench.questions import is_answerable
from scirgen_bench.rowfiles import read_records, write_file, write_rows
from scirgen_bench.tasks.records import Grade, Query

CITATIONS = {
    "recommend": (
        "DataFinder: Scientific Dataset Recommendation from Natural Language Descriptions. ACL 2023. arXiv:2305.16636."
    ),
    "facets": (
        "CSFCube: A Test Collection of Computer Science Research Articles for Faceted Query by Example. "
        "NeurIPS 2021 Datasets and Benchmarks. arXiv:2103.12906."
    ),
    "aspects": (
        "DORIS-MAE: Scientific Document Retrieval using Multi-level Aspect-based Queries. "
        "NeurIPS 2023 Datasets and Benchmarks. arXiv:2310.04678."
    ),
}
"""Recipe -> the paper whose task it follows."""

QUESTIONS = "questions"
"""The name under which a release's own questions can be given as a task."""

ADJUDICATED = "adjudicated"
"""The judge's name of a grade that settles a disagreement."""


class TaskQuery(Query):
    """A query of a task with its split."""

    split: Split


class AbstractSentence(Record):
    """A sentence of an abstract with the aspect that it states, if that is known."""

    text: str
    label: str = Field(default="", description="facet or aspect: background, method, result, research_objective, ...")


class AbstractRow(Record):
    """A paper's title and abstract as a document to retrieve."""

    id: str = Field(min_length=1)
    title: str = ""
    sentences: tuple[AbstractSentence, ...] = ()
    year: int | None = None
    licence: str = "unknown"
    cites: tuple[str, ...] = Field(default=(), description="ids of papers of this corpus that it cites")

    @property
    def text(self) -> str:
        """The abstract."""
        return " ".join(s.text for s in self.sentences)


class TaskDocument(Record):
    """A document that a task's queries search: a dataset or an abstract, in one shape."""

    id: str
    title: str = ""
    searched: str = Field(description="the text that is indexed")
    year: int | None = None
    same_as: str | None = Field(default=None, description="id of the document that it repeats; counts as that one")


class Task:
    """One task of an opened release, read lazily."""

    def __init__(self, release: Release, name: str) -> None:
        """Find the task.

        Raises:
            InputError: the release has no such task; the ones it has are listed.
        """
        if name not in release.info.tasks:
            known = sorted(release.info.tasks)
            hint = suggest(name, known) if known else "It has none. Make tasks with: scirgen generate --recipes"
            raise InputError(f"{release.folder} has no task {name!r}", hint=hint)
        self.release, self.name, self.info = release, name, release.info.tasks[name]
        self.folder = release.folder / "tasks" / name

    def queries(self, split: str | None = None) -> Iterator[TaskQuery]:
        """Yield the queries of a split, or of all."""
        found = read_records(self.folder / "queries.jsonl", TaskQuery)
        return (q for q in found if split is None or q.split == split)

    def grades(self) -> Iterator[Grade]:
        """Return all grades, judge by judge; empty if nobody judged."""
        path = self.folder / "grades.jsonl"
        return read_records(path, Grade) if path.is_file() else iter(())

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """Return a mapping: query id -> document id -> grade."""
        return read_qrels(self.folder / "qrels" / f"{split}.tsv")

    def documents(self, setting: str = "without-paper") -> list[TaskDocument]:
        """Return the documents that its queries search, in the corpus's order, which is also the order of documents
        with equal scores. Datasets are shown without their papers unless ``setting`` says otherwise: the queries were
        made from the papers.

        Raises:
            InputError: a task over abstracts in a release that has none.
        """
        if self.info.corpus == "datasets":
            return [
                TaskDocument(
                    id=d.id,
                    title=d.title,
                    searched=" ".join(getattr(d, field) for field in self.info.searched),
                    year=d.year,
                    same_as=d.same_as,
                )
                for d in self.release.corpus(setting)
            ]
        return [
            TaskDocument(id=a.id, title=a.title, searched=f"{a.title} {a.text}", year=a.year) for a in self.abstracts()
        ]

    def abstracts(self) -> Iterator[AbstractRow]:
        """Yield the abstracts with their labelled sentences.

        Raises:
            InputError: the release has none.
        """
        path = self.release.folder / "corpus" / "abstracts.jsonl"
        if not path.is_file():
            raise InputError(
                f"the task {self.name} searches abstracts, and {self.release.folder} has no corpus/abstracts.jsonl",
                hint="The papers' licences permit no abstracts, or the release is incomplete: write it again.",
            )
        return read_records(path, AbstractRow)


class Questions(Task):
    """The questions of a release as a retrieval task over its datasets, so that they can be pooled and graded like
    queries."""

    def __init__(self, release: Release) -> None:
        """Read nothing yet."""
        self.release, self.name, self.folder = release, QUESTIONS, release.folder
        sizes = {name: count.rows for name, count in release.info.splits.items()}
        self.info = TaskInfo(recipe=QUESTIONS, corpus="datasets", queries=sizes)

    def queries(self, split: str | None = None) -> Iterator[TaskQuery]:
        """Yield the questions; a question's gold is the dataset, or the datasets, that it was asked about."""
        for row in filter(is_answerable, self.release.rows(split)):
            yield TaskQuery(
                id=row.id, recipe=QUESTIONS, form="sentence", text=row.question, gold=row.gold, split=row.split
            )

    def grades(self) -> Iterator[Grade]:
        """Empty: a release has no grades of its questions."""
        return iter(())

    def qrels(self, split: str) -> dict[str, dict[str, int]]:
        """Return a mapping: question id -> dataset id -> 1."""
        return self.release.qrels(split)


def open_task(release: Release, name: str | None) -> Task:
    """Return a task by name; None or ``questions``: the release's own questions.

    Raises:
        InputError: the release has no such task.
    """
    return Questions(release) if name in (None, QUESTIONS) else Task(release, name)


class PoolInfo(Record):
    """``pool.json`` in a folder of grades: the graded task and the judges."""

    release: str
    task: str
    split: str
    judges: tuple[str, ...]
    unvalidated: tuple[str, ...] = Field(default=(), description="judges that have not passed the labels test")
    prompts: dict[str, tuple[str, ...]] = Field(default={}, description="judge -> the prompts it read, id@version#hash")
    pool_with: tuple[str, ...] = ()
    depth: int = 0
    pairs: int = 0
    failed: int = 0

    def identity(self, judge: str) -> str:
        """Identify everything that a judge's grades depend on: the model with its revision, and the prompts."""
        return f"{judge}, prompt {', '.join(self.prompts.get(judge, ()))}"


def read_pool(folder: Path) -> tuple[PoolInfo, list[Grade]]:
    """Return a folder of ``scirgen benchmark pool``.

    Raises:
        ConfigError: it is not one, or is damaged.
    """
    marker = folder / "pool.json"
    if not marker.is_file():
        raise ConfigError(f"{folder} has no pool.json", hint="Give a folder written by: scirgen benchmark pool RELEASE")
    try:
        info = PoolInfo.model_validate(read_json(marker, hint="Run scirgen benchmark pool again."))
    except ValueError as error:
        raise ConfigError(f"{marker} is damaged: {error}", hint="Run scirgen benchmark pool again.") from error
    return info, list(read_records(folder / "grades.jsonl", Grade))


def read_pools(folders: Sequence[Path], known: Collection[str]) -> tuple[list[Grade], set[str]]:
    """Return the grades in folders of ``scirgen benchmark pool --task``, and the judges that are unvalidated.

    Args:
        folders: each with ``pool.json`` and ``grades.jsonl``.
        known: ids of the existing queries; grades of other queries are ignored.

    Raises:
        ConfigError: a folder has no grades, or only grades of another release's queries.
    """
    grades: list[Grade] = []
    unvalidated: set[str] = set()
    for folder in folders:
        info, found = read_pool(folder)
        own = [g for g in found if g.query_id in known]
        if found and not own:
            raise ConfigError(
                f"{folder}: none of its {len({g.query_id for g in found})} graded queries is in this release",
                hint=f"It was made for {info.release}, task {info.task}; leave it out, or pool this release.",
            )
        grades += own
        unvalidated |= set(info.unvalidated)
    return grades, unvalidated


def settled(grades: Iterable[Grade]) -> dict[str, dict[str, int]]:
    """Return a mapping: query id -> document id -> one grade: the adjudicated one, else the judges' lower median (the
    lower of two)."""
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    for grade in grades:
        pairs.setdefault((grade.query_id, grade.document_id), {})[grade.judge] = grade.grade
    table: dict[str, dict[str, int]] = {}
    for (query, document), by in pairs.items():
        table.setdefault(query, {})[document] = by.get(ADJUDICATED, median_low(by.values()))
    return table


def requirements(queries: Iterable[Query]) -> dict[str, tuple[str, ...]]:
    """Return a mapping: complex query or sub-query id -> ids of its different aspects and sub-aspects; a repeated text
    has the id of its first occurrence.

    DORIS-MAE divides by the number of different texts, since sub-aspects repeat under several aspects.
    """
    known = {q.id: q for q in queries}
    children = grouped((q.parent, q) for q in known.values() if q.form == "sub_aspect" and q.parent)
    table: dict[str, tuple[str, ...]] = {}
    for query in known.values():
        if query.form in ("complex", "sub_query") and query.parts:
            distinct: dict[str, str] = {}
            for part in query.parts:
                for needed in [known[part], *children.get(part, ())] if part in known else ():
                    distinct.setdefault(needed.text, needed.id)
            table[query.id] = tuple(distinct.values())
    return table


def added_up(needed: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return a mapping: complex query -> document -> sum of its grades over the requirements; only documents graded for
    every one of them."""
    table: dict[str, dict[str, int]] = {}
    for query, parts in needed.items():
        documents = set.intersection(*(set(grades.get(p, ())) for p in parts)) if parts else set()
        if documents:
            table[query] = {d: sum(grades[p][d] for p in parts) for d in sorted(documents)}
    return table


def write_task(
    folder: Path, queries: Iterable[TaskQuery], qrels: Mapping[str, Mapping[str, int]], grades: Iterable[Grade]
) -> dict[str, int]:
    """Write ``folder`` (a release's ``tasks/NAME``); returns the number of lines of each file by its name.

    Args:
        folder: is made.
        queries: in the order they are written.
        qrels: query id -> document id -> grade, of queries of any split.
        grades: all judges' grades; an empty one writes no file.
    """
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    split_of: dict[str, str] = {}
    written: list[TaskQuery] = []
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as out:
        for query in queries:
            split_of[query.id] = query.split
            written.append(query)
            write_rows(out, [query.model_dump(mode="json", exclude_defaults=True)])
    counts["queries.jsonl"] = len(split_of)
    counts |= _write_drafts(folder, written)
    for split in SPLITS:
        rows = [
            f"{query}\t{document}\t{grade}\n"
            for query, found in qrels.items()
            if split_of.get(query) == split
            for document, grade in found.items()
        ]
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), encoding="utf-8")
        counts[f"qrels/{split}.tsv"] = len(rows)
    graded = [g.model_dump(mode="json", exclude_defaults=True) for g in grades]
    if graded:
        write_file(folder / "grades.jsonl", graded)
        counts["grades.jsonl"] = len(graded)
    return counts


def _write_drafts(folder: Path, queries: Sequence[TaskQuery]) -> dict[str, int]:
    """Write ``drafts.jsonl``: needs of many parts with their aspects, for ``scirgen label draw --task query``."""
    known = {q.id: q for q in queries}
    rows = [
        {"id": q.id, "query": q.text, "aspects": [known[p].text for p in q.parts if p in known]}
        for q in queries
        if q.form == "complex"
    ]
    if not rows:
        return {}
    write_file(folder / "drafts.jsonl", rows)
    return {"drafts.jsonl": len(rows)}
