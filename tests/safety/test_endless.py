"""Runs end: catalogues that repeat themselves, bytes that trickle, patterns whose cost could explode."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import re
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import pytest

from scirgen.core import runtime
from scirgen.core.config import CollectConfig, HttpConfig
from scirgen.core.errors import PaperError, RunStoppingError, SourceError
from scirgen.core.records import Dataset, Paper
from scirgen.core.text.tame import tame, tame_blanks, tame_strings
from scirgen.core.text.untrusted import talks_to_machine
from scirgen.stages.collect import pages as paging
from scirgen.stages.collect.pages import pages
from scirgen.stages.collect.source import Cursor, SourceSetup
from scirgen.stages.parse.sniff import sniff
from scirgen.testing.web import Answer, LoopbackServer
from scirgen_services.web.http import Http
from tests.support.raw_servers import RawServer
from tests.support.worst_cases import PUMP, package_patterns, taxonomy_patterns, worst_cases

Pattern = tuple[str, str | bytes, int]
PATTERNS = 900
HTTP = HttpConfig(allow_private_addresses=True, requests_per_second=1e6, retries=0)


# -- catalogues --------------------------------------------------------------------------------------------------------


def huggingface(url: str, number: int) -> Answer:
    items = [{"id": f"a/{n}"} for n in range(3)]
    return Answer(items, headers={"Link": f'<{url}/api/datasets?cursor=same>; rel="next"'})


def ckan(url: str, number: int) -> Answer:
    return Answer({"success": True, "result": {"count": 10**9, "results": [{"id": "a", "title": "A"}]}})


def datacite(url: str, number: int) -> Answer:
    item = {"id": "10.1/a", "attributes": {"doi": "10.1/a", "titles": [{"title": "A"}]}}
    token = "x" if number % 2 else "y"
    return Answer({"data": [item], "links": {"next": f"{url}/dois?page[cursor]={token}"}})


def oai(url: str, number: int) -> Answer:
    return Answer(
        '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        "<responseDate>2024-01-01T00:00:00Z</responseDate>"
        f"<request>{url}</request><ListRecords><record><header><identifier>a</identifier>"
        "<datestamp>2024-01-01</datestamp></header>"
        '<metadata><dc xmlns="http://purl.org/dc/elements/1.1/"><title>A</title></dc></metadata></record>'
        "<resumptionToken>same</resumptionToken></ListRecords></OAI-PMH>"
    )


@pytest.mark.parametrize("limit", [None, 500])
@pytest.mark.parametrize("kind", ["huggingface", "ckan", "datacite", "oaipmh"])
async def test_a_catalogue_that_repeats_itself_is_a_source_error(
    kind: str, limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scirgen.core.registry import load_registry

    monkeypatch.setattr(paging, "MOST_BARREN", 20)
    said = {"huggingface": huggingface, "ckan": ckan, "datacite": datacite, "oaipmh": oai}[kind]
    number = iter(range(10**6))
    with LoopbackServer({}) as server:
        server.routes["/"] = lambda asked: said(server.url, next(number))
        options = {"base_url": server.url}
        source = load_registry().get("source", kind)(SourceSetup(cache=tmp_path, options=options, http=HTTP))
        with pytest.raises(SourceError) as caught:
            async for _ in pages(source, CollectConfig(papers_per_dataset=0), limit=limit):
                assert len(server.asked) < 100
        assert caught.value.error_code == "endless_catalogue"
        source.http.close()


class Circle:
    """A source of one's own whose cursors go in a circle."""

    name = "circle"

    def revision(self, cursor: str | None) -> None:
        return None

    def datasets(self, cursor: str | None = None) -> Iterator[Dataset | Cursor]:
        number = 0
        while True:
            yield Dataset(id=str(number), title="A")
            number += 1
            yield Cursor(str(number % 3))

    def papers(self, dataset: Dataset) -> list[object]:
        return []

    def fetch(self, paper: Paper) -> None:
        return None


async def test_a_source_whose_cursors_go_in_a_circle_is_a_source_error() -> None:
    with pytest.raises(SourceError, match="endless loop"):
        async for _ in pages(Circle(), CollectConfig()):
            pass


# -- bytes that trickle ------------------------------------------------------------------------------------------------


DRIPS = {
    "head": b"HTTP/1.1 200 OK\r\nX-Slow: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n",
    "gzip": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03",
}


