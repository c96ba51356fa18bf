"""Small parsed papers for the tests of match, extract and verify: sections in, a document and its labels out."""

from __future__ import annotations

from collections.abc import Sequence

from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Block,
    BlockKind,
    Document,
    SectionClass,
    SectionLabel,
)

Part = tuple[str, SectionClass, Sequence[str]]


def make_paper(
    parts: Sequence[Part], references: Sequence[str] = (), paper_id: str = "10.1/p"
) -> tuple[Document, tuple[SectionLabel, ...]]:
    """A document with one heading and its paragraphs a part, on page 1, 2, 3... by part; references at the end."""
    text = ""
    blocks: list[Block] = []
    edges: list[tuple[int, str, SectionClass]] = []

    def add(kind: BlockKind, words: str, page: int) -> None:
        nonlocal text
        start = len(text)
        text += words
        blocks.append(Block(kind=kind, start=start, end=len(text), page=page, bbox=(50.0, 50.0, 300.0, 80.0)))
        text += "\n\n"

    for page, (heading, section, paragraphs) in enumerate(parts, 1):
        edges.append((len(text), heading, section))
        add(BlockKind.HEADING, heading, page)
        for paragraph in paragraphs:
            add(BlockKind.PARAGRAPH, paragraph, page)
    if references:
        edges.append((len(text), "References", SectionClass.NONE))
        add(BlockKind.HEADING, "References", len(parts) + 1)
        for reference in references:
            add(BlockKind.REFERENCE, reference, len(parts) + 1)
    document = Document(id=f"doc:{paper_id}", paper_id=paper_id, title="A paper", text=text, blocks=tuple(blocks))
    ends = [*(e[0] for e in edges[1:]), len(text)]
    labels = tuple(
        SectionLabel(
            document_id=document.id,
            paper_id=paper_id,
            start=start,
            end=end,
            heading=heading,
            label=section,
            decided_by="rule",
        )
        for (start, heading, section), end in zip(edges, ends, strict=True)
    )
    return document, labels


def aspect(document: Document, category: AspectCategory, sentence: str, section: SectionClass | None = None) -> Aspect:
    """The aspect of a sentence that stands in the document."""
    start = document.text.index(sentence)
    return Aspect(
        paper_id=document.paper_id, category=category, span=document.span(start, start + len(sentence), section)
    )
