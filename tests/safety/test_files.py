"""Links in folders of strangers lead nowhere; outputs are made new; a release takes its name in one step."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scirgen.core.errors import InputError
from scirgen.core.records import Dataset, Rejection
from scirgen.core.safety.files import exchange, is_below, named_files, private_file, replacing, write_new
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.files.paperfolder import PaperFolder
from scirgen.stages.collect.files.recordfiles import read_records
from scirgen.stages.collect.source import Fetched, SourceSetup
from scirgen_services.bibliography import BibliographyService
from scirgen_services.web.address_guard import is_public

SECRET = "The password of the observatory is rosebud, and nobody outside may know of it."
DATASET = Dataset(id="rain", title="Gridded daily rain of the Third Pole")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    (tmp_path / "secret.md").write_text(SECRET)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "honest.md").write_text("# Rain\n\nRain fell.\n")
    return folder


LINKS = {
    "file": lambda f: (f / "innocent.md").symlink_to("../secret.md"),
    "absolute": lambda f: (f / "innocent.md").symlink_to(f.parent / "secret.md"),
    "two steps": lambda f: ((f / "a.md").symlink_to("b.md"), (f / "b.md").symlink_to("../secret.md")),
    "folder": lambda f: (f / "more.md").symlink_to(f.parent),
    "dot dot": lambda f: (f / "innocent.md").symlink_to("./../papers/../secret.md"),
    "circle": lambda f: (f / "innocent.md").symlink_to("innocent.md"),
    "broken": lambda f: (f / "innocent.md").symlink_to("../nothing.md"),
    "device": lambda f: (f / "innocent.md").symlink_to("/dev/zero"),
    "proc": lambda f: (f / "innocent.md").symlink_to("/proc/self/environ"),
    "table": lambda f: (f / "papers.csv").symlink_to("../secret.md"),
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_that_leads_out_of_the_papers_is_never_read(kind: str, papers: Path) -> None:
    LINKS[kind](papers)
    folder = PaperFolder(papers)
    assert [f.name for f in folder.files] == ["honest.md"]
    for candidate in [*folder.candidates(DATASET), *folder.missing(DATASET, ())]:
        fetched = folder.fetch(candidate.paper)
        assert fetched.code == "outside" if candidate.paper.id.startswith("outside:") else fetched.file


def test_a_link_that_leads_out_is_set_aside_by_name(papers: Path) -> None:
    (papers / "innocent.md").symlink_to("../secret.md")
    folder = PaperFolder(papers)
    [candidate] = folder.missing(DATASET, ())
    assert folder.fetch(candidate.paper) == Fetched(
        code="outside", reason="'innocent.md' is a link that leads out of the folder of papers"
    )


def test_a_link_within_the_papers_is_read(papers: Path) -> None:
    (papers / "again.md").symlink_to("honest.md")
    assert [f.name for f in PaperFolder(papers).files] == ["again.md", "honest.md"]


@pytest.mark.parametrize("link", ["records.jsonl", "sub/records.json"])
def test_a_record_file_that_is_a_link_out_of_the_input_is_not_read(link: str, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"id": "x", "title": "secret"}\n')
    folder = tmp_path / "input"
    (folder / "sub").mkdir(parents=True)
    (folder / link).symlink_to(tmp_path / "other.jsonl")
    with pytest.raises(InputError, match="no records"):
        FolderSource(SourceSetup(input=folder))


@pytest.mark.parametrize("named", ["../secret.md", "{absolute}", "x:../secret.md:md", "papers/../../secret.md"])
def test_bibliographys_file_outside_of_its_folder_is_not_read(named: str, papers: Path, tmp_path: Path) -> None:
    pytest.importorskip("bibtexparser")
    named = named.replace("{absolute}", str(tmp_path / "secret.md"))
    (papers / "mine.bib").write_text(f"@article{{a, title={{A}}, doi={{10.1/a}}, file={{{named}}}}}\n")
    service = BibliographyService(SourceSetup(options={"file": str(papers / "mine.bib")}))
    assert all(c.paper.file is None for c in service.papers(DATASET.model_copy(update={"related": ("10.1/a",)})))
    (papers / "mine.bib").write_text("@article{a, title={A}, doi={10.1/a}, file={honest.md}}\n")
    service = BibliographyService(SourceSetup(options={"file": str(papers / "mine.bib")}))
    assert [c.paper.file for c in service.papers(DATASET.model_copy(update={"related": ("10.1/a",)}))] == [
        str(papers / "honest.md")
    ]


def test_output_follows_no_planted_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    for name in ("report.html", ".report.html.part", ".manifest.json.part"):
        (run / name).symlink_to(victim)
    write_new(run / "report.html", "page")
    assert victim.read_text() == "mine" and (run / "report.html").read_text() == "page"
    assert not (run / "report.html").is_symlink()
    (run / "run.db").symlink_to(victim)
    with pytest.raises(OSError, match="link"):
        private_file(run / "run.db")
    assert victim.read_text() == "mine"


def test_output_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("before")
    with pytest.raises(RuntimeError), replacing(tmp_path / "x") as file:
        file.write(b"half")
        raise RuntimeError
    assert (tmp_path / "x").read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_path_with_a_null_byte_or_no_end_is_outside(tmp_path: Path) -> None:
    for name in ("a\0b", "x" * 5000, "../" * 200 + "etc/passwd"):
        assert not is_below(tmp_path / name, tmp_path)


def test_names_are_exchanged_in_one_step(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "who").write_text(name)
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot")
    assert (tmp_path / "a" / "who").read_text() == "b" and (tmp_path / "b" / "who").read_text() == "a"


SWAPS = """
import sys, time
from pathlib import Path
from scirgen.stages.release import write
swap = getattr(write, "_swap")
folder = Path(sys.argv[1])
for number in range(100000):
    making = folder.with_name(".release.making")
    making.mkdir()
    for name in ("one", "two", "three"):
        (making / name).write_text(str(number))
    swap(making, folder)
    print(number, flush=True)
