"""Finds the front matter: title, abstract, and the start of the body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from statistics import median
from typing import Annotated

from rapidfuzz import fuzz

from scirgen import BlockKind
from scirgen.stages.parse.terms import ABSTRACT_LANGUAGE, DEPTH, KEYWORDS, kind_of_heading, plain
from scirgen_pdf.authors import are_authors, is_list_of_names
from scirgen_pdf.classify import is_publishers
from scirgen_pdf.page.lines import Style, same_size
from scirgen_pdf.paragraphs import Group, split
from scirgen_pdf.units import Chars, Count, Ems, Points, Share, Times

_RUN_IN = re.compile(
    r"^(?P<label>a\s?b\s?s\s?t\s?r\s?a\s?c\s?t|summary|resumo|r\s?e\s?s\s?u\s?m\s?e\s?n|r[ée]sum[ée]|sommaire|zusammenfassung|kurzfassung|abstrakt|souhrn|riassunto"
    r"|sommario|摘\s*要)(?:\b|(?<=要))\s*(?P<mark>[.:：—–|-]+)?\s*",
    re.I,
)
_OTHER_RUN_IN = re.compile(
    r"^(?:plain[- ]language summary|key points|highlights|significance statement|graphical abstract)\b", re.I
)
_SECTION = re.compile(r"\s*(?:1\.?\s|\d{1,2}(?:\.\d)?\.?\s+[A-ZÀ-Þ])")
_MASTHEAD = re.compile(r"(?:\w+ ){0,3}journal ?(?:of|for)\b", re.I)
_CHINESE = re.compile(r"[\u4e00-\u9fff]{6}")
_LABELLED_KEYWORDS = re.compile(r"[A-ZÀ-Þ\u4e00-\u9fff][^.]{1,40}?[:：—–]")
_DOI_LINE = re.compile(r"\bdoi:\s*10\.\d|https?://doi\.org/10\.", re.I)
_NOTE = re.compile(r"[*∗⁎⋆†‡§¶]\s?\w")
_ADDRESS = re.compile(r"https?://\S+")
_NO_HEADING = re.compile(r"^by\s|\b(?:19|20)\d\d\b", re.I)
_PARTS = re.compile(
    r"^(?:background|context|purpose|aims?|objectives?|introduction|importance|methods?|design|setting"
    r"|participants|materials? and methods|results?|findings"
    r"|conclusions?|interpretation|significance|data sources|main outcomes?.*|antecedentes|objetivos?|metodos"
    r"|resultados|conclusion(?:es)?|introducao|conclusao)$"
)
_COPYRIGHT = re.compile(
    r"(?<=[.!?)])\s+(?:(?:©|\(c\)|copyright|&|\bc)\s*)+(?:19|20)\d\d\b[^.]{0,60}(?:\.\s?[^.]{0,60}){0,4}\.?\s*$", re.I
)
_COVER = re.compile(
    r"unedited manuscript|^accepted manuscript|^journal pre-?proof|accepted manuscript version|^(?:to|pour"
    r"|para) cit(?:e|er|ar) (?:this|cet|cette|este)"
    r"|this paper is included in the proceedings"
    r"|\bhal is a multi-?disciplinary|this is the (?:author'?s?|accepted|peer[- ]reviewed)[^.]{0,40}version"
    r"|full terms (?:&|and) conditions of access"
    r"|see discussions, stats|jstor is a not-for-profit|this article was downloaded by"
    r"|view the article online for updates|this version is available at",
    re.I,
)
_TITLE_LABEL = re.compile(
    r"^(?:(?i:(?:article )?title|t[íi]tulo|titre|titel)\s*[:：]\s*|OPEN(?: ACCESS)?\s+(?=[A-ZÀ-Þ][a-zà-ÿ]))"
)
_UNFINISHED = re.compile(r":(?: \d)?$")  # a mark of a footnote may stand behind it
_VERSION_NOTE = re.compile(r"\s*\[v(?:ersion)?\s?\d+\s?[;:,][^\]]*\]$", re.I)
_FOOTNOTE_MARK = re.compile(r"(?<=[\w)?!.’”\"])\s*[∗*⁎†‡§¶]+$")
_OWN_TITLE = re.compile(r"^\((?:[^()]|\([^()]*\)){30,400}\)[.:]?\s+(?=[A-ZÀ-Þ])")


@dataclass(frozen=True)
class Limits:
    """Limits of the reader of title and abstract."""

    least_abstract: Annotated[Chars, "an abstract without a heading"] = 300
    most_abstract: Annotated[Chars, "an abstract"] = 6000
    prose: Annotated[Chars, "a paragraph that shows the usual type"] = 200
    title: Annotated[tuple[Chars, Chars], "a title"] = (6, 400)
    known: Annotated[Chars, "a title in the file's data; a shorter one is a name"] = 15
    alike: Annotated[float, "rapidfuzz's ratio of a title and its repetition"] = 85
    larger: Annotated[Points, "a title's type than the body's"] = 1.5
    as_large: Annotated[Times, "a title's size in that of a journal's name above it"] = 0.85
    near: Annotated[Count, "groups below a title that may be the authors"] = 3
    even: Annotated[Times, "between the sizes of a title's lines"] = 0.12
    touching: Annotated[Ems, "by which lines of a title may overlap"] = 0.3
    spaced: Annotated[Ems, "between lines of one title"] = 0.9
    double_spaced: Annotated[Ems, "between its lines in one type"] = 1.9
    over: Annotated[Share, "the narrower line that stands over or under the other"] = 0.5
    same: Annotated[Points, "between sizes that are one"] = 0.4
    apart: Annotated[Points, "between an abstract's size and the usual one"] = 0.5
    width: Annotated[Share, "between the widths of an abstract's paragraphs"] = 0.25
    wide: Annotated[Times, "an abstract's width in that of other paragraphs"] = 1.6
    notice: Annotated[Chars, "a publisher's text"] = 400
    doi_line: Annotated[Chars, "the paper's own entry with its DOI"] = 120
    words: Annotated[Count, "words of sentences"] = 30
    capitals: Annotated[Share, "words of sentences that begin large"] = 0.3
    gap: Annotated[Count, "groups from an abstract to the introduction"] = 6
    cover: Annotated[Count, "groups behind a cover page, one of which repeats its title"] = 12
    title_words: Annotated[tuple[Count, Count], "words of a title that its size does not show"] = (3, 60)
    late: Annotated[Count, "pages to an introduction; the abstract may have a page of its own"] = 2
    name: Annotated[Chars, "a heading with a usual name alone; longer has text behind it"] = 40
    label: Annotated[Chars, "likewise, above the start of the body"] = 60
    numbered: Annotated[Chars, "a heading numbered 1"] = 90
    in_type: Annotated[Share, "its characters in its main type"] = 0.5
    heading: Annotated[Chars, "another heading between abstract and body"] = 80
    parts: Annotated[Count, "groups from an abstract's label to the body's section of its name"] = 25
    paragraphs: Annotated[Count, "an abstract's, if only its place shows it; more are an introduction"] = 3
    first_prose: Annotated[Chars, "the first paragraph of a body without a heading"] = 150
    beside: Annotated[Points, "between the left edges of an abstract and of another summary's heading"] = 30


_RULES = Limits()


@dataclass
class Front:
    """The front matter. ``body_start``: index of the first group after it."""

    title: str = ""
    abstract: list[Group] = field(default_factory=list)
    body_start: int = 0


def read_front(groups: list[Group], body: Style, known_title: str, language: str) -> Front:
    """Find title and abstract among the first two pages' groups and set the kinds of what precedes the body.

    A publisher's or a repository's cover page before them is neither.
    """
    cover = _cover(groups, body)
    for group in groups[:cover]:
        group.kind = BlockKind.OTHER
    paper = groups[cover:]
    front = _read_front(paper, body, known_title, language)
    groups[cover:] = paper
    front.body_start += cover
    return front


def before_references(groups: Sequence[Group]) -> Iterator[Group]:
    """Return the groups above the references, which a short paper has on its first page."""
    return takewhile(lambda group: kind_of_heading(group.text) != "references", groups)


def _cover(groups: Sequence[Group], body: Style) -> int:
    """Count the groups on a cover page. A cover page names itself as one, has no abstract or introduction, and the next
    page repeats its title.

    A title is larger than the body, or bold; a running head that repeats it is not.
    """
    first = [g for g in groups if g.page == groups[0].page] if groups else []
    if not any(_COVER.search(g.text) for g in first):
        return 0
    if any(kind_of_heading(g.text) in ("abstract", "main") or _RUN_IN.match(g.text) for g in first):
        return 0
    names = [plain(g.text) for g in first if len(g.text.split()) >= _RULES.title_words[0]]
    following = [
        plain(strip_title_label(g.text))
        for g in groups[len(first) : len(first) + _RULES.cover]
        if g.style.size > body.size + _RULES.same or (g.style.bold and not body.bold and g.style.size >= body.size)
    ]
    return (
        len(first)
        if any(fuzz.ratio(a, b) > _RULES.alike for a in names for b in following if len(b) > _RULES.known)
        else 0
    )


def _read_front(groups: list[Group], body: Style, known_title: str, language: str) -> Front:
    front = Front()
    head = [i for i, g in enumerate(groups) if g.page <= groups[0].page + 1] if groups else []
    if not head:
        return front
    title = _title(groups, head, body, known_title)
    if title is not None:
        title = _with_its_other_lines(groups, title)
        head = [i for i, g in enumerate(groups) if g.page <= groups[0].page + 1]
        groups[title].kind = BlockKind.TITLE
        front.title = strip_title_label(groups[title].text)
    intro = next((i for i in head if kind_of_heading(groups[i].text) == "main" and i > (title or 0)), None)
    late = [i for i, g in enumerate(groups) if g.page <= groups[0].page + _RULES.late]  # an abstract's own page
    body_start = next((i for i in late if i > (title or 0) and _opens_body(groups[i])), len(groups))
    labelled = _labelled(groups, [i for i in late if i < body_start or groups[i].page == groups[0].page])
    if labelled:
        chosen = _choose(groups, labelled, language)
        _detach_label(groups, chosen)
        front.abstract = _extent(groups, chosen, body)
        front.body_start = max(groups.index(g) for g in front.abstract) + 1 if front.abstract else chosen + 1
    if not front.abstract and not (labelled and intro == front.body_start):
        intro = body_start if title is not None and body_start < len(groups) else intro
        front.abstract = _unlabelled(groups, head, title, intro) or _before(groups, head, title, intro, body) or []
        if front.abstract:
            front.body_start = groups.index(front.abstract[-1]) + 1
            between = groups[front.body_start : body_start]
            if len(front.abstract) > 1 and body_start < len(groups) and all(g.style != body for g in between):
                front.body_start = body_start  # an abstract in another language
        elif not labelled:
            prose = _first_prose(groups, head, title, body)
            front.body_start = prose if intro is None else min(prose, intro)
    _mark_rest(groups, front, title, body)
    return front


def _title(groups: list[Group], head: Sequence[int], body: Style, known: str) -> int | None:
    first = [
        i
        for i in head
        if groups[i].page == groups[0].page and _RULES.title[0] <= len(groups[i].text) <= _RULES.title[1]
    ]
    wanted = plain(known)
    if len(wanted) > _RULES.known:
        for i in first:
            if fuzz.ratio(plain(strip_title_label(groups[i].text)), wanted) > _RULES.alike:
                return i
    usable = [
        i
        for i in first
        if groups[i].style.size >= body.size + _RULES.larger
        and (len(groups[i].text.split()) > 1 or _CHINESE.search(groups[i].text) or _is_above_names(groups, i))
        and not kind_of_heading(groups[i].text)
        and not _SECTION.match(groups[i].text)
        and not _MASTHEAD.match(groups[i].text)
    ]
    if not usable:
        bold = _bold_title(groups, head, body)
        return _above_names(groups, first) if bold is None else bold
    largest = max(usable, key=lambda i: (groups[i].style.size, len(groups[i].text)))
    authors = next((i for i in first if i > largest and _is_authors(groups[i], groups[largest])), len(groups))
    others = [
        i
        for i in usable
        if i < authors and groups[i].style != groups[largest].style and not _is_authors(groups[i], groups[largest])
    ]  # neither the title's second line nor the authors
    named = [i for i in others if i < largest and _has_names_below(groups, i, usable)]
    if named and not _has_names_below(groups, largest, usable):
        return max(named, key=lambda i: groups[i].style.size)
    # A journal's name above may be a little larger.
    below = [i for i in others if i > largest and groups[i].style.size >= _RULES.as_large * groups[largest].style.size]
    return next((i for i in below if len(groups[i].text.split()) > len(groups[largest].text.split())), largest)


def _is_authors(group: Group, title: Group) -> bool:
    """Return whether a group is names: in its text, or one on each of its first lines below a bolder title."""
    rows = ", ".join(line.text for line in group.lines[:2])
    lighter = title.style.bold and not group.style.bold and len(group.lines) > 1
    listed = is_list_of_names(group.text) or are_authors([line.text for line in group.lines])
    return listed or (lighter and is_list_of_names(rows))


def _has_names_below(groups: Sequence[Group], index: int, usable: Sequence[int]) -> bool:
    """Return whether the authors are the next texts below a possible title."""
    near = range(index + 1, min(index + 1 + _RULES.near, len(groups)))
    first = next((i for i in near if i in usable or is_list_of_names(groups[i].text)), None)
    return first is not None and is_list_of_names(groups[first].text)


def _above_names(groups: Sequence[Group], first: Sequence[int]) -> int | None:
    """Return the text right above the first list of names, the title that no larger or bold type shows."""
    least, most = _RULES.title_words
    above = next((i for i in first if _is_above_names(groups, i)), None)
    return above if above is not None and least <= len(groups[above].text.split()) <= most else None


def _is_above_names(groups: Sequence[Group], index: int) -> bool:
    return index + 1 < len(groups) and is_list_of_names(groups[index + 1].text)


def _bold_title(groups: Sequence[Group], head: Sequence[int], body: Style) -> int | None:
    """Return the first of the largest bold lines above all headings, if the title is hardly larger than the text."""
    above = takewhile(lambda i: not kind_of_heading(groups[i].text) and not DEPTH.match(groups[i].text), head)
    least, most = _RULES.title_words
    bold = [i for i in above if groups[i].style.bold and least <= len(groups[i].text.split()) <= most]
    large = [i for i in bold if groups[i].style.size >= body.size and not body.bold]
    return max(large, key=lambda i: groups[i].style.size, default=None)


def _with_its_other_lines(groups: list[Group], title: int) -> int:
    """Take into the title the lines above and below that are as large: a title's lines may stand apart, or be scanned
    unevenly."""
    whole = groups[title]
    above = groups[title - 1] if title else whole
    if _has_subtitle(above, whole):
        whole.lines = [*above.lines, *whole.lines]
        whole.settle()
        groups[:] = [g for g in groups if g is not above]
    while (part := next((g for g in groups if _continues(whole, g)), None)) is not None:
        whole.lines = sorted([*whole.lines, *part.lines], key=lambda line: line.y0)
        whole.settle()
        groups[:] = [g for g in groups if g is not part]
    below = groups[groups.index(whole) + 1 :][:1]
    if below and _has_subtitle(whole, below[0]) and _is_subtitle(below[0]):
        whole.lines = [*whole.lines, *below[0].lines]
        groups.remove(below[0])
    return groups.index(whole)


def _is_subtitle(group: Group) -> bool:
    """Return whether a group below a title in its font is bold and no author's name, which is short, nor a list, whose
    names a reader may have run together."""
    words, text = _RULES.title_words[0], group.text
    return group.style.bold and len(text.split()) > words > text.count(",") and not is_list_of_names(text)


def _has_subtitle(title: Group, group: Group) -> bool:
    """Return whether a group is the smaller second part of a title right above it."""
    gap = group.lines[0].y0 - title.lines[-1].y1
    larger = title.style.size > group.style.size and title.style.font == group.style.font
    named = _UNFINISHED.search(title.text) or (larger and len(title.text.split()) >= _RULES.title_words[0])
    return bool(named) and title.page == group.page and -_RULES.touching * title.style.size < gap < title.style.size


def _continues(title: Group, group: Group) -> bool:
    if group is title or group.page != title.page or len(title.text + group.text) > _RULES.title[1]:
        return False
    # Above the title, a word says what the paper is: "Letter".
    below = group.lines[0].y0 > title.lines[-1].y0
    same = group.style == title.style and below
    if kind_of_heading(group.text) and not (same and kind_of_heading(group.text) == "main"):
        return False
    if not same and is_list_of_names(group.text):
        return False
    size = title.style.size
    overlap = min(_x1(title), _x1(group)) - max(_x0(title), _x0(group))
    gap = max(group.lines[0].y0 - title.lines[-1].y1, title.lines[0].y0 - group.lines[-1].y1)
    return (
        abs(group.style.size - size) <= _RULES.even * size
        and group.style.bold == title.style.bold
        and -_RULES.touching * size < gap < (_RULES.double_spaced if same else _RULES.spaced) * size
        and overlap > _RULES.over * min(_x1(title) - _x0(title), _x1(group) - _x0(group))
        and (same or len(group.text.split()) > 1 or (below and abs(group.style.size - size) < _RULES.same))
    )


def _x0(group: Group) -> float:
    return min(line.x0 for line in group.lines)


def _x1(group: Group) -> float:
    return max(line.x1 for line in group.lines)


def _labelled(groups: list[Group], head: Sequence[int]) -> dict[int, str]:
    """Index of each group that is, or begins with, a label of an abstract -> the label."""
    found: dict[int, str] = {}
    for i in head:
        text = groups[i].text
        if kind_of_heading(text) == "abstract":
            repeated = i + 1 < len(groups) and plain(groups[i + 1].text) == plain(text)  # a running head above it
            found |= {} if repeated else {i: plain(text)}
            continue
        match = _RUN_IN.match(text)
        if match and len(text) > _RULES.least_abstract / 2:
            runs = groups[i].lines[0].runs
            set_off = (
                match.group("mark") or match.group("label").isupper() or runs[0].style != groups[i].lines[-1].style
            )
            if set_off:
                found[i] = plain(match.group("label"))
    return found


def _choose(groups: list[Group], labelled: dict[int, str], language: str) -> int:
    """Return the abstract in the paper's language, else the first."""
    same = [i for i, label in labelled.items() if ABSTRACT_LANGUAGE.get(label) == language]
    return (same or list(labelled))[0]


