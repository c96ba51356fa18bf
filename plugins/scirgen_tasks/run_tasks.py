"""Makes the tasks of a run: its queries with the splits of their papers, the datasets that answer them, and the
abstracts that are searched."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from scirgen import BlockKind, Config, Dataset, Rejection, RunView, StageContext
from scirgen.core.corpus.printed import papers_of
from scirgen.core.records.licences import Terms, terms_of
from scirgen.core.safety.files import named_files
from scirgen.core.text.textmatch import words
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.core.text.words import letters
from scirgen.plugin import (
    Aspect,
    Document,
    PartContent,
    PartWritten,
    ReleaseMaterial,
    ReleasePart,
    TaskInfo,
    digest,
    file_sha256,
    grouped,
    sentence_spans,
)
from scirgen_bench.labels.labelset import UNSURE, LabelSet
from scirgen_bench.tasks.records import Grade, Query
from scirgen_bench.tasks.release_tasks import TaskContent, TaskSet
from scirgen_bench.tasks.reviews import reviewed_drafts, reviewed_needs
from scirgen_bench.tasks.task_files import (
    CITATIONS,
    AbstractRow,
    AbstractSentence,
    added_up,
    read_pools,
    requirements,
    settled,
)
from scirgen_bench.tasks.taxonomies import Facets, facets_of
from scirgen_tasks.abstract_facets import sentence_facets
from scirgen_tasks.recipes.checks import coined_names
from scirgen_tasks.recipes.facets import corrected
from scirgen_tasks.settings import settings

NEEDS_DATA = ("sentence", "keyphrases")
"""Forms that ask for datasets; the paper's datasets are their gold. Other forms ask for papers."""

_WITHHELD = (Terms.OTHER, Terms.NOT_STATED)
_PROFILES = {"facets": "csfcube", "aspects": "doris"}
_LONG_TITLE = 32


