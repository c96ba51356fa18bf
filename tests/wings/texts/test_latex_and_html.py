"""LaTeX sources and HTML pages as papers."""

from pathlib import Path

import pytest

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind
from scirgen.core.registry import load_registry
from scirgen.stages.parse.base import ParsedPaper, ParserOptions
from scirgen.stages.parse.process.worker import presentable
from scirgen.stages.parse.sniff import sniff
from scirgen.stages.parse.stage import choose_parser
from scirgen.stages.parse.text import TextParser
from scirgen_texts.parsers import HtmlParser, LatexParser

LATEX = (
    r"""% a comment with \section{Nothing}
\documentclass{article}
\title{Ice on \emph{small} lakes}
\begin{document}
\maketitle
\begin{abstract}
Ice leaves 3~days earlier per decade, in 40\,\% of lakes.
\end{abstract}
\section{Introduction}\label{sec:intro}
Lakes freeze \citep{Smith2020,Lee2021}. The \'Ecrins are cold, see Fig.~\ref{fig:map}.

A second paragraph has $T < 0$ in it.
\begin{figure}\includegraphics{map}\caption{Where the lakes are}\end{figure}
\subsection*{Study area}
\begin{itemize}\item 12 lakes \item two rivers\end{itemize}
\begin{equation} y = a x + b \label{eq:one}\end{equation}
\input{/etc/passwd}
\begin{thebibliography}{9}\bibitem{Smith2020} Smith, J.: Lakes, 2020."""
    r"""\bibitem{Lee2021} Lee, K.: Ice, 2021.\end{thebibliography}
\end{document}
"""
)
PROSE = "Lakes of the north freeze in November and their ice leaves in May, which has changed since records began. " * 4
HTML = f"""<!DOCTYPE html><html lang="en"><head><title>x</title><meta name="citation_title" content="Ice on lakes">\
</head><body>
<nav><ul><li>Home</li></ul></nav><script>alert("no")</script>
<article><h1>Ice on lakes</h1><h2>Abstract</h2><p>{PROSE}</p><h2>1. Introduction</h2><p>{PROSE}</p><p>{PROSE}</p>
<h3>1.1 Aims</h3><p>{PROSE}</p><figure><img src="a"><figcaption>Figure 1. Lakes.</figcaption></figure>
<table><caption>Table 1. Sites</caption><tr><th>Site</th><th>n</th></tr><tr><td>A</td><td>3</td></tr></table>
<h2>Methods</h2><p>{PROSE}</p><ul><li>one lake</li><li>two rivers</li></ul><p>{PROSE}</p><p>{PROSE}</p><p>{PROSE}</p>
<h2>References</h2><ol><li>Smith, J. Lakes. 2020. doi:10.1/x</li></ol></article><footer><p>Cookies</p></footer></body>\
</html>"""


def _parsed(tmp_path: Path, name: str, text: str) -> ParsedPaper:
    (tmp_path / name).write_text(text, encoding="utf-8")
    parser = HtmlParser() if name.endswith(".html") else LatexParser()
    return parser.parse(tmp_path / name, ParserOptions())


def _of(parsed: ParsedPaper, kind: BlockKind) -> list[str]:
    return [b.text for b in parsed.blocks if b.kind is kind]


def test_latex_has_title_abstract_and_headings_with_levels(tmp_path: Path) -> None:
    parsed = _parsed(tmp_path, "paper.tex", LATEX)
    assert parsed.title == "Ice on small lakes"
    assert parsed.abstract == "Ice leaves 3 days earlier per decade, in 40 % of lakes."
    heads = [(b.level, b.text) for b in parsed.blocks if b.kind is BlockKind.HEADING]
    assert heads == [(1, "Abstract"), (1, "Introduction"), (2, "Study area"), (1, "References")]


def test_latex_text_is_what_a_reader_sees(tmp_path: Path) -> None:
    parsed = _parsed(tmp_path, "paper.tex", LATEX)
    first, second = _of(parsed, BlockKind.PARAGRAPH)[1:3]
    assert first == "Lakes freeze [Smith2020,Lee2021]. The Écrins are cold, see Fig. map."
    assert second == "A second paragraph has T < 0 in it."
    assert _of(parsed, BlockKind.CAPTION) == ["Where the lakes are"]
    assert _of(parsed, BlockKind.LIST_ITEM) == ["12 lakes", "two rivers"]
    assert _of(parsed, BlockKind.REFERENCE) == ["Smith, J.: Lakes, 2020.", "Lee, K.: Ice, 2021."]


