"""The origin of a corpus: datasets, users of papers, languages. Asking and searching need it, also where several runs
search one corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from pydantic import Field, ValidationError

from scirgen.core.corpus.cut import PASSAGE_WORDS, Passage, passages_of, record_passage
from scirgen.core.corpus.printed import StoredRecords
from scirgen.core.corpus.stored import FORMAT, Corpus, Embed
from scirgen.core.errors import InputError
from scirgen.core.records import OWN, Dataset, Document, Frozen, Id, Ids, Link, users_of
from scirgen.core.text.language import base_language
from scirgen.core.text.passages import count_words

_FILE = "reading.json"
_HINT = "Make it with: scirgen merge RUN... --corpus FOLDER, or take the folder `corpus` of a run."


class ReadRun(StoredRecords, Protocol):
    """A view of a run that has read its catalogue and papers."""

    def datasets(self) -> Iterator[Dataset]:
        """Yield the datasets."""

    def uses(self) -> dict[str, tuple[str, ...]]:
        """Return a mapping: dataset id -> ids of the papers that use it."""

    def content(self, *stages: str) -> str:
        """Return the digest of the results of some stages."""


class Reading(Frozen):
    """The records and papers that a corpus was made from.

    Attributes:
        content: digest of the records, papers and links.
        datasets: ids of the datasets.
        users: document id of a paper -> the datasets that use it, by id, which may be none.
        hosts: document id of a paper that no dataset uses -> the first dataset, by id, that it was read for.
        languages: language -> passages, about.
    """

    content: str = ""
    datasets: Ids = ()
    users: dict[Id, Ids] = Field(default={})
    hosts: dict[Id, Id] = Field(default={})
    languages: dict[str, int] = Field(default={})

    @classmethod
    def of(cls, run: ReadRun) -> Reading:
        """Return what a run has read."""
        users = users_of(run.uses())
        first: dict[str, str] = {}
        for link in run.records("collect", Link):
            if link.paper_id not in users:
                first[link.paper_id] = min(link.dataset_id, first.get(link.paper_id, link.dataset_id))
        ids: list[str] = []
        languages: Counter[str] = Counter()
        for dataset in run.datasets():
            ids.append(dataset.id)
            languages[base_language(dataset.language)] += 1
        of: dict[str, tuple[str, ...]] = {}
        hosts: dict[str, str] = {}
        for document in run.records("parse", Document):
            of[document.id] = tuple(users.get(document.paper_id, ()))
            if document.paper_id in first:
                hosts[document.id] = first[document.paper_id]
            words = count_words(document.text)
            languages[base_language(document.language)] += max(1, words // PASSAGE_WORDS)
        content = run.content("collect", "parse", "match")
        return cls(content=content, datasets=tuple(sorted(ids)), users=of, hosts=hosts, languages=dict(languages))

    @classmethod
    def searched(cls, run: ReadRun, corpus: str) -> Reading:
        """Return what is searched: what the run has read, or the ``corpus`` of a folder; "" for none.

        Raises:
            InputError: the folder has no corpus.
        """
        return cls.open(Path(corpus)) if corpus else cls.of(run)

    @classmethod
    def open(cls, folder: Path) -> Reading:
        """Return what the corpus of a folder was read from.

        Raises:
            InputError: the folder has no corpus.
        """
        try:
            return cls.model_validate_json((folder / _FILE).read_bytes())
        except (OSError, ValidationError) as error:
            raise InputError(f"search.corpus: {folder} has no corpus", hint=_HINT) from error

    def asked_with(self, document_id: str) -> str:
        """Return the dataset in whose items questions about a paper are asked; "" for an unknown paper."""
        return next(iter(self.users.get(document_id, ())), self.hosts.get(document_id, ""))

    def written(self, folder: Path, run: ReadRun, encoder: str = "", embed: Embed | None = None) -> Corpus:
        """Return the corpus of a run in ``folder``, written unless it is there.

        Args:
            folder: the corpus's folder, which is replaced as a whole.
            run: the run.
            encoder: identity of what embeds; "" for none.
            embed: vectors of texts.
        """
        records = (record_passage(d) for d in _records(run))
        beside = {_FILE: self.model_dump_json()}
        return Corpus.build(folder, self._digest(encoder), _passages(run), records, embed, beside)

    def opened(self, folder: Path, encoder: str = "", embed: Embed | None = None) -> Corpus:
        """Return the corpus that lies in ``folder``; arguments as for `written`.

        Raises:
            InputError: it is of another version of scirgen, or has no vectors of the encoder.
        """
        if not Corpus.holds(folder, self._digest(encoder)):
            what = f"vectors of {encoder}" if encoder else "an index of this version of scirgen"
            raise InputError(f"search.corpus: {folder} lacks {what}", hint=_HINT)
        return Corpus(folder, embed)

    def _digest(self, encoder: str) -> str:
        return f"{FORMAT}-{self.content}" + (f"-{encoder}" if encoder else "")


def _records(run: ReadRun) -> Iterator[Dataset]:
    """Yield the records of datasets; not those that were made from papers."""
    made = {link.dataset_id for link in run.records("collect", Link) if OWN in link.found_by.split(", ")}
    return (d for d in run.datasets() if d.id not in made)


def _passages(run: ReadRun) -> Iterator[Passage]:
    """Yield the passages of all papers that were read, and the records."""
    for document in run.records("parse", Document):
        yield from passages_of(document)
    yield from (record_passage(d) for d in _records(run))
