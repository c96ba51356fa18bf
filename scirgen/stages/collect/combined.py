"""Combines a source with paper services: asks each for papers, and for files of papers that another one found."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from scirgen.core.errors import SourceError
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.stages.collect.pages import iterate
from scirgen.stages.collect.source import Candidate, Cursor, Fetched, PaperService, Source
from scirgen.stages.collect.validated_source import candidates_of, fetched_by


class CombinedSource:
    """Datasets of a source, and papers of the source and then of the services, each paper once."""

    def __init__(self, source: Source, services: Sequence[PaperService]) -> None:
        self.name = source.name
        self._source = source
        self._services = tuple(services)

    def revision(self, cursor: str | None) -> str | None:
        """The revision of the source."""
        return self._source.revision(cursor)

    def count(self) -> int | None:
        """The source's number of datasets, if it knows it."""
        counted = getattr(self._source, "count", lambda: None)()
        return counted if isinstance(counted, int) else None

    async def datasets(self, cursor: str | None = None) -> AsyncGenerator[Dataset | Cursor | Rejection, None]:
        """The datasets of the source."""
        async for entry in iterate(self._source.datasets, cursor):
            yield entry

    async def papers(self, dataset: Dataset) -> AsyncGenerator[Candidate, None]:
        """Candidates of all of them; a paper that several find (the same DOI or id) comes once, as first found."""
        seen: set[str] = set()
        for finder in (self._source, *self._services):
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
        for finder in (self._source, *self._services):
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
