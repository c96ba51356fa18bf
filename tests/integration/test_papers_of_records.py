"""Papers beside records: their own DOI, year, authors and licence count, and decide what is released."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.api import Run
from scirgen.cli.main import cli
from scirgen.core.records.licences import Terms
from scirgen.pipeline.views.view import open_view
from scirgen.release_files.publishing import FILE, Publishing, lines_of
from scirgen.release_files.release import Release
from scirgen.testing.server import FakeServer
from tests.support.small_runs import answered, run_small

NC = "https://creativecommons.org/licenses/by-nc/4.0/"
BY = "https://creativecommons.org/licenses/by/4.0/"

JATS = """<article><front><article-meta>
<article-id pub-id-type="doi">10.5072/paper.{n}</article-id>
<title-group><article-title>Ice of lake number {n} in forty winters of the north</article-title></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Berg</surname><given-names>Ida</given-names></name>
</contrib></contrib-group><pub-date><year>2021</year></pub-date>
<permissions><license xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="{licence}"/></permissions>
<abstract><p>Ice of lake {n} became thinner since 1988 because autumns are warmer than they were.</p></abstract>
</article-meta></front><body><sec><title>Methods</title>
<p>We used the thickness data of lake {n} (https://doi.org/10.5072/ice.{n}) from 1988 to 2019 for every week.</p>
<p>Thickness was measured with a steel rule at 24 holes along the shore of lake {n} every week.</p></sec>
<sec><title>Results</title><p>Mean thickness fell from 62 to 41 centimetres in the record of lake {n}.</p></sec>
</body></article>"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Three records with a paper each; the table of papers states CC BY for the third, which prints CC BY-NC."""
    root = tmp_path / "in"
    (root / "papers").mkdir(parents=True)
    rows = [
        {"id": f"lake-{n}", "doi": f"10.5072/ice.{n}", "title": f"Ice thickness of lake {n}", "licence": "CC BY 4.0",
         "description": f"Weekly thickness of the ice of lake {n} from 1988 to 2019 at 24 holes."}
        for n in range(3)
    ]  # fmt: skip
    (root / "records.json").write_text(json.dumps(rows))
    for n, licence in enumerate((BY, NC, NC)):
        (root / "papers" / f"p{n}.xml").write_text(JATS.format(n=n, licence=licence))
    (root / "papers" / "papers.csv").write_text("file,licence,year\np2.xml,CC BY 4.0,2012\n")
    return root


async def test_released_papers_have_what_they_print(catalogue: Path, tmp_path: Path) -> None:
    async with FakeServer() as server:
        run = await run_small(server, catalogue, tmp_path / "run")
    papers = {p.doi: p for p in Release(run.release).papers()}
    assert set(papers) == {f"10.5072/paper.{n}" for n in range(3)}
    assert {p.authors for p in papers.values()} == {("Ida Berg",)}
    assert [(papers[f"10.5072/paper.{n}"].year, papers[f"10.5072/paper.{n}"].licence) for n in range(3)] == [
        (2021, "cc-by-4.0"), (2021, "cc-by-nc-4.0"), (2012, "cc-by-4.0; cc-by-nc-4.0")
    ]  # fmt: skip
    with open_view(run.folder) as view:
        [said] = [r.reason for r in view.rejections("parse") if r.code == "print_differs"]
    assert said == (
        "year: the catalogue states 2012, the paper prints 2021; "
        "licence: the catalogue states cc-by-4.0, the paper prints cc-by-nc-4.0"
    )


async def test_a_printed_licence_decides_whether_a_paper_is_used(catalogue: Path, tmp_path: Path) -> None:
    async with FakeServer() as server:
        run = await run_small(server, catalogue, tmp_path / "run", collect__licences=["cc-by", "cc0"])
    release = Release(run.release)
    assert [p.doi for p in release.papers()] == ["10.5072/paper.0"]
    assert {line.terms for line in lines_of(release)} == {Terms.OPEN}
    with open_view(run.folder) as view:
        left_out = sorted(r.reason for r in view.rejections("parse") if r.code == "licence")
    assert left_out == [
        "licence 'cc-by-4.0; cc-by-nc-4.0' is not among cc-by, cc0", "licence 'cc-by-nc-4.0' is not among cc-by, cc0"
    ]  # fmt: skip


async def test_papers_are_read_anew_from_a_folder_that_was_moved(catalogue: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    async with FakeServer() as server:
        await run_small(server, catalogue, tmp_path / "run")
        catalogue.rename(moved)
        asked = answered(server).total()
        await run_small(server, moved, tmp_path / "run")
        assert answered(server).total() == asked
        run = await run_small(server, moved, tmp_path / "run", parse__tables="skip")
    with open_view(run.folder) as view:
        assert {r.code for r in view.rejections("parse")} == {"print_differs"}
    assert len(list(Release(run.release).papers())) == 3


def test_dry_run_card_and_push_show_one_table(catalogue: Path, tmp_path: Path) -> None:
    async def made() -> Run:
        async with FakeServer() as server:
            return await run_small(server, catalogue, tmp_path / "run")

    run = asyncio.run(made())
    read = ["generate", str(catalogue), "--domain", "geo", "--out", str(tmp_path / "x"), "--dry-run"]
    dry = CliRunner().invoke(cli, read).output
    push = CliRunner().invoke(cli, ["push", str(run.folder), "me/ice", "--dry-run"]).output
    card = (run.release / "README.md").read_text()
    table = Publishing(lines_of(Release(run.release)))
    assert {row.licence for row in table.rows} == {"cc-by-4.0", "cc-by-nc-4.0", "cc-by-4.0; cc-by-nc-4.0"}
    for row in table.rows:
        records, papers = row.counts.get("record", 0), row.counts.get("paper", 0)
        cells = [row.licence, str(row.terms), str(records), str(papers)]
        for output in (dry, push):
            [line] = [x.split("  ") for x in output.splitlines() if x.strip().startswith(f"{row.licence}  ")]
            assert [c.strip() for c in line if c.strip()][: len(cells)] == cells
        assert f"| {row.licence} | {row.terms} | {records} | {papers} |" in card
    for sentence in table.summary():
        assert sentence in push and sentence in card


async def test_rows_name_their_licences_in_a_csv(catalogue: Path, tmp_path: Path) -> None:
    async with FakeServer() as server:
        run = await run_small(server, catalogue, tmp_path / "run")
    release = Release(run.release)
    rows = list(csv.DictReader(io.StringIO((run.release / FILE).read_text())))
    listed = {r["id"]: r for r in rows if r["kind"] == "question"}
    assert set(listed) == {row.id for row in release.rows()}
    for row in release.rows():
        assert set(listed[row.id]["licence"].split("; ")) == {
            name for e in row.evidence for name in e.licence.split("; ")
        }
    assert {r["may be published"] for r in rows if r["kind"] == "paper"} == {
        Terms.OPEN, Terms.NON_COMMERCIAL, Terms.OTHER
    }  # fmt: skip
    assert FILE in {f.path for f in release.info.files}
