"""Attacks that are counted in docs/safety.md, as lists: pages of a store that are damaged, catalogues that lie, links
and paths.

A tenth of each list runs always, the whole list at night.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scirgen.commands.doctor import diagnose, repair
from scirgen.core.config import CollectConfig, HttpConfig
from scirgen.core.errors import ScirgenError, SourceError, StoreError
from scirgen.core.records import Dataset, Rejection
from scirgen.core.registry import load_registry
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.pages import pages
from scirgen.stages.collect.source import SourceSetup
from scirgen.stages.collect.validated_source import checked
from scirgen.testing.server import FakeServer
from scirgen.testing.web import Answer, LoopbackServer
from tests.support.counting_runs import World
from tests.support.small_runs import run_small, write_records


def tenth(attacks: list[str]) -> list[object]:
    """All attacks by name; those after the first of each ten run at night."""
    return [pytest.param(a, marks=() if n % 10 == 0 else pytest.mark.nightly) for n, a in enumerate(attacks)]


# -- damaged pages -----------------------------------------------------------------------------------------------------

PAGE = 4096
DAMAGES = [f"{kind} {place}" for place in range(10) for kind in ("blank", "noise", "another page")]
"""What is written over a page, and which tenth of the file it is in."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("sound") / "run"
    folder.mkdir()
    world = World(folder, 40)
    world.run()
    return folder, world.pairs()


@pytest.mark.parametrize("damage", tenth(DAMAGES))
def test_a_damaged_page_costs_what_it_held_and_no_more(
    damage: str, sound: tuple[Path, list[str]], tmp_path: Path
) -> None:
    folder, pairs = sound
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    data = bytearray((run / "run.db").read_bytes())
    count = len(data) // PAGE
    assert count > 10
    kind, _, place = damage.rpartition(" ")
    draw = random.Random(damage)
    at = (int(place) * count // 10 + draw.randrange(max(1, count // 10))) % count * PAGE
    other = draw.randrange(count) * PAGE
    data[at : at + PAGE] = {
        "blank": bytes(PAGE), "noise": draw.randbytes(PAGE), "another page": data[other : other + PAGE],
    }[kind]  # fmt: skip
    (run / "run.db").write_bytes(data)
    try:
        problems = diagnose(run)
    except StoreError as error:
        problems = [error.message]
    world = World(run, 40)
    if problems:
        with pytest.raises(ScirgenError):
            world.run()
            raise ScirgenError("it opened a store whose damage SQLite does not see")
        repair(run)
    world.run()
    assert world.pairs() == pairs and diagnose(run) == []


# -- catalogues that lie -----------------------------------------------------------------------------------------------

ODD = {"id": 7, "name": ["x"], "title": {"a": 1}, "notes": None, "tags": "a", "attributes": [], "doi": 10**400}
LIES: dict[str, Answer] = {
    "nothing": Answer(b""),
    "null": Answer("null"),
    "a list": Answer([]),
    "a list of nonsense": Answer([7, None, "x", []]),
    "a number": Answer("1e999"),
    "deep": Answer("[" * 200_000),
    "not utf-8": Answer(b"\xff\xfe\x00"),
    "a page": Answer("<html><body>Please log in</body></html>"),
    "an error with terminal codes": Answer({"error": {"message": "\x1b[2J\x1b]0;owned\x07"}}, 500),
    "status 999": Answer({}, 999),
    "teapot": Answer({}, 418),
    "wait a thousand years": Answer({}, 429, {"Retry-After": "31536000000"}),
    "to a file": Answer(b"", 302, {"Location": "file:///etc/passwd"}),
    "to itself": Answer(b"", 302, {"Location": "/"}),
    "to the metadata of a cloud": Answer(b"", 302, {"Location": "http://169.254.169.254/latest/meta-data/"}),
    "a bomb": Answer(gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}),
    "a broken gzip": Answer(b"\x1f\x8b\x08broken", headers={"Content-Encoding": "gzip"}),
    "brotli": Answer(b"x", headers={"Content-Encoding": "br"}),
    "cut": Answer({"result": {"count": 1, "results": [ODD]}}, cut=True),
    "odd records": Answer({"success": True, "result": {"count": 1, "results": [ODD]}, "data": [ODD], "links": {}}),
    "records of nonsense": Answer(
        {"success": True, "result": {"count": 9, "results": [1, None, "x"]}, "data": [1, None]}
    ),
    "endless numbers": Answer(
        {"success": True, "result": {"count": 10**30, "results": []}, "data": [], "meta": {"total": 1e308}}
    ),
    "half characters": Answer(
        b'{"success": true, "result": {"count": 1, "results": [{"id": "\\ud800", "title": "\\udfff"}]}}'
    ),
    "a million keywords": Answer({"success": True, "result": {"count": 1, "results": [
        {"id": "a", "name": "a", "title": "A", "tags": [{"name": "k"}] * 200_000}]}}),
    "an xml bomb": Answer('<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;&b;">]><OAI-PMH>&c;</OAI-PMH>'),
    "a foreign file": Answer('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><OAI-PMH>&b;</OAI-PMH>'),
}  # fmt: skip


