"""Wraps a source, so that the mistakes and exceptions of an adapter become `SourceError`.

`source` says what an adapter must do; `scirgen.testing.check_source` tests one thoroughly before it is used.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from scirgen.core.errors import PluginError, ScirgenError, SourceError
from scirgen.core.fingerprint import digest
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.records.licences import normalise_licence
from scirgen.core.registry.plugincode import plugin_code
from scirgen.core.secrets.addresses import has_password, without_passwords
from scirgen.core.text.markup import one_line, plain_text
from scirgen.core.text.tame import each_text, tame, visible
from scirgen.core.text.untrusted import without_orders
from scirgen.stages.collect.pages import iterate, value_of
from scirgen.stages.collect.source import Candidate, Cursor, Fetched, PaperService, Source

R = TypeVar("R", Dataset, Paper)

CODE = "source_fault"
_CONTRACT = "See docs/sources.md for the contract; scirgen.testing.check_source(source) checks an adapter."
_RECORD = "Yield a scirgen.Rejection for a record that cannot be used, so the others are still read."
_NETWORK = "Raise scirgen.SourceError for errors that a retry may fix; requests made with scirgen.open_http do."


_DATES = frozenset(
    {"published", "publication year", "publicationyear", "year", "issued", "date published", "datepublished"}
)
"""Labels of fields, in lower case, with a dataset's date of publication."""


def checked(source: object) -> CheckedSource:
    """Check and wrap a source object that the user passed.

    Raises:
        PluginError: it is a class instead of an object, lacks a member, or has no name.
    """
    if isinstance(source, CheckedSource):
        return source
    if isinstance(source, type):
        raise PluginError(
            f"source {source.__name__} is a class", hint=f"Pass an object: source={source.__name__}(...)."
        )
    if not isinstance(source, Source):
        raise PluginError(
            f"{type(source).__name__} is not a source: it lacks {lacking(source, Source)}",
            hint="See docs/sources.md for the contract.",
        )
    if not isinstance(source.name, str) or not source.name:
        raise PluginError(
            f"the source {type(source).__name__} has no name", hint="Give it a non-empty string as its member name."
        )
    return CheckedSource(source)


def lacking(made: object, contract: type) -> str:
    """Return the members of the contract (`Source` or `PaperService`) that an object lacks."""
    wanted = ("name", "papers", "fetch") + (("revision", "datasets") if contract is Source else ())
    return ", ".join(m for m in wanted if not hasattr(made, m))


class CheckedSource:
    """A source whose faults become `SourceError`s that name the member and the adapter's line.

    ``services`` are asked for papers and files after it.
    """

    def __init__(self, source: Source, services: Sequence[PaperService] = ()) -> None:
        self._source = source
        self.services = list(services)
        self.name = source.name

    def revision(self, cursor: str | None) -> str | None:
        """Return the source's revision, with a hash of the code of the adapter and the services: an edited one reads
        the pages again.

        Raises:
            SourceError: it fails, or is not text.
        """
        with blamed(self._source, "revision()"):
            found = self._source.revision(cursor)
        if found is None or isinstance(found, str):
            code = [own for s in (self._source, *self.services) if (own := plugin_code(type(s)))]
            return digest(found, code) if code else found
        if inspect.iscoroutine(found):
            found.close()
        raise _wrong(self._source, f"revision() returned a {type(found).__name__}, expected a str or None")

    def count(self) -> int | None:
        """Return the number of records in the catalogue; None if the source does not know."""
        with blamed(self._source, "count()"):
            counted = getattr(self._source, "count", lambda: None)()
        return counted if isinstance(counted, int) else None

    def unread(self) -> dict[str, list[str]] | None:
        """Return a mapping: dotted key -> ids of the records with a value there that is not read; None if the source
        cannot tell."""
        with blamed(self._source, "unread()"):
            found = getattr(self._source, "unread", lambda: None)()
        return {str(k): list(map(str, ids)) for k, ids in found.items()} if isinstance(found, dict) else None

    def warnings(self) -> list[str]:
        """Return lines for the user about the options of the source; empty if it has none."""
        with blamed(self._source, "warnings()"):
            return list(map(str, getattr(self._source, "warnings", list)()))

    async def datasets(self, cursor: str | None = None) -> AsyncGenerator[Dataset | Cursor | Rejection, None]:
        """Yield the source's datasets, cursors and rejections.

        Raises:
            SourceError: it fails while it is read, or yields something else.
        """
        with blamed(self._source, "datasets()"):
            async for entry in iterate(self._source.datasets, cursor):
                if not isinstance(entry, (Dataset, Cursor, Rejection)):
                    raise _wrong(
                        self._source,
                        f"datasets() yielded a {type(entry).__name__}, not a Dataset, Cursor or Rejection",
                    )
                if isinstance(entry, Cursor) and not isinstance(entry.value, str):
                    raise _wrong(
                        self._source, f"datasets() yielded Cursor({entry.value!r}); a cursor's value must be a text"
                    )
                if not isinstance(entry, Dataset):
                    yield entry
                    continue
                shown, orders = _presentable(_without_passwords(entry))
                yield shown
                if orders:
                    yield _orders(entry, orders)

    async def papers(self, dataset: Dataset) -> AsyncGenerator[Candidate, None]:
        """Yield the source's candidates for a dataset, then those of services that were not found before (the same DOI
        or id).

        Raises:
            SourceError: one fails while it is read, or yields something other than a `Candidate`.
        """
        seen: set[str] = set()
        for finder in (self._source, *self.services):
            async for candidate in _candidates(finder, dataset):
                key = (candidate.paper.doi or candidate.paper.id).lower()
                if key not in seen or finder is self._source:
                    seen.add(key)
                    yield candidate

    async def fetch(self, paper: Paper) -> Fetched:
        """Return the first file that the source or a service has; otherwise the best reason why none has one.

        Raises:
            SourceError: it fails, returns no `Fetched`, or names a file that does not exist. With services: none has a
                file, but a retry may help.
            PaperError: the source raised it.
        """
        if not self.services:
            return await _fetched(self._source, paper)
        reasons: list[Fetched] = []
        failed: SourceError | None = None
        for finder in (self._source, *self.services):
            try:
                fetched = await _fetched(finder, paper)
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
        return reasons[0]


