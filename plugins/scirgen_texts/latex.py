"""Reads papers in LaTeX source as blocks, with pylatexenc, which runs nothing, opens no other file and expands no
macro."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db
from pylatexenc.latexwalker import LatexWalker, LatexWalkerParseError
from pylatexenc.latexwalker import get_default_latex_context_db as walker_context
from pylatexenc.macrospec import EnvironmentSpec, MacroSpec, VerbatimArgsParser

from scirgen import BlockKind, PaperError, ParsedBlock, ParsedPaper
from scirgen.stages.parse.assemble import abstract_of, clean, mark_references, set_levels
from scirgen.stages.parse.grid import GivenCell, table_block

_SECTIONS: Final = {"part": 0, "chapter": 0, "section": 1, "subsection": 2, "subsubsection": 3, "paragraph": 4}
_NAMED: Final = {
    "introduction": "Introduction", "conclusions": "Conclusions", "authorcontribution": "Author contributions",
    "competinginterests": "Competing interests", "codeavailability": "Code availability",
    "dataavailability": "Data availability", "codedataavailability": "Code and data availability",
    "acknowledgments": "Acknowledgments", "acknowledgements": "Acknowledgements",
}  # fmt: skip
"""Commands of publishers' classes (Copernicus, AMS, AGU) that print a heading of their own."""
_FLOATS: Final = frozenset(
    {"figure", "figure*", "table", "table*", "wrapfigure", "sidewaystable", "longtable", "algorithm", "SCfigure"}
)
_SKIP: Final = re.compile(r"^\[-?[\d.]+ ?(?:ex|em|pt|mm|cm|in)\]\s*")
"""The space that a row's end asks for, if a blank parts it from the end."""
_TABULARS: Final = frozenset({"tabular", "tabular*", "tabularx", "tabulary", "longtable"})
_RULES: Final = frozenset({
    "hline", "toprule", "midrule", "bottomrule", "tophline", "middlehline", "bottomhline", "Xhline",
})  # fmt: skip
_LONG: Final = frozenset({"endhead", "endfirsthead", "endfoot", "endlastfoot"})
_PART_RULE: Final = re.compile(
    r"\\c(?:mid)?(?:rule|line)(?:\([^)]*\))?(?:\[[^\]]*\])?\{[^}]*\}|\\addlinespace(?:\[[^\]]*\])?"
)
_EQUATIONS: Final = frozenset({
    "equation", "equation*", "align", "align*", "eqnarray", "eqnarray*", "gather", "gather*", "multline", "displaymath",
})  # fmt: skip
_LISTS: Final = frozenset({"itemize", "enumerate", "description"})
_SKIPPED: Final = frozenset(
    {"comment", "lstlisting", "verbatim", "minted", "tikzpicture", "filecontents", "filecontents*"}
)


def _forms(commands: dict[str, str]) -> dict[str, str]:
    """Return the form of each command's arguments, in pylatexenc's signs (``[`` is optional, ``{`` is not)."""
    return {name: form for form, names in commands.items() for name in names.split()}


