"""Typesets the tables of JATS articles amid their text, for ``benchmarks.tables``: ``python -m benchmarks.table_pages
JATS OUT``.

OUT/LOOK/pdf has a PDF of each article, OUT/LOOK/truth its JATS with the tables that were typeset. Chromium prints the
looks of `_STYLES`, pdflatex those of `_CLASSES` (Debian: texlive-latex-recommended, texlive-publishers,
texlive-fonts-recommended), shrunk to the page's width, without tables that are longer than a page or have signs that
its fonts lack. A look whose program is missing is left out.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
import unicodedata
from html import escape
from pathlib import Path
from xml.etree import ElementTree

_CSS = """@page { size: A4; margin: 22mm } body { font: 10pt serif; text-align: justify } h1 { font-size: 16pt }
table { border-collapse: collapse; font-size: 8.5pt; width: 100%; margin-bottom: 4pt } th { font-weight: normal }
td, th { padding: 2pt 4pt; text-align: left; vertical-align: top } .cap { font-size: 9pt; margin: 12pt 0 4pt } """
_RULED = """table { border-top: .8pt solid; border-bottom: .8pt solid } th[colspan] { text-align: center }
thead tr:last-child th { border-bottom: .5pt solid } """
_STYLES = {
    "rules": _RULED + "th[colspan] { border-bottom: .4pt solid }",
    "grid": "td, th { border: .5pt solid #444; text-align: center } th { font-weight: bold }"
    " body { font-family: sans-serif }",
    "zebra": "tbody tr:nth-child(odd) { background: #eee } thead { border-bottom: .5pt solid }"
    " table { border-top: 1pt solid } td + td, th + th { text-align: right } td { vertical-align: middle }",
    "narrow": _RULED + "body { columns: 2; font-size: 8.5pt } table { font-size: 6.5pt }"
    " td, th { padding: 1pt 2pt } .wide { column-span: all }",
}
"""Chromium's looks: rules as of booktabs, all cells framed, shaded rows, two narrow columns."""
_CLASSES = {
    "article": (r"\documentclass{article}\usepackage[margin=25mm]{geometry}\usepackage{booktabs}", "table", "l"),
    "ieee": (r"\documentclass{IEEEtran}", "table*", "c"),
    "revtex": (r"\documentclass[aps,prl,reprint]{revtex4-2}", "table*", "r"),
}
"""LaTeX looks: preamble, environment of a table, and how columns behind the first stand."""
_MOST_ROWS, _LINE, _MOST_COLUMN = 45, 105, 32
"""Rows of a page; signs of a line in small type, and of a column that is not broken."""
_NARROW = 5
"""Cells of a row that fit one of two columns."""
_SECONDS = 60
_BEFORE = 3
"""Paragraphs of the text before and behind each table."""
_GREEK = {
    unicodedata.lookup(f"GREEK SMALL LETTER {n}"): rf"\ensuremath{{\{n.lower()}}}"
    for n in ["ALPHA", "BETA", "GAMMA", "DELTA", "EPSILON", "THETA", "KAPPA", "MU", "PI", "RHO", "SIGMA", "TAU", "CHI"]
}
_MATHS = {"<": "<", ">": ">", "≤": r"\leq", "≥": r"\geq", "−": "-", "µ": r"\mu", "±": r"\pm", "×": r"\times",
          "→": r"\to", "Δ": r"\Delta", "≈": r"\approx", "∼": r"\sim"}  # fmt: skip
_SIGNS = _GREEK | {c: rf"\{c}" for c in "&%$#_{}"} | {c: rf"\ensuremath{{{t}}}" for c, t in _MATHS.items()} | {
    "\\": r"\textbackslash ", "~": r"\textasciitilde ", "^": r"\textasciicircum ", "′": "'",
    "\u2009": " ", "\u2002": " ", "\u200a": " ", "\u2010": "-",
}  # fmt: skip
_MARKS = {"italic": ("<i>", r"\textit{"), "bold": ("<b>", r"\textbf{"), "sup": ("<sup>", r"\textsuperscript{"),
          "sub": ("<sub>", r"\textsubscript{")}  # fmt: skip


