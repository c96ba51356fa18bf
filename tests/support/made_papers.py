"""Papers for tests: generated papers of known structure, and the place of the real ones."""

from __future__ import annotations

from pathlib import Path

from tests.support.realdata import REALDATA

REAL_PAPERS = REALDATA / "papers" / "pdf"

_WORDS = [
    "river",
    "snow",
    "basin",
    "record",
    "trend",
    "station",
    "gauge",
    "model",
    "season",
    "region",
    "soil",
    "water",
    "carbon",
    "flux",
    "forest",
    "ocean",
    "sample",
    "field",
    "method",
    "result",
    "error",
    "value",
    "range",
    "cover",
    "slope",
    "depth",
    "layer",
    "cloud",
    "wind",
    "heat",
    "source",
    "signal",
    "change",
    "period",
    "area",
    "index",
]


def real_pdfs(folder: str = "papers") -> list[Path]:
    """The real papers that should be parsed; empty without the data."""
    return sorted(p for p in (REALDATA / folder / "pdf").glob("*.pdf") if not p.name.startswith("hard-"))


def sentence(number: int, words: int = 14) -> str:
    """A made-up sentence that no other number gives."""
    chosen = [_WORDS[(number * 31 + i * (number % 7 + 3)) % len(_WORDS)] for i in range(words)]
    return f"S{number} " + " ".join(chosen) + "."


def made_pdf(
    path: Path,
    columns: int = 1,
    headings: tuple[str, ...] = ("Introduction", "Materials and methods", "Results", "Discussion", "Conclusions"),
    paragraphs: int = 3,
    sentences: int = 8,
    style: str = "",
    header: str = "Journal of Made-up Papers 12 (2024)",
) -> Path:
    """A paper laid out by PyMuPDF's Story: title, abstract, headings, paragraphs of numbered sentences, references.

    ``style`` is CSS put after the default one. Sentences are numbered in reading order over the whole paper.
    """
    import pymupdf

    css = (
        "body{font-family:serif;font-size:10pt;text-align:justify} h1{font-size:17pt} "
        "h2{font-size:12pt;font-weight:bold}"
    )
    count = 0
    parts = ["<h1>Snow cover and river flow in a made-up basin</h1><p>Ann Author and Ben Writer</p><h2>Abstract</h2>"]
    for name in ("", *headings):
        parts.append(f"<h2>{name}</h2>" if name else "")
        for _ in range(paragraphs if name else 1):
            parts.append("<p>" + " ".join(sentence(count + i) for i in range(sentences)) + "</p>")
            count += sentences
    parts.append("<h2>References</h2>")
    parts += [
        f"<p>Author, A., Writer, B., 20{i:02}. Made-up paper {i}. J. Made-up 1, {i}-{i + 9}.</p>" for i in range(10, 22)
    ]
    story = pymupdf.Story("".join(parts), user_css=css + style)
    writer = pymupdf.DocumentWriter(str(path))
    page = pymupdf.paper_rect("a4")
    width = (page.width - 100 - 18 * (columns - 1)) / columns
    more, number = True, 0
    while more:
        number += 1
        device = writer.begin_page(page)
        for column in range(columns):
            left = 50 + column * (width + 18)
            if more:
                more, _ = story.place(pymupdf.Rect(left, 70, left + width, page.height - 70))
                story.draw(device)
        writer.end_page()
    writer.close()
    document = pymupdf.open(path)
    for index, made in enumerate(document):
        made.insert_text((50, 40), header, fontsize=8)
        made.insert_text((290, page.height - 30), str(index + 1), fontsize=8)
    made_bytes = document.tobytes()
    document.close()
    path.write_bytes(made_bytes)
    return path