def _detach_label(groups: list[Group], index: int) -> None:
    """Make the label of a run-in abstract a heading of its own."""
    match = _RUN_IN.match(groups[index].text)
    if match and len(groups[index].text) > _RULES.name:
        label, rest = split(groups[index], match.end())
        if rest.lines and label.lines:
            label.kind, label.level = BlockKind.HEADING, 1
            groups[index : index + 1] = [label, rest]


def _extent(groups: list[Group], start: int, body: Style) -> list[Group]:
    """Return the groups of the abstract that begins (with its label) at ``start``."""
    taken: list[Group] = []
    label = groups[start]
    for index in range(start + 1, len(groups)):
        group = groups[index]
        if _is_doi_line(group.lines[0].text):
            group.kind = BlockKind.OTHER
            break
        if group.page > label.page + 1 or _ends_abstract(groups, index):
            break
        unfinished = bool(taken) and taken[-1].text[-1] not in ".?!"
        if unfinished and (_ADDRESS.fullmatch(group.text) or group.text[0].islower()):
            group.kind = BlockKind.PARAGRAPH
            taken.append(group)
            continue
        if group.kind not in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM) or (
            is_publishers(group.text) and len(group.text) < _RULES.notice
        ):
            continue
        if taken and _is_like(label, group) and not unfinished:
            break
        if taken and (_other_setting(taken[-1], group) or _RUN_IN.match(group.text) or _NOTE.match(group.text)):
            break
        whole = len(group.lines)
        _cut_at_keywords(groups, index)
        taken.append(groups[index])
        if len(groups[index].lines) < whole or sum(len(g.text) for g in taken) > _RULES.most_abstract:
            break
    return taken