def main() -> None:
    """Typeset each article by each look."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("jats", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--looks", nargs="+", choices=[*_STYLES, *_CLASSES], default=[*_STYLES, *_CLASSES])
    given = arguments.parse_args()
    for look in given.looks:
        program = shutil.which("chromium" if look in _STYLES else "pdflatex")
        for source in sorted(given.jats.glob("*.xml")) if program else ():
            with tempfile.TemporaryDirectory() as folder:
                kept = _typeset(look, ElementTree.parse(source), program, Path(folder))
                if kept:
                    for name in ("pdf", "truth"):
                        (given.out / look / name).mkdir(parents=True, exist_ok=True)
                    shutil.copy(Path(folder) / "paper.pdf", given.out / look / "pdf" / f"{source.stem}.pdf")
                    kept.write(given.out / look / "truth" / source.name, encoding="utf-8")


def _typeset(look: str, article: ElementTree.ElementTree, program: str, folder: Path) -> ElementTree.ElementTree | None:
    """Print an article's tables as ``paper.pdf``; return the article with those tables alone, None without any."""
    web = look in _STYLES
    body = article.find(".//body")
    parents = {child: parent for parent in article.iter() for child in parent}
    text, tables = [p for p in body.iter("p") if not _is_in_table(p, parents)], []
    for wrap in list(article.iter("table-wrap")):
        table = wrap.find(".//table")
        rows = [] if table is None else [list(row) for row in table.iter("tr")]
        made = _html_table(wrap) if web and rows else _tex_table(wrap, look) if rows else None
        if made and len(rows) < (10_000 if web else _MOST_ROWS):
            tables.append(made)
        else:
            parents[wrap].remove(wrap)
    if not tables:
        return None
    pieces = ["<h1>" + _text(article.find(".//article-title"), web) + "</h1>" if web else ""]
    step = max(1, len(text) // len(tables))
    for number, table in enumerate(tables):
        prose = [_text(p, web) for p in text[number * step :][: 2 * _BEFORE]]
        prose = [f"<p>{p}</p>" if web else p for p in prose if p]
        pieces += [*prose[:_BEFORE], table, *prose[_BEFORE:]]
    if web:
        (folder / "paper.html").write_text(f"<meta charset=utf-8><style>{_CSS}{_STYLES[look]}</style>{''.join(pieces)}")
        command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
                   f"--user-data-dir={folder}/profile", "--print-to-pdf=paper.pdf", "paper.html"]  # fmt: skip
    else:
        packages = (
            r"\usepackage{array,textcomp,graphicx}\renewcommand\rmdefault{cmr}\renewcommand\topfraction{.9}\sloppy"
            r"\newcommand\fit[1]{\sbox0{#1}\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi}"
        )
        (folder / "paper.tex").write_text(
            f"{_CLASSES[look][0]}{packages}\\begin{{document}}\n" + "\n\n".join(pieces) + "\n\\end{document}\n"
        )
        command = [program, "-interaction=batchmode", "paper.tex"]
    try:
        subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None
    return article if (folder / "paper.pdf").is_file() else None


def _is_in_table(element: ElementTree.Element, parents: dict[ElementTree.Element, ElementTree.Element]) -> bool:
    while element in parents:
        element = parents[element]
        if element.tag in ("table-wrap", "fig", "boxed-text"):
            return True
    return False


def _text(element: ElementTree.Element | None, web: bool) -> str:
    """Return an element's text as HTML or LaTeX, with slanted, bold, raised and lowered parts."""
    if element is None or element.tag in ("table-wrap", "fig", "graphic", "inline-graphic", "tex-math", "label"):
        return ""
    inner = _written(element.text, web) + "".join(_text(e, web) + _written(e.tail, web) for e in element)
    if element.tag == "break":
        return "<br>" if web else " "
    opened = _MARKS.get(element.tag, ("", ""))[0 if web else 1]
    return f"{opened}{inner}{opened.replace('<', '</') if web else '}'}" if opened and inner.strip() else inner


def _written(text: str | None, web: bool) -> str:
    text = re.sub(r"\s+", " ", text or "")
    return escape(text) if web else "".join(_SIGNS.get(c, c) for c in text)