@pytest.mark.parametrize("lie", tenth(list(LIES)))
async def test_a_lie_of_a_catalogue_is_a_source_error_or_a_rejection(lie: str, tmp_path: Path) -> None:
    assert len(LIES) >= 20
    http = HttpConfig(allow_private_addresses=True, requests_per_second=1e6, retries=0, max_wait_s=0.1)
    for kind in ("ckan", "huggingface", "datacite", "oaipmh"):
        with LoopbackServer({"/": lambda asked: LIES[lie]}) as server:
            made = load_registry().get("source", kind)
            setup = SourceSetup(cache=tmp_path / kind, options={"base_url": server.url}, http=http)
            source = checked(made(setup))
            found: list[object] = []
            try:
                async for page in pages(source, CollectConfig(papers_per_dataset=0), limit=50):
                    found.append(page)
                    assert len(found) < 1000 and len(server.asked) < 200
            except SourceError as error:
                assert "\x1b" not in error.in_full and "root:" not in error.in_full, lie
            assert "root:x" not in str(found) and all("169.254" not in a.path for a in server.asked)


# -- links and paths ---------------------------------------------------------------------------------------------------

SECRET = "The password of the observatory is rosebud, and nobody outside may know of it."
TARGETS: dict[str, Callable[[Path], str]] = {
    "beside": lambda place: "../secret.md",
    "absolute": lambda place: str(place.parent / "secret.md"),
    "roundabout": lambda place: f"../{place.name}/../secret.md",
    "through a link": lambda place: "../link.md",
    "a folder": lambda place: "..",
    "nothing": lambda place: "../nothing",
    "itself": lambda place: "innocent.md",
    "a device": lambda place: "/dev/zero",
    "a process": lambda place: "/proc/self/environ",
    "a pipe": lambda place: "../pipe",
}
PLACES = ("innocent.md", "innocent.pdf", "records.jsonl", "papers.csv", "sub/innocent.md")
INPUTS = [f"{place} -> {target}" for place in PLACES for target in TARGETS]


@pytest.mark.parametrize("attack", tenth(INPUTS))
def test_a_link_in_an_input_shows_nothing_from_outside(attack: str, tmp_path: Path) -> None:
    import os

    place, _, target = attack.partition(" -> ")
    folder = tmp_path / "input"
    (folder / "papers" / "sub").mkdir(parents=True)
    (tmp_path / "secret.md").write_text(SECRET)
    (tmp_path / "link.md").symlink_to("secret.md")
    os.mkfifo(tmp_path / "pipe")
    (folder / "honest.jsonl").write_text(
        json.dumps({"id": "rain", "title": "Rain of the plateau", "papers": "honest.md"})
    )
    (folder / "papers" / "honest.md").write_text("# Rain\n\nRain fell.\n")
    root = folder if place == "records.jsonl" else folder / "papers"
    (root / place).symlink_to(TARGETS[target](root))
    source = FolderSource(SourceSetup(input=folder))
    seen: list[object] = []
    for entry in source.datasets(None):
        seen.append(entry)
        if isinstance(entry, Dataset):
            for candidate in source.papers(entry):
                fetched = source.fetch(candidate.paper)
                seen += [candidate, fetched, fetched.file.read_text(errors="replace") if fetched.file else ""]
    assert "rosebud" not in str(seen) and any(isinstance(e, Dataset) and e.id == "rain" for e in seen)
    assert all(not isinstance(e, Rejection) or "rosebud" not in (e.record or "") for e in seen)


OUTPUTS = [
    "run.db", "run.lock", "log.jsonl", "report.html", "report.json", "manifest.json", ".report.html.part",
    ".manifest.json.part", "release", ".release.making", ".release.before", "run.db-wal", "run.db-shm",
    "run.db-journal", "run.db.damaged", "run.repaired",
]  # fmt: skip


@pytest.mark.parametrize("name", tenth(OUTPUTS))
async def test_a_link_in_place_of_an_output_writes_nothing_outside(name: str, tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "run"
    for folder in (victim, out):
        folder.mkdir()
    (victim / "file").write_text("mine")
    (out / name).symlink_to(victim if name in ("release", ".release.making", ".release.before") else victim / "file")
    async with FakeServer() as server:
        try:
            await run_small(server, write_records(tmp_path / "records.jsonl", 1), out)
        except ScirgenError as error:
            assert error.message
    assert [p.name for p in victim.iterdir()] == ["file"] and (victim / "file").read_text() == "mine"


def test_the_lists_hold_as_many_attacks_as_the_documentation_says() -> None:
    assert len(DAMAGES) == 30 and len(LIES) == 26 and len(INPUTS) + len(OUTPUTS) == 66