_SILENT: Final = _forms({
    "": "linenumbers maketitle",
    "{": "bibliography bibliographystyle date email graphicspath hypertarget include index input keywords label"
    " linespread markright nocite orcid pagestyle phantom setstretch thanks theoremstyle thispagestyle",
    "*{": "enlargethispage hspace vspace",
    "[": "footnotemark",
    "[{": "affiliation author captionsetup footnote footnotetext marginpar todo",
    "*[[{": "includegraphics",
    "{{": "addtocounter fontsize markboth numberwithin",
    "[{{": "pdfbookmark rule",
    "{{{": "addcontentsline",
    "*{[{[": "newtheorem",
})  # fmt: skip
"""Commands that print nothing in the text."""
_PRINTED: Final = _forms({
    "{": "citetext fbox mbox st textmd textsf texttt textup uline",
    "[{": "hyperref lstinline",
    "{{": "adjustbox foreignlanguage href hyperlink",
    "[{{": "rotatebox",
    "[[{": "framebox makebox",
    "{[{": "scalebox",
    "{[[{": "raisebox",
    "*{{{": "resizebox",
    "[[[{{": "parbox",
})  # fmt: skip
"""Commands that print their last argument."""
_OPENED: Final = _forms({
    "{": "adjustbox spacing", "{[": "multicols", "[{": "longtable subfigure subtable", "{{": "tabulary",
    "*{{": "adjustwidth", "{[{": "tabular* tabularx", "[{[{": "wrapfigure wraptable", "[[[{": "minipage",
})  # fmt: skip
"""Environments that begin with arguments."""
_CITES: Final = (
    "autocite", "cite", "citealp", "citealt", "citeauthor", "citep", "citet", "citeyear", "citeyearpar", "Citep",
    "Citet", "parencite", "textcite",
)  # fmt: skip
_UNITS: Final = {
    "ampere": "A", "becquerel": "Bq", "celsius": "°C", "centi": "c", "cubed": "^3", "day": "d", "deci": "d",
    "degree": "°", "degreeCelsius": "°C", "electronvolt": "eV", "giga": "G", "gram": "g", "hectare": "ha",
    "hecto": "h", "hertz": "Hz", "hour": "h", "joule": "J", "kelvin": "K", "kilo": "k", "kilogram": "kg", "liter": "L",
    "litre": "L", "mega": "M", "meter": "m", "metre": "m", "micro": "µ", "milli": "m", "minute": "min", "molar": "M",
    "mole": "mol", "nano": "n", "newton": "N", "ohm": "Ω", "pascal": "Pa", "per": "/", "percent": "%", "pico": "p",
    "second": "s", "siemens": "S", "squared": "^2", "tesla": "T", "tonne": "t", "volt": "V", "watt": "W",
}  # fmt: skip
"""Commands of siunitx, as they print."""
_POWERS: Final = {"cubic": "^3", "square": "^2"}
"""Commands of siunitx that raise the unit behind them."""
_BEFORE_UNITS: Final = frozenset(
    {
        "centi",
        "cubed",
        "deci",
        "giga",
        "hecto",
        "kilo",
        "mega",
        "micro",
        "milli",
        "nano",
        "per",
        "pico",
        "squared",
        "tothe",
    }
)
"""Commands of siunitx that need a unit beside them."""
_MAX_DEPTH: Final = 30
_COMMENT: Final = re.compile(r"(?<!\\)%.*")


