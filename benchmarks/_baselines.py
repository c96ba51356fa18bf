"""The parsers that `benchmarks.parsing` compares with: pymupdf4llm's Markdown and the readers' plain text, each read
with the plainest rules."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

_LABEL = re.compile(r"^\W*(?:a\s?b\s?s\s?t\s?r\s?a\s?c\s?t|resumo|resumen|summary)\b\W*", re.I)
_STOP = re.compile(
    r"^\W*(?:\d+\W+)?(?:introduction|introdução|introducción|key\s?words?|palavras.chave|palabras.clave)\b", re.I
)
_NUMBERED = re.compile(r"^\d{1,2}(?:\.\d{1,2}){0,3}\.?\s+[A-Z][^.]{2,80}$")
_NAMES = re.compile(
    r"^(?:abstract|introduction|background|materials? and methods|methods?|results|discussion"
    r"|results and discussion|conclusions?"
    r"|acknowledge?ments?|references|introdução|materiais e métodos|resultados|discussão|resultados e discussão"
    r"|conclusão"
    r"|introducción|metodología|discusión|conclusi[oó]n(?:es)?|referencias)$",
    re.I,
)


@dataclass
class Extract:
    """A parser's result for one paper, in the form in which it is scored."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    abstract: str = ""
    body: str = ""
    pages: int = 0
    labels: list[tuple[str, str, str]] = field(default_factory=list)
    seconds: float = 0.0


def pymupdf4llm_markdown(path: Path) -> Extract:
    """``pymupdf4llm.to_markdown`` with its defaults; its headings are the lines it marks with #."""
    import pymupdf
    import pymupdf4llm

    with contextlib.redirect_stdout(io.StringIO()):
        text = pymupdf4llm.to_markdown(str(path), show_progress=False)
    lines = [line.strip() for line in text.splitlines()]
    headings = [
        (len(m.group(1)), re.sub(r"[*_`]", "", m.group(2)).strip())
        for line in lines
        if (m := re.match(r"^(#{1,6})\s+(.*)", line))
    ]
    prose = [re.sub(r"[*_`]|^#+\s*", "", line) for line in lines if not line.startswith("|")]
    with pymupdf.open(path) as document:
        pages = document.page_count
    return Extract(headings, _abstract(prose), "\n".join(prose), pages)


def pymupdf_text(path: Path) -> Extract:
    """``page.get_text()`` of PyMuPDF."""
    import pymupdf

    with pymupdf.open(path) as document:
        return _plain([page.get_text() for page in document])


def pdfium_text(path: Path) -> Extract:
    """``get_text_bounded()`` of pypdfium2."""
    import pypdfium2

    return _plain([page.get_textpage().get_text_bounded() for page in pypdfium2.PdfDocument(path)])


def _plain(texts: list[str]) -> Extract:
    """A paper's plain text; its headings are the lines that are a usual section name or are numbered like one."""
    pages = len(texts)
    lines = [line.strip() for text in texts for line in text.splitlines()]
    headings = [(line.split(" ")[0].count(".") + 1, line) for line in lines if _NUMBERED.match(line)]
    headings = [(1, line) if _NAMES.match(line) else (lvl, line) for lvl, line in headings]
    named = [(1, line) for line in lines if _NAMES.match(line)]
    order = {id(line): i for i, line in enumerate(lines)}
    both = sorted([*headings, *named], key=lambda h: order.get(id(h[1]), 0))
    return Extract(both, _abstract(lines), "\n".join(lines), pages)


def _abstract(lines: list[str]) -> str:
    """From the label of the abstract to the introduction, the keywords, or 400 words."""
    for index, line in enumerate(lines[:400]):
        match = _LABEL.match(line)
        if not match:
            continue
        taken = [line[match.end() :]]
        for following in lines[index + 1 :]:
            if _STOP.match(following) or following.startswith("#") or sum(len(t.split()) for t in taken) > 400:
                break
            taken.append(following)
        return " ".join(taken)
    return ""


BASELINES: dict[str, Callable[[Path], Extract]] = {
    "pymupdf4llm": pymupdf4llm_markdown, "pymupdf_text": pymupdf_text, "pdfium_text": pdfium_text,
}  # fmt: skip