"""


def kills_while_swapping(tmp_path: Path, times: int) -> None:
    for number in range(times):
        base = tmp_path / str(number)
        base.mkdir()
        process = subprocess.Popen([sys.executable, "-c", SWAPS, str(base / "release")], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(1 + number * 37 % 50):
            process.stdout.readline()
        process.kill()
        process.wait()
        process.stdout.close()
        texts = {(base / "release" / name).read_text() for name in ("one", "two", "three")}
        assert len(texts) == 1


def test_after_a_kill_one_whole_release_has_its_name(tmp_path: Path) -> None:
    kills_while_swapping(tmp_path, 3)


@pytest.mark.nightly
def test_after_thirty_kills_one_whole_release_has_its_name(tmp_path: Path) -> None:
    kills_while_swapping(tmp_path, 30)


def test_a_gzip_file_that_unpacks_to_gigabytes_is_one_malformed_record(tmp_path: Path) -> None:
    import tracemalloc

    bomb = tmp_path / "records.json.gz"
    with gzip.open(bomb, "wb", compresslevel=9) as file:
        for _ in range(300):
            file.write(b" " * 2**20)
    tracemalloc.start()
    [found] = read_records(bomb, "records.json.gz")
    assert isinstance(found, Rejection) and "unpacks to more" in found.reason
    assert tracemalloc.get_traced_memory()[1] < 1.5 * 2**30
    tracemalloc.stop()


@pytest.mark.parametrize(
    "address",
    [
        "fec0::1", "168.63.129.16", "169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192",
        "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::", "::10.0.0.1", "0.0.0.0",
        "255.255.255.255", "100.64.0.1", "fe80::1%eth0", "2001:0:a00:1::", "127.0.0.1", "::1", "224.0.0.1",
    ],
)  # fmt: skip
def test_addresses_inside_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "151.101.1.69"])
def test_addresses_outside_are_public(address: str) -> None:
    assert is_public(address)


def test_the_process_that_reads_strangers_files_leaves_no_descriptor_open(papers: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    PaperFolder(papers).candidates(DATASET)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


# -- files that settings name ------------------------------------------------------------------------------------------


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder


def _large(folder: Path) -> Path:
    with (folder / "a.jsonl").open("wb") as file:
        file.truncate(5 * 2**30)  # sparse
    return folder / "a.jsonl"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: Path("/dev/zero"), "not a regular file"),
        (_pipe, "not a regular file"),
        (lambda f: _pipe(f) / "pipe", "not a regular file"),
        (_large, "more than 4 GB"),
        (lambda _: Path("/proc/kmsg"), "is empty"),
        (lambda f: f / "none", "No such file"),
        (lambda f: f, "is empty"),
    ],
)
def test_a_file_that_a_setting_names_is_ordinary_and_bounded(make, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said) as caught:
        named_files(str(make(tmp_path)), "release.decontaminate")
    assert caught.value.message.startswith("release.decontaminate: ")


def test_a_folder_that_a_setting_names_stands_for_its_files(tmp_path: Path) -> None:
    for name in ("b.jsonl", "below/a.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "b.jsonl")
    path, files = named_files(str(tmp_path), "release.labels")
    assert path == tmp_path
    assert [f.relative_to(tmp_path).as_posix() for f in files] == ["b.jsonl", "below/a.jsonl", "link.jsonl"]
