"""What an adapter's author gets wrong at first, and the message for it: one error with a place and a hint, and nothing
lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

import scirgen
from scirgen import Candidate, Cursor, Dataset, Fetched, Paper, Rejection, SourceError
from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.cli.run.status import status
from scirgen.core.errors import InputError, PluginError
from scirgen.pipeline.observer import Observer
from scirgen.stages.collect.validated_source import CheckedSource, checked
from scirgen.testing.server import FakeServer
from scirgen.testing.sources import ContractError, check_source
from tests.support.small_runs import SETTINGS

PAPER = Paper(id="p")


def dataset(id: str) -> Dataset:
    stations = 20 + ord(id[-1])  # another text for each: a release keeps one of two equal pairs
    text = f"Snow depth was measured at {stations} stations between 1990 and 2020 with sensors in order to find trends."
    return Dataset(id=id, title=f"Snow depth in the Alps, part {id}", description=text)


class Plain:
    """A right adapter; the tests put one wrong member in."""

    name = "mine"

    def revision(self, cursor: str | None) -> str | None:
        return None

    def datasets(self, cursor: str | None = None) -> Iterator[object]:
        yield dataset("a")

    def papers(self, dataset: Dataset) -> object:
        return []

    def fetch(self, paper: Paper) -> object:
        return Fetched(code="not_found", reason="none")


def with_member(name: str, member: object) -> CheckedSource:
    return checked(type("Mine", (Plain,), {name: member})())


async def walk(source: CheckedSource) -> list[object]:
    return [e async for e in source.datasets(None)]


def no_id(self: object, cursor: str | None = None) -> Iterator[object]:
    yield dataset("a")
    yield Dataset(id="", title="x")


def in_mid_way(self: object, cursor: str | None = None) -> Iterator[object]:
    yield dataset("a")
    raise KeyError("title")


def offline(self: object, cursor: str | None = None) -> Iterator[object]:
    raise httpx2.ConnectError("connection refused")
    yield


@pytest.mark.parametrize(
    ("datasets", "says", "hint"),
    [
        (lambda self, c=None: iter([{"id": "b"}]), "datasets() yielded a dict, not a Dataset", "check_source"),
        (lambda self, c=None: iter([None]), "datasets() yielded a NoneType", "check_source"),
        (lambda self, c=None: None, "datasets() raised TypeError: it returned a NoneType", "Rejection"),
        (lambda self, c=None: iter([Cursor(1)]), "Cursor(1)", "check_source"),
        (no_id, "Dataset.id: String should have at least 1 character", "Rejection"),
        (in_mid_way, "datasets() raised KeyError (test_checked.py, line", "Rejection"),
        (offline, "datasets() raised ConnectError", "open_http"),
    ],
)
async def test_wrong_datasets_error_names_the_member_and_what_to_do(datasets: object, says: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        await walk(with_member("datasets", datasets))
    assert "source 'mine'" in caught.value.message and says in caught.value.message
    assert hint in caught.value.hint and caught.value.error_code == "source_fault"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["a.pdf"], "papers() yielded a str, not a Candidate"),
        (None, "it returned a NoneType"),
    ],
)
async def test_papers_when_wrong_then_the_error_says_what_came(given: object, says: str) -> None:
    source = with_member("papers", lambda self, dataset: given)
    with pytest.raises(SourceError, match="source 'mine'") as caught:
        [c async for c in source.papers(dataset("a"))]
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "fetch() returned a NoneType, not a Fetched"),
        (Fetched(file="a.pdf"), "a file that is a str"),
        (Fetched(file=Path("/no/such.pdf")), "'/no/such.pdf', which is not a file"),
    ],
)
async def test_fetch_when_wrong_then_the_error_says_what_came(given: object, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        await with_member("fetch", lambda self, paper: given).fetch(PAPER)
    assert says in caught.value.message


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (Plain, "source Plain is a class"),
        (object(), "object is not a source: it lacks name, papers, fetch, revision, datasets"),
        (type("Nameless", (Plain,), {"name": ""})(), "has no name"),
    ],
)
def test_source_when_it_is_none_then_it_is_refused_before_any_work(made: object, says: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError) as caught:
        scirgen.generate(tmp_path / "run", source=made)
    assert says in caught.value.message and caught.value.hint


async def test_revision_when_it_is_a_coroutine_then_it_is_said_so() -> None:
    async def revision(self: object, cursor: str | None) -> str:
        return "r"

    with pytest.raises(SourceError, match=r"revision\(\) returned a coroutine"):
        with_member("revision", revision).revision(None)


async def generate(
    tmp_path: Path, source: object, server: FakeServer, ids: tuple[str, ...] = (), observer: Observer | None = None
) -> Run:
    flags = {
        "collect.ids": list(ids),
        **SETTINGS,
        "generate.types": ["all"],
        "generate.types_without_paper": 8,
        "filter.gates": ["duplicate"],
        "models.generator": f"openai:fake@{server.url}",
    }
    loaded, domain = resolve_config(domain="geo", flags=flags)
    return await run_pipeline(tmp_path / "run", loaded.config, domain, source=source, observer=observer or Observer())


async def test_papers_that_raise_cost_one_dataset_which_is_tried_again(
    tmp_path: Path,
) -> None:
    class Mine(Plain):
        broken = True

        def datasets(self, cursor: str | None = None) -> Iterator[object]:
            yield from (dataset("a"), dataset("b"))

        def papers(self, dataset: Dataset) -> object:
            if dataset.id == "a" and self.broken:
                raise KeyError("papers")
            return []

    async with FakeServer() as server:
        run = await generate(tmp_path, Mine(), server)
        assert run.outcome is not None and run.outcome.status == "partial"
        assert run.funnel()["collect"]["failed:source_fault"] == 1
        said = CliRunner().invoke(status, [str(run.folder), "--reasons", "collect"]).output
        assert "source_fault" in said and "papers() of dataset 'a' raised KeyError (test_checked.py" in said
        Mine.broken = False
        again = await generate(tmp_path, Mine(), server)
    assert again.outcome is not None and again.outcome.status == "success"


async def test_pages_before_a_raising_source_are_kept(tmp_path: Path) -> None:
    class Mine(Plain):
        broken = True

        def datasets(self, cursor: str | None = None) -> Iterator[object]:
            if cursor is None:
                yield dataset("a")
                yield Cursor("1")
            yield dataset("b")
            if self.broken:
                raise KeyError("title")

    async with FakeServer() as server:
        with pytest.raises(SourceError, match="KeyError"):
            await generate(tmp_path, Mine(), server)
        Mine.broken = False
        run = await generate(tmp_path, Mine(), server)
    assert run.outcome is not None and run.outcome.status == "success"
    assert {d.id for d in run.records("collect", Dataset)} == {"a", "b"}


async def test_run_when_the_source_gives_nothing_then_it_is_an_error(tmp_path: Path) -> None:
    async with FakeServer() as server:
        with pytest.raises(InputError, match="the source has none of the requested"):
            await generate(tmp_path, with_member("datasets", lambda self, cursor=None: iter(())), server)


class Noting(Observer):
    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, message: str) -> None:
        self.said.append(message)


async def test_run_says_that_the_records_are_in_another_language(tmp_path: Path) -> None:
    german = [dataset(i).model_copy(update={"language": "de"}) for i in "ab"]
    noting = Noting()
    async with FakeServer() as server:
        await generate(tmp_path, with_member("datasets", lambda self, cursor=None: iter(german)), server, (), noting)
    line = "2 of 2 records are in German (de); questions will be in English: --language de changes that"
    assert noting.said.count(line) == 1


async def test_run_names_a_requested_id_that_no_record_has(tmp_path: Path) -> None:
    def given(self, cursor=None):
        yield dataset("a")
        yield Rejection.of("collect", "no_title", "the record has no title", ("Dataset", "b"))

    noting = Noting()
    async with FakeServer() as server:
        with pytest.raises(InputError, match="no record has the id 'K-999'"):
            await generate(tmp_path / "none", with_member("datasets", given), server, ("K-999",))
        with pytest.raises(InputError, match="no_title 1"):
            await generate(tmp_path / "b", with_member("datasets", given), server, ("b",))
        await generate(tmp_path / "some", with_member("datasets", given), server, ("a", "b", "K-999"), noting)
    assert noting.said == ["no record has the id 'K-999'"]


async def test_a_dataset_whose_id_would_break_a_table_is_set_aside() -> None:
    given = [dataset("TG 11"), dataset("tab\tid"), dataset("line\nid"), dataset("fine-1")]
    entries = await walk(with_member("datasets", lambda self, cursor=None: iter(given)))
    # Control characters are percent-encoded where the record is made; a space is not.
    assert [getattr(e, "code", "kept") for e in entries] == ["bad_id", "kept", "kept", "kept"]
    with pytest.raises(ContractError, match="white space"):
        check_source(type("Mine", (Plain,), {"datasets": lambda self, cursor=None: iter(given)})())


async def test_terminal_codes_are_taken_out_of_a_datasets_texts() -> None:
    title = "\x1b]0;owned\x07\x1b[31mSnow\x1b[0m \u202edepth"
    given = dataset("a").model_copy(update={"title": title, "fields": (("Place\x1b[1m", "Al\x00ps"),)})
    (found,) = await walk(with_member("datasets", lambda self, cursor=None: iter([given])))
    assert isinstance(found, Dataset)
    assert (found.title, found.fields) == ("]0;owned[31mSnow[0m depth", (("Place[1m", "Alps"),))


async def test_candidates_when_right_then_they_pass_unchanged(tmp_path: Path) -> None:
    found = Candidate(PAPER, "catalogue")
    source = with_member("papers", lambda self, dataset: [found])
    assert [c async for c in source.papers(dataset("a"))] == [found]


@pytest.mark.parametrize(
    ("fields", "year"),
    [
        ((("Published", "2019-04-01"),), 2019),
        ((("Year", "1951"),), 1951),
        ((("Period", "1990-2020"),), None),
        ((), None),
    ],
)
async def test_a_dataset_s_year_is_the_one_its_record_states(
    fields: tuple[tuple[str, str], ...], year: int | None
) -> None:
    class Dated(Plain):
        def datasets(self, cursor: str | None = None) -> Iterator[object]:
            yield dataset("a").model_copy(update={"fields": fields})

    (found,) = [d async for d in CheckedSource(Dated()).datasets()]
    assert isinstance(found, Dataset)
    assert found.year == year