def _is_like(label: Group, group: Group) -> bool:
    """Return whether a group is a heading as the abstract's: one short line in the same type."""
    alone = len(label.text) < _RULES.name and len(group.lines) == 1 and len(group.text) < _RULES.label
    return alone and group.style == label.style and group.text[-1].isalnum()


def _ends_abstract(groups: Sequence[Group], index: int) -> bool:
    """Return whether a heading, the keywords or another kind of summary begins here; a structured abstract's own labels
    do not end it."""
    text = groups[index].text
    if KEYWORDS.match(text) or _OTHER_RUN_IN.match(text):
        return True
    name = plain(text)
    if _PARTS.match(name) and not DEPTH.match(text):
        later = [plain(g.text) for g in groups[index + 1 : index + _RULES.parts] if g.page <= groups[index].page + 1]
        return name == "introduction" or not ({"introduction", "introducao", "introduccion", name} & set(later))
    brief = len(text) < _RULES.heading and not text.endswith((".", ",", ";"))
    return bool(kind_of_heading(text)) or (brief and DEPTH.match(text) is not None)


def _cut_at_keywords(groups: list[Group], index: int) -> None:
    """Make what follows the abstract in one group (citation, keywords) a group of its own."""
    for number, line in enumerate(groups[index].lines):
        keywords = (
            KEYWORDS.match(line.text)
            and line.text[0] != line.text[0].lower()
            and re.search(r"^.{4,40}?[:：.—–]", line.text)
        )
        if number and (keywords or _is_doi_line(line.text)):
            rest = replace(groups[index], lines=groups[index].lines[number:], kind=BlockKind.OTHER).settle()
            groups[index].lines = groups[index].lines[:number]
            groups[index].settle()
            groups.insert(index + 1, rest)
            return