@pytest.fixture
def drip() -> Iterator[Callable[[str], str]]:
    made: list[RawServer] = []

    def make(kind: str) -> str:
        made.append(RawServer(lambda request: DRIPS[kind], trickle=0.05))
        return made[-1].url

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", DRIPS)
def test_time_limits_hold_while_bytes_trickle_in(kind: str, drip: Callable[[str], str], tmp_path: Path) -> None:
    http = Http(HTTP.model_copy(update={"max_file_s": 1.0, "timeout_s": 30.0}), tmp_path, sleep=lambda s: None)
    for ask in (http.json, http.download):
        try:  # without the limit it would never end
            found = ask(drip(kind))
            assert found.code == "timeout"
        except (SourceError, PaperError) as error:
            assert error.error_code in ("timeout", "bad_reply")
    http.close()


@pytest.mark.parametrize("wait", ["json", "download", "pause"])
def test_waits_end_within_seconds_when_the_run_does(wait: str, drip: Callable[[str], str], tmp_path: Path) -> None:
    http = Http(HTTP, tmp_path)
    timer = threading.Timer(0.3, runtime.end_waits)
    timer.start()
    begun = time.monotonic()
    try:
        with pytest.raises(RunStoppingError):
            {"json": http.json, "download": http.download, "pause": lambda _: runtime.pause(100)}[wait](drip("body"))
        assert time.monotonic() - begun < 60
    finally:
        timer.join()
        runtime.allow_waits()
        http.close()


def test_a_reply_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    import gzip

    bomb = gzip.compress(b"[" + b"0," * 50_000_000 + b"0]")
    http = Http(HTTP, tmp_path)
    with LoopbackServer({"/": lambda asked: Answer(bomb, headers={"Content-Encoding": "gzip"})}) as server:
        url = server.url
        with pytest.raises(SourceError, match="larger than"):
            http.json(url)
    with LoopbackServer({"/": lambda asked: Answer(b"x", headers={"Content-Encoding": "br"})}) as server:
        url = server.url
        with pytest.raises(SourceError, match="not requested"):
            http.json(url)
    http.close()


def test_json_that_is_nested_deeply_is_a_bad_reply(tmp_path: Path) -> None:
    http = Http(HTTP, tmp_path)
    with LoopbackServer({"/": lambda asked: Answer("[" * 200_000)}) as server, pytest.raises(SourceError) as caught:
        http.json(server.url)
    assert caught.value.error_code == "bad_reply"
    http.close()


