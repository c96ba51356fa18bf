"""Measures how many first pages of articles are read right: ``python -m benchmarks.front_matter FOLDER``.

``data/front_matter.jsonl`` has the truth of six sets, which a language model wrote from the first pages before
scirgen read them: title (with and without its second part, a line each, where either is right), authors, years (null:
none is printed), DOI, licence, and how the abstract begins and ends ("?": not certain; "@": only this beginning, if
any; "*" as a licence or a DOI: any). A field that is not printed must stay empty. FOLDER has the PDFs, found by their
SHA-256; most are in Debian's source packages (``source``: package/version/path).
"""

from __future__ import annotations

import argparse
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from scirgen import ParserOptions, ScirgenError
from scirgen.core.fingerprint import file_sha256
from scirgen.stages.parse.frontmatter import front_matter
from scirgen_pdf.parser import PdfParser

_TRUTH = Path(__file__).parent / "data" / "front_matter.jsonl"
FIELDS = ("title", "authors", "year", "doi", "licence", "abstract")
_SIMILAR = 97
"""Least similarity of two titles, 0 to 100, by their letters and digits."""
_LONG = 300
"""Letters of an abstract whose end is not certain."""


def main() -> None:
    """Print for each set how often each field is right, and all of them."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--reader", choices=("pdfium", "pymupdf"), default="pdfium")
    arguments.add_argument("--show", action="store_true", help="print the fields that are not right")
    given = arguments.parse_args()
    files = {file_sha256(path): path for path in sorted(given.folder.rglob("*.pdf"))}
    counts: dict[int, Counter[str]] = {}
    for truth in map(json.loads, _TRUTH.read_text(encoding="utf-8").splitlines()):
        if truth["sha256"] not in files:
            continue
        right = dict(_compared(truth, files[truth["sha256"]], ParserOptions(reader=given.reader)))
        wrong = [name for name, held in right.items() if not held]
        counts.setdefault(truth["set"], Counter()).update({"articles": 1, "all right": not wrong, **right})
        if given.show and wrong:
            print(truth["file"], *wrong)
    for number, count in counts.items():
        print(f"set {number}, {given.reader}:", *(f"{name} {n}" for name, n in count.items()), sep="\t")


def _compared(truth: Mapping[str, Any], path: Path, options: ParserOptions) -> Iterator[tuple[str, bool]]:
    """Yield each field and whether it is right; none is if the file cannot be read."""
    try:
        paper = PdfParser().parse(path, options)
    except ScirgenError:
        yield from dict.fromkeys(FIELDS, False).items()
        return
    found = front_matter(paper)
    titles = map(_letters, truth["title"].split("\n"))
    yield "title", any(fuzz.ratio(_letters(found.title), title) >= _SIMILAR for title in titles)
    yield "authors", [_name(a) for a in found.authors] == [_name(a) for a in truth["authors"]]
    yield "year", found.year in truth["years"]
    yield "doi", truth["doi"] in ("*", (found.doi or "").lower())
    yield "licence", truth["licence"].lower() in ("*", found.licence.removesuffix("unknown"))
    yield "abstract", _abstract(_letters(paper.abstract), truth["begins"], truth["ends"])


def _abstract(found: str, begins: str, ends: str) -> bool:
    beginning = _letters(begins)
    if begins[:1] == "@":
        return not found or found.startswith(beginning)
    if not found or not begins:
        return not found and begins[:1] in ("", "?")
    ended = len(found) > _LONG if ends == "?" else any(found.endswith(_letters(end)) for end in ends.split(";"))
    return found.startswith(beginning) and ended


def _name(author: str) -> str:
    return re.sub(r"(jr|sj)$", "", _letters(author))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", text).casefold())


if __name__ == "__main__":
    main()
