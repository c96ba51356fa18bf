from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from scirgen import Cursor, Dataset, InputError, Rejection, ScirgenError, SourceSetup
from scirgen.core.text.doi import doi_in_file_name
from scirgen.stages.collect.files import paperfolder
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.testing import check_source

Open = Callable[..., FolderSource]


def datasets(source: FolderSource) -> list[Dataset]:
    return [e for e in source.datasets() if isinstance(e, Dataset)]


def found(source: FolderSource, dataset_id: str) -> list[tuple[str, str]]:
    dataset = next(d for d in source.datasets() if isinstance(d, Dataset) and d.id == dataset_id)
    return [(Path(c.paper.file or "").name, c.found_by) for c in source.papers(dataset)]


def test_a_folder_gives_the_records_of_all_its_files_with_their_fields(catalogue: Path, local: Open) -> None:
    by_id = {d.id: d for d in datasets(local(catalogue))}
    assert set(by_id) == {"lake-ice", "soil-temp", "river-q"}
    assert by_id["lake-ice"].licence == "cc-by-4.0"
    assert by_id["lake-ice"].doi == "10.5555/ice.1"
    assert by_id["river-q"].keywords == ("rivers", "runoff")
    assert by_id["river-q"].description == "Daily values"


def test_papers_are_matched_by_column_and_by_a_doi_in_the_file_name(catalogue: Path, local: Open) -> None:
    source = local(catalogue)
    assert found(source, "soil-temp") == [("soil.md", "column")]
    assert found(source, "lake-ice") == [("10.5555_ice.1-study.md", "file_name")]
    assert found(source, "river-q") == []


def test_a_file_named_after_a_longer_doi_or_id_is_no_paper_of_the_dataset(tmp_path: Path, local: Open) -> None:
    (tmp_path / "papers").mkdir()
    for name in ("10.5555_data.1_supplement", "10.5555-data.1", "10.5555_data.17", "about set-4", "about set-42"):
        (tmp_path / "papers" / f"{name}.md").write_text("# A study\n\nText.")
    records = [{"id": "set-4", "doi": "10.5555/data.1", "title": "Snow depth"}]
    (tmp_path / "records.json").write_text(json.dumps(records))
    source = local(tmp_path, folder_candidates=0)
    named = {"10.5555_data.1_supplement.md", "10.5555-data.1.md", "about set-4.md"}
    assert {name for name, by in found(source, "set-4") if by == "file_name"} == named


def test_names_of_papers_are_read_once_whatever_the_number_of_records(
    tmp_path: Path, local: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "papers").mkdir()
    for n in range(40):
        (tmp_path / "papers" / f"10.5555_data.{n}.md").write_text("# A study\n\nText.")
    records = [{"id": f"10.5555/data.{n}", "title": "Snow depth"} for n in range(40)]
    (tmp_path / "records.json").write_text(json.dumps(records))
    read: list[str] = []
    monkeypatch.setattr(paperfolder, "doi_in_file_name", lambda stem: read.append(stem) or doi_in_file_name(stem))
    source = local(tmp_path)
    assert [found(source, f"10.5555/data.{n}")[0] for n in range(3)] == [
        (f"10.5555_data.{n}.md", "file_name") for n in range(3)
    ]
    assert len(read) <= 2 * 40


def test_named_paper_that_the_folder_lacks_is_set_aside_by_name(tmp_path: Path, local: Open) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "Here.md").write_text("# A study\n\nText.")
    (tmp_path / "secret.md").write_text("not a paper")
    papers = ["papers/here.md", "gone.pdf", "../secret.md", "10.5555/only-a-doi"]
    (tmp_path / "records.json").write_text(json.dumps({"id": "a", "title": "Snow depth", "papers": papers}))
    source = local(tmp_path)
    (dataset,) = datasets(source)
    candidates = source.papers(dataset)
    assert [(c.paper.file and Path(c.paper.file).name, c.found_by) for c in candidates] == [
        ("Here.md", "column"), (None, "column"), (None, "column"),
    ]  # fmt: skip
    fetched = [source.fetch(c.paper) for c in candidates]
    assert [f.code for f in fetched] == ["", "not_found", "not_found"]
    assert fetched[1].reason == "'gone.pdf' is named but is not in the folder of papers"
    (tmp_path / "papers" / "papers.csv").write_text("file,datasets\nmoved.pdf,a\nhere.md,a\nother.pdf,b\n")
    named = [c.paper.id for c in local(tmp_path).papers(dataset) if c.paper.file is None]
    assert named == ["moved.pdf"]


def test_datasets_with_a_paper_come_first_so_that_a_limit_keeps_them(catalogue: Path, local: Open) -> None:
    (catalogue / "0.jsonl").write_text(json.dumps({"id": "first-by-name", "title": "No paper"}))
    assert [d.id for d in datasets(local(catalogue))] == ["lake-ice", "soil-temp", "first-by-name", "river-q"]
    in_order = datasets(local(catalogue, order="catalogue"))
    assert [d.id for d in in_order] == ["first-by-name", "lake-ice", "soil-temp", "river-q"]


