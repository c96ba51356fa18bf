"""Ids from catalogues in every format of a release: each row stays one row, and names the document that it named."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scirgen.core.records import Dataset, plain_id
from scirgen.core.registry import load_registry
from scirgen.release_files.qafiles import open_qa
from scirgen.release_files.release import SPLITS, Release
from scirgen.report import write_report
from scirgen_bench.rowfiles import trec_id
from tests.support.content_factory import FakeRun, dataset, pair
from tests.support.release_writing import write

HOSTILE = [
    "a\tb", "a\nb", "a\r\nb", "a\x0bb", "a\x0cb", "a\x1cb", "a\x85b", "a\u2028b", "a\u2029b", "a\0b", "a\x1b[2Jb",
    "a b", "a  b", " a", "a ", "\u00a0a", "\u3000", '"a', 'a"b', '"a\tb"', "'a'", "a,b", "a;b", "=1+1", "@cmd", "-1",
    "+1", "#a", "<script>alert(1)</script>", "</DOCNO><DOCNO> d1 ", "</DOC>", "<img src=x onerror=alert(1)>", "&amp;",
    "&", "%20", "%0A", "a%20b", "| a | b |", "[a](javascript:alert(1))", "![a](http://evil.example/x.png)", "`a`",
    "```", "---", "../../a", "{{ 7 * 7 }}", "{% raw %}", "\u202egnp.exe", "null", "true", "0", "1e5", "x" * 3000, "\\",
    "\\n", "\\u000a", "https://doi.org/10.1/a?b=c&d=e",
]  # fmt: skip
FORMATS = ("beir", "trec", "ir_datasets", "squad", "sharegpt", "alpaca", "rag", "triples")
ODD = st.text(st.sampled_from("ab%20AF \t\n\r\"'<>&|`[]\\=\0\x1b\x85\u2028é漢"), min_size=1, max_size=12)


@given(st.lists(ODD, min_size=2, max_size=2, unique=True))
def test_ids_of_trec_files_are_one_word_and_stay_different(ids: list[str]) -> None:
    plain = [plain_id(i) for i in ids]
    assert all(plain_id(p) == p and len(p.splitlines()) == 1 and not {"\t", '"'} & set(p) for p in plain)
    named = [trec_id(p) for p in plain]
    assert all(len(n.split()) == 1 and not set("<>&") & set(n) for n in named)
    assert plain[0] == plain[1] or named[0] != named[1]


@given(st.text(st.characters(categories=("L", "N", "P"), exclude_characters='"%<>&'), min_size=1))
def test_ordinary_ids_stay_as_they_are(identity: str) -> None:
    assert trec_id(plain_id(identity)) == identity


class Tags(HTMLParser):
    """Names of the tags of a page, and their attributes that run code."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs if name.startswith("on"))]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    run = FakeRun([dataset(n, id=identity) for n, identity in enumerate(HOSTILE)])
    run.all_pairs = [pair(d, n) for d in run.all_datasets for n in range(2)]
    return write(run, tmp_path_factory.mktemp("ids") / "release", load_registry(), FORMATS)


def tsv(file: Path) -> list[list[str]]:
    """A file's rows, as BEIR's loader and pandas read them."""
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.reader(opened, delimiter="\t", quoting=csv.QUOTE_MINIMAL))


def test_each_format_names_the_same_documents(release: Release) -> None:
    gold = {row.id: row.dataset_id for row in release.rows()}
    known = {d.id for d in release.corpus()}
    assert len(gold) == 2 * len(HOSTILE) and known == {plain_id(i) for i in HOSTILE} == set(gold.values())
    own: dict[str, str] = {}
    beir: dict[str, str] = {}
    trec: dict[str, str] = {}
    for split in SPLITS:
        own |= {q: d for q, found in release.qrels(split).items() for d in found}
        for query, document, score in tsv(release.folder / "beir" / "with-paper" / "qrels" / f"{split}.tsv")[1:]:
            assert score == "1"
            beir[query] = document
        for name in ("trec", "ir_datasets"):
            lines = (release.folder / name / f"qrels.{split}.txt").read_text(encoding="utf-8").splitlines()
            trec |= {query: document for query, _, document, _ in (line.split() for line in lines)}
    assert own == beir == gold
    assert trec == {trec_id(q): trec_id(d) for q, d in gold.items()}
    assert {r.id: r.dataset_ids[0] for r in open_qa(release.folder / "beir" / "with-paper").rows()} == gold
    docs = (release.folder / "trec" / "docs.with-paper.trec").read_text(encoding="utf-8")
    parsed = ElementTree.fromstring(f"<all>{docs}</all>")
    assert {str(d.findtext("DOCNO")).strip() for d in parsed} == {trec_id(i) for i in known}
    assert {row[0] for row in tsv(release.folder / "ir_datasets" / "docs.with-paper.tsv")} == {
        trec_id(i) for i in known
    }


def test_json_and_markdown_of_a_release_hold(release: Release) -> None:
    for file in release.folder.rglob("*"):
        if file.suffix == ".jsonl":
            assert all(
                isinstance(json.loads(line), dict) for line in file.read_text(encoding="utf-8").split("\n") if line
            )
        elif file.suffix == ".json":
            json.loads(file.read_text(encoding="utf-8"))
        if file.suffix in (".md", ".jsonl", ".tsv", ".trec", ".txt"):
            assert not set("\0\x1b\x85\u2028") & set(file.read_text(encoding="utf-8")) or file.suffix == ".jsonl", file
    card = (release.folder / "README.md").read_text(encoding="utf-8")
    assert yaml.safe_load(card.split("---\n")[1])["pretty_name"] == "snow"
    assert "<script" not in card and "<img" not in card and "javascript:" not in card.replace("\\", "")


def test_the_report_of_a_release_runs_nothing_of_its_ids(release: Release, tmp_path: Path) -> None:
    page = Tags()
    page.feed(write_report(release.folder, tmp_path).read_text(encoding="utf-8"))
    assert "script" in page.found and not [t for t in page.found if t.startswith("on") or t == "img"]
    assert page.found.count("script") <= 3


def test_a_stored_id_of_others_is_made_plain_when_it_is_read() -> None:
    assert Dataset.model_validate_json('{"id": "a\\tb\\n", "title": "t"}').id == "a%09b%0A"
