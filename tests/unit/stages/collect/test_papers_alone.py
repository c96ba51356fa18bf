"""Papers without records: what counts as papers alone, and the records that they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from scirgen.api import find_domain
from scirgen.cli.main import cli
from scirgen.core.config import Config
from scirgen.core.errors import InputError
from scirgen.core.records import QAPair
from scirgen.core.registry import load_registry
from scirgen.pipeline.intake import open_input
from scirgen.release_files.release import Release
from scirgen.stages.collect.pages import CollectedPage, pages
from scirgen.testing.server import FakeServer
from scirgen.testing.web import Answer, LoopbackServer
from tests.support.small_runs import run_small

ICE = """# Lake ice of the north

## Abstract

Lake ice in the north has become thinner since the winter of 1988 because autumns are warmer than they were before.

## Methods

Ice thickness was measured with a steel rule at 24 holes along the shore of the lake every week from 1988 to 2019.
The holes were drilled 50 metres apart because the current under the ice changes near the mouth of the river.

## Results

Mean ice thickness fell from 62 centimetres in the first decade to 41 centimetres in the last decade of the record.

## Data availability

The measured thickness data are available at https://doi.org/10.5072/ice.7 in the archive of the lake station.
"""

JATS = (
    "<article><front><article-meta><title-group><article-title>Lake ice</article-title></title-group></article-meta>"
    "</front><body><p>Mean ice thickness of the lake fell from 62 to 41 centimetres in 30 years.</p></body></article>"
)


def folder(root: Path, **files: str) -> Path:
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return root


async def collected(tmp_path: Path, **settings: Any) -> list[CollectedPage]:
    config = Config.model_validate(settings)
    source = open_input(config, load_registry(), find_domain("geo"), tmp_path / "run")
    return [page async for page in pages(source, config.collect)]


async def test_a_paper_alone_becomes_a_record_of_its_front_matter(tmp_path: Path) -> None:
    [page] = await collected(tmp_path, input=str(folder(tmp_path / "in", ice_md=ICE)))
    [item] = page.items
    assert item.dataset.title == "Lake ice of the north" and item.dataset.description.startswith("Lake ice in the")
    assert item.dataset.source == "papers" and item.dataset.id == item.papers[0].id  # without a DOI: the file's hash
    assert [link.found_by for link in item.links] == ["own"]


async def test_papers_without_an_input_do_not_read_the_sample(tmp_path: Path) -> None:
    [page] = await collected(tmp_path, papers=str(folder(tmp_path / "in", ice_md=ICE)))
    assert [i.dataset.title for i in page.items] == ["Lake ice of the north"]


async def test_a_table_beside_papers_describes_them(tmp_path: Path) -> None:
    table = "file,doi,licence,year\nice.pdf.md,10.5072/own,cc-by-4.0,2020\n"
    root = folder(tmp_path / "in", ice_pdf_md=ICE, x_pdf="%PDF-1.4 broken", papers_csv=table)
    [page] = await collected(tmp_path, input=str(root))
    [item] = page.items
    assert (item.dataset.id, item.dataset.licence, item.dataset.year) == ("10.5072/own", "cc-by-4.0", 2020)
    assert [r.reason.split(":")[0] for r in page.rejections] == ["x.pdf"]


async def test_of_two_files_with_one_doi_the_first_is_the_paper(tmp_path: Path) -> None:
    table = "file,doi,licence\na.md,10.5072/own,cc0-1.0\nb.md,10.5072/own,\n"
    root = folder(tmp_path / "in", a_md=ICE, b_md=ICE.replace("62", "63"), x_pdf="%PDF-1.4 broken", papers_csv=table)
    [page] = await collected(tmp_path, input=str(root))
    [item] = page.items
    [paper] = item.papers
    assert (Path(paper.file or "").name, paper.licence) == ("a.md", item.dataset.licence) == ("a.md", "cc0-1.0")
    assert [(r.code, r.reason.split(":")[0]) for r in page.rejections] == [
        ("duplicate_id", "b.md has the same id as a.md"), ("damaged", "x.pdf"),
    ]  # fmt: skip


async def test_the_second_file_with_a_doi_is_used_if_the_firsts_licence_is_refused(tmp_path: Path) -> None:
    table = (
        "file,doi,licence\na.md,10.5072/own,cc-by-nc-4.0\nb.md,10.5072/own,cc-by-4.0\nc.md,10.5072/own,cc-by-nc-4.0\n"
    )
    root = folder(tmp_path / "in", a_md=ICE, b_md=ICE.replace("62", "63"), c_md=ICE, x_html="<p>", papers_csv=table)
    [page] = await collected(tmp_path, input=str(root), collect={"licences": ["cc-by"]})
    [item] = page.items
    assert [Path(paper.file or "").name for paper in item.papers] == ["b.md"] and item.dataset.licence == "cc-by-4.0"
    assert [r.code for r in page.rejections] == ["licence", "duplicate_id", "unsupported"]


def test_a_file_that_only_the_table_names_is_reported(tmp_path: Path) -> None:
    table = "file,licence\nice.xml,cc0\nicy.xml,cc0\n"
    root = folder(tmp_path / "in", ice_xml=JATS, papers_csv=table)
    shown = CliRunner().invoke(cli, ["generate", str(root), "--dry-run"]).output
    assert "names files that are not there: icy.xml\n" in shown


async def test_records_with_papers_beside_them_stay_records(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", records_csv="id,title\nlake1,Ice thickness of a lake\n", lake1_pdf="%PDF-1.4")
    [page] = await collected(tmp_path, input=str(root))
    [item] = page.items
    assert item.dataset.id == "lake1" and [link.found_by for link in item.links] == ["file_name"]


async def test_a_folder_with_neither_is_an_error_that_names_both(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        await collected(tmp_path, input=str(folder(tmp_path / "in", notes_docx="x")))
    assert caught.value.message.endswith("holds neither records nor papers, only .docx 1")
    assert "*.csv" in caught.value.hint and "PDF" in caught.value.hint


async def test_a_dataset_that_a_paper_cites_becomes_a_record_if_asked(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", ice_md=ICE)
    types = {"resourceTypeGeneral": "Dataset"}
    found = {"data": {"id": "10.5072/ice.7", "attributes": {"doi": "10.5072/ICE.7", "types": types,
             "titles": [{"title": "Ice thickness of the lake"}]}}}  # fmt: skip
    with LoopbackServer({"/dois/10.5072/ice.7": lambda _: Answer(found)}) as server:
        collect = {
            "datasets_from_papers": True,
            "options": {"base_url": server.url},
            "http": {"allow_private_addresses": True, "retries": 0},
        }
        [page] = await collected(tmp_path, input=str(root), collect=collect)
    dataset = page.items[1].dataset
    assert dataset.id == "10.5072/ice.7" and [i.links[0].found_by for i in page.items] == ["own", "doi_in_text"]
    assert dict(dataset.fields)["Named in"].startswith("Lake ice of the north: The measured thickness data")


async def test_a_dataset_named_by_title_or_address_alone_becomes_a_record(tmp_path: Path) -> None:
    def record(doi: str, title: str) -> dict[str, object]:
        types = {"resourceTypeGeneral": "Dataset"}
        return {"id": doi, "attributes": {"doi": doi, "types": types, "titles": [{"title": title}]}}

    said = (
        "\n\n## Data\n\nPollen data were taken from the Eurasian Modern Pollen Database in its second version. "
        "Counts are available at https://zenodo.org/records/77 as a table. "
        "Further data stand in the Old World Rain Archive of a ministry.\n"
    )
    asked: list[str] = []

    def search(request: object) -> Answer:
        asked.append(str(request))
        found = [
            record("10.1594/x.1", "The Rain Archive"),
            record("10.1594/p.2", "Eurasian Modern Pollen Database (EMPD), version 2"),
        ]
        return Answer({"data": found})

    root = folder(tmp_path / "in", ice_md=ICE.replace("10.5072/ice.7", "a table") + said)
    routes = {
        "/dois": search,
        "/dois/10.5281/zenodo.77": lambda _: Answer({"data": record("10.5281/zenodo.77", "Counts")}),
    }
    with LoopbackServer(routes) as server:
        http = {"allow_private_addresses": True, "retries": 0}
        collect = {"datasets_from_papers": True, "options": {"base_url": server.url}, "http": http}
        [page] = await collected(tmp_path, input=str(root), collect=collect)
    found = {i.dataset.id: (i.links[0].found_by, dict(i.dataset.fields).get("Named in", "")) for i in page.items}
    assert found["10.1594/p.2"][0] == "title_in_text" and "second version" in found["10.1594/p.2"][1]
    assert found["10.5281/zenodo.77"][0] == "doi_in_text" and len(found) == 3 and len(asked) == 2


async def test_a_doi_that_datacite_does_not_know_is_no_record(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", ice_md=ICE)
    with LoopbackServer({}) as server:
        collect = {
            "datasets_from_papers": True,
            "options": {"base_url": server.url},
            "http": {"allow_private_addresses": True, "retries": 0},
        }
        [page] = await collected(tmp_path, input=str(root), collect=collect)
    assert len(page.items) == 1 and not page.rejections


def test_path_and_input_together_are_an_error(tmp_path: Path) -> None:
    found = CliRunner().invoke(cli, ["generate", str(tmp_path), "--input", str(tmp_path)])
    assert found.exit_code == 2 and "name two inputs" in found.output


async def test_rows_of_papers_alone_are_about_papers_and_split_by_paper(tmp_path: Path) -> None:
    root = folder(tmp_path / "in", ice_md=ICE, snow_md=ICE.replace("ice", "snow").replace("Ice", "Snow"))
    async with FakeServer() as server:
        run = await run_small(server, root, tmp_path / "run")
    rows: list[QAPair] = list(run.rows())
    assert "paper" in {r.about for r in rows} <= {"paper", "dataset"} and len({r.dataset_id for r in rows}) == 2
    assert run.funnel()["match"]["outputs"] == 2
    released = list(Release(run.release).rows())
    assert len({(r.dataset_id, r.split) for r in released}) == 2
