"""Combines a source with paper services: asks each for papers, and for files of papers that another one found."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from scirgen.core.errors import SourceError
from scirgen.core.records import Dataset, Paper
from scirgen.stages.collect.source import Candidate, Fetched, PaperService, Source
from scirgen.stages.collect.validated_source import CheckedSource, candidates_of, fetched_by


class CombinedSource(CheckedSource):
    """Datasets of a source, and papers of the source and then of the services, each paper once."""

    def __init__(self, source: Source, services: Sequence[PaperService]) -> None:
        super().__init__(source)
        self._finders = (source, *services)

    async def papers(self, dataset: Dataset) -> AsyncGenerator[Candidate, None]:
        """Candidates of all of them; a paper that several find (the same DOI or id) comes once, as first found."""
        seen: set[str] = set()
        for finder in self._finders:
            async for candidate in candidates_of(finder, dataset):
                key = (candidate.paper.doi or candidate.paper.id).lower()
                if key not in seen:
                    seen.add(key)
                    yield candidate

    async def fetch(self, paper: Paper) -> Fetched:
        """The first file that one of them has; otherwise the most informative reason why none has one.

        Raises:
            SourceError: none has a file, but a retry may help.
        """
        reasons: list[Fetched] = []
        failed: SourceError | None = None
        for finder in self._finders:
            try:
                fetched = await fetched_by(finder, paper)
            except SourceError as error:
                failed = failed if failed is not None and failed.retryable else error
                continue
            if fetched.file is not None:
                return fetched
            reasons.append(fetched)
        if failed is not None and failed.retryable:
            raise failed
        told = [r for r in reasons if r.code not in ("no_open_copy", "not_found", "")]
        if told:
            return told[0]
        if failed is not None:
            return Fetched(code=failed.error_code, reason=failed.message)
        return reasons[0] if reasons else Fetched(code="no_open_copy", reason="no service knows an open copy")