async def _candidates(finder: PaperService, dataset: Dataset) -> AsyncGenerator[Candidate, None]:
    with blamed(finder, f"papers() of dataset {dataset.id!r}"):
        async for candidate in iterate(finder.papers, dataset):
            if not isinstance(candidate, Candidate):
                raise _wrong(finder, f"papers() yielded a {type(candidate).__name__}, not a Candidate")
            paper = _without_passwords(candidate.paper)
            title, licence = one_line(paper.title), normalise_licence(paper.licence)
            if (title, licence) != (paper.title, paper.licence):
                paper = paper.model_copy(update={"title": title, "licence": licence})
            yield candidate if paper is candidate.paper else replace(candidate, paper=paper)


async def _fetched(finder: PaperService, paper: Paper) -> Fetched:
    with blamed(finder, f"fetch() of paper {paper.id!r}"):
        fetched = await value_of(finder.fetch, paper)
    if not isinstance(fetched, Fetched):
        raise _wrong(finder, f"fetch() returned a {type(fetched).__name__}, not a Fetched")
    file: object = fetched.file
    if file is None:
        return fetched
    if not isinstance(file, Path):
        raise _wrong(finder, f"fetch() returned a file that is a {type(file).__name__}, not a pathlib.Path")
    if not file.is_file():
        raise SourceError(
            f"source {finder.name!r}: fetch() returned {str(file)!r}, which is not a file",
            hint="If there is no file, return a Fetched with a code and a reason.",
            code=CODE,
        )
    return fetched


def _without_passwords(record: R) -> R:
    """Return the record, whose addresses lose user names, passwords and tokens in all of its texts."""
    if not has_password(record.model_dump_json()):
        return record
    return type(record).model_validate(each_text(record.model_dump(mode="json"), without_passwords))


