"""The setting ``without-own-paper``: documents with their papers' statements, except those of the papers a question is
from.

A question about a paper is easy to find by the paper's own sentences. Here, each question sees the datasets that use
its evidence's papers without these papers. The index contains both forms of such a dataset; each question ranks one of
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scirgen import Release, ReleaseRow
from scirgen.plugin import grouped
from scirgen.release_files.release import CorpusDocument
from scirgen_bench.retriever import Ranking

OWN_PAPER = "without-own-paper"

Form = tuple[str, frozenset[str]]
"""A dataset's id, and the papers whose statements its document leaves out."""


@dataclass(frozen=True)
class OwnPaper:
    """The corpus with both forms of datasets.

    Attributes:
        documents: all datasets with their papers, then the further forms.
        forms: the form of each document.
        left_out: question id -> the papers of its evidence.
    """

    documents: list[CorpusDocument]
    forms: list[Form]
    left_out: Mapping[str, frozenset[str]]

    @property
    def further(self) -> int:
        """Number of documents that are a dataset's further form."""
        return sum(bool(papers) for _, papers in self.forms)

    def ranked(self, ranking: Ranking, questions: Sequence[str], depth: int) -> Ranking:
        """Keep for each question one form of each dataset, as positions among the datasets."""
        place = {dataset: i for i, (dataset, papers) in enumerate(self.forms) if not papers}
        users = {d.id: frozenset(d.papers) for d in self.documents}
        documents = np.full((len(questions), depth), -1, dtype=np.int32)
        scores = np.zeros((len(questions), depth), dtype=np.float32)
        for row, question in enumerate(questions):
            papers = self.left_out[question]
            found = zip(ranking.documents[row].tolist(), ranking.scores[row].tolist(), strict=True)
            kept = [
                (place[self.forms[d][0]], score)
                for d, score in found
                if d >= 0 and self.forms[d][1] == papers & users[self.forms[d][0]]
            ]
            kept = sorted(kept, key=lambda hit: (-hit[1], hit[0]))[:depth]
            for rank, (position, score) in enumerate(kept):
                documents[row, rank], scores[row, rank] = position, score
        return Ranking(documents, scores)


def own_paper(release: Release, rows: Sequence[ReleaseRow]) -> OwnPaper:
    """Make the corpus for a split's questions."""
    paper_of = {p.document_id: p.id for p in release.papers() if p.document_id}
    left_out = {r.id: frozenset(paper_of[e.document_id] for e in r.evidence if e.document_id in paper_of) for r in rows}
    statements = grouped((aspect.dataset_id, aspect) for aspect in release.aspects())
    bare = {d.id: d for d in release.corpus("without-paper")}
    full = sorted(release.corpus("with-paper"), key=lambda d: d.id)
    forms: list[Form] = [(d.id, frozenset()) for d in full]
    documents = list(full)
    for papers in sorted({p for p in left_out.values() if p}, key=sorted):
        for document in full:
            hidden = papers & frozenset(document.papers)
            if hidden and (document.id, hidden) not in forms:
                others = [a for a in statements.get(document.id, ()) if a.paper_id not in hidden]
                parts = [bare[document.id].text, *(t for a in others for t in (a.context, a.text) if t)]
                forms.append((document.id, hidden))
                documents.append(document.model_copy(update={"text": "\n".join(p for p in parts if p)}))
    return OwnPaper(documents, forms, left_out)