@dataclass(frozen=True)
class RunQueries(PartContent):
    """A run's material for its tasks.

    Attributes:
        queries: the queries by id.
        abstracts: papers with a parsed abstract, as documents.
        withheld: papers whose licence does not permit passing on their abstract.
        grades: grades of earlier pools of the same run, from ``query.judgements``.
        unvalidated: judges among them that have not passed the labels test.
        require_review: whether a person must keep a need of many parts before it is graded.
        dropped: needs that people dropped.
    """

    queries: tuple[Query, ...] = ()
    abstracts: tuple[AbstractRow, ...] = ()
    withheld: int = 0
    grades: tuple[Grade, ...] = ()
    unvalidated: tuple[str, ...] = ()
    require_review: bool = True
    dropped: tuple[Query, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Yield a line for the card on what licences excluded."""
        if not self.withheld:
            return ()
        return (f"The abstracts of {self.withheld} paper(s) are left out: their licence does not admit it.",)

    def weights(self, uses: Mapping[str, tuple[str, ...]]) -> Counter[str]:
        """Return a mapping: dataset id -> number of queries of its papers."""
        of_paper = Counter(q.paper_id for q in self.queries)
        return Counter({d: sum(of_paper[p] for p in papers) for d, papers in uses.items()})

    def write(self, folder: Path, content: ReleaseMaterial, split_of: Mapping[str, str]) -> PartWritten:
        """Make the tasks, now that the splits are known, and write them."""
        tasks, rejections = run_tasks(self, content.uses, content.datasets, split_of)
        return TaskSet(tuple(tasks), self.abstracts, tuple(rejections)).write(folder, content, split_of)


class QueryPart(ReleasePart):
    """A run's queries as tasks of its release."""

    name: ClassVar[str] = "query"
    taxonomies: ClassVar[tuple[str, ...]] = ("facets",)

    def fingerprint(self, config: Config) -> str:
        """Return the grades, and their conditions, on which a release depends."""
        files = [f / name for f in _judgements(config) for name in ("grades.jsonl", "pool.json")]
        return digest(
            settings(config).require_review, settings(config).abstracts, [file_sha256(f) for f in files if f.is_file()]
        )

    def material(self, run: RunView, ctx: StageContext) -> RunQueries:
        """Return the run's queries and abstracts, with the grades of earlier pools.

        Raises:
            InputError: a folder of ``query.judgements`` is not a folder of grades, or belongs to another release.
        """
        chosen = settings(ctx.config)
        found = queries_of_run(run, facets_of(ctx.taxonomies), every_licence=chosen.abstracts == "all")
        labels = [named_files(f, "release.labels")[0] for f in ctx.config.release.labels]
        reviewed = reviewed_drafts([f for f in labels if LabelSet(f).sample.task == "query"])
        queries = reviewed_needs(found.queries, reviewed, drafts=True)
        if said := settled_facets(labels):
            documents = {d.paper_id: d for d in run.records("parse", Document) if d.paper_id in said}
            queries = corrected(queries, documents, said, facets_of(ctx.taxonomies))
            found = replace(found, abstracts=tuple(_relabelled(row, said.get(row.id, {})) for row in found.abstracts))
        grades, unvalidated = read_pools(_judgements(ctx.config), {q.id for q in queries})
        return replace(
            found,
            queries=tuple(queries),
            dropped=tuple(q for q in found.queries if q.id in reviewed and reviewed[q.id] is None),
            grades=tuple(grades),
            unvalidated=tuple(sorted(unvalidated)),
            require_review=chosen.require_review,
        )


def settled_facets(folders: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Return a mapping: paper -> sentence -> facet, from folders of labels of the task ``facet``; those that are not
    settled are left out."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for labels in map(LabelSet, folders):
        for item in labels.items if labels.sample.task == "facet" else ():
            if (label := labels.settled(item.id).label) not in (None, UNSURE):
                found[item.cluster][item.shown.question] = label or ""
    return found


def _relabelled(row: AbstractRow, said: Mapping[str, str]) -> AbstractRow:
    """Return an abstract with the labels that people settled on."""
    sentences = (s.model_copy(update={"label": said.get(s.text, s.label)}) for s in row.sentences)
    return row.model_copy(update={"sentences": tuple(sentences)})


def _judgements(config: Config) -> list[Path]:
    return [named_files(f, "query.judgements")[0] for f in settings(config).judgements]


def queries_of_run(run: RunView, facets: Facets, *, every_licence: bool) -> RunQueries:
    """Return the queries and abstracts; empty if no recipe ran.

    Args:
        run: the view of the whole run.
        facets: label an abstract's sentences by their aspects.
        every_licence: also abstracts of papers whose licence does not permit it.
    """
    queries = {q.id: q.model_copy(update={"provenance": None}) for q in run.records("query", Query)}
    if not queries:
        return RunQueries()
    labelled: dict[str, dict[str, str]] = defaultdict(dict)
    for query in queries.values():
        if query.facet and query.paper_id:
            labelled[query.paper_id] |= {" ".join(span.text.split()): query.facet for span in query.spans}
    papers = papers_of(run)
    aspects = grouped((aspect.paper_id, aspect) for aspect in run.records("extract", Aspect))
    documents = {d.paper_id: d for d in run.records("parse", Document) if d.abstract}
    allowed = {k for k in documents if every_licence or (k in papers and terms_of(papers[k].licence) not in _WITHHELD)}
    titles = {k: (documents[k].title, papers[k].doi if k in papers else None) for k in allowed}
    rows = [
        AbstractRow(
            id=key,
            title=documents[key].title,
            sentences=tuple(_sentences(documents[key], aspects.get(key, []), facets, labelled.get(key))),
            year=papers[key].year if key in papers else None,
            licence=papers[key].licence if key in papers else "unknown",
            cites=tuple(sorted(_cited(documents[key], titles) - {key})),
        )
        for key in sorted(allowed)
    ]
    return RunQueries(tuple(queries[k] for k in sorted(queries)), tuple(rows), len(documents) - len(allowed))


def run_tasks(
    found: RunQueries, uses: Mapping[str, Sequence[str]], datasets: Mapping[str, Dataset], split_of: Mapping[str, str]
) -> tuple[list[TaskContent], list[Rejection]]:
    """Return one task per recipe.

    Args:
        found: see `queries_of_run`.
        uses: dataset id -> ids of the papers that use it.
        datasets: by id.
        split_of: dataset id -> split; a paper's split is that of its datasets, which are in one component.

    Returns:
        The tasks, and the queries that are left out because they name a dataset that answers them, or because people
        dropped them.
    """
    users = grouped((paper_id, dataset_id) for dataset_id in sorted(uses) for paper_id in uses[dataset_id])
    kept: dict[str, list[Query]] = defaultdict(list)
    rejections = [
        Rejection.of("release", "expert_rejected", "people who reviewed the need dropped it", q) for q in found.dropped
    ]
    for query in found.queries:
        if not users.get(query.paper_id or ""):
            continue
        if query.form not in NEEDS_DATA:
            kept[query.recipe].append(query)
            continue
        gold = users[query.paper_id or ""]
        scrubbed = without_names(query.text, [datasets[d] for d in gold], scrub=query.form == "keyphrases")
        if scrubbed is None:
            rejections.append(Rejection.of("release", "names_gold", "the query names a dataset that answers it", query))
        else:
            kept[query.recipe].append(query.model_copy(update={"text": scrubbed, "gold": tuple(gold)}))
    return [_task(name, queries, found, users, split_of) for name, queries in sorted(kept.items())], rejections


def without_names(text: str, datasets: Iterable[Dataset], *, scrub: bool) -> str | None:
    """Return the text, if it names none of the datasets (title, coined name in it, DOI); else the text without the
    names, or None.

    Args:
        text: the text of a query.
        datasets: the datasets that answer it.
        scrub: remove names and keep the rest, if two words remain; otherwise a text with a name is refused.
    """
    for dataset in datasets:
        for name in _names(dataset):
            found = re.compile(
                rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", 0 if coined_names(name) == [name] and not scrub else re.I
            )
            if not found.search(text):
                continue
            if not scrub:
                return None
            text = " ".join(found.sub(" ", text).split())
    return text if len(words(text)) >= 2 or not scrub else None


def _names(dataset: Dataset) -> list[str]:
    title = dataset.title.strip()
    short = re.split(r"[:(（：]", title)[0].strip()
    names = [title, *([short] if len(words(short)) >= 3 else []), *coined_names(title), *filter(None, [dataset.doi])]
    return list(dict.fromkeys(names))


def _task(
    name: str,
    queries: Sequence[Query],
    found: RunQueries,
    users: Mapping[str, Sequence[str]],
    split_of: Mapping[str, str],
) -> TaskContent:
    ids = {q.id for q in queries}
    grades = [g for g in found.grades if g.query_id in ids]
    qrels: dict[str, dict[str, int]] = {q.id: dict.fromkeys(q.gold, 1) for q in queries if q.gold}
    graded = settled(grades)
    needed = requirements(queries)
    qrels |= added_up(needed, graded) if needed else graded
    return TaskContent(
        name=name,
        info=TaskInfo(
            recipe=name,
            follows=CITATIONS.get(name, ""),
            corpus="datasets" if all(q.form in NEEDS_DATA for q in queries) else "abstracts",
            profile=_PROFILES.get(name, "trec"),
            needs_review=found.require_review and any(q.form == "complex" for q in queries),
            unvalidated=tuple(sorted({g.judge for g in grades} & set(found.unvalidated))),
        ),
        queries=queries,
        splits={q.id: split_of[users[q.paper_id or ""][0]] for q in queries},
        qrels=qrels,
        grades=grades,
    )


def _sentences(
    document: Document, aspects: Sequence[Aspect], facets: Facets, labelled: Mapping[str, str] | None
) -> Iterator[AbstractSentence]:
    """Yield the abstract's sentences, with the facets of the paper's own queries, else of the rules."""
    text = " ".join(document.abstract.split())
    sentences = [text[start:end] for start, end in sentence_spans(text, document.language)]
    sentences = [s for s in sentences if not talks_to_machine(s)]
    if labelled is not None:
        yield from (AbstractSentence(text=s, label=labelled.get(s, "")) for s in sentences)
        return
    for sentence, found in zip(sentences, sentence_facets(sentences, aspects, facets, document.language), strict=True):
        yield AbstractSentence(text=sentence, label=next(iter(found), ""))


def _cited(document: Document, titles: Mapping[str, tuple[str, str | None]]) -> set[str]:
    """Return the papers of the corpus whose DOI or long title is in the document's references."""
    entries = " ".join(document.text[b.start : b.end] for b in document.blocks if b.kind is BlockKind.REFERENCE)
    squeezed = letters(entries)
    return {
        key
        for key, (title, doi) in titles.items()
        if (doi and letters(doi) in squeezed) or (len(letters(title)) >= _LONG_TITLE and letters(title) in squeezed)
    }
