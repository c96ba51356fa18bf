"""All passes from the pages of a PDF to a `ParsedPaper`, in order: `LAYOUT` and `TEXT`. A newcomer reads this first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from scirgen import BlockKind, ParsedBlock, ParsedPaper
from scirgen.core.text.language import detect_language
from scirgen.plugin import find_doi
from scirgen.stages.parse.assemble import clean
from scirgen.stages.parse.frontmatter import LICENSED, printed_year
from scirgen_pdf.authors import printed_authors
from scirgen_pdf.classify import Kinds, References, mark_kinds, mark_references, mark_reviews
from scirgen_pdf.flow import Flow, Vocabulary, blocks
from scirgen_pdf.front import Front, before_references, read_front, strip_label, strip_title_label
from scirgen_pdf.headings.candidates import Candidate, Candidates, Outline, candidates
from scirgen_pdf.headings.features import context_rows, rows
from scirgen_pdf.headings.levels import Levels, set_levels
from scirgen_pdf.headings.series import Series, accept_series
from scirgen_pdf.headings.trees import Classifier
from scirgen_pdf.page.furniture import Furniture, without_furniture
from scirgen_pdf.page.linenumbers import LineNumbers, without_line_numbers
from scirgen_pdf.page.lines import Line, Lines, Style, page_lines, same_size
from scirgen_pdf.page.order import Columns, Region, common_gutter, reading_order
from scirgen_pdf.paragraphs import Group, Paragraphs, groups, split
from scirgen_pdf.reading.page import Marks, Page, TextLine
from scirgen_pdf.tables import with_tables
from scirgen_pdf.units import Chars, Count, Share

_NO_TEXT = Style("", 10.0, False, False)


@dataclass
class Draft:
    """A paper on its way from pages to blocks: each pass reads the fields that earlier passes set, and sets its own.

    Attributes:
        title: the one that the file states.
        marks: gives those of a page, by its number from 0.
        given: the reader's lines of each page.
        printed: all lines of each page; ``kept``: without running heads and page numbers.
        columns: the columns of each page in the order of reading.
        groups: the paper's groups in the order of reading.
        body: the typography of most text.
        doi: the one that the file's metadata states, or that stands in the furniture of the pages.
        found: what may be a heading.
        result: the paper's blocks; ``abstract``: those of its abstract.
    """

    pages: Sequence[Page]
    title: str
    given: list[Sequence[TextLine]]
    marks: Callable[[int], Marks]
    printed: list[list[Line]] = field(default_factory=list)
    kept: list[list[Line]] = field(default_factory=list)
    columns: list[list[Region]] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    body: Style = _NO_TEXT
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary(()))
    language: str = ""
    front: Front = field(default_factory=Front)
    authors: tuple[str, ...] = ()
    doi: str | None = None
    year: int | None = None
    licence: str = ""
    outline: Outline = field(default_factory=Outline)
    model: Classifier | None = None
    found: list[Candidate] = field(default_factory=list)
    result: list[ParsedBlock] = field(default_factory=list)
    abstract: list[ParsedBlock] = field(default_factory=list)


@dataclass(frozen=True)
class Facts:
    """Limits of the passes that find the body's type, the language, the authors and the DOI."""

    body_line: Annotated[Chars, "of a line that shows the body's size; shorter ones are in tables and figures"] = 25
    front: Annotated[Share, "the groups before those that show the language"] = 0.25
    prose: Annotated[Chars, "of a group that shows the language"] = 60
    sample: Annotated[Chars, "that show the language"] = 20_000
    abstract: Annotated[Chars, "of an abstract; shorter is a name that the order of reading put into it"] = 150
    heads: Annotated[Count, "pages whose heads and feet may hold the paper's DOI"] = 3
    upright: Annotated[Share, "the sine of a line's slope; steeper is a stamp in the margin"] = 0.1


_FACTS = Facts()


class Pass(NamedTuple):
    """One pass: a function that changes the draft, and the rules that it applies."""

    run: Callable[[Draft, Any], None]
    rules: Any

    @property
    def name(self) -> str:
        """Its name, as `benchmarks.parsing --ablate` prints it."""
        return self.run.__name__.strip("_")


