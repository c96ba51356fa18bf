"""The links of a run as items to label: does this paper use this dataset? People see what the rule or the model saw,
and the paper's text on demand; they do not see its verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from scirgen.core.errors import InputError
from scirgen.core.records import Dataset, Document, Link, Paper
from scirgen.pipeline.views.view import StoreView
from scirgen.release_files.labels import Hidden, Shown
from scirgen_label.sources import Candidate, Material, marked

_VERDICTS = {True: "used", False: "not_used", None: "unclear"}


class LinkSource:
    """The (dataset, paper) pairs that the stage match judged, whatever it said."""

    kind = "links of a run"

    def __init__(self, view: StoreView) -> None:
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
        """Every judged link; those of one paper are a cluster."""
        for name, link in sorted(self._links.items()):
            verdict = _VERDICTS[link.used]
            hidden = Hidden(verdict=verdict, code=link.strategy or "", dataset_id=link.dataset_id)
            keys = {"verdict": verdict, "code": link.strategy or "none", "dataset": link.dataset_id}
            yield Candidate(name, link.paper_id, keys, hidden)

    def material(self, records: Collection[str]) -> Material:
        """The dataset's record, the paper's title, the cited sentences, and the paper's text."""
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