def _presentable(dataset: Dataset) -> tuple[Dataset | Rejection, list[str]]:
    """Return the dataset with cleaned texts, or the reason why its id cannot be written into a release's tables.

    Control characters, endless runs of one sign and sentences that address a language model are removed from its
    texts, and the sentences are returned.
    """
    if unusable_id(dataset.id):
        problem = "is too long, or contains white space or control characters, which would break qrels files"
        record = dataset.model_dump_json(exclude_defaults=True)[:_LONGEST_RECORD]
        about = ("Dataset", dataset.id[:_LONGEST_ID])
        return Rejection.of("collect", "bad_id", f"the id {dataset.id[:200]!r} {problem}", about, record=record), []
    orders: list[str] = []

    def clean(text: str, most: int, plain: Callable[[str], str] = one_line) -> str:
        kept, taken = without_orders(tame(visible(text), most), language)
        if "<" in kept or "&" in kept:  # markup may hide an order, and a control token may look like markup
            orders.extend(taken)
            kept, taken = without_orders(tame(visible(plain(kept))), language)
        orders.extend(taken)
        return kept

    language = dataset.language

    changes: dict[str, object] = {
        "title": clean(dataset.title, _LONGEST_TITLE) or dataset.id,
        "description": clean(dataset.description, _LONGEST_DESCRIPTION, plain_text),
        "fields": tuple(
            (k, v)
            for key, value in dataset.fields
            if (k := clean(key, 200)) and (v := clean(value, _LONGEST_TITLE * 4, plain_text))
        ),
        "keywords": tuple(filter(None, (clean(k, _LONGEST_TITLE) for k in dataset.keywords[:_MAX_ENTRIES]))),
        "authors": tuple(filter(None, (clean(a, _LONGEST_TITLE) for a in dataset.authors[:_MAX_ENTRIES]))),
        "translations": tuple(
            (c, f, clean(t, _LONGEST_DESCRIPTION, plain_text)) for c, f, t in dataset.translations[:_MAX_ENTRIES]
        ),
        "related": tuple(tame(visible(r), _LONGEST_TITLE) for r in dataset.related[:_MAX_ENTRIES]),
        "year": dataset.year if dataset.year is not None else _stated_year(dataset),
        "licence": normalise_licence(dataset.licence),
        "url": visible(dataset.url)[:_LONGEST_TITLE] if dataset.url else dataset.url,
    }
    changed = {name: value for name, value in changes.items() if value != getattr(dataset, name)}
    return (dataset.model_copy(update=changed) if changed else dataset), orders


def _stated_year(dataset: Dataset) -> int | None:
    """Return the year of publication, from the first such field. A time filter keeps datasets without one."""
    for label, value in dataset.fields:
        if label.casefold() in _DATES and (found := re.search(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)", value)):
            return int(found.group())
    return None


def _orders(dataset: Dataset, sentences: list[str]) -> Rejection:
    """Return the rejection that reports what was removed from a record."""
    reason = (
        f"{len(sentences)} sentence(s) of the metadata address a language model; the record continues without "
        "them: "
        f"{sentences[0][:120]!r}"
    )
    record = "\n".join(sentences)[:_LONGEST_RECORD]
    return Rejection.of(
        "collect", "instructions", reason, ("Sentence", dataset.id), dataset_id=dataset.id, record=record
    )


_LONGEST_ID = 500
_LONGEST_TITLE = 2_000
_LONGEST_DESCRIPTION = 200_000
_LONGEST_RECORD = 100_000
_MAX_ENTRIES = 5_000


def unusable_id(id: str) -> bool:
    """Return whether an id would break files whose cells end at white space (TREC) or at a line's end (qrels)."""
    return len(id) > _LONGEST_ID or bool(re.search(r"\s", id)) or visible(id) != id


@contextmanager
def blamed(source: object, member: str, name: str = "") -> Iterator[None]:
    """Turn an adapter's exceptions, except scirgen's own errors, into a `SourceError` with the place in the adapter."""
    try:
        yield
    except (ScirgenError, asyncio.CancelledError):
        raise
    except Exception as error:
        name = name or getattr(source, "name", type(source).__name__)
        raise SourceError(
            f"source {name!r}: {member} raised {type(error).__name__}{place(source, error)}: {message_of(error)}",
            hint=_hint(error, member),
            code=CODE,
        ) from error


def _wrong(source: object, problem: str) -> SourceError:
    name = getattr(source, "name", type(source).__name__)
    return SourceError(f"source {name!r}: {problem}", hint=_CONTRACT, code=CODE)


def place(source: object, error: Exception) -> str:
    """Return ``(file.py, line 12)``, the innermost line of the adapter's own file; "" if the traceback has none."""
    try:
        own = inspect.getfile(source if inspect.isclass(source) else type(source))
    except (TypeError, OSError):
        return ""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == own]
    return f" ({Path(own).name}, line {frames[-1].lineno})" if frames else ""


def message_of(error: Exception) -> str:
    """Return an exception in one line, without its class."""
    if isinstance(error, ValidationError):
        return "; ".join(f"{error.title}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
    return " ".join(str(error).split())[:500] or "no message"


def _hint(error: Exception, member: str) -> str:
    kind = f"{type(error).__module__}.{type(error).__name__}"
    if isinstance(error, (OSError, TimeoutError)) or kind.split(".")[0] in (
        "aiohttp", "httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3",
    ):  # fmt: skip
        return _NETWORK
    return _RECORD if member == "datasets()" else _CONTRACT
