"""Divides a document into heading runs: each is the text below one heading."""

from __future__ import annotations

from dataclasses import dataclass

from scirgen.core.records import BlockKind, Document

_PROSE = (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM)


@dataclass(frozen=True)
class Run:
    """[start, end) of the document's text: a heading and what follows it up to the next one. Front matter has no heading."""

    start: int
    end: int
    heading: str
    path: tuple[str, ...]
    prose: bool


def heading_runs(document: Document) -> list[Run]:
    """All runs, in order; together they cover the whole text."""
    heads = [b for b in document.blocks if b.kind is BlockKind.HEADING]
    edges = [h.start for h in heads]
    runs = []
    if document.text and (not edges or edges[0] > 0):
        runs.append(_run(document, 0, edges[0] if edges else len(document.text), "", ()))
    ends = [*edges[1:], len(document.text)] if edges else []
    for head, end in zip(heads, ends, strict=True):
        name = " ".join(document.text[head.start : head.end].split())
        runs.append(_run(document, head.start, end, name, head.heading_path))
    return runs


def _run(document: Document, start: int, end: int, heading: str, path: tuple[str, ...]) -> Run:
    prose = any(b.kind in _PROSE and start <= b.start < end for b in document.blocks)
    return Run(start, end, heading, path, prose)
