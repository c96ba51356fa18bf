"""The parse stage: which parser reads what, and what becomes of files that cannot be read."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scirgen.builtin import PLUGIN
from scirgen.core.config import Config
from scirgen.core.errors import PluginError, ServerUnavailableError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import BlockKind, Document, Paper
from scirgen.core.registry import Registry, load_registry
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.parse.stage import ParseStage
from tests.support.made_papers import REAL_PAPERS, real_pdfs

realdata = pytest.mark.skipif(
    not REAL_PAPERS.is_dir(), reason=f"REAL PAPERS NOT FOUND in {REAL_PAPERS}: set SCIRGEN_REALDATA"
)


def context(registry: Registry | None = None, **parse: object) -> StageContext:
    registry, resources = registry or load_registry(), Resources()
    config = Config.model_validate({"parse": parse})
    run = StageContext(config, resources, PromptLibrary(resources), Taxonomies(resources), registry, Path())
    return run.at("parse", "paper", "fingerprint")


async def run(path: Path, **parse: object) -> StageResult:
    item = WorkItem("paper", (Paper(id="paper", title="T", file=str(path), sha256="0" * 64),))
    return await ParseStage().process(item, context(**parse))


async def without_wings(path: Path) -> StageResult:
    registry = Registry()
    registry.add(PLUGIN)
    item = WorkItem("paper", (Paper(id="paper", title="T", file=str(path), sha256="0" * 64),))
    return await ParseStage().process(item, context(registry))


def document(result: StageResult) -> Document:
    (found,) = result.outputs
    assert isinstance(found, Document)
    return found


def test_papers_are_parsed_again_when_the_layout_analysis_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ParseStage().uses(Config())
    monkeypatch.setattr("scirgen.stages.parse.stage.LAYOUT_VERSION", 0)
    assert ParseStage().uses(Config()) != before


def test_papers_are_parsed_again_when_the_code_of_a_parser_that_auto_takes_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = ParseStage().uses(Config())
    monkeypatch.setattr("scirgen.core.registry.plugincode.file_sha256", lambda path: "edited")
    assert ParseStage().uses(Config()) != before


async def test_file_of_a_kind_that_no_installed_parser_reads_stops_with_a_hint(tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF-1.4 something")
    with pytest.raises(PluginError, match="no installed parser reads pdf files"):
        await without_wings(path)


async def test_file_when_it_is_missing_then_not_found(tmp_path: Path) -> None:
    (rejection,) = (await run(tmp_path / "none.pdf")).rejections
    assert rejection.code == "not_found"


@pytest.mark.parametrize("name", ["a.txt", "a.pdf", "a.md"])
async def test_file_of_a_few_words_is_no_paper(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("not found\n")
    (rejection,) = (await run(tmp_path / name)).rejections
    assert rejection.code == "no_sentence" and "2 words" in rejection.reason and "whole paper" in rejection.reason


async def test_parser_when_unknown_then_the_near_name_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    path.write_text("Some text of a paper.", encoding="utf-8")
    with pytest.raises(PluginError) as raised:
        await run(path, parser="grobbid")
    assert "'grobid'" in raised.value.hint


TEI = """<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt>
<title coords="1,50,60,400,20">Snow in a basin</title></titleStmt></fileDesc><profileDesc><abstract>\
<p coords="1,50,90,400,40">It snows.</p></abstract></profileDesc>
</teiHeader><text xml:lang="en"><body><div><head n="1" coords="1,50,200,80,10">Introduction</head>\
<p coords="1,50,220,400,30;2,50,50,400,30">Snow falls
<ref>(Liu et al., 2018)</ref> here.</p></div><div><head n="2.1">Data</head><p>We used it.</p></div></body>
<back><div type="references"><listBibl><biblStruct><note type="raw_reference">Liu, A.: Snow, 2018.</note></biblStruct>\
</listBibl></div></back></text></TEI>"""


@pytest.fixture
def grobid() -> Iterator[tuple[str, dict[str, object]]]:
    """A GROBID server's place, with what it answers."""
    answer: dict[str, object] = {"status": 200, "body": TEI}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer["path"] = self.path
            answer["request"] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(int(str(answer["status"])))
            self.end_headers()
            self.wfile.write(str(answer["body"]).encode())

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", answer
    server.shutdown()
    server.server_close()
    thread.join()