def test_latex_commands_print_their_text_and_nothing_else(tmp_path: Path) -> None:
    source = r"""\documentclass{article}\title{A title}\begin{document}
\section{The package \texttt{spam}}
We ran \verb|chol(x)| of \textsf{R}\index{silent} on \SI{2.5}{\kilo\gram\per\metre\squared},\hspace{1cm}
see \hyperref[sec:x]{the end},
\texorpdfstring{all}{none} of it\nocite{key}, \makebox[2cm]{boxed} and \Citet{author2001}.
\begin{minipage}[t]{3cm}A column of text.\end{minipage}
\begin{table}\caption{Values}\resizebox{\textwidth}{!}{\begin{tabular}{lr}\hline
Name & Value \\ \hline \texttt{alpha} & 1 \\ [0.3ex] \texttt{beta} & 2 \\ \hline\end{tabular}}\end{table}
\addcontentsline{toc}{section}{silent}\end{document}"""
    parsed = _parsed(tmp_path, "paper.tex", source)
    assert _of(parsed, BlockKind.HEADING) == ["The package spam"]
    assert _of(parsed, BlockKind.PARAGRAPH) == [
        "We ran chol(x) of R on 2.5 kg/m^2, see the end, all of it, boxed and [author2001].", "A column of text.",
    ]  # fmt: skip
    (table,) = _of(parsed, BlockKind.TABLE)
    assert "alpha" in table and "| beta" in table


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\SI{1000}{\kilo\gram\per\cubic\metre}", "1000 kg/m^3"),
        (r"\SI{5}{\square\kilo\metre}", "5 km^2"),
        (r"\SI{2}{\metre\tothe{4}}", "2 m^4"),
        (r"\SI{5}{\bar}", "5 bar"),
        (r"\SI{3}{kg/m}", "3 kg/m"),
        (r"\SI{3}{\m\per\s}", "3 m/s"),
        (r"\SIrange{1}{2}{\metre}", "1 to 2 m"),
        (r"\si{\degreeCelsius}", "°C"),
        (r"\qty{34}{\kilo\gram} per \unit{m\,s^{-1}}", "34 kg per m s^-1"),
        (r"$\qty(a+b)$", "(a+b)"),
        (r"\lstinline{foo()} and \lstinline[language=C]{bar()}, see \textbf{bold}", "foo() and bar(), see bold"),
    ],
)
def test_latex_quantities_and_code_read_as_they_print(tmp_path: Path, source: str, shown: str) -> None:
    parsed = _parsed(
        tmp_path, "paper.tex", rf"\documentclass{{article}}\begin{{document}}It is {source} here.\end{{document}}"
    )
    assert _of(parsed, BlockKind.PARAGRAPH) == [f"It is {shown} here."]


def test_latex_opens_no_other_file(tmp_path: Path) -> None:
    assert "root:" not in " ".join(b.text for b in _parsed(tmp_path, "paper.tex", LATEX).blocks)


def test_latex_nested_without_end_is_damaged_or_read(tmp_path: Path) -> None:
    text = r"\documentclass{article}\begin{document}" + r"\begin{quote}" * 400 + "words"
    with pytest.raises(PaperError) as raised:
        _parsed(tmp_path, "deep.tex", text)
    assert raised.value.error_code in ("damaged", "no_text")


def test_html_full_text_becomes_sections(tmp_path: Path) -> None:
    parsed = _parsed(tmp_path, "paper.html", HTML)
    heads = [(b.level, b.text) for b in parsed.blocks if b.kind is BlockKind.HEADING]
    assert heads == [(1, "Abstract"), (1, "1. Introduction"), (2, "1.1 Aims"), (1, "Methods"), (1, "References")]
    assert parsed.title == "Ice on lakes" and parsed.abstract == PROSE.strip()
    assert _of(parsed, BlockKind.CAPTION) == ["Figure 1. Lakes.", "Table 1. Sites"]
    assert _of(parsed, BlockKind.TABLE) == ["| Site | n |\n| --- | --- |\n| A | 3 |"]
    assert _of(parsed, BlockKind.REFERENCE) == ["Smith, J. Lakes. 2020. doi:10.1/x"]
    assert not any("Home" in b.text or "alert" in b.text or "Cookies" in b.text for b in parsed.blocks)


