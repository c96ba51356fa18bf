"""GROBID beside PyMuPDF: whose reading is kept, and where its blocks stand."""

from scirgen.core.records import BlockKind, PlacedLine
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.stage import better

PROSE = "Snow falls on the basin in winter and melts in May, a week earlier than it did a generation ago."


def _paper(name: str, headings: int, abstract: str = "", placed: bool = True) -> ParsedPaper:
    line = (PlacedLine(start=0, page=3, bbox=(50.0, 60.0, 300.0, 70.0)),) if placed else ()
    blocks = [ParsedBlock(kind=BlockKind.HEADING, text=f"Part {i}", level=1) for i in range(headings)]
    blocks.append(ParsedBlock(kind=BlockKind.PARAGRAPH, text=PROSE, lines=line))
    return ParsedPaper(parser=name, pages=9 if placed else 0, abstract=abstract, blocks=tuple(blocks))


def test_reading_with_more_headings_is_kept() -> None:
    assert better(_paper("own", 3), _paper("grobid", 5)).parser == "grobid"
    assert better(_paper("own", 5), _paper("grobid", 5)).parser == "own"


def test_reading_with_the_abstract_is_kept() -> None:
    long = PROSE * 2
    assert better(_paper("own", 9), _paper("grobid", 2, long)).parser == "grobid"
    assert better(_paper("own", 2, long), _paper("grobid", 9)).parser == "own"


def test_block_without_a_place_gets_that_of_the_same_text() -> None:
    kept = better(_paper("own", 1), _paper("grobid", 2, placed=False))
    assert kept.pages == 9
    assert [(b.lines[0].page, b.lines[0].bbox[0]) for b in kept.blocks if b.kind is BlockKind.PARAGRAPH] == [(3, 50.0)]
