"""All steps from the pages of a PDF to a `ParsedPaper`, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scirgen import BlockKind, ParsedPaper
from scirgen.core.text.language import detect_language
from scirgen.plugin import find_doi
from scirgen.stages.parse.assemble import clean
from scirgen_pdf.authors import printed_authors
from scirgen_pdf.classify import mark_kinds, mark_references, mark_reviews
from scirgen_pdf.flow import Vocabulary, blocks
from scirgen_pdf.front import Front, read_front, strip_label, strip_title_label
from scirgen_pdf.headings.candidates import Candidate, Outline, candidates
from scirgen_pdf.headings.features import context_rows, rows
from scirgen_pdf.headings.levels import set_levels
from scirgen_pdf.headings.series import accept_series
from scirgen_pdf.headings.trees import Classifier
from scirgen_pdf.page.furniture import without_furniture
from scirgen_pdf.page.linenumbers import without_line_numbers
from scirgen_pdf.page.lines import Line, Style, page_lines
from scirgen_pdf.page.order import common_gutter, reading_order
from scirgen_pdf.paragraphs import Group, groups, split
from scirgen_pdf.reading.page import Page, TextLine
from scirgen_pdf.tables import with_tables

_SHORTEST_PROSE = 150  # characters; shorter is a name that the order of reading put into the abstract


@dataclass
class Layout:
    """The groups of a paper in reading order, before its headings are known, and the facts printed on its first pages.

    ``doi``: the one that the file's metadata states, or that stands in the furniture of the pages.
    """

    groups: list[Group]
    body: Style
    front: Front
    vocabulary: Vocabulary
    language: str
    pages: int
    authors: tuple[str, ...] = ()
    doi: str | None = None


def lay_out(pages: Sequence[Page], title: str) -> Layout:
    """From pages to groups: line numbers and furniture removed, columns in order, kinds and front matter marked."""
    numbered = without_line_numbers([page.lines for page in pages])
    raw = [page_lines(lines, number) for number, lines in enumerate(numbered, 1)]
    body = body_style([line for lines in raw for line in lines])
    kept = without_furniture(raw, [page.height for page in pages])
    regions = [reading_order(lines) for lines in kept]
    gutter = common_gutter(regions)
    if gutter is not None:
        regions = [reading_order(lines, gutter) for lines in kept]
    found = [group for columns in regions for group in groups(columns, body.size)]
    vocabulary = Vocabulary([line for lines in kept for line in lines])
    prose = [g.text for g in found[len(found) // 4 :] if len(g.text) > 60 and abs(g.style.size - body.size) < 0.6]
    language = detect_language(" ".join(prose)[:20000])
    mark_kinds(found, body)
    found = with_tables(found, body, pages)
    front = read_front(found, body, title, language)
    authors = _authors(found, front, numbered)
    return Layout(found, body, front, vocabulary, language, len(pages), authors, _doi(raw, kept))


def _authors(found: Sequence[Group], front: Front, pages: Sequence[Sequence[TextLine]]) -> tuple[str, ...]:
    title = next((g for g in found if g.kind is BlockKind.TITLE), None)
    if title is None:
        return ()
    lines = title.lines
    lowest = max(line.y1 for line in lines)
    prose = [g for g in front.abstract if g.page == title.page and len(g.text) > _SHORTEST_PROSE]
    abstract = [g.lines[0].y0 for g in prose if g.lines[0].y0 > lowest]
    return printed_authors(pages[title.page - 1], lowest, title.style.size, min(abstract, default=None))


def _doi(raw: Sequence[Sequence[Line]], kept: Sequence[Sequence[Line]]) -> str | None:
    """Return the DOI in the running heads and feet of the first pages."""
    rest = {id(line) for lines in kept for line in lines}
    return find_doi("\n".join(line.text for lines in raw[:3] for line in lines if id(line) not in rest))


def analyse(layout: Layout, outline: Outline, parser: str, model: Classifier) -> ParsedPaper:
    """Blocks in reading order with title, abstract and language."""
    front, vocabulary = layout.front, layout.vocabulary
    found = mark_headings(layout.groups, layout.body, outline.below(front.title), front.body_start, model)
    found = mark_references(found)
    mark_reviews(found)
    abstract = blocks(front.abstract, vocabulary) if front.abstract else []
    result = blocks(found, vocabulary)
    return ParsedPaper(
        title=strip_title_label(clean(next((b.text for b in result if b.kind is BlockKind.TITLE), front.title))),
        abstract=strip_label(" ".join(b.text for b in abstract)).strip(),
        language=layout.language,
        pages=layout.pages,
        authors=layout.authors,
        doi=layout.doi,
        parser=parser,
        blocks=tuple(result),
    )


def body_style(lines: Sequence[Line]) -> Style:
    """Return the typography of most characters. The size is chosen first, so that a change of font inside the body does
    not matter."""
    sizes: Counter[float] = Counter()
    styles: Counter[Style] = Counter()
    for line in lines:
        for run in line.runs:
            n = len(run.text.strip())
            sizes[run.style.size] += n if len(line.text) > 25 else 0
            styles[run.style] += n
    if not sizes:
        return Style("", 10.0, False, False)
    size = sizes.most_common(1)[0][0]
    return max((s for s in styles if s.size == size), key=lambda s: styles[s])


def mark_headings(groups: list[Group], body: Style, outline: Outline, first: int, model: Classifier) -> list[Group]:
    """Return the groups with the headings' kind and level, from index ``first`` (after the front matter) on.

    A paragraph that begins with a run-in heading is returned as two groups.
    """
    found = candidates(groups, body, outline, first)
    score(found, groups, body, model)
    accept_series(found, groups, body, model.threshold)
    return apply(groups, [c for c in found if c.score >= model.threshold])


def score(found: Sequence[Candidate], groups: Sequence[Group], body: Style, model: Classifier) -> None:
    """Set each candidate's ``score``."""
    plain_rows = rows(found, groups, body)
    once = [model.first.probability(row) for row in plain_rows]
    for candidate, row in zip(found, context_rows(found, plain_rows, once), strict=True):
        candidate.score = model.second.probability(row)


def apply(groups: Sequence[Group], accepted: Sequence[Candidate]) -> list[Group]:
    """Return the groups, with the accepted candidates as headings."""
    set_levels(accepted)
    chosen = {c.index: c for c in accepted}
    result: list[Group] = []
    for index, group in enumerate(groups):
        candidate = chosen.get(index)
        if candidate is None:
            result.append(group)
            continue
        parts = [group] if not candidate.run_in else [p for p in split(group, candidate.length) if p.lines]
        parts[0].kind, parts[0].level = BlockKind.HEADING, candidate.level
        for rest in parts[1:]:
            rest.kind = BlockKind.PARAGRAPH
        result += parts
    return result
