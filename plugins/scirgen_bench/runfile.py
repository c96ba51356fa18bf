"""``run:FILE``: replays TREC runs or published rankings of CSFCube, to measure rankings of other systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from scirgen import InputError
from scirgen.plugin import PluginError, read_json
from scirgen_bench.retriever import Ranking, Retriever
from scirgen_bench.rowfiles import open_text, trec_id

_FORMS = "run:FILE, a TREC run (query Q0 document rank score name) or a ranking of CSFCube in JSON"
_MOST = 2**30


class RunFile:
    """The documents of a run file (query Q0 document rank score name), by descending score; equal scores keep the
    file's order.

    CSFCube's rankings are JSON, for each query's paper a list of (document, distance), the best first. Its facet is in
    the file's name (``...-background-ranked.json``): the query's id is ``PAPER_FACET``. A pattern (``*-ranked.json``)
    reads the files of all facets as one run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, list[tuple[int, float]]] = {}
        self._queries: Sequence[str] = ()

    @property
    def parameters(self) -> dict[str, object]:
        """The file's name."""
        return {"run": self._path.name}

    def identify(self, queries: Sequence[str], known: frozenset[str], documents: Sequence[str]) -> None:
        """Read the files for these queries, in the order they will be asked.

        Args:
            queries: ids that are asked.
            known: ids that the files may hold; queries of other splits are skipped.
            documents: ids in the order of positions.

        Raises:
            InputError: a file cannot be read, or a line is malformed or names an unknown query or document.
        """
        place = {name: i for i, d in enumerate(documents) for name in (trec_id(d), d)}
        found: dict[str, dict[str, float]] = {}
        files = sorted(self._path.parent.glob(self._path.name)) or [self._path]
        for number, query, document, score in (hit for file in files for hit in _read(file, known)):
            if query not in known:
                hint = "The run was made for other queries; CSFCube's are named PAPER_FACET."
                raise InputError(f"{number}: unknown query {query!r}", hint=hint)
            if document not in place:
                hint = "The run was made for another corpus."
                raise InputError(f"{number}: unknown document {document!r}", hint=hint)
            if document in found.setdefault(query, {}):
                hint = "Keep one of the two lines."
                raise InputError(f"{number}: {document!r} occurs twice for {query!r}", hint=hint)
            found[query][document] = score
        self._queries = queries
        # Sorting is stable: equal scores stay in the file's order.
        self._found = {
            query: [(place[d], s) for d, s in sorted(hits.items(), key=lambda hit: -hit[1])]
            for query, hits in found.items()
        }

    def index(self, documents: Sequence[str]) -> None:
        """Do nothing: the file has the ranking."""

    def search(self, queries: Sequence[str], depth: int) -> Ranking:
        """Return the file's ranking of the queries given to `identify`, empty for a query that the file lacks."""
        if len(queries) != len(self._queries):
            raise PluginError("run:FILE replays a ranking by query ids and cannot search new texts")
        documents = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.zeros((len(queries), depth), dtype=np.float32)
        for i, query in enumerate(self._queries):
            for j, (position, score) in enumerate(self._found.get(query, ())[:depth]):
                documents[i, j], scores[i, j] = position, score
        return Ranking(documents, scores)


def _read(path: Path, known: frozenset[str]) -> Iterator[tuple[str, str, str, float]]:
    """Yield (place, query, document, score) of each hit of a file."""
    with open_text(path, hint=_FORMS, most=_MOST) as file:
        text = file.read()
    if text[:1] == "{":
        yield from _ranked(path, known)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            query, _, document, _, score = line.split()[:5]
            yield f"{path}, line {number}", query, document, float(score)
        except ValueError:
            raise InputError(f"{path}, line {number}: expected: query Q0 document rank score name") from None


def _ranked(path: Path, known: frozenset[str]) -> Iterator[tuple[str, str, str, float]]:
    facet = next((part for part in reversed(path.name.split("-")) if any(q.endswith(f"_{part}") for q in known)), "")
    try:
        for paper, hits in read_json(path, hint="CSFCube's rankings: {paper: [[document, distance], ...]}").items():
            query = paper if paper in known else f"{paper}_{facet}"
            for place, (document, _) in enumerate(hits, 1):
                yield f"{path}, paper {paper}, entry {place}", query, str(document), -float(place)
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"{path}: expected {{paper: [[document, distance], ...]}}: {error}") from None


def run_file(argument: str, make: Callable[[str], Retriever]) -> RunFile:
    """Make ``run:FILE``."""
    if not argument:
        raise PluginError("run needs a file", hint=_FORMS)
    return RunFile(Path(argument))
