"""Measures how well the tables of PDFs are read as cells, against the tables of the papers' JATS: ``python -m
benchmarks.tables``.

A cell counts as right if its text and the texts of its row's and its column's headers are those of a cell of the truth
(letters, digits and the signs of numbers). Tables are paired by most texts in common. *Given*: tables of the truth that
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

from scirgen.core.records import Document, Paper
from scirgen.core.records.table import Table
from scirgen.core.runtime import rare_collections
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import ParserOptions
from scirgen.stages.parse.text import TextParser
from scirgen_pdf.parser import PdfParser
from scirgen_pdf.reading.readers import opened
from scirgen_pdf.tables import has_caption
from scirgen_texts.parsers import LatexParser

_SAME_TABLE = 0.2
"""The least share of the truth's texts that a table must have to be paired with it."""


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
        truth = _document(source)
        tables = [_read(truth, block.table) for block in truth.blocks if block.table]
        scores = _compare(tables, _parsed(pdf, given.reader, seconds), given.show)
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
    parser = LatexParser() if path.suffix == ".tex" else TextParser()
    return assemble(Paper(id=path.stem), parser.parse(path, ParserOptions()))


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
            heads = [(h, plain(document.text[h.start : h.end])) for h in table.headers(cell)]
            row = "".join(t for h, t in heads if h.row >= table.header_rows)
            column = "".join(t for h, t in heads if h.row < table.header_rows)
            cells[_Key(text, row, column)] = cell.number
    return Read(cells, texts)


def plain(text: str) -> str:
    """Letters, digits and the signs of numbers, without blanks and (as in `verbatim`) hyphens between letters: what a
    file and a print of a cell have in common."""
    text = unicodedata.normalize("NFKC", text).translate(str.maketrans("−–—‒‐", "-----"))
    text = re.sub(r"[^\w.,%±+-]|_", "", text)
    return re.sub(r"(?<=[^\W\d])-(?=[^\W\d])", "", text).casefold()


def _compare(truth: Sequence[Read], document: Document, show: bool) -> Counter[str]:
    found = [_read(document, block.table) for block in document.blocks if block.table]
    scores: Counter[str] = Counter({"tables": len(truth)})
    left = list(range(len(truth)))
    for read in found:
        # A table over several pages is read as several.
        best = max(left, key=lambda n: (truth[n].texts & read.texts).total(), default=None)
        if best is None or (truth[best].texts & read.texts).total() < _SAME_TABLE * read.texts.total():
            scores["other"] += 1
            continue
        left.remove(best)
        known = truth[best].cells
        right = known.keys() & read.cells.keys()
        scores.update(given=1, right=len(right), read=len(read.cells), truth=len(known))
        theirs = {(k.row, k.column): v for k, v in known.items() if v is not None}
        mine = {(k.row, k.column): v for k, v in read.cells.items()}
        scores.update(numbers=len(theirs.keys() & mine.keys()),
                      exact=sum(mine[k] == theirs[k] for k in theirs.keys() & mine.keys()))  # fmt: skip
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
