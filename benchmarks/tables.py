"""Measures how well the tables of PDFs are read as cells, against the tables of the papers' JATS: ``python -m
benchmarks.tables``.

A cell counts as right if its text and the texts of its row's and its column's headers are those of a cell of the truth
(letters, digits and the signs of numbers). Tables are paired by their captions. *Given*: tables of the truth that
a table read as cells is paired with. *Numbers*: of cells under the same headers that are a number in the truth, those
with the same value. Tables of the truth that are pictures or refused (`grid.REFUSED`) are not counted.
Pages per second: CPU time of one process, over all pages, and over the pages that name a table in a caption.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pymupdf

from scirgen.core.records import BlockKind, Document, Paper
from scirgen.core.records.table import Table
from scirgen.core.runtime import rare_collections
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.text import TextParser, decoded, paper_bytes
from scirgen_pdf.parser import PdfParser
from scirgen_pdf.reading.readers import opened
from scirgen_pdf.tables import has_caption
from scirgen_texts.latex import parse_latex

_SAME_TABLE = 0.2
"""The least share of its texts that a table must have in common with the truth, if no caption tells which it is."""
_SAME_CAPTION = 0.5
"""The least share of words in common of one caption in two files, if not both have a number."""
_REFERENCE = re.compile(r"\\(?:eq|c|C|auto)?ref\{[^{}]*\}")
_MACRO = re.compile(r"\\newcommand\{?(\\[A-Za-z]+)\}?(\{(?:[^{}]|\{[^{}]*\})*\})")
_LABEL = re.compile(r"\s*tab\w*\.?\s+(\S*?\d[\w.]*|[IVX]+\b)", re.I)


class _Key(NamedTuple):
    """A value as it is compared."""

    text: str
    row: str
    column: str


class Read(NamedTuple):
    """A table's value cells with their numbers."""

    cells: dict[_Key, float | None]
    texts: Counter[str]


