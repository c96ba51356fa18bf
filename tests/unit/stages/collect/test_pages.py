from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from scirgen import Candidate, Cursor, Dataset, Fetched, Paper, Rejection, SourceError
from scirgen.core.config import CollectConfig
from scirgen.stages.collect.pages import CollectedPage, iterate, pages
from scirgen.testing import ContractError, check_source


class Plain:
    """Ten datasets, a cursor after every three."""

    name = "plain"

    def __init__(self, file: Path, count: int = 10) -> None:
        self.file = file
        self.count = count
        self.asked: list[str] = []

    def revision(self, cursor: str | None) -> str | None:
        return f"r{cursor}"

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        for number in range(int(cursor or 0), self.count):
            if number and number % 3 == 0 and str(number) != cursor:
                yield Cursor(str(number))
            yield Dataset(
                id=f"d{number}", title=f"Dataset {number}", licence="cc-by-4.0" if number % 2 else "cc-by-nc-4.0"
            )

    def papers(self, dataset: Dataset) -> list[Candidate]:
        self.asked.append(dataset.id)
        return [Candidate(Paper(id=f"p{n}", doi=f"10.5555/P{n}"), "cites") for n in range(3)]

    def fetch(self, paper: Paper) -> object:
        return Fetched(file=self.file)


class Async(Plain):
    name = "async"

    async def datasets(self, cursor: str | None = None) -> AsyncIterator[Dataset | Cursor | Rejection]:
        for entry in super().datasets(cursor):
            yield entry

    async def fetch(self, paper: Paper) -> object:
        if paper.id == "p0":
            return Fetched(code="not_open", reason="no open copy")
        if paper.id == "p1":
            raise SourceError("503 from the server")
        return Fetched(file=self.file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "p.txt").write_text("a paper")
    return tmp_path / "p.txt"


async def walk(
    source: object, start: str | None = None, limit: int | None = None, **config: object
) -> list[CollectedPage]:
    settings = CollectConfig.model_validate(config)
    return [p async for p in pages(source, settings, start, limit=limit)]


def ids(found: list[CollectedPage]) -> list[str]:
    return [i.dataset.id for p in found for i in p.items]


@pytest.mark.parametrize("kind", [Plain, Async])
async def test_pages_follow_the_cursors_and_a_later_start_gives_the_rest(kind: type[Plain], file: Path) -> None:
    found = await walk(kind(file))
    assert [(p.key, p.revision, p.cursor_next, len(p.items)) for p in found] == [
        ("start", "rNone", "3", 3), ("3", "r3", "6", 3), ("6", "r6", "9", 3), ("9", "r9", None, 1),
    ]  # fmt: skip
    assert ids(await walk(kind(file), "6")) == ["d6", "d7", "d8", "d9"]


async def test_a_limit_ends_the_walk_without_asking_for_more(file: Path) -> None:
    source = Plain(file)
    found = await walk(source, limit=4)
    assert ids(found) == ["d0", "d1", "d2", "d3"] == sorted(source.asked)
    assert [(p.key, p.cursor_next) for p in found] == [("start#first4", "3"), ("3#first1", None)]


async def test_paper_is_known_by_its_lower_case_doi_and_files_hash(file: Path) -> None:
    (first, *_), *_ = [p.items for p in await walk(Plain(file), limit=1, papers_per_dataset=2)]
    assert [p.id for p in first.papers] == ["10.5555/p0", "10.5555/p1"]
    assert {p.sha256 for p in first.papers} == {hashlib.sha256(b"a paper").hexdigest()}
    assert [link.id for link in first.links] == ["d0|10.5555/p0", "d0|10.5555/p1"]


async def test_missing_file_is_a_rejection_and_a_failed_one_is_retried(file: Path) -> None:
    (page,) = await walk(Async(file), limit=1)
    (item,) = page.items
    assert [(r.record_id, r.code) for r in item.rejections] == [("p0", "not_open")]
    assert [(f.record_id, f.code, f.retryable) for f in item.failures] == [("p1", "source", True)]
    assert [p.id for p in item.papers] == ["10.5555/p2"]


async def test_only_the_ids_asked_for_are_collected(file: Path) -> None:
    assert ids(await walk(Plain(file), ids=["d7", "d2"])) == ["d2", "d7"]


async def test_other_licences_are_set_aside_with_the_reason(file: Path) -> None:
    found = await walk(Plain(file, 2), licences=["cc-by", "unknown"])
    assert ids(found) == ["d1"]
    assert [(r.code, r.record_id) for p in found for r in p.rejections] == [("licence", "d0")]


async def test_a_repeated_id_is_set_aside_across_pages_and_across_runs(file: Path) -> None:
    class Twice(Plain):
        def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
            yield Dataset(id="d1", title="First")
            yield Cursor("next")
            yield Dataset(id="d1", title="Again")

    found = await walk(Twice(file))
    assert ids(found) == ["d1"]
    assert [(r.code, r.record_id) for r in found[1].rejections] == [("duplicate_id", "d1")]
    again = [p async for p in pages(Twice(file), CollectConfig(), seen={"d1"})]
    assert ids(again) == []


async def test_unreadable_catalogue_is_an_error_after_its_whole_pages(file: Path) -> None:
    class Breaks(Plain):
        def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
            yield Dataset(id="d1", title="First")
            yield Cursor("next")
            raise SourceError("502 Bad Gateway")

    walked = pages(Breaks(file), CollectConfig())
    assert ids([await anext(walked)]) == ["d1"]
    with pytest.raises(SourceError):
        await anext(walked)


@pytest.mark.parametrize("kind", [Plain, Async])
def test_conforming_sources_pass_the_conformance_suite(kind: type[Plain], file: Path) -> None:
    report = check_source(kind(file))
    assert (report.datasets, report.cursors, report.candidates) == (10, 3, 30)


class LosesOne(Plain):
    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        return super().datasets(str(int(cursor) + 1) if cursor else None)


class NoReason(Plain):
    def fetch(self, paper: Paper) -> object:
        return Fetched()


class NoCursor(Plain):
    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        return (Dataset(id=f"d{n}", title="t") for n in range(501))


class Raises(Plain):
    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        yield Dataset(id="a", title="t")
        raise KeyError("title")


class Wanders(Plain):
    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor | Rejection]:
        self.count += 1
        yield Dataset(id=f"d{self.count}", title="t")


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (LosesOne, "does not continue right after"), (NoReason, "neither a file nor a code"),
        (NoCursor, "no Cursor within"), (Raises, "raised KeyError"), (Wanders, "second walk"),
    ],
)  # fmt: skip
def test_the_conformance_suite_names_each_breach(kind: type[Plain], complaint: str, file: Path) -> None:
    with pytest.raises(ContractError, match=complaint):
        check_source(kind(file))


async def test_records_read_before_an_error_come_first() -> None:
    def datasets(cursor: None) -> Iterator[Dataset]:
        yield Dataset(id="d0", title="Dataset 0")
        raise SourceError("503 from the server")

    read = 0
    with pytest.raises(SourceError):
        async for entry in iterate(datasets, None):
            read += entry.id == "d0"
    assert read == 1


async def test_no_record_behind_a_cursor_is_read_before_the_page_ends() -> None:
    read: list[int] = []

    def datasets(cursor: None) -> Iterator[Dataset | Cursor]:
        for number in range(4):
            read.append(number)
            yield Dataset(id=f"d{number}", title="Dataset")
            if number == 1:
                yield Cursor("1")

    async for entry in iterate(datasets, None):
        if isinstance(entry, Cursor):
            assert read == [0, 1]
    assert read == [0, 1, 2, 3]
