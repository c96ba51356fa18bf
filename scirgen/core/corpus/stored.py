"""The corpus of a run on disk: passages and records as JSON Lines, and a BM25 index over each that is mapped into
memory, so that several processes share it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from scirgen.core.corpus.cut import Passage
from scirgen.core.text.analysis import terms

Unit = Literal["passages", "datasets"]


class Embed(Protocol):
    """Embeds texts as vectors of length 1, shape (len(texts), dimensions)."""

    def __call__(self, texts: Sequence[str], role: Literal["query", "document"], /) -> Any: ...


_ABOUT = "corpus.json"
_VECTORS = "vectors.npy"
_BATCH = 256
_BLOCK = 65_536
_FUSION = 60
"""The constant of reciprocal rank fusion (Cormack et al. 2009)."""
FORMAT = 8
"""Raised when the cut, the index or what is beside it changes."""


@dataclass(frozen=True)
class Hit:
    """A passage that a search found. ``ranks`` has its rank (from 1) in the list of each query, 0 where it is not."""

    passage: Passage
    ranks: tuple[int, ...]

    @property
    def score(self) -> float:
        """Its score by reciprocal rank fusion."""
        return sum(1 / (_FUSION + rank) for rank in self.ranks if rank)


class Corpus:
    """Passages of papers and records of datasets, ready to be searched. One folder of a run holds it."""

    def __init__(self, folder: Path, embed: Embed | None = None) -> None:
        self.folder = folder
        self._embed = embed
        self._opened: dict[Unit, _Shelf] = {}

    @classmethod
    def build(
        cls,
        folder: Path,
        digest: str,
        passages: Iterable[Passage],
        records: Iterable[Passage],
        embed: Embed | None = None,
        beside: Mapping[str, str] | None = None,
    ) -> Corpus:
        """Write the corpus unless the folder has it already. Terms are stemmed by each passage's language.

        Args:
            folder: the corpus's folder, which is replaced as a whole.
            digest: names what it is made from.
            passages: the passages of papers and records.
            records: each record as one passage.
            embed: vectors of texts, for search by them as well; ``digest`` names its model too.
            beside: further files of the folder, name -> text.
        """
        if not cls.holds(folder, digest):
            folder.parent.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=".corpus-", dir=folder.parent))
            try:
                units: tuple[tuple[Unit, Iterable[Passage]], ...] = (("passages", passages), ("datasets", records))
                for unit, given in units:
                    _write(made / unit, given, embed)
                for name, text in {**(beside or {}), _ABOUT: json.dumps(_about(digest))}.items():
                    (made / name).write_text(text, encoding="utf-8")
                shutil.rmtree(folder, ignore_errors=True)
                made.replace(folder)
            except BaseException:
                shutil.rmtree(made, ignore_errors=True)
                raise
        return cls(folder, embed)

    @staticmethod
    def holds(folder: Path, digest: str) -> bool:
        """Return whether the folder has the corpus that ``digest`` names, in the present format."""
        try:
            return bool(json.loads((folder / _ABOUT).read_text(encoding="utf-8")) == _about(digest))
        except (OSError, ValueError):
            return False

    def search(
        self, unit: Unit, queries: Sequence[tuple[str, str]], depth: int, own: str = "", own_depth: int = 0
    ) -> list[Hit]:
        """Return the first ``depth`` of each query, merged by reciprocal rank fusion; ties by id.

        Args:
            unit: passages, or whole records.
            queries: the question and its rewordings, each with its language. With vectors there is a second list for
                each, after all of the first.
            depth: how many of each query.
            own: a document of which the first ``own_depth`` are there as well, last, without a rank.
            own_depth: see ``own``.
        """
        shelf = self._shelf(unit)
        ranks: dict[int, list[int]] = {}
        mine = shelf.rows.get(own, [])
        best = [0.0] * len(mine)
        several = len(queries) * (2 if self._embed else 1)
        lists: list[list[int]] = []
        for query, language in queries:
            rows, scores = shelf.first(terms(query, language), depth, mine)
            lists.append(rows)
            best = [max(pair) for pair in zip(best, scores, strict=True)]
        if self._embed:
            lists += shelf.nearest(self._embed([query for query, _ in queries], "query"), depth)
        for at, rows in enumerate(lists):
            for rank, row in enumerate(rows, 1):
                ranks.setdefault(row, [0] * several)[at] = rank
        nearest = sorted(zip(best, mine, strict=True), key=lambda pair: (-pair[0], pair[1]))[:own_depth]
        hits = [Hit(shelf.passage(row), tuple(found)) for row, found in ranks.items()]
        hits.sort(key=lambda hit: (-hit.score, hit.passage.id))
        none = (0,) * several
        return hits + [Hit(shelf.passage(row), none) for _, row in nearest if row not in ranks]

    def size(self, unit: Unit) -> int:
        """Return the number of passages or records."""
        return len(self._shelf(unit).offsets)

    def _shelf(self, unit: Unit) -> _Shelf:
        if unit not in self._opened:
            self._opened[unit] = _Shelf(self.folder / unit)
        return self._opened[unit]


class _Shelf:
    """The passages of one unit: a file of lines, their offsets, the index, and vectors if there are any."""

    def __init__(self, folder: Path) -> None:
        import bm25s

        about = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
        self.offsets: list[int] = about["offsets"]
        self.rows: dict[str, list[int]] = about["documents"]
        self._folder = folder
        self._file = (folder / "passages.jsonl").open("rb")
        self._index: Any = bm25s.BM25.load(str(folder / "bm25"), mmap=True) if about["indexed"] else None

    def passage(self, row: int) -> Passage:
        self._file.seek(self.offsets[row])
        return Passage.model_validate_json(self._file.readline())

    def first(self, query: Sequence[str], depth: int, mine: Sequence[int]) -> tuple[list[int], list[float]]:
        """Return the rows with the highest scores above 0, best first, equal scores in the order of rows; and the
        scores of the rows ``mine``."""
        import numpy as np

        known = [word for word in query if self._index is not None and word in self._index.vocab_dict]
        if not known:
            return [], [0.0] * len(mine)
        scores = np.asarray(self._index.get_scores(known))
        least = np.partition(scores, -depth)[-depth] if len(scores) > depth else 0.0
        rows = np.flatnonzero((scores >= least) & (scores > 0))
        first = [int(row) for row in rows[np.lexsort((rows, -scores[rows]))][:depth]]
        return first, [float(scores[row]) for row in mine]

    def nearest(self, queries: Any, depth: int) -> list[list[int]]:
        """Return the rows with the largest cosine with each query, best first; equal ones in the order of rows."""
        import numpy as np

        if not self.offsets:
            return [[] for _ in queries]
        vectors = np.load(self._folder / _VECTORS, mmap_mode="r")
        blocks = (vectors[n : n + _BLOCK].astype(np.float32) for n in range(0, len(vectors), _BLOCK))
        scores = np.concatenate([queries @ block.T for block in blocks], axis=1)
        return [[int(row) for row in np.argsort(-line, kind="stable")[:depth]] for line in scores]


def _about(digest: str) -> dict[str, object]:
    return {"digest": digest, "format": FORMAT}


def _write(folder: Path, passages: Iterable[Passage], embed: Embed | None) -> None:
    import bm25s

    folder.mkdir()
    offsets: list[int] = []
    documents: dict[str, list[int]] = {}
    vocabulary: dict[str, int] = {}
    ids: list[list[int]] = []
    with (folder / "passages.jsonl").open("wb") as file:
        for row, passage in enumerate(passages):
            offsets.append(file.tell())
            file.write(passage.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n")
            documents.setdefault(passage.document_id, []).append(row)
            found = terms(f"{passage.title} {passage.heading} {passage.lead} {passage.text}", passage.language)
            ids.append([vocabulary.setdefault(word, len(vocabulary)) for word in found])
    if vocabulary:
        index = bm25s.BM25()
        index.index(bm25s.tokenization.Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
        index.save(str(folder / "bm25"), show_progress=False)
    about = {"offsets": offsets, "documents": documents, "indexed": bool(vocabulary)}
    (folder / "rows.json").write_text(json.dumps(about), encoding="utf-8")
    if embed is not None and offsets:
        _embed(folder, len(offsets), embed)


def _embed(folder: Path, count: int, embed: Embed) -> None:
    """Write the vectors of the passages, half as precise as they come."""
    import numpy as np

    vectors: Any = None
    with (folder / "passages.jsonl").open("rb") as file:
        for n in range(0, count, _BATCH):
            batch = [Passage.model_validate_json(line) for line in islice(file, _BATCH)]
            made = embed([f"{p.title} {p.heading}\n{p.text}" for p in batch], "document")
            if vectors is None:
                shape = (count, made.shape[1])
                vectors = np.lib.format.open_memmap(folder / _VECTORS, mode="w+", dtype=np.float16, shape=shape)
            vectors[n : n + len(batch)] = made
    vectors.flush()