def main() -> None:
    """Run and print a row for each paper and the whole."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, nargs="+", required=True)
    arguments.add_argument("--only", default="", help="papers whose name contains this")
    arguments.add_argument("--tex", action="store_true", help="also papers whose truth is LaTeX")
    arguments.add_argument("--reader", default="auto", help="auto, pdfium or pymupdf")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--show", action="store_true", help="print the cells that differ")
    given = arguments.parse_args()
    counts: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    papers: dict[str, dict[str, int]] = {}
    print("| paper | tables | given | right | read | truth | numbers | exact | other |\n|---" + "|---" * 8 + "|")
    for pdf, source in _papers(given.data, given.only, given.tex):
        scores = _compare(_document(source), _parsed(pdf, given.reader, seconds), given.show)
        papers[pdf.stem] = dict(scores)
        counts.update(scores)
        print(_line(pdf.stem, scores))
    print(_line("**all papers**", counts))
    print(json.dumps(overall(counts, seconds)))
    if given.json:
        given.json.write_text(json.dumps({"overall": overall(counts, seconds), "papers": papers}, indent=2) + "\n")


def overall(counts: Counter[str], seconds: Counter[str]) -> dict[str, float]:
    """F1 of the cells of given tables, the share of tables given, of exact numbers, and pages per CPU second."""
    right, read, truth = (counts[k] for k in ("right", "read", "truth"))
    return {
        "cells_f1": round(2 * right / max(1, read + truth), 4),
        "given": round(counts["given"] / max(1, counts["tables"]), 4),
        "numbers_exact": round(counts["exact"] / max(1, counts["numbers"]), 4),
        "pages_per_s": round(seconds["pages"] / max(0.001, seconds["all"]), 1),
        "pages_with_tables_per_s": round(seconds["tabled"] / max(0.001, seconds["on"]), 1),
    }


def _papers(folders: Sequence[Path], only: str, tex: bool) -> Iterator[tuple[Path, Path]]:
    for folder in folders:
        for source in sorted((folder / "truth").iterdir()):
            pdf = folder / "pdf" / f"{source.stem}.pdf"
            if source.suffix in ((".xml", ".tex") if tex else (".xml",)) and pdf.is_file() and only in source.stem:
                yield pdf, source


def _document(path: Path) -> Document:
    """Return the truth; a LaTeX table with numbers that only its labels know has unnamed signs, and so no cells."""
    if path.suffix != ".tex":
        return assemble(Paper(id=path.stem), TextParser().parse(path, ParserOptions()))
    begin, mark, body = _REFERENCE.sub("\ufffd", decoded(paper_bytes(path))).partition(r"\begin{document}")
    own = dict(_MACRO.findall(begin))
    body = re.sub(r"\\[A-Za-z]+", lambda m: own.get(m[0], m[0]), body)
    return assemble(Paper(id=path.stem), parse_latex(begin + mark + body))


def _parsed(pdf: Path, reader: str, seconds: Counter[str]) -> Document:
    """The PDF's document; adds its pages and CPU time, and those of its pages with a table's caption alone."""
    options = ParserOptions(no_extract="parse", reader=reader)
    began = time.process_time()
    with rare_collections():
        document = assemble(Paper(id=pdf.stem), PdfParser().parse(pdf, options))
        gc.collect()
    seconds["all"] += time.process_time() - began  # type: ignore[assignment]
    seconds["pages"] += document.pages
    with opened(pdf, reader) as read:
        pages = [n for n in range(read.count) if has_caption(read.page(n).lines)]
    with pymupdf.open(pdf) as file:
        if pages:
            file.select(pages)
            part = Path(os.environ.get("TMPDIR", "/tmp")) / f"{pdf.stem}.{os.getpid()}.pdf"
            part.write_bytes(file.tobytes())
            began = time.process_time()
            try:
                with rare_collections():
                    PdfParser().parse(part, options)
                    gc.collect()
                seconds["on"] += time.process_time() - began  # type: ignore[assignment]
                seconds["tabled"] += len(pages)
            finally:
                part.unlink()
    return document


def _read(document: Document, table: Table) -> Read:
    cells: dict[_Key, float | None] = {}
    texts: Counter[str] = Counter()
    for cell in table.cells:
        text = plain(document.text[cell.start : cell.end])
        texts[text] += 1
        if table.is_value(cell):
            heads = [(h.row >= table.header_rows, document.text[h.start : h.end]) for h in table.headers(cell)]
            row, column = (plain("".join(t for beside, t in heads if beside is side)) for side in (True, False))
            cells[_Key(text, row, column)] = cell.number
    return Read(cells, texts)


def plain(text: str) -> str:
    """Letters, digits and the signs of numbers, without blanks and (as in `verbatim`) hyphens between letters, and
    without accents that stand alone: what a file and a print of a cell have in common."""
    text = unicodedata.normalize("NFKC", text).translate(str.maketrans("−–—‒‐∆∑∏", "-----ΔΣΠ", "ˆˇ"))
    text = re.sub(r"[^\w.,%±+-]|_", "", text)
    return re.sub(r"(?<=[^\W\d])-(?=[^\W\d])", "", text).casefold()


def paired(truth: Document, document: Document) -> tuple[dict[int, Table], list[Table]]:
    """Return the tables read, by the number of the truth's table whose caption they follow, and the other ones.

    Each table of the truth has the caption that is most like its own, whether or not a table was read behind it. Where
    none is like it, or several are alike, the table with most texts in common counts.
    """
    known, read = ([b.table for b in d.blocks if b.table] for d in (truth, document))
    captions = [(b.start, b.end) for b in document.blocks if b.kind is BlockKind.CAPTION]
    behind = {table.caption: _read(document, table).texts for table in read}
    alike = [
        (_likeness(truth.text[slice(*table.caption)], document.text[slice(*place)]),
         (_read(truth, table).texts & behind.get(place, Counter())).total(), n, place)
        for n, table in enumerate(known) if table.caption for place in captions
    ]  # fmt: skip
    owner: dict[tuple[int, int], int] = {}
    for likeness, _, n, place in sorted(alike, reverse=True):
        if likeness >= _SAME_CAPTION and n not in owner.values():
            owner.setdefault(place, n)
    free = [n for n in range(len(known)) if n not in owner.values()]
    pairs: dict[int, Table] = {}
    other = []
    for table in read:
        own = owner.get(table.caption or (0, 0))
        if own is None and free:
            mine = _read(document, table).texts
            shared = {n: (_read(truth, known[n]).texts & mine).total() for n in free}
            best = max(free, key=lambda n: shared[n])
            own = best if shared[best] >= _SAME_TABLE * mine.total() else None
        if own is None or own in pairs:
            other.append(table)
        else:
            pairs[own] = table
            free = [n for n in free if n != own]
    return pairs, other


def _likeness(one: str, other: str) -> float:
    """Return the share of words that two captions have in common; 0 or more than 1 if both have a number.

    A caption may be cut, or go on with other text: the longer one counts as far as the shorter.
    """
    first, second = (_LABEL.match(text) for text in (one, other))
    words = [[w for w in map(plain, _LABEL.sub("", text).split()) if w] for text in (one, other)]
    size = min(map(len, words))
    a, b = (Counter(part[:size]) for part in words)
    share = (a & b).total() / max(1, size) + size / 1000
    return share if not (first and second) else 1 + share if first[1].rstrip(".") == second[1].rstrip(".") else 0


def _compare(truth: Document, document: Document, show: bool) -> Counter[str]:
    tables = [block.table for block in truth.blocks if block.table]
    pairs, other = paired(truth, document)
    scores: Counter[str] = Counter({"tables": len(tables), "other": len(other)})
    for n, table in pairs.items():
        read, known = _read(document, table), _read(truth, tables[n]).cells
        right = known.keys() & read.cells.keys()
        scores.update(given=1, right=len(right), read=len(read.cells), truth=len(known))
        mine = {(k.row, k.column, v) for k, v in read.cells.items()}
        named = {(k.row, k.column) for k in read.cells}
        theirs = {(k.row, k.column, v) for k, v in known.items() if v is not None and (k.row, k.column) in named}
        scores.update(numbers=len(theirs), exact=len(theirs & mine))
        for key in sorted(read.cells.keys() - right)[: 8 if show else 0]:
            print("  read ", key)
        for key in sorted(known.keys() - right)[: 8 if show else 0]:
            print("  truth", key)
    return scores


def _line(name: str, counts: Counter[str]) -> str:
    columns = ("tables", "given", "right", "read", "truth", "numbers", "exact", "other")
    return f"| {name} | " + " | ".join(str(counts[c]) for c in columns) + " |"


if __name__ == "__main__":
    main()