def _line_numbers(draft: Draft, rules: LineNumbers) -> None:
    draft.given = without_line_numbers(draft.given, rules)


def _lines(draft: Draft, rules: Lines) -> None:
    draft.printed = draft.kept = [page_lines(lines, number, rules) for number, lines in enumerate(draft.given, 1)]


def _body(draft: Draft, rules: Facts) -> None:
    draft.body = body_style([line for lines in draft.printed for line in lines], rules)


def _furniture(draft: Draft, rules: Furniture) -> None:
    draft.kept = without_furniture(draft.printed, [page.height for page in draft.pages], rules)


def _columns(draft: Draft, rules: Columns) -> None:
    draft.columns = [reading_order(lines, None, rules) for lines in draft.kept]
    gutter = common_gutter(draft.columns, rules)
    if gutter is not None:
        draft.columns = [reading_order(lines, gutter, rules) for lines in draft.kept]


def _paragraphs(draft: Draft, rules: Paragraphs) -> None:
    draft.groups = [group for columns in draft.columns for group in groups(columns, draft.body.size, rules)]
    draft.vocabulary = Vocabulary([line for lines in draft.kept for line in lines])


def _language(draft: Draft, rules: Facts) -> None:
    behind = draft.groups[int(rules.front * len(draft.groups)) :]
    prose = [g.text for g in behind if len(g.text) > rules.prose and same_size(g.style.size, draft.body.size)]
    draft.language = detect_language(" ".join(prose)[: rules.sample])


def _kinds(draft: Draft, rules: Kinds) -> None:
    mark_kinds(draft.groups, draft.body, rules)


def _tables(draft: Draft, _: None) -> None:
    draft.groups = with_tables(draft.groups, draft.body, draft.marks, len(draft.pages))


def _front(draft: Draft, _: None) -> None:
    draft.front = read_front(draft.groups, draft.body, draft.title, draft.language)


def _authors(draft: Draft, rules: Facts) -> None:
    title = next((g for g in draft.groups if g.kind is BlockKind.TITLE), None)
    if title is None:
        return
    lowest = max(line.y1 for line in title.lines)
    prose = [g for g in draft.front.abstract if g.page == title.page and len(g.text) > rules.abstract]
    abstract = [g.lines[0].y0 for g in prose if g.lines[0].y0 > lowest]
    page, right = draft.given[title.page - 1], max(line.x1 for line in title.lines)
    column = [line for line in page if line.box[0] < right]
    style, bottom = title.style, min(abstract, default=None)
    found = (printed_authors(lines, lowest, style.size, bottom, style.font) for lines in (page, column))
    draft.authors = next(filter(None, found), ())


def _doi(draft: Draft, rules: Facts) -> None:
    """Read the DOI in the running heads and feet of the first pages, the licence in those of the first, and the year on
    the first page, beside the text and in its margin."""
    rest = {id(line) for lines in draft.kept for line in lines}
    heads = [[line.text for line in lines if id(line) not in rest] for lines in draft.printed[: rules.heads]]
    draft.doi = find_doi("\n".join(text for texts in heads for text in texts))
    draft.licence = "\n".join(text for text in heads[0] if LICENSED.search(text)) if heads else ""
    own = before_references(draft.groups)
    first = [g for g in own if g.page == 1 and not any(g is part for part in draft.front.abstract)]
    aside = [g.text for g in first if g.kind in (BlockKind.OTHER, BlockKind.FOOTNOTE) or _is_small(g, draft.body)]
    upright = rules.upright
    margin = ["".join(s.text for s in line.spans) for line in draft.given[0] if abs(line.direction[1]) > upright]
    draft.year = printed_year([*heads[0], *aside, *margin]) if heads else None


def _is_small(group: Group, body: Style) -> bool:
    """Return whether a paragraph is in smaller type than the body, as notes without a mark are."""
    small = group.lines[-1].size < body.size and not same_size(group.lines[-1].size, body.size)
    return group.kind is BlockKind.PARAGRAPH and small


def _headings(draft: Draft, rules: Candidates) -> None:
    outline = draft.outline.below(draft.front.title)
    draft.found = candidates(draft.groups, draft.body, outline, draft.front.body_start, rules)
    if draft.model is not None:
        score(draft.found, draft.groups, draft.body, draft.model)