def test_paper_of_no_dataset_is_a_candidate_of_all_while_few(catalogue: Path, local: Open) -> None:
    (catalogue / "papers" / "anything.md").write_text("# A paper\n\nNothing in particular.")
    assert ("anything.md", "folder") in found(local(catalogue), "river-q")
    assert found(local(catalogue, folder_candidates=0), "river-q") == []


def test_a_doi_is_found_across_a_line_break_not_inside_a_longer_one(tmp_path: Path, local: Open) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "r.jsonl").write_text(
        json.dumps({"id": "d1", "title": "One", "doi": "10.5555/Abc.12"})
        + "\n"
        + json.dumps({"id": "d2", "title": "Two", "doi": "10.5555/abc.1"})
    )
    (tmp_path / "papers" / "p.md").write_text("Data: https://doi.org/10.5555/abc.\n12, accessed in May.")
    source = local(tmp_path)
    assert found(source, "d1") == [("p.md", "doi_in_text")]
    assert found(source, "d2") == []  # the file belongs to d1


@pytest.mark.parametrize(
    "reference",
    [
        "{}",
        "Jiang, Y., Yang, K., Qi, Y. et al. (2023): {}. Bulletin of the American Meteorological Society, 104, 1-9.",
        "Jiang Y, Yang K. {}. Scientific Data. 2023;10:3.",
        "Jiang et al. 2023. “{}”, in: Data of the Poles.",
    ],
)
def test_a_paper_that_cites_the_records_own_literature_is_found(tmp_path: Path, local: Open, reference: str) -> None:
    title = "A long record of precipitation over the Third Pole region"
    (tmp_path / "papers").mkdir()
    related = [reference.format(title)]
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": "d1", "title": "Precipitation", "related": related}))
    (tmp_path / "papers" / "p.md").write_text(f"Refs\n20. Jiang Y. {title.upper().replace(' ', chr(10))}. 2023")
    assert found(local(tmp_path), "d1") == [("p.md", "cites_related")]


def test_a_journals_name_in_a_reference_links_no_paper(tmp_path: Path, local: Open) -> None:
    (tmp_path / "papers").mkdir()
    related = ["Smith J (2011) Lake ice in spring. Journal of Geophysical Research: Atmospheres and Oceans, 2011."]
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": "d1", "title": "Ice", "related": related}))
    said = "Mice eat. Journal of Geophysical Research: Atmospheres and Oceans, 3, 1."
    (tmp_path / "papers" / "p.md").write_text(said)
    assert found(local(tmp_path, folder_candidates=0), "d1") == []


def test_table_in_the_paper_folder_gives_doi_licence_and_datasets(catalogue: Path, local: Open) -> None:
    (catalogue / "papers" / "papers.csv").write_text(
        "file,doi,licence,year,datasets\nsoil.md,10.5555/SOIL,CC0,2020,river-q;lake-ice\n"
    )
    source = local(catalogue)
    assert ("soil.md", "column") in found(source, "river-q")
    dataset = next(d for d in datasets(source) if d.id == "river-q")
    paper = next(source.papers(dataset).__iter__()).paper
    assert (paper.doi, paper.licence, paper.year) == ("10.5555/soil", "cc0-1.0", 2020)


def test_malformed_lines_are_set_aside_with_file_and_line(tmp_path: Path, local: Open) -> None:
    (tmp_path / "r.jsonl").write_text(
        '{"id": "a", "title": "A"}\n{"id": "b", "title": \n[1]\n{"id": "c", "title": "C"}\n'
    )
    (tmp_path / "s.json").write_text('{\n "id": "d",\n "title" "D"}')
    entries = list(local(tmp_path).datasets())
    assert [e.id for e in entries if isinstance(e, Dataset)] == ["a", "c"]
    assert [(e.code, e.record_id) for e in entries if isinstance(e, Rejection)] == [
        ("malformed_record", "r.jsonl:2"), ("malformed_record", "r.jsonl:3"), ("malformed_record", "s.json:3"),
    ]  # fmt: skip


def test_a_record_without_a_title_is_set_aside(tmp_path: Path, local: Open) -> None:
    (tmp_path / "r.csv").write_text("id,title\nx1,\nx2,Two\n")
    entries = list(local(tmp_path).datasets())
    assert [(e.code, e.record_id) for e in entries if isinstance(e, Rejection)] == [("no_title", "x1")]


