"""Items of a run's papers to label: does this paper use this dataset, and what does this sentence of the abstract do?
People see the same as the rule or the model, without its verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from scirgen import Dataset, InputError, Paper, RunView
from scirgen.plugin import Document, Link, sentence_spans
from scirgen_bench.labels.labelset import Hidden, Shown
from scirgen_bench.tasks.records import Query
from scirgen_label.sources import Candidate, Material, marked

_VERDICTS = {True: "used", False: "not_used", None: "unclear"}


class LinkSource:
    """The (dataset, paper) pairs that the stage match judged, whatever its verdict."""

    kind = "links of a run"

    def __init__(self, view: RunView) -> None:
        """Read the links.

        Raises:
            InputError: the run judged no link.
        """
        self._view = view
        self._links = {link.id: link for link in view.records("match", Link)}
        if not self._links:
            raise InputError(
                "the run judged no link between a dataset and a paper", hint="Give it papers: --papers PDFS/"
            )

    def candidates(self) -> Iterator[Candidate]:
        """Return every judged link; those of one paper are a cluster."""
        for name, link in sorted(self._links.items()):
            verdict = _VERDICTS[link.used]
            hidden = Hidden(verdict=verdict, code=link.strategy or "", dataset_id=link.dataset_id)
            keys = {"verdict": verdict, "code": link.strategy or "none", "dataset": link.dataset_id}
            yield Candidate(name, link.paper_id, keys, hidden)

    def material(self, records: Collection[str]) -> Material:
        """Return the dataset's record, the paper's title, the cited sentences, and the paper's text."""
        links = [self._links[r] for r in sorted(records)]
        datasets = {link.dataset_id for link in links}
        known: dict[str, Dataset] = {d.id: d for d in self._view.datasets() if d.id in datasets}
        wanted = {link.paper_id for link in links}
        papers = {p.id: p for p in self._view.records("collect", Paper) if p.id in wanted}
        documents = {d.paper_id: d for d in self._view.records("parse", Document) if d.paper_id in wanted}
        made = Material()
        for link in links:
            paper, document = papers.get(link.paper_id), documents.get(link.paper_id)
            title = (document.title if document else "") or (paper.title if paper else "") or link.paper_id
            if document:
                made.contexts[document.id] = document.text
                if paper and paper.file:
                    made.papers[document.id] = Path(paper.file)
            made.shown[link.id] = Shown(
                question=f"Paper: {title}",
                title=known[link.dataset_id].title,
                text=known[link.dataset_id].text.partition("\n")[2],
                evidence=tuple(marked(s, document.text if document else "", title) for s in link.evidence),
                context=document.id if document else "",
            )
        return made


class FacetSource:
    """The sentences of the abstracts that a run made facet queries from."""

    kind = "facets of a run"

    def __init__(self, view: RunView) -> None:
        """Read the queries and their abstracts.

        Raises:
            InputError: the run has no facet queries.
        """
        facets: dict[str, dict[str, str]] = {}
        for query in view.records("query", Query):
            if query.facet and query.paper_id:
                said = {" ".join(span.text.split()): query.facet for span in query.spans}
                facets.setdefault(query.paper_id, {}).update(said)
        if not facets:
            raise InputError("the run has no facet queries", hint="Make them: --recipes facets")
        self._items: dict[str, tuple[str, Document, str, str]] = {}
        for document in view.records("parse", Document):
            if document.paper_id in facets:
                text = " ".join(document.abstract.split())
                for n, (start, end) in enumerate(sentence_spans(text, document.language), 1):
                    sentence = text[start:end]
                    label = facets[document.paper_id].get(sentence, "other")
                    self._items[f"{document.paper_id}|{n}"] = sentence, document, text, label

    def candidates(self) -> Iterator[Candidate]:
        """Return every sentence; those of one abstract are a cluster."""
        for record, (_, document, _, label) in sorted(self._items.items()):
            keys = {"verdict": label, "code": "none", "dataset": document.paper_id}
            yield Candidate(record, document.paper_id, keys, Hidden(verdict=label))

    def material(self, records: Collection[str]) -> Material:
        """Return the sentence, with title and abstract."""
        made = Material()
        for record in records:
            sentence, document, text, _ = self._items[record]
            made.shown[record] = Shown(question=sentence, title=document.title, text=text)
        return made
