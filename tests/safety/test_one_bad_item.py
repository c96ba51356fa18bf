"""One bad item costs itself alone: memory, headings, paths in a release, terminal codes."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from scirgen.core.errors import InputError, PaperError, ScirgenError
from scirgen.core.records import BlockKind
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper, ParserOptions
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.process.worker import presentable
from scirgen_pdf import PLUGIN as PDF

PLUGIN = PDF.provides[0]
OPTIONS = ParserOptions(timeout_s=30, no_extract="parse")
CODES = {"no_text", "encrypted", "no_extract", "damaged", "not_a_pdf", "timeout", "memory", "unsupported", "too_large"}


def pdf(*objects: bytes, root: int = 1) -> bytes:
    """A PDF of these objects, numbered from 1."""
    made, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    at = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    made += b"".join(b"%010d 00000 n \n" % p for p in places)
    return made + b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, root, at)


def stream(data: bytes, extra: bytes = b"") -> bytes:
    packed = zlib.compress(data, 9)
    return b"<< /Length %d /Filter /FlateDecode %s >>\nstream\n%s\nendstream" % (len(packed), extra, packed)


def page(content: bytes, resources: bytes = b"", box: bytes = b"[0 0 600 800]", *more: bytes) -> bytes:
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Contents 4 0 R /Resources << /Font << /F 5 0 R >> %s >> >>"
        % (box, resources),
        content, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", *more,
    )  # fmt: skip


def nested_forms(levels: int, times: int) -> bytes:
    """Forms that each draw the next one many times: a few kilobytes of file, times ** levels lines of text."""
    forms = []
    for level in range(levels):
        body = b" ".join([b"/X Do"] * times) if level < levels - 1 else b"BT /F 9 Tf (some words of text) Tj ET"
        inner = b"/XObject << /X %d 0 R >>" % (7 + level) if level < levels - 1 else b""
        forms.append(
            stream(
                body,
                b"/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 5 0 R >> %s >>" % inner,
            )
        )
    return page(stream(b" ".join([b"/X Do"] * times)), b"/XObject << /X 6 0 R >>", b"[0 0 600 800]", *forms)


CRAFTED: dict[str, bytes] = {
    "nested forms": nested_forms(6, 12),
    "deep forms": nested_forms(60, 2),
    "a gigabyte of text": page(stream(b"BT /F 9 Tf (words of text) Tj ET\n" * 3_000_000)),
    "a long string": page(stream(b"BT /F 9 Tf (" + b"word " * 10_000_000 + b") Tj ET")),
    "blanks": page(stream(b"BT /F 9 Tf (" + b" " * 5_000_000 + b") Tj ET")),
    "a huge page": page(stream(b"BT /F 9 Tf (a) Tj ET"), box=b"[0 0 99999999999 99999999999]"),
    "page without end": page(stream(b"BT /F 9 Tf (a) Tj ET"), box=b"[0 0 1e400 nan]"),
    "a circle of pages": pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
    "a billion pages": pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 1000000000 >>"),
    "a circle of contents": page(b"4 0 R"),
    "length of itself": page(b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream"),
    "negative length": page(b"<< /Length -1 >>\nstream\nBT ET\nendstream"),
    "many filters": page(b"<< /Length 3 /Filter [%s] >>\nstream\nabc\nendstream" % (b"/FlateDecode " * 5000)),
    "deep arrays": page(stream(b"[" * 500_000)),
    "deep dictionaries": page(b"<< /A " * 20_000),
    "many saves": page(stream(b"q " * 2_000_000)),
    "image of terabytes": page(
        stream(b"/I Do"), b"/XObject << /I 6 0 R >>", b"[0 0 600 800]",
        b"<< /Type /XObject /Subtype /Image /Width 2000000000 /Height 2000000000 /BitsPerComponent 8 "
        b"/ColorSpace /DeviceRGB /Length 1 >>\nstream\na\nendstream",
    ),
    "font of nothing": page(stream(b"BT /G 9 Tf (a) Tj ET"), b"/Font << /G 99 0 R >>"),
    "size without end": page(stream(b"BT /F 1e38 Tf (a b c) Tj 1e38 1e38 Td (d) Tj ET")),
    "matrix of nothing": page(stream(b"BT /F 9 Tf 0 0 0 0 0 0 Tm (some words) Tj ET")),
    "a million little words": page(stream(b"BT /F 1 Tf " + b"(a) Tj 1 0 Td " * 500_000 + b"ET")),
    "html": b"<html><body>%PDF-1.7</body></html>",
    "header alone": b"%PDF-1.7\n",
    "xref of itself": b"%PDF-1.7\nxref\n0 99999999999\ntrailer << /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF",
    "object streams of themselves": pdf(
        b"<< /Type /ObjStm /N 99999 /First 9 /Length 4 /Extends 1 0 R >>\nstream\n1 0 \nendstream"
    ),
    "encrypted with nonsense": pdf(b"<< /Type /Catalog >>").replace(
        b"/Root", b"/Encrypt << /Filter /Standard /V 9 /R 9 >> /Root"
    ),
    "a name of a megabyte": page(stream(b"BT /" + b"F" * 10**6 + b" 9 Tf (a) Tj ET")),
    "outline in a circle": pdf(
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>",
        b"<< /First 4 0 R /Last 4 0 R /Count 1 >>", b"<< /Title (a) /Parent 3 0 R /Next 4 0 R /First 4 0 R >>",
    ),
    "null bytes": b"%PDF-1.7" + b"\0" * 10**6,
    "a title of a megabyte": pdf(b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Kids [] /Count 0 >>").replace(
        b"/Root", b"/Info << /Title (" + b"a" * 10**6 + b") >> /Root"
    ),
}  # fmt: skip


def parse_all(crafted: dict[str, bytes], tmp_path: Path) -> None:
    pytest.importorskip("pymupdf")
    good = tmp_path / "good.pdf"
    good.write_bytes(
        page(stream(b"BT /F 12 Tf 50 700 Td (Rain was measured at 24 stations of the plateau in the year 2004.) Tj ET"))
    )
    pool = ParserPool(1, 512)
    try:
        for name, data in crafted.items():
            bad = tmp_path / "bad.pdf"
            bad.write_bytes(data)
            try:
                found = pool.parse_blocking(PLUGIN, bad, OPTIONS)
                presentable(found)
            except PaperError as error:
                assert error.error_code in CODES, (name, error)
            # The next paper is innocent, and is read.
            assert "24 stations" in str(pool.parse_blocking(PLUGIN, good, OPTIONS).blocks), name
    finally:
        pool.close()


def test_crafted_pdfs_cost_no_other_paper(tmp_path: Path) -> None:
    assert len(CRAFTED) == 30
    parse_all({name: CRAFTED[name] for name in ("nested forms", "a long string", "a circle of pages")}, tmp_path)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_thirty_crafted_pdfs_cost_no_other_paper(tmp_path: Path) -> None:
    parse_all(CRAFTED, tmp_path)


def test_a_paper_has_at_most_a_thousand_headings_and_they_are_short() -> None:
    blocks = tuple(
        ParsedBlock(kind=BlockKind.HEADING, text=f"Odd heading {n} " + "x " * 2000, level=1) for n in range(3000)
    )
    found = presentable(ParsedPaper(parser="x", blocks=blocks))
    headings = [b for b in found.blocks if b.kind is BlockKind.HEADING]
    assert len(headings) == 1000 and max(len(b.text) for b in headings) <= 300


async def test_a_paper_of_odd_headings_costs_a_bounded_number_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    from scirgen.core.records import Document, Paper
    from scirgen.stages.base import WorkItem
    from scirgen.stages.parse.assemble import assemble
    from scirgen.stages.section.stage import SectionStage
    from tests.support.questioning import make_context

    blocks = []
    for n in range(300):
        blocks += [
            ParsedBlock(kind=BlockKind.HEADING, text=f"Zub {n} zab", level=1),
            ParsedBlock(kind=BlockKind.PARAGRAPH, text="Words stand here. " * 9),
        ]
    document = assemble(Paper(id="p"), ParsedPaper(parser="x", blocks=tuple(blocks)))
    reply = json.dumps({f"s{n}": "none" for n in range(1, 25)})
    ctx, chat = make_context(lambda prompt, n: reply, stage="section", key="p")
    monkeypatch.setattr("scirgen.stages.section.stage._MAX_CALLS", 3)
    result = await SectionStage().process(WorkItem("p", (document,)), ctx)
    assert len(chat.prompts) == 3 and isinstance(document, Document) and len(result.outputs) >= 300


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "corpus/../../secret.txt"])
def test_a_release_that_lists_files_outside_of_it_is_not_pushed(path: str, tmp_path: Path) -> None:
    from scirgen_services.push import plan_upload

    class Info:
        files = (type("File", (), {"path": path, "sha256": ""})(),)

    (tmp_path / "secret.txt").write_text("rosebud")
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "release.json").write_text("{}")
    release = type("Release", (), {"folder": folder, "info": Info})()
    with pytest.raises(InputError, match="is not inside the release"):
        plan_upload(release)


def test_terminal_codes_of_a_server_are_spelled_out_in_messages() -> None:
    error = ScirgenError("the server says \x1b]0;owned\x07\x1b[2J\u202eabc", hint="x\x1b[31m")
    assert "\x1b" not in error.in_full and "\\x1b[2J" in error.message and "\u202e" not in error.message


def test_links_and_html_of_catalogues_are_inert_in_cards() -> None:
    from scirgen.stages.release.describe import card

    cell = getattr(card, "_cell")  # noqa: B009 - private, and what every value of the card goes through
    shown = cell("a | b ![x](http://tracker.example/p.png) [y](javascript:alert(1)) <script>alert(1)</script> `c`\nd")
    assert (
        "\\[x\\](" in shown
        and "\\[y\\](" in shown
        and "<script" not in shown
        and "a \\| b" in shown
        and "\n" not in shown
    )