def test_a_csv_row_with_too_many_cells_is_set_aside_with_its_line(tmp_path: Path, local: Open) -> None:
    (tmp_path / "r.csv").write_text('id,title\na,"A\nB"\nb,B,extra\nc,C\n')
    entries = list(local(tmp_path).datasets())
    assert [e.id for e in entries if isinstance(e, Dataset)] == ["a", "c"]
    assert [e.record_id for e in entries if isinstance(e, Rejection)] == ["r.csv:4"]


@pytest.mark.parametrize("content", [b"\x1f\x8b\x08\x00garbage", b"\xff\xfe not utf-8"])
def test_a_damaged_file_is_set_aside_and_the_others_go_on(tmp_path: Path, local: Open, content: bytes) -> None:
    (tmp_path / ("a.jsonl.gz" if content[:1] == b"\x1f" else "a.jsonl")).write_bytes(content)
    (tmp_path / "b.jsonl").write_text('{"id": "b", "title": "B"}')
    entries = list(local(tmp_path).datasets())
    assert [e.id for e in entries if isinstance(e, Dataset)] == ["b"]
    assert [e.code for e in entries if isinstance(e, Rejection)] == ["malformed_record"]


def test_gzip_and_parquet_are_read_like_the_rest(tmp_path: Path, local: Open) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write('{"id": "a", "title": "A"}\n')
    pq.write_table(pa.table({"id": ["p1", "p2"], "title": ["P one", "P two"]}), tmp_path / "b.parquet")
    assert [d.id for d in datasets(local(tmp_path))] == ["a", "p1", "p2"]


@pytest.mark.parametrize("content", [None, {"notes.docx": "x"}, {".hidden.json": "{}"}])
def test_a_folder_without_records_is_an_input_error_with_a_hint(
    tmp_path: Path, local: Open, content: dict[str, str] | None
) -> None:
    for name, text in (content or {}).items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as raised:
        local(tmp_path)
    assert raised.value.error_code == "no_records" and "*.jsonl" in raised.value.hint


def test_a_spreadsheet_is_named_with_what_to_do(tmp_path: Path, local: Open) -> None:
    (tmp_path / "table.xlsx").write_text("PK")
    with pytest.raises(InputError) as raised:
        local(tmp_path / "table.xlsx")
    assert "Save the sheets of .xlsx files as CSV" in raised.value.hint


def test_a_given_folder_of_papers_without_papers_is_an_input_error(
    catalogue: Path, tmp_path: Path, local: Open
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as raised:
        local(catalogue, papers=tmp_path / "empty")
    assert raised.value.error_code == "no_papers"


def test_an_unknown_option_names_the_known_one(catalogue: Path, local: Open) -> None:
    with pytest.raises(ScirgenError) as raised:
        local(catalogue, colums={})
    assert "columns" in raised.value.hint


def test_own_column_names_are_used_when_given(tmp_path: Path, local: Open) -> None:
    (tmp_path / "r.csv").write_text("Kennung,Titel,depth\nx1,Bodentemperatur,10 cm\n")
    (found_one,) = datasets(local(tmp_path, columns={"id": "Kennung", "title": "Titel"}))
    assert (found_one.id, found_one.title, found_one.fields) == ("x1", "Bodentemperatur", (("depth", "10 cm"),))


def test_a_record_without_id_is_known_by_its_doi_or_its_content(tmp_path: Path, local: Open) -> None:
    (tmp_path / "r.jsonl").write_text('{"title": "A", "doi": "https://doi.org/10.5555/X1"}\n{"title": "B"}\n')
    first, second = datasets(local(tmp_path))
    assert first.id == "10.5555/x1"
    assert second.id.startswith("dataset-") and second.id == datasets(local(tmp_path))[1].id


def test_the_contract_holds_over_several_pages_with_and_without_papers(tmp_path: Path, local: Open) -> None:
    rows = [json.dumps({"id": f"d{i:04}", "title": f"Dataset {i}"}) for i in range(450)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows[:230]))
    (tmp_path / "b.jsonl").write_text("\n".join(rows[230:]))
    assert check_source(local(tmp_path)).cursors == 2
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "d0300.md").write_text("text")
    report = check_source(local(tmp_path))
    assert (report.datasets, report.cursors, report.candidates, report.files) == (450, 2, 1, 1)


def test_a_changed_file_changes_the_revision(catalogue: Path, local: Open) -> None:
    before = local(catalogue).revision(None)
    assert local(catalogue).revision(None) == before
    (catalogue / "b.csv").write_text("id,title\nother,Another\n")
    assert local(catalogue).revision(None) != before


def test_a_single_file_is_read_with_the_papers_beside_it(catalogue: Path) -> None:
    source = FolderSource(SourceSetup(input=catalogue / "a.jsonl"))
    entries = [e for e in source.datasets() if not isinstance(e, Cursor)]
    assert len(entries) == 2
    assert found(source, "soil-temp") == [("soil.md", "column")]