def _caption(wrap: ElementTree.Element, web: bool) -> tuple[str, str, str]:
    """Return the label, the caption and the notes of a table."""
    label = " ".join("".join(e.itertext()) for e in wrap.findall("label"))
    parts = (_text(wrap.find("caption"), web), " ".join(_text(e, web) for e in wrap.findall("table-wrap-foot")))
    return (_written(label, web), *parts)


def _html_table(wrap: ElementTree.Element) -> str:
    label, caption, notes = _caption(wrap, True)
    table = wrap.find(".//table")
    written = ""
    for part in [e for e in table if e.tag in ("thead", "tbody", "tfoot")] or [table]:
        cell = "th" if part.tag == "thead" else "td"
        rows = ""
        for row in part.iter("tr"):
            rows += "<tr>"
            for c in row:
                spans = "".join(f" {s}={c.get(s)}" for s in ("rowspan", "colspan") if c.get(s, "1") != "1")
                rows += f"<{cell}{spans}>{_text(c, True)}</{cell}>"
            rows += "</tr>"
        written += f"<{'thead' if cell == 'th' else 'tbody'}>{rows}</{'thead' if cell == 'th' else 'tbody'}>"
    wide = max(len(row) for row in table.iter("tr")) > _NARROW
    kind = " class=wide" if wide else ""
    return (
        f"<div{kind}><p class=cap><b>{label}.</b> {caption}</p><table>{written}</table><p class=cap>{notes}</p></div>"
    )


def _tex_table(wrap: ElementTree.Element, look: str) -> str | None:
    """Return a table as LaTeX, long columns broken to fit the page; None if a sign is missing."""
    table = wrap.find(".//table")
    rows, heads, taken = [], sum(1 for h in table.iter("thead") for _ in h.iter("tr")), set()
    for number, row in enumerate(table.iter("tr")):
        cells, column = [], 0
        for cell in row:
            while (number, column) in taken:
                cells.append(("", 1))
                column += 1
            wide, high = int(cell.get("colspan", 1)), int(cell.get("rowspan", 1))
            taken |= {(number + y, column + x) for y in range(1, high) for x in range(wide)}
            cells.append((_text(cell, False).strip(), wide))
            column += wide
        rows.append(cells)
    width = max(sum(w for _, w in cells) for cells in rows)
    lengths = [4] * width
    for cells in rows:
        at = 0
        for text, wide in cells:
            if wide == 1:
                lengths[at] = max(lengths[at], len(re.sub(r"\\\w+|[{}]", "", text)))
            at += wide
    fit = [min(n, _MOST_COLUMN) for n in lengths]
    over = sum(fit) + 3 * width > _LINE
    share = [0.94 * n / sum(fit) for n in fit]
    preamble, environment, stand = _CLASSES[look]
    ruled = ("toprule", "midrule", "bottomrule") if "booktabs" in preamble else ("hline", "hline", "hline")
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{s:.3f}\linewidth}}" if over or n > _MOST_COLUMN else stand if at else "l"
        for at, (n, s) in enumerate(zip(lengths, share, strict=True))
    )
    lines = []
    for number, cells in enumerate(rows):
        at, short, written = 1, "", []
        for text, wide in cells:
            written.append(
                text if wide == 1 else rf"\multicolumn{{{wide}}}{{{'c' if number < heads else 'l'}}}{{{text}}}"
            )
            if 1 < wide < width and number < heads - 1 and text and "booktabs" in preamble:
                short += rf"\cmidrule(lr){{{at}-{at + wide - 1}}}"
            at += wide
        end = rf"\{ruled[1]}" if number == heads - 1 else short
        lines.append(" & ".join(written) + rf" \\ {end}")
    _, caption, notes = _caption(wrap, False)
    size = r"\footnotesize" if not over else r"\scriptsize\setlength\tabcolsep{3pt}"
    double = rf"\{ruled[0]}" * (2 if look == "revtex" else 1)
    made = (
        rf"\begin{{{environment}}}[tbp]\centering\caption{{{caption}}}{size}\fit{{\begin{{tabular}}{{{columns}}}{double}"
        + "\n" + "\n".join(lines) + rf"\{ruled[2]}\end{{tabular}}}}\par {notes}\end{{{environment}}}"
    )  # fmt: skip
    return made if made.isascii() or all(ord(c) < 0x180 or c in "–—‘’“”†‡" for c in made) else None


if __name__ == "__main__":
    main()
