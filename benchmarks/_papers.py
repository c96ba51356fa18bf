"""The ground truth of papers for `benchmarks.parsing`: headings, abstract and body text from JATS, LaTeX or
Markdown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from scirgen.stages.parse.xmlread import read_xml

_SEC_TYPES = (
    ("intro", "abstract_introduction"),
    ("materials", "method"),
    ("methods", "method"),
    ("results", "experiment"),
    ("discussion", "experiment"),
    ("conclusions", "conclusion"),
    ("conclusion", "conclusion"),
    ("supplementary-material", "none"),
    ("data-availability", "none"),
    ("ack", "none"),
    ("coi-statement", "none"),
)


@dataclass
class Truth:
    """The known structure of a paper. ``sec_types``: heading text -> section class its publisher marked it with;
    ``kinds``: outermost heading -> the class that somebody gave it by hand, "?" where none fits."""

    name: str
    title: str
    abstract: str
    headings: list[tuple[int, str]]
    back: list[str]
    missing: set[str]
    body: list[str] = field(default_factory=list)
    sec_types: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


def load_truths(data: Path) -> list[Truth]:
    """All papers of ``headings.json`` that have a PDF, in its order."""
    known = json.loads((data / "headings.json").read_text(encoding="utf-8"))
    found = []
    for name, entry in known.items():
        if not (data / "pdf" / f"{name}.pdf").is_file():
            continue
        truth = Truth(
            name,
            entry.get("title") or "",
            re.sub(
                r"^(?:abstract|resumo|resumen|summary)[\s.:]*(?=[A-ZÀ-Þ])", "", entry.get("abstract") or "", flags=re.I
            ),
            [(int(level), text) for level, text in entry.get("headings", [])],
            list(entry.get("back", [])),
            set(entry.get("missing", [])),
            kinds=dict(entry.get("kinds", [])),
        )
        _read_body(truth, data / "truth", name)
        found.append(truth)
    return found


def _read_body(truth: Truth, folder: Path, name: str) -> None:
    for suffix, read in ((".xml", _jats), (".tex", _latex), (".md", _markdown), (".Rmd", _markdown)):
        path = folder / f"{name}{suffix}"
        if path.is_file():
            read(truth, path.read_text(encoding="utf-8", errors="replace"))
            return


def _jats(truth: Truth, text: str) -> None:
    root = read_xml(text.encode())
    body = root.find(".//body")
    if body is None:
        return
    for section in root.iter("sec"):
        kind = (section.get("sec-type") or "").split("|")[0].lower()
        title = section.find("title")
        label = next((value for key, value in _SEC_TYPES if kind == key or kind.startswith(key)), None)
        if title is not None and label:
            truth.sec_types[" ".join("".join(title.itertext()).split())] = label
    truth.body = _pieces([_text(p) for p in _paragraphs(body)])


_GAP = " \u2029 "
"""Stands where the source has a citation, a formula or a command: what is printed there, the truth does not know."""


def _pieces(paragraphs: list[str]) -> list[str]:
    return [" ".join(piece.split()) for p in paragraphs for piece in p.split("\u2029") if len(piece.split()) >= 5]


_NOT_PROSE = {
    "fig",
    "table-wrap",
    "disp-formula",
    "tex-math",
    "ref-list",
    "fn-group",
    "supplementary-material",
    "caption",
}


def _paragraphs(element: Element) -> list[Element]:
    found = []
    for child in element:
        if child.tag == "p":
            found.append(child)
        elif child.tag not in _NOT_PROSE and isinstance(child.tag, str):
            found += _paragraphs(child)
    return found


def _text(element: Element) -> str:
    parts = [element.text or ""]
    for child in element:
        marks = child.tag == "sup" and any(x.get("ref-type") == "bibr" for x in child.iter("xref"))
        if isinstance(child.tag, str) and child.tag not in _NOT_PROSE and not marks:
            parts.append(_text(child))
        else:
            parts.append(_GAP if child.tag in ("disp-formula", "tex-math") else " ")
        parts.append(child.tail or "")
    return "".join(parts)


_ENVIRONMENTS = (
    r"figure\*?|table\*?|longtable|tabular|equation\*?|align\*?|abstract|keyword|frontmatter|thebibliography|minipage"
)


def _latex(truth: Truth, text: str) -> None:
    body = text.split(r"\begin{document}", 1)[-1]
    body = re.sub(r"(?<!\\)%.*", "", body)
    body = re.sub(rf"\\begin\{{({_ENVIRONMENTS})\}}.*?\\end\{{\1\}}", "\n\n", body, flags=re.S)
    body = re.sub(r"\\footnote\{(?:[^{}]|\{[^{}]*\})*\}", "", body)
    body = re.sub(
        r"\\(?:\w*cite\w*|\w*ref|label|bibliography\w*|hypertarget|includegraphics|url|href)(?:\[[^]]*\])*\{[^{}]*\}",
        _GAP,
        body,
    )
    body = re.sub(r"\$[^$]{1,400}\$|\\\(.*?\\\)|\\(?:ce|SI|si|num|unit)\{[^{}]*\}(?:\{[^{}]*\})?", _GAP, body)
    body = re.sub(r"\\(?:sub)*section\*?\{(?:[^{}]|\{[^{}]*\})*\}", "\n\n", body)
    body = re.sub(r"\\(?:begin|end)\{[^}]*\}(?:\[[^]]*\])?", "\n\n", body)
    body = re.sub(r"\\(?:textbf|textit|emph|textsc|texttt|text|footnotesize|small|it|bf|em)\b\*?", " ", body)
    body = re.sub(r"\\[a-zA-Z]+\*?(?:\[[^]]*\])?", _GAP, body)
    body = re.sub(r"[{}~$&]|``|''", " ", body)
    truth.body = _pieces([p for p in re.split(r"\n\s*\n", body) if len(p.split()) > 5])


def _markdown(truth: Truth, text: str) -> None:
    truth.missing |= set(re.findall(r"^\*\*([^*\n]{3,140})\*\*", text, re.M))  # bold leads: headings or not
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    body = re.sub(r"^```.*?^```", "", body, flags=re.S | re.M)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r"!\[[^\]]*\]\([^)]*\)(?:\{[^}]*\})?", "", body)
    body = re.sub(r"\[([^\]@]+)\]\([^)]*\)", r"\1", body)
    body = re.sub(r"\[[^\]]*@[^\]]*\]|@[\w:-]+|`r [^`]*`|\\@ref\([^)]*\)|\$[^$]{1,400}\$", _GAP, body)
    body = re.sub(r"<[^>]+>|\\\w+", _GAP, body)
    kept = []
    for paragraph in re.split(r"\n\s*\n", body):
        lines = [line for line in paragraph.splitlines() if not line.lstrip().startswith(("#", "|", "(ref:"))]
        text_ = re.sub(r"[*_`^]", "", " ".join(lines))
        if len(text_.split()) > 5:
            kept.append(text_)
    truth.body = _pieces(kept)