def _series(draft: Draft, rules: Series) -> None:
    if draft.model is not None:
        accept_series(draft.found, draft.groups, draft.body, draft.model.threshold, rules)


def _levels(draft: Draft, rules: Levels) -> None:
    accepted = [c for c in draft.found if draft.model is not None and c.score >= draft.model.threshold]
    set_levels(accepted, rules)
    draft.groups = apply(draft.groups, accepted)


def _references(draft: Draft, rules: References) -> None:
    draft.groups = mark_references(draft.groups, rules)


def _reviews(draft: Draft, _: None) -> None:
    mark_reviews(draft.groups)


def _blocks(draft: Draft, rules: Flow) -> None:
    draft.abstract = blocks(draft.front.abstract, draft.vocabulary, rules)
    draft.result = blocks(draft.groups, draft.vocabulary, rules)


LAYOUT: tuple[Pass, ...] = (
    Pass(_line_numbers, LineNumbers()),
    Pass(_lines, Lines()),
    Pass(_body, _FACTS),
    Pass(_furniture, Furniture()),
    Pass(_columns, Columns()),
    Pass(_paragraphs, Paragraphs()),
    Pass(_language, _FACTS),
    Pass(_kinds, Kinds()),
    Pass(_tables, None),
    Pass(_front, None),
    Pass(_authors, _FACTS),
    Pass(_doi, _FACTS),
)
"""From pages to groups in the order of reading, with their kinds and the front matter."""

TEXT: tuple[Pass, ...] = (
    Pass(_headings, Candidates()),
    Pass(_series, Series()),
    Pass(_levels, Levels()),
    Pass(_references, References()),
    Pass(_reviews, None),
    Pass(_blocks, Flow()),
)
"""From groups to blocks, with headings and references."""


def lay_out(pages: Sequence[Page], title: str, marks: Callable[[int], Marks], passes: Sequence[Pass] = LAYOUT) -> Draft:
    """Take a paper through the passes up to its headings. ``title``: the one that the file states; ``marks`` gives
    those of a page."""
    draft = Draft(pages, title, [page.lines for page in pages], marks)
    for one in passes:
        one.run(draft, one.rules)
    return draft


def analyse(
    draft: Draft, outline: Outline, parser: str, model: Classifier, passes: Sequence[Pass] = TEXT
) -> ParsedPaper:
    """Take a draft through the other passes, to a paper with blocks in reading order, title, abstract and language."""
    draft.outline, draft.model = outline, model
    for one in passes:
        one.run(draft, one.rules)
    title = next((b.text for b in draft.result if b.kind is BlockKind.TITLE), draft.front.title)
    return ParsedPaper(
        title=strip_title_label(clean(title)),
        abstract=strip_label(" ".join(b.text for b in draft.abstract)).strip(),
        language=draft.language,
        pages=len(draft.pages),
        authors=draft.authors,
        doi=draft.doi,
        year=draft.year,
        licence=draft.licence,
        parser=parser,
        blocks=tuple(draft.result),
    )


def body_style(lines: Sequence[Line], rules: Facts = _FACTS) -> Style:
    """Return the typography of most characters. The size is chosen first, so that a change of font inside the body does
    not matter."""
    sizes: Counter[float] = Counter()
    styles: Counter[Style] = Counter()
    for line in lines:
        for run in line.runs:
            n = len(run.text.strip())
            sizes[run.style.size] += n if len(line.text) > rules.body_line else 0
            styles[run.style] += n
    if not sizes:
        return _NO_TEXT
    size = sizes.most_common(1)[0][0]
    return max((s for s in styles if s.size == size), key=lambda s: styles[s])


def score(found: Sequence[Candidate], groups: Sequence[Group], body: Style, model: Classifier) -> None:
    """Set each candidate's ``score``."""
    plain_rows = rows(found, groups, body)
    once = [model.first.probability(row) for row in plain_rows]
    for candidate, row in zip(found, context_rows(found, plain_rows, once), strict=True):
        candidate.score = model.second.probability(row)


def apply(groups: Sequence[Group], accepted: Sequence[Candidate]) -> list[Group]:
    """Return the groups, with the accepted candidates as headings.

    A paragraph that begins with a run-in heading is returned as two groups.
    """
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