def _is_doi_line(text: str) -> bool:
    """Return whether a line is the paper's own entry with its DOI, as some journals print below the abstract."""
    return bool(_DOI_LINE.search(text)) and len(text) < _RULES.doi_line


def _opens_body(group: Group) -> bool:
    """Return whether a group is the first heading of the body: an introduction, or one numbered 1 or I."""
    name = plain(group.text)
    named = name.startswith(("introduc", "引言", "einleitung", "einfuhrung")) and len(name) < _RULES.name
    numbered = re.match(r"^\s*(?:1|I|一)[.、:\s]", group.text) and len(group.text) < _RULES.numbered
    return named or (bool(numbered) and group.share > _RULES.in_type)


def _before(
    groups: list[Group], head: Sequence[int], title: int | None, intro: int | None, body: Style
) -> list[Group] | None:
    """Return the last prose between title and introduction, where only its place shows that it is the abstract."""
    if intro is None:
        return None
    after = -1 if title is None else title
    prose = [
        i for i in head if after < i < intro and groups[i].kind is BlockKind.PARAGRAPH and _is_prose(groups[i].text)
    ]
    if not prose or intro - prose[-1] > _RULES.gap:
        return None
    if any(group.kind is BlockKind.EQUATION for group in groups[after + 1 : prose[-1]]):
        return None  # an introduction
    taken = [prose[-1]]
    while taken[0] - 1 in prose and not _other_setting(groups[taken[0] - 1], groups[taken[0]]):
        taken.insert(0, taken[0] - 1)
    found = [groups[i] for i in taken]
    named = "introdu" in plain(groups[intro].text)
    if (len(found) > _RULES.paragraphs or not named) and all(
        abs(g.style.size - body.size) < _RULES.same and g.style.font == body.font for g in found
    ):
        return None  # an introduction without a heading
    return found if sum(len(g.text) for g in found) >= _RULES.least_abstract else None


