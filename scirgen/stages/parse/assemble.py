"""Makes a `Document` from any parser's blocks: one text, offsets, heading paths, the id. Parsers of text finish their
blocks with its functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from scirgen.core.fingerprint import content_id
from scirgen.core.records import Block, BlockKind, Document, Paper, Provenance
from scirgen.core.text.doi import find_doi
from scirgen.core.text.language import detect_language
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.frontmatter import front_matter
from scirgen.stages.parse.terms import CAPTION, kind_of_heading

_BROKEN_DOI = re.compile(r"\b(10\.(?=\s\d{4,9}/)|10\.\d{4,9}/(?=\s\S)|10\.\d{4,9}(?=\s/\S))\s")
"""A DOI that continues in another line."""
_SEPARATOR = "\n\n"


def assemble(paper: Paper, parsed: ParsedPaper, provenance: Provenance | None = None) -> Document:
    """Build the document of a paper."""
    blocks: list[Block] = []
    parts: list[str] = []
    path: list[tuple[int, str]] = []
    offset = 0
    for block in titled(parsed.blocks):
        if not block.text.strip():
            continue
        level = (block.level or 1) if block.kind is BlockKind.HEADING else None
        if level is not None:
            path = [(above, name) for above, name in path if above < level]
        blocks.append(_placed(block, offset, level, tuple(name for _, name in path)))
        if level is not None:
            path.append((level, " ".join(block.text.split())))
        parts.append(block.text)
        offset += len(block.text) + len(_SEPARATOR)
    blocks = _with_captions(blocks)
    text = _SEPARATOR.join(parts)
    body = " ".join(b.text for b in parsed.blocks if b.kind is BlockKind.PARAGRAPH)
    front = front_matter(parsed)
    return Document(
        id=content_id("doc", paper.id, text, parsed.parser),
        paper_id=paper.id,
        title=parsed.title or paper.title,
        abstract=parsed.abstract,
        text=text,
        blocks=tuple(blocks),
        pages=parsed.pages,
        language=parsed.language or detect_language(body or text),
        parser=parsed.parser,
        authors=front.authors,
        doi=front.doi,
        year=front.year,
        licence=front.licence,
        provenance=provenance,
    )


def titled(blocks: Sequence[ParsedBlock]) -> Iterator[ParsedBlock]:
    """Yield the blocks; a table's title that follows it joins the caption's label, if that stands alone above it."""
    taken = None
    for block, table, title in zip_longest(blocks, blocks[1:], blocks[2:]):
        if block is taken:
            continue
        if (
            title and table.table and block.kind is title.kind is BlockKind.CAPTION
            and CAPTION.fullmatch(block.text.strip()) and not CAPTION.match(title.text)
        ):  # fmt: skip
            moved = (x.model_copy(update={"start": x.start + len(block.text) + 1}) for x in title.lines)
            joined = {"text": f"{block.text} {title.text}", "lines": (*block.lines, *moved)}
            block, taken = block.model_copy(update=joined), title
        yield block


def _with_captions(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks, each table with the places of the caption right before it and the note right after it."""
    made = list(blocks)
    for n, block in enumerate(blocks):
        if block.table is not None:
            before, after = (blocks[m] if 0 <= m < len(blocks) else None for m in (n - 1, n + 1))
            caption = (before.start, before.end) if before and before.kind is BlockKind.CAPTION else None
            notes = (after.start, after.end) if after and after.kind is BlockKind.FOOTNOTE else None
            table = block.table.shifted(block.start, caption, notes)
            made[n] = block.model_copy(update={"table": table})
    return made


def clean(text: str) -> str:
    """Return the text without control and zero-width characters and lone surrogates, with each space as a blank."""
    kept = (" " if unicodedata.category(c) == "Zs" else c for c in text if c == "\n" or _printable(c))
    return "".join(kept).strip()


def _printable(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def _placed(block: ParsedBlock, offset: int, level: int | None, path: tuple[str, ...]) -> Block:
    lines = tuple(line.model_copy(update={"start": line.start + offset}) for line in block.lines)
    first = [line for line in lines if line.page == lines[0].page] if lines else []
    boxes = [line.bbox for line in first]
    return Block(
        kind=block.kind,
        start=offset,
        end=offset + len(block.text),
        page=lines[0].page if lines else None,
        bbox=(
            (min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes))
            if boxes
            else None
        ),
        heading_path=path,
        level=level,
        doi=find_doi(_BROKEN_DOI.sub(r"\1", block.text)) if block.kind is BlockKind.REFERENCE else None,
        lines=lines,
        table=block.table,
    )


def set_levels(blocks: Sequence[ParsedBlock]) -> None:
    """Close gaps in the levels of headings, which begin at 1."""
    used = sorted({b.level for b in blocks if b.level})
    for block in blocks:
        if block.level:
            block.level = used.index(block.level) + 1


def mark_references(blocks: Sequence[ParsedBlock]) -> None:
    """Turn the paragraphs and list items below a heading of references into references."""
    inside = False
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            inside = kind_of_heading(block.text) == "references"
        elif inside and block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            block.kind = BlockKind.REFERENCE


def abstract_of(blocks: Sequence[ParsedBlock]) -> str:
    """Return the text below a heading of an abstract and its subheadings."""
    taken: list[str] = []
    level = 0
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            if level and (block.level or 1) <= level:
                break
            level = level or ((block.level or 1) if kind_of_heading(block.text) == "abstract" else 0)
        elif level and block.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            taken.append(block.text)
    return " ".join(taken)