async def test_grobid_when_it_answers_then_its_tei_is_a_document_like_any_other(
    tmp_path: Path, grobid: tuple[str, dict[str, object]]
) -> None:
    url, answer = grobid
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF-1.4 something")
    made = document(await run(path, parser="grobid", grobid_url=url))
    assert answer["path"] == "/api/processFulltextDocument"
    request = bytes(answer["request"])
    assert b"%PDF-1.4 something" in request and b'name="teiCoordinates"' in request
    assert b'name="consolidateHeader"\r\n\r\n0' in request
    assert (made.title, made.abstract) == ("Snow in a basin", "It snows.")
    headings = [(b.level, made.text[b.start : b.end]) for b in made.blocks if b.kind is BlockKind.HEADING]
    assert headings == [(1, "Abstract"), (1, "1 Introduction"), (2, "2.1 Data"), (1, "References")]
    span = made.span(made.text.index("Snow falls"), made.text.index("here."))
    assert (span.page, span.bbox) == (1, (50.0, 220.0, 450.0, 250.0))
    assert [b.kind for b in made.blocks][-1] is BlockKind.REFERENCE


@pytest.mark.parametrize(("status", "code"), [(204, "no_text"), (500, "damaged")])
async def test_grobid_when_it_cannot_read_the_file_then_the_paper_is_set_aside(
    tmp_path: Path, grobid: tuple[str, dict[str, object]], status: int, code: str
) -> None:
    url, answer = grobid
    answer |= {"status": status, "body": "" if status == 204 else "[BAD_INPUT_DATA]"}
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF-1.4")
    (rejection,) = (await run(path, parser="grobid", grobid_url=url)).rejections
    assert rejection.code == code


@pytest.mark.parametrize("status", [503, 404])
async def test_grobid_when_busy_or_not_there_then_the_paper_is_tried_again(
    tmp_path: Path, grobid: tuple[str, dict[str, object]], status: int
) -> None:
    url, answer = grobid
    answer |= {"status": status, "body": ""}
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF-1.4")
    with pytest.raises(ServerUnavailableError):
        await run(path, parser="grobid", grobid_url=url)


async def test_grobid_that_is_not_there_is_named_and_the_paper_tried_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(b"%PDF-1.4")
    with pytest.raises(ServerUnavailableError, match="no answer from GROBID"):
        await run(path, parser="grobid", grobid_url="http://127.0.0.1:1")
    assert capfd.readouterr() == ("", "")


@realdata
@pytest.mark.realdata
@pytest.mark.skipif("GROBID_URL" not in os.environ, reason="needs a GROBID server in GROBID_URL")
async def test_a_real_grobid_reads_a_real_paper() -> None:
    made = document(await run(real_pdfs()[0], parser="grobid", grobid_url=os.environ["GROBID_URL"]))
    assert made.title and len(made.blocks) > 20


JATS = """<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "JATS.dtd"><article xml:lang="es"><front><article-meta>\
<title-group>
<article-title>Nieve &ndash; y r&iacute;os</article-title></title-group><abstract><title>Resumen</title><p>Nieva mucho.\
</p></abstract></article-meta></front>
<body><sec><title>Introducción</title><p>Nieva<xref>1</xref> aquí todo el año.</p>\
<sec><title>Área</title><p>Los Andes.</p></sec>\
</sec></body>
<back><ref-list><title>Referencias</title><ref><mixed-citation>Liu 2018.</mixed-citation></ref></ref-list></back>\
</article>"""


async def test_jats_when_parsed_then_headings_have_their_levels_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "paper.xml"
    path.write_text(JATS, encoding="utf-8")
    made = document(await run(path))
    assert (made.title, made.abstract, made.language) == ("Nieve – y ríos", "Nieva mucho.", "es")
    area = next(b for b in made.blocks if made.text[b.start : b.end] == "Los Andes.")
    assert area.heading_path == ("Introducción", "Área")


BOMB = (
    '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><article>'
    "<front/><body><p>&b;</p></body></article>"
)
FILE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><article><front/><body><p>&x;</p></body></article>'


@pytest.mark.parametrize("xml", [BOMB, FILE, "<article><front/><body><p>cut"])
async def test_xml_when_hostile_or_broken_then_damaged(tmp_path: Path, xml: str) -> None:
    path = tmp_path / "paper.xml"
    path.write_text(xml, encoding="utf-8")
    (rejection,) = (await run(path)).rejections
    assert rejection.code == "damaged"