def parse_latex(source: str) -> ParsedPaper:
    """Return the blocks of a LaTeX document; they have no pages and boxes.

    Raises:
        PaperError: ``no_text`` if it holds no prose, ``damaged`` if pylatexenc cannot read it.
    """
    found = re.search(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", source, re.S)
    reader = _Reader()
    try:
        # In some classes, title and abstract are before \begin{document}.
        head = list(reader.front(source[: found.start()])) if found else []
        body = list(reader.read(found.group(1) if found else source))
    except (LatexWalkerParseError, RecursionError, IndexError, AttributeError, TypeError) as error:
        raise PaperError(
            f"the LaTeX cannot be read: {error}"[:300], hint="Give the paper as PDF.", code="damaged"
        ) from error
    blocks = [b for b in [*head, *body] if b.text]
    if not any(b.kind is BlockKind.PARAGRAPH for b in blocks):
        raise PaperError("the file contains no text", code="no_text")
    set_levels(blocks)
    mark_references(blocks)
    title = next((b.text for b in blocks if b.kind is BlockKind.TITLE), "")
    return ParsedPaper(title=title, abstract=abstract_of(blocks), parser="latex/2", blocks=tuple(blocks))


class _Reader:
    """Turns nodes into blocks; a node that is not structure is text."""

    def __init__(self) -> None:
        self._context = walker_context()
        taken = (
            _SILENT | _PRINTED | {"abstract": "{", "bibitem": "[{", "ce": "{", "texorpdfstring": "{{", "Xhline": "{"}
        )
        taken |= {"SI": "[{[{", "SIrange": "[{{{", "qty": "[{{", "si": "[{", "unit": "[{"}
        taken |= {"multicolumn": "{{{", "multirow": "[{[{[{"} | dict.fromkeys(("caption", *_SECTIONS, "title"), "*[{")
        macros = [MacroSpec(name, form) for name, form in taken.items()]
        macros.append(MacroSpec("verb", args_parser=VerbatimArgsParser("verb-macro")))
        opened = [EnvironmentSpec(name, form) for name, form in _OPENED.items()]
        self._context.add_context_category("papers", macros=macros, environments=opened, prepend=True)
        context = get_default_latex_context_db()
        shown = [
            *(MacroTextSpec(name, simplify_repl="") for name in _SILENT),
            *(MacroTextSpec(name, simplify_repl=_last) for name in _PRINTED),
            *(MacroTextSpec(name, simplify_repl=_cited) for name in _CITES),
            *(MacroTextSpec(name, simplify_repl=_named) for name in ("ref", "eqref", "cref", "Cref", "autoref")),
            *(MacroTextSpec(name, simplify_repl=_quantity) for name in ("SI", "SIrange", "qty", "si", "unit")),
            MacroTextSpec("verb", simplify_repl=_verbatim),
            MacroTextSpec("texorpdfstring", simplify_repl=_first),
        ]
        context.add_context_category("papers", macros=shown, prepend=True)
        self._text = LatexNodes2Text(latex_context=context, math_mode="text", strict_latex_spaces=False)

    def read(self, source: str) -> Iterator[ParsedBlock]:
        yield from self._blocks(self._nodes(source), 0)

    def front(self, source: str) -> Iterator[ParsedBlock]:
        """Yield the title and abstract, if they are before the body, as in some classes."""
        for node in self._nodes(source):
            macro = getattr(node, "macroname", None)
            if macro == "title":
                yield from self._heading(node, macro)
            elif macro == "abstract":
                yield from self._abstract(_argument(node), 0)

    def _nodes(self, source: str) -> Sequence[Any]:
        walker = LatexWalker(
            _PART_RULE.sub("", _COMMENT.sub("", source)), tolerant_parsing=True, latex_context=self._context
        )
        return list(walker.get_latex_nodes()[0])

    def _blocks(self, nodes: Sequence[Any], depth: int) -> Iterator[ParsedBlock]:
        if depth > _MAX_DEPTH:
            raise PaperError("the LaTeX is nested too deeply", code="damaged")
        held: list[Any] = []
        for node in nodes:
            made = self._structure(node, depth)
            if made is None:
                held.append(node)
                continue
            yield from self._paragraphs(held)
            held = []
            yield from made
        yield from self._paragraphs(held)

    def _structure(self, node: Any, depth: int) -> Iterator[ParsedBlock] | None:
        """Yield the blocks of a node that is structure; None if it is part of a paragraph."""
        macro, environment = getattr(node, "macroname", None), getattr(node, "environmentname", None)
        if macro in _SECTIONS or macro == "title":
            return self._heading(node, macro)
        if macro == "abstract":
            return self._abstract(_argument(node), depth)
        if macro in _NAMED:
            return iter([ParsedBlock(kind=BlockKind.HEADING, text=_NAMED[macro], level=1)])
        if environment is None:
            inner = node.nodelist if type(node).__name__ == "LatexGroupNode" else []
            sections = any(
                getattr(n, "macroname", None) in _SECTIONS for n in inner
            )  # pandoc: \hypertarget{x}{\section{...}}
            return self._blocks(inner, depth + 1) if sections else None
        if environment == "abstract":
            return self._abstract(node.nodelist, depth)
        if environment in _NAMED:
            heading = ParsedBlock(kind=BlockKind.HEADING, text=_NAMED[environment], level=1)
            return chain([heading], self._blocks(node.nodelist, depth + 1))
        if environment in _SKIPPED:
            return iter(())
        if environment in _FLOATS:
            return self._float(node)
        if environment in _TABULARS:
            return iter([self._table(node.nodelist)])
        if environment in _EQUATIONS:
            return iter([ParsedBlock(kind=BlockKind.EQUATION, text=self.text([node]))])
        if environment in _LISTS:
            return self._items(node.nodelist)
        if environment == "thebibliography":
            return self._references(node.nodelist)
        return self._blocks(node.nodelist, depth + 1)

    def _heading(self, node: Any, macro: str) -> Iterator[ParsedBlock]:
        text = self.text(_argument(node))
        if macro == "title":
            yield ParsedBlock(kind=BlockKind.TITLE, text=text)
        else:
            yield ParsedBlock(kind=BlockKind.HEADING, text=text.rstrip(".:"), level=max(1, _SECTIONS[macro]))

    def _abstract(self, nodes: Sequence[Any], depth: int) -> Iterator[ParsedBlock]:
        yield ParsedBlock(kind=BlockKind.HEADING, text="Abstract", level=1)
        yield from self._blocks(nodes, depth + 1)

    def _captions(self, nodes: Sequence[Any]) -> Iterator[ParsedBlock]:
        for node in nodes:
            environment = getattr(node, "environmentname", None)
            if getattr(node, "macroname", None) == "caption":
                yield ParsedBlock(kind=BlockKind.CAPTION, text=self.text(_argument(node)))
            elif environment in _TABULARS:
                yield self._table(node.nodelist)
            elif environment or type(node).__name__ == "LatexGroupNode":
                yield from self._captions(node.nodelist)
            elif getattr(node, "macroname", None) in _PRINTED:
                yield from self._captions(_argument(node))

    def _float(self, node: Any) -> Iterator[ParsedBlock]:
        """Yield the captions of a float and its tables, a single caption before its table."""
        found = list(self._captions(node.nodelist))
        if node.environmentname in _TABULARS:  # a long table holds its caption
            found.append(self._table(node.nodelist))
        return iter(sorted(found, key=lambda b: b.kind is BlockKind.TABLE) if len(found) == 2 else found)

    def _table(self, nodes: Sequence[Any]) -> ParsedBlock:
        """Return the block of a table; rows above the second rule are its header."""
        rows: list[list[GivenCell]] = []
        held: list[Any] = []
        row: list[GivenCell] = []
        rules: list[int] = []
        below: dict[int, tuple[int, int]] = {}  # column -> rows that a cell above still covers, and its columns
        for node in [*nodes, None]:
            macro = getattr(node, "macroname", None)
            if macro in _RULES:
                rules.append(len(rows))
            elif macro in ("caption", "label", *_LONG):
                continue
            elif getattr(node, "specials_chars", None) == "&":
                row.append(self._cell(held))
                held = []
            elif macro in ("\\", "tabularnewline") or node is None:
                row.append(self._cell(held))
                if held or len(row) > 1:
                    rows.append(_uncovered(row, below))
                held, row = [], []
            else:
                held.append(node)
        inner = sorted({n for n in rules if 0 < n < len(rows)})
        return table_block(rows, inner[0] if inner and len(rules) > 1 else None)

    def _cell(self, nodes: Sequence[Any]) -> GivenCell:
        height = width = 1
        parts = list(nodes)
        for _ in range(2):  # \multicolumn{2}{c}{\multirow{2}{*}{text}}
            spanning = next((n for n in parts if getattr(n, "macroname", None) in ("multicolumn", "multirow")), None)
            if spanning is None:
                break
            given = [a for a in spanning.nodeargd.argnlist if a is not None]
            stated = re.sub(r"\D", "", given[0].latex_verbatim())[:4] if given else ""
            if spanning.macroname == "multicolumn":
                width = int(stated or 1)
            else:
                height = int(stated or 1)
            parts = list(getattr(given[-1], "nodelist", [given[-1]])) if given else []
        return GivenCell(_SKIP.sub("", self.text(parts)), height, width)

    def _items(self, nodes: Sequence[Any]) -> Iterator[ParsedBlock]:
        for item in _split_at(nodes, "item"):
            yield ParsedBlock(kind=BlockKind.LIST_ITEM, text=self.text(item))

    def _references(self, nodes: Sequence[Any]) -> Iterator[ParsedBlock]:
        yield ParsedBlock(kind=BlockKind.HEADING, text="References", level=1)
        for entry in _split_at(nodes, "bibitem"):
            yield ParsedBlock(kind=BlockKind.REFERENCE, text=self.text(entry))

    def _paragraphs(self, nodes: Sequence[Any]) -> Iterator[ParsedBlock]:
        if not nodes:
            return
        for part in re.split(r"\n\s*\n", self._text.nodelist_to_text(list(nodes))):
            text = clean(" ".join(part.split()))
            if sum(c.isalpha() for c in text) > 1:
                yield ParsedBlock(kind=BlockKind.PARAGRAPH, text=text)

    def text(self, nodes: Sequence[Any]) -> str:
        """Return the nodes as one line of plain text."""
        return clean(" ".join(self._text.nodelist_to_text(list(nodes)).split()))


def _uncovered(row: Sequence[GivenCell], below: dict[int, tuple[int, int]]) -> list[GivenCell]:
    """Return the cells of a row without the empty ones that LaTeX writes under a cell that covers several rows."""
    kept: list[GivenCell] = []
    column = 0
    for cell in row:
        left, width = below.get(column, (0, 1))
        if left and not cell.text:
            below[column] = (left - 1, width)
        else:
            below.pop(column, None)
            kept.append(replace(cell, rows=1) if left else cell)
            if cell.rows > 1:
                below[column] = (cell.rows - 1, cell.columns)
        column += cell.columns
    return kept


def _argument(node: Any) -> list[Any]:
    """Return the last braced argument of a macro."""
    return [a for a in (node.nodeargd.argnlist if node.nodeargd else []) if a is not None][-1:]


def _keys(node: Any) -> str:
    """Return the argument as it is written."""
    return "".join(a.latex_verbatim().strip("{}") for a in _argument(node))


def _cited(node: Any, **_: Any) -> str:
    return f"[{_keys(node)}]"


def _last(node: Any, l2tobj: Any) -> str:
    return str(l2tobj.nodelist_to_text(_argument(node)))


def _first(node: Any, l2tobj: Any) -> str:
    return str(l2tobj.nodelist_to_text(node.nodeargd.argnlist[:1]))


def _quantity(node: Any, l2tobj: Any) -> str:
    """Return a number, or the two ends of a range, and the unit."""
    given = [a for a in node.nodeargd.argnlist if a is not None]
    if any(type(a).__name__ != "LatexGroupNode" for a in given) or not given:  # another package's command
        return str(l2tobj.nodelist_to_text(given))
    *numbers, unit = [a for a in given if a.delimiters[0] == "{"]
    ends = " to ".join(str(l2tobj.nodelist_to_text([a])).strip() for a in numbers)
    return f"{ends} {_unit(unit.nodelist, l2tobj)}".strip()


def _unit(nodes: Sequence[Any], l2tobj: Any) -> str:
    """Return a unit of siunitx as it prints, with the names of commands that are not known."""
    text = power = ""
    for node in nodes:
        name = getattr(node, "macroname", "")
        if name in _POWERS:
            power = _POWERS[name]
            continue
        if name == "tothe":
            text += "^"
        else:
            text += _UNITS.get(name, name) if name.isalpha() else str(l2tobj.nodelist_to_text([node]))
        if name.isalpha() and name not in _BEFORE_UNITS:
            text, power = text + power, ""
    return text


def _verbatim(node: Any, **_: Any) -> str:
    return str(node.nodeargd.verbatim_text) if node.nodeargd else ""


def _named(node: Any, **_: Any) -> str:
    return _keys(node).rpartition(":")[2]


def _split_at(nodes: Sequence[Any], macro: str) -> Iterator[list[Any]]:
    """Yield the nodes after each macro of a name, up to the next one."""
    part: list[Any] | None = None
    for node in nodes:
        if getattr(node, "macroname", None) == macro:
            if part is not None:
                yield part
            part = []
        elif part is not None:
            part.append(node)
    if part is not None:
        yield part
