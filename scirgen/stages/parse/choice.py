"""Chooses between the results of PyMuPDF and GROBID for a PDF, and gives GROBID's blocks their positions."""

from __future__ import annotations

from collections.abc import Sequence

from scirgen.core.records import BlockKind, PlacedLine
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper

_MIN_ABSTRACT = 150
_SEEN = 40
"""Number of letters and digits at a block's beginning by which the block is found in the other result."""


def better(own: ParsedPaper, grobid: ParsedPaper) -> ParsedPaper:
    """GROBID's result if only GROBID found the abstract, or if both or neither found it and GROBID found more headings;
    otherwise ours.

    GROBID's blocks without coordinates get the place of the same text in ours.
    """
    if _found(grobid) <= _found(own):
        return own
    blocks = tuple(_placed(grobid.blocks, own.blocks))
    return grobid.model_copy(update={"blocks": blocks, "pages": own.pages, "language": grobid.language or own.language})


def _found(parsed: ParsedPaper) -> tuple[bool, int]:
    headings = sum(b.kind is BlockKind.HEADING for b in parsed.blocks)
    return len(parsed.abstract) >= _MIN_ABSTRACT, headings


def _placed(blocks: Sequence[ParsedBlock], known: Sequence[ParsedBlock]) -> list[ParsedBlock]:
    text, starts = "", []
    for block in known:
        ends = [*(line.start for line in block.lines[1:]), len(block.text)]
        for line, end in zip(block.lines, ends[: len(block.lines)], strict=True):
            starts.append((len(text), line))
            text += _letters(block.text[line.start : end])
    made, position = [], 0
    for block in blocks:
        beginning = _letters(block.text)[:_SEEN]
        at = text.find(beginning, position) if beginning else -1
        at = text.find(beginning) if at < 0 and len(beginning) == _SEEN else at
        if not block.lines and at >= 0:
            line = next(line for start, line in reversed(starts) if start <= at)
            place = PlacedLine(start=0, page=line.page, bbox=line.bbox)
            block = block.model_copy(update={"lines": (place,)})
        position = at if at >= 0 else position
        made.append(block)
    return made


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())