def _is_prose(text: str) -> bool:
    """Return whether a text is sentences, not affiliations, dates or a licence."""
    words = re.findall(r"[^\W\d_]+", text)
    if len(words) < _RULES.words or (is_publishers(text) and len(text) < _RULES.notice):
        return False
    return (
        sum(w[0].isupper() for w in words) < _RULES.capitals * len(words) and len(re.findall(r"[a-z)]\. ", text)) >= 1
    )


def _other_setting(last: Group, group: Group) -> bool:
    """Return whether a group no longer looks like the abstract: another type, another column width or a longer line."""
    longer = min(_x0(last) - _x0(group), _x1(group) - _x1(last)) > last.style.size
    return (
        abs(last.style.size - group.style.size) > _RULES.same
        or last.style.font != group.style.font
        or abs((last.x1 - last.x0) - (group.x1 - group.x0)) > _RULES.width * (last.x1 - last.x0)
        or last.style.bold != group.style.bold
        or (longer and len(last.lines) > 2)
    )


def _unlabelled(groups: list[Group], head: Sequence[int], title: int | None, intro: int | None) -> list[Group] | None:
    """Return a first long paragraph set apart from the body (larger, other type, or alone across the columns)."""
    if title is None:
        return None
    for i in head:
        group = groups[i]
        if i <= title or group.page != groups[title].page or (intro is not None and i > intro):
            continue
        if (
            len(group.text) < _RULES.least_abstract
            or group.kind is not BlockKind.PARAGRAPH
            or not _is_prose(group.text)
        ):
            continue
        prose = [g for g in groups if g.kind is BlockKind.PARAGRAPH and len(g.text) > _RULES.prose]
        usual = Counter(g.style for g in prose).most_common(1)[0][0]
        set_apart = (
            abs(group.style.size - usual.size) >= _RULES.apart
            or group.style.bold != usual.bold
            or group.style.font != usual.font
            or (group.x1 - group.x0) > _RULES.wide * median(g.x1 - g.x0 for g in prose)
        )
        return _parts(groups, i) if set_apart else None
    return None