SCHEMA_ORG = {
    "@context": "https://schema.org/", "@type": "Dataset", "@id": "https://example.org/d/1", "name": "Reef temperature",
    "description": "Hourly.", "identifier": {"@type": "PropertyValue", "propertyID": "doi", "value": "https://doi.org/10.5555/REEF.1"},
    "creator": [{"@type": "Person", "name": "A. Diver"}], "keywords": "reef, temperature",
    "license": "https://creativecommons.org/licenses/by/4.0/", "temporalCoverage": "2012/2018",
    "citation": ["https://doi.org/10.5555/reef-paper"], "distribution": [{"@type": "DataDownload", "contentUrl": "x"}],
}  # fmt: skip
DCAT = {
    "@context": {"dcat": "http://www.w3.org/ns/dcat#"},
    "@graph": [
        {"@id": "_:org", "@type": "foaf:Organization", "foaf:name": "Survey"},
        {
            "@id": "https://example.org/d/2", "@type": "dcat:Dataset",
            "dct:title": [{"@value": "Gezeiten", "@language": "de"}, {"@value": "Tides", "@language": "en"}],
            "dct:description": {"@value": "Ten gauges.", "@language": "en"}, "dcat:keyword": ["tides", "sea level"],
            "dct:license": {"@id": "http://creativecommons.org/publicdomain/zero/1.0/"},
        },
    ],
}  # fmt: skip


def test_schema_org_and_dcat_documents_are_read(tmp_path: Path, local: Open) -> None:
    (tmp_path / "a.jsonld").write_text(json.dumps(SCHEMA_ORG))
    (tmp_path / "b.jsonld").write_text(json.dumps(DCAT))
    (tmp_path / "c.json").write_text(
        json.dumps({"@type": "dcat:Catalog", "dataset": [{"title": "One", "identifier": "one"}]})
    )
    reef, tides, one = datasets(local(tmp_path))
    assert (reef.title, reef.doi, reef.licence, reef.authors) == (
        "Reef temperature",
        "10.5555/reef.1",
        "cc-by-4.0",
        ("A. Diver",),
    )
    assert reef.related == ("https://doi.org/10.5555/reef-paper",)
    assert reef.keywords == ("reef", "temperature")
    assert ("temporalCoverage", "2012/2018") in reef.fields
    assert (tides.title, tides.licence, tides.keywords) == ("Tides", "cc0-1.0", ("tides", "sea level"))
    assert tides.description == "Ten gauges."
    assert one.id == "one"


def test_runs_and_releases_inside_the_input_are_not_read(catalogue: Path, local: Open) -> None:
    before = local(catalogue)
    assert before.revision(None)
    for name, marker, text in (("runs/latest", "run.db", ""), ("shared", "release.json", '{"scirgen": "0.1.0"}')):
        inner = catalogue / name / "documents"
        inner.mkdir(parents=True)
        (inner.parent / marker).write_text(text)
        (inner.parent / "log.jsonl").write_text('{"title": "An event"}')
        (inner / "d.jsonl").write_text('{"title": "A document"}')
        (inner / "paper.pdf").write_bytes(b"%PDF-1.7")
    after = local(catalogue)
    assert datasets(after) == datasets(before) and after.revision(None) == before.revision(None)
    papers = local(catalogue, papers=catalogue)
    assert papers._papers is not None
    assert {f.path.suffix for f in papers._papers.files} == {".md"}
    (catalogue / "shared" / "release.json").write_text('{"title": "Somebody else\'s"}')
    assert "A document" in {d.title for d in datasets(local(catalogue))}


def test_each_record_is_read_once_and_a_cursor_goes_on_behind_it(tmp_path: Path) -> None:
    class Counting(FolderSource):
        read: ClassVar[list[str]] = []

        def dataset(self, record: Mapping[str, object], where: str) -> Dataset | Rejection:
            self.read.append(where)
            return super().dataset(record, where)

    (tmp_path / "papers").mkdir()
    for n in range(0, 450, 2):
        (tmp_path / "papers" / f"record-{n:03}.md").write_text("# A study\n\nText.")
    rows = [json.dumps({"id": f"record-{n:03}", "title": f"Snow {n}"}) for n in range(450)]
    (tmp_path / "records.jsonl").write_text("\n".join(rows))
    source = Counting(SourceSetup(input=tmp_path))
    whole = list(source.datasets())
    assert [e.id for e in whole if isinstance(e, Dataset)] == [
        f"record-{n:03}" for n in (*range(0, 450, 2), *range(1, 450, 2))
    ]
    assert len(source.papers(next(e for e in whole if isinstance(e, Dataset)))) == 1
    assert len(Counting.read) == 450
    for at, entry in enumerate(whole):
        if isinstance(entry, Cursor):
            assert list(Counting(SourceSetup(input=tmp_path)).datasets(entry.value)) == whole[at + 1 :]
