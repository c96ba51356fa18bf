"""Make the PDF paper of the invented corpus from its Markdown: two columns, running header, page numbers.

    python scripts/make_sample_pdf.py

Needs scirgen[pymupdf]. The same source gives the same bytes, so that the file changes only when the text does.
"""

from __future__ import annotations

from pathlib import Path

import pymupdf
from markdown_it import MarkdownIt

SOURCE = Path(__file__).with_name("norrun-soil-moisture.md")
TARGET = Path(__file__).parents[1] / "tests" / "material" / "invented" / "papers" / "norrun-soil-moisture.pdf"
HEADER = "Invented Soil Reports 7 (2023)"
STYLE = """
body { font-family: serif; font-size: 9.5pt; line-height: 1.25; }
p { text-align: justify; margin: 0 0 4pt 0; }
h1 { font-family: sans-serif; font-size: 15pt; margin: 0 0 6pt 0; }
h2 { font-family: sans-serif; font-size: 11pt; margin: 8pt 0 3pt 0; }
h3 { font-family: sans-serif; font-size: 9.5pt; margin: 6pt 0 2pt 0; }
"""
PAGE = pymupdf.paper_rect("a4")
MARGIN, GUTTER, TOP = 54, 20, 70


def main() -> None:
    """Title over both columns, then the text in two columns a page."""
    head, _, body = SOURCE.read_text(encoding="utf-8").partition("\n## ")
    render = MarkdownIt().render
    title = pymupdf.Story(f"<body>{render(head)}</body>", user_css=STYLE)
    text = pymupdf.Story(f"<body>{render('## ' + body)}</body>", user_css=STYLE)
    draft = TARGET.with_suffix(".part")
    writer = pymupdf.DocumentWriter(str(draft))
    width = (PAGE.width - 2 * MARGIN - GUTTER) / 2
    more, first = True, True
    while more:
        device = writer.begin_page(PAGE)
        top = TOP
        if first:
            _, filled = title.place(pymupdf.Rect(MARGIN, TOP, PAGE.width - MARGIN, 200))
            title.draw(device)
            top, first = filled[3] + 12, False
        for column in range(2):
            if more:
                left = MARGIN + column * (width + GUTTER)
                more, _ = text.place(pymupdf.Rect(left, top, left + width, PAGE.height - 60))
                text.draw(device)
        writer.end_page()
    writer.close()
    finish(draft)


def finish(draft: Path) -> None:
    """Header and page numbers, subset fonts, and nothing that changes from day to day."""
    with pymupdf.open(draft, filetype="pdf") as document:
        for number, page in enumerate(document, 1):
            page.insert_text((MARGIN, 40), HEADER, fontsize=8)
            page.insert_text((PAGE.width - MARGIN - 10, 40), str(number), fontsize=8)
        document.set_metadata({"title": "Soil moisture memory under light and heavy grazing in the Norrun grasslands"})
        document.subset_fonts()
        document.save(TARGET, garbage=4, deflate=True, no_new_id=True)
    draft.unlink()
    print(f"{TARGET.name}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