def _parts(groups: Sequence[Group], start: int) -> list[Group]:
    """Return an abstract without a label and, if it begins with the name of a part ("Aim: "), its other parts."""
    first = groups[start]
    below = groups[start + 1 :] if _PARTS.match(_part(first)) else []
    return [first, *takewhile(lambda g: _PARTS.match(_part(g)) and not _other_setting(first, g), below)]


def _part(group: Group) -> str:
    """Return the words before a group's first colon or stop."""
    return plain(re.split(r"[:.]", group.text, maxsplit=1)[0])


def _first_prose(groups: list[Group], head: Sequence[int], title: int | None, body: Style) -> int:
    after = (title + 1) if title is not None else 0
    for i in head:
        if i < after:
            continue
        group = groups[i]
        same = same_size(group.style.size, body.size) and group.style.font == body.font
        prose = same and len(group.text) > _RULES.first_prose and not is_publishers(group.text)
        if kind_of_heading(group.text):
            return i
        if prose:
            above = groups[i - 1]
            named = above.style != body and len(above.text) < _RULES.heading and not _NO_HEADING.search(above.text)
            return i - 1 if i > after and named else i
    return after


def _mark_rest(groups: list[Group], front: Front, title: int | None, body: Style) -> None:
    inside = {id(g) for g in front.abstract}
    for i, group in enumerate(groups[: front.body_start]):
        if id(group) in inside or i == title:
            continue
        name = kind_of_heading(group.text)
        beside = bool(front.abstract) and abs(group.lines[0].x0 - front.abstract[0].lines[0].x0) < _RULES.beside
        if (name in ("abstract", "main") or (name == "other_abstract" and beside)) and len(group.text) < _RULES.label:
            group.kind, group.level = BlockKind.HEADING, 1
        elif group.kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM):
            group.kind = BlockKind.OTHER
    for group in groups[front.body_start :]:
        if (
            group.kind is BlockKind.PARAGRAPH
            and group.page <= groups[0].page + 1
            and _LABELLED_KEYWORDS.match(group.text)
        ):
            group.kind = BlockKind.OTHER if KEYWORDS.match(group.text) else group.kind
        if group.page > groups[0].page:
            continue
        if (
            group.kind is BlockKind.PARAGRAPH
            and group.style.size < body.size - _RULES.same
            and is_publishers(group.text)
        ):
            group.kind = BlockKind.OTHER


def strip_title_label(text: str) -> str:
    """Remove what is not the title: the word "Title" or "OPEN" before it; a note on version and reviews, and the mark
    of a footnote behind it."""
    return _FOOTNOTE_MARK.sub("", _VERSION_NOTE.sub("", _TITLE_LABEL.sub("", text)))


def strip_label(text: str) -> str:
    """Return the abstract's text without its label, the title in brackets and the copyright behind it."""
    text = _RUN_IN.sub("", text, count=1) if _RUN_IN.match(text) else text
    return _COPYRIGHT.sub("", _OWN_TITLE.sub("", text, count=1))