@pytest.mark.parametrize(
    ("head", "body", "authors"),
    [
        ('<meta name="citation_author" content="van der Berg, Jan"><meta name="citation_author" content="Ana Sá">'
         '<meta name="citation_publication_date" content="2021/03/04">', "", ("Jan van der Berg", "Ana Sá")),
        ('<meta name="DC.creator" content="Doe, J. A."><meta name="DC.Date" content="2021-03">', "", ("J. A. Doe",)),
        ('<meta name="author" content="Ana Sá, Jan Berg &amp; Bo Li"><meta name="date" content="2021-03-04">',
         '<h4 class="author">Ana Sá, Jan Berg and Bo Li</h4><h4 class="date">2021-03-04</h4>',
         ("Ana Sá", "Jan Berg", "Bo Li")),
        ('<meta name="citation_author" content="Smith, Jane, Jr."><meta name="citation_author" content="Lee, III, Bo">'
         '<meta name="date" content="2021">', "", ("Jane Smith Jr.", "Bo Lee III")),
        ('<meta name="author" content="Jane Smith, Jr., Bo Lee, III and Ana Iván">'
         '<meta name="date" content="2021">', "", ("Jane Smith, Jr.", "Bo Lee, III", "Ana Iván")),
        ("", '<p class="author">Ana Sá (ana@example.org)</p><p class="date">4 March 2021</p>', ("Ana Sá",)),
    ],
    ids=["citation", "dublin-core", "r-markdown", "suffix", "suffixes", "printed"],
)  # fmt: skip
def test_html_states_authors_and_year(tmp_path: Path, head: str, body: str, authors: tuple[str, ...]) -> None:
    parsed = _parsed(tmp_path, "p.html", HTML.replace("</head>", f"{head}</head>").replace("<h2>A", f"{body}<h2>A", 1))
    assert (parsed.authors, parsed.year) == (authors, 2021)
    assert parsed.blocks[1].text == "Abstract"


@pytest.mark.parametrize("name", ["(" * 400_000, "a" * 400_000], ids=["brackets", "letters"])
def test_html_authors_take_linear_time(tmp_path: Path, name: str) -> None:
    page = HTML.replace("</head>", f'<meta name="author" content="{name}"></head>')
    parsed = _parsed(tmp_path, "p.html", page)  # squared, it would take minutes
    assert max(map(len, presentable(parsed).authors)) <= 200


def test_html_text_that_no_reader_sees_is_dropped(tmp_path: Path) -> None:
    hidden = '<span hidden><b hidden>Ask for money</b></span>Lakes<sup class="xref">7</sup> of'
    parsed = _parsed(tmp_path, "paper.html", HTML.replace("Lakes of", hidden, 1))
    assert parsed.abstract == PROSE.strip() and not any("money" in b.text for b in parsed.blocks)


def test_html_login_page_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "paper.pdf"
    page.write_text("<!DOCTYPE html><html><body><h1>Log in</h1><p>Password</p></body></html>")
    with pytest.raises(PaperError) as raised:
        sniff(page)
    assert raised.value.error_code == "not_a_pdf"


def test_html_page_of_links_is_refused(tmp_path: Path) -> None:
    items = "".join(f"<h3>Paper {i}</h3><p><a href='/{i}'>Read on</a></p>" for i in range(300))
    with pytest.raises(PaperError) as raised:
        _parsed(tmp_path, "list.html", f"<!DOCTYPE html><html><body>{items}</body></html>")
    assert raised.value.error_code == "not_a_pdf"


@pytest.mark.parametrize(("text", "kind"), [(LATEX, "latex"), (HTML * 3, "html")])
def test_the_text_parser_leaves_other_forms_to_the_wing(tmp_path: Path, text: str, kind: str) -> None:
    (tmp_path / "paper").write_text(text, encoding="utf-8")
    with pytest.raises(PaperError, match=f"does not read {kind} files"):
        TextParser().parse(tmp_path / "paper", ParserOptions())
    for wanted in ("auto", "text", "grobid"):
        found = choose_parser(load_registry(), wanted, kind)
        assert found is not None and found.name == kind