# -- text --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b"<!---->" * 60,
        b"<!---->" * 1000,
        b"<?a?>" * 1500,
        b"<!DOCTYPE x>" * 600,
        b"<" * 8000,
        b"<!DOCTYPE [" * 700,
        b" <!--" * 1600,
    ],
)
def test_a_files_kind_is_told_at_once_whatever_it_begins_with(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_bytes(head)
    begun = time.process_time()
    with contextlib.suppress(PaperError):
        sniff(tmp_path / "x.xml")
    assert time.process_time() - begun < 5  # milliseconds, or endless


def test_ordinary_text_is_left_as_it_is() -> None:
    text = "A table:\n\n| a   | b |\n|-----|---|\n\n中文数据集。" + "https://example.org/a/very/long/address " * 3
    assert tame(text) is text or tame(text) == text


def test_runs_are_bounded() -> None:
    for text in (" " * 10**6, "-" * 10**6, "a" * 10**6, "\n" * 10**6, " \n" * 10**6, "\u3000" * 10**6, "漢" * 10**6):
        tamed = tame(text)
        assert max(map(len, re.findall(r"\S+|\s+", tamed) or [""])) <= 256


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize("run", [" " * 17, "-" * 33, "a" * 257, "\n" * 9, "漢" * 257, "\xa0".join(["é" * 200] * 2)])
def test_runs_of_a_reply_are_bounded_however_it_is_written(run: str, ascii: bool) -> None:
    value = {"question": [f"Why {run}?"], run: "so"}
    assert tame_strings(value, json.dumps(value, ensure_ascii=ascii)) == tame_strings(value) != value


IN_A_WORKER = (
    "plugins/scirgen_pdf/",
    "plugins/scirgen_texts/",
    "scirgen/stages/parse/xmlread.py",
    "scirgen/stages/parse/jats.py",
    "scirgen/stages/parse/text.py",
    "scirgen/stages/parse/sniff.py",
    "scirgen/stages/collect/files/probe.py",
)
"""Applied in the parser's process, which is killed when it takes too long, to text that is not bounded yet."""


RAW = ("scirgen/core/text/tame", "scirgen/core/text/markup", "scirgen/llm/structured")
"""Applied before runs are bounded: to text as it comes in."""
BLANKS_ONLY = ("scirgen/stages/collect/", "plugins/scirgen_services/forms/")
"""Applied to records, of which only runs of blanks and line ends are bounded."""
SUSPECT_S = 0.2
GROWTH = 3.0


def _text(where: str, worst: str) -> str:
    return worst if where.startswith(RAW) else tame_blanks(worst) if where.startswith(BLANKS_ONLY) else tame(worst)


def _took(compiled: re.Pattern[Any], text: str) -> float:
    """Processor time of a search through a text."""
    subject: Any = text.encode("utf-8", "replace") if isinstance(compiled.pattern, bytes) else text
    begun = time.process_time()
    for _ in compiled.finditer(subject):
        pass
    return time.process_time() - begun


def _grows(compiled: re.Pattern[Any], where: str, pattern: str | bytes, flags: int, number: int) -> float:
    """How much longer a worst case takes that is twice as long: 2 at a linear cost, 4 at a quadratic one."""
    half, whole = (_text(where, worst_cases(pattern, flags, size)[number]) for size in (PUMP // 2, PUMP))
    return min(_took(compiled, whole) for _ in range(3)) / max(min(_took(compiled, half) for _ in range(3)), 1e-4)


def _search(patterns: list[Pattern], told: Connection) -> None:
    """Tell of each pattern, when it begins and whether its cost grows faster than its text.

    Only what takes a hundred times as long as an ordinary pattern is looked at closer, so that a busy machine changes
    nothing.
    """
    for where, pattern, flags in patterns:
        name = f"{where} {pattern!r}"
        told.send((name, False))
        compiled = re.compile(pattern, flags)
        for number, text in enumerate(worst_cases(pattern, flags)):
            if (
                _took(compiled, _text(where, text)) > SUSPECT_S
                and _grows(compiled, where, pattern, flags, number) > GROWTH
            ):
                told.send((name, True))
                break


def slow(patterns: list[Pattern], most_s: float = 20.0) -> list[str]:
    """The patterns whose cost grows faster than their text; one that never ends is killed, and ends the search."""
    context = multiprocessing.get_context("fork")
    told, telling = context.Pipe(duplex=False)
    process = context.Process(target=_search, args=(patterns, telling))
    process.start()
    child = psutil.Process(process.pid)
    found: list[str] = []
    last, since = "", 0.0
    while process.is_alive() or told.poll():
        if not told.poll(0.02):
            with contextlib.suppress(psutil.Error):
                if child.cpu_times().user - since > most_s:  # processor time: others may use the machine
                    process.kill()
                    return [*found, f"never ends: {last}"]
            continue
        last, is_slow = told.recv()
        with contextlib.suppress(psutil.Error):
            since = child.cpu_times().user
        found += [last] if is_slow else []
    assert process.exitcode == 0
    return found


def _patterns() -> list[Pattern]:
    found: list[Pattern] = []
    for where, pattern, flags in [*package_patterns(), *taxonomy_patterns()]:
        if where.startswith(IN_A_WORKER):
            continue
        try:
            re.compile(pattern, flags)
        except re.error:
            continue
        found.append((where, pattern, flags))
    return found


def test_a_tenth_of_the_patterns_cost_no_more_than_their_text() -> None:
    found = _patterns()
    assert len(found) > PATTERNS
    assert slow(found[3::30]) == []


@pytest.mark.nightly
def test_no_patterns_cost_grows_faster_than_its_text() -> None:
    assert slow(_patterns()) == []


def test_a_pattern_that_never_ends_is_found() -> None:
    [said] = slow([("scirgen/core/text/markup", r"(a+)+$", 0)], most_s=0.5)
    assert said.startswith("never ends")


@pytest.mark.nightly
def test_a_pattern_of_quadratic_cost_is_found() -> None:
    assert slow([("scirgen/llm/structured", r"\s+x", 0)]) == [r"scirgen/llm/structured '\\s+x'"]


def test_orders_are_looked_for_in_linear_time() -> None:
    for unit in ("ignore all ", "you must ", "<|", "{{ a", "[", "system: ", "ignorez ", "<data-"):
        begun = time.process_time()
        talks_to_machine(unit * (1_000_000 // len(unit)))
        assert time.process_time() - begun < 20  # a fifth of a second, or hours


def test_half_a_character_stops_nothing() -> None:
    from scirgen.core.text.untrusted import inert

    assert (
        tame("a\ud800b") == "a?b"
        and not talks_to_machine("a\ud800b")
        and inert("<\ud800bos>")
        and talks_to_machine("\ud800<bos>")
    )
