"""Renders the profile of a dataset: its rows, and what its papers say, by aspect, each sentence linked to its page.

Everything shown comes from a run's store. Paper and catalogue text is escaped, in HTML and in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import jinja2

from scirgen.core.corpus.printed import papers_of
from scirgen.core.errors import InputError
from scirgen.core.grouped import grouped
from scirgen.core.records import (
    Aspect,
    Box,
    Dataset,
    Document,
    Frozen,
    Link,
    Paper,
    QAPair,
    Rejection,
    SectionLabel,
    Span,
    aspects_by_category,
    users_of,
)
from scirgen.core.registry import suggest
from scirgen.core.text.shown import shown
from scirgen.pipeline.plan import WRITERS
from scirgen.pipeline.views.view import StoreView, open_view
from scirgen.report.html import words
from scirgen.report.pictures import page_pictures

_PARTS = files("scirgen.report") / "page"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BADGE = 2
"""Height of a line of badges beside a page, in percent."""
_LINE_START = re.compile(r"^(\s*\d*)([-+=.)])(?=\s)")


class Statement(Frozen):
    """A sentence of a paper, its position, and why it is shown. ``link`` opens the page; "" without a file.
    ``source`` names a text that is not of the dataset."""

    text: str
    paper: int
    page: int | None
    section: str
    link: str
    reason: str = ""
    box: Box | None = None
    source: str = ""


class Question(Frozen):
    """A released row, numbered from 1, with its evidence; ``paper`` 0 stands for the metadata. ``asked_with`` is the
    title of another dataset that it was asked with."""

    number: int
    id: str
    question: str
    answer: str
    question_type: str
    bloom: str
    evidence: tuple[Statement, ...]
    asked_with: str = ""


class Sheet(Frozen):
    """The picture of a page, and the evidence on it: (row's number, left, top, width, height), in percent."""

    paper: int
    page: int
    src: str
    width: float
    height: float
    frames: tuple[tuple[int, float, float, float, float], ...]

    @property
    def badges(self) -> dict[int, list[int]]:
        """Height in percent -> the numbers that stand there in the margin, where they cover nothing."""
        lines = grouped((_BADGE * int(top / _BADGE), number) for number, _, top, _, _ in sorted(self.frames))
        return {top: list(dict.fromkeys(numbers)) for top, numbers in lines.items()}


class LinkedPaper(Frozen):
    """A paper of the dataset, numbered from 1 as it is cited in the profile."""

    number: int
    title: str
    doi: str | None
    link: str
    file: str
    explanation: str
    evidence: tuple[Statement, ...]


class Profile(Frozen):
    """A dataset with its papers and what was kept from them.

    Attributes:
        chosen: sentences of its papers that extract chose; each is shown, or left out with a reason.
        left_out: the sentences that no call of generate shows, with their reasons.
        rows: the accepted rows.
    """

    id: str
    title: str
    doi: str | None
    url: str
    metadata: str
    papers: tuple[LinkedPaper, ...]
    aspects: tuple[tuple[str, tuple[Statement, ...]], ...]
    candidates_rejected: tuple[tuple[str, str], ...]
    chosen: int
    left_out: tuple[Statement, ...]
    rows: tuple[Question, ...] = ()


def build_profile(folder: Path, wanted: str) -> Profile:
    """Return the profile of one dataset of a run.

    Args:
        folder: the run's folder.
        wanted: the dataset's id, a unique beginning of it, or its DOI.

    Raises:
        InputError: the folder is not a run, or the run has no such dataset.
    """
    with open_view(folder) as view:
        dataset = _dataset(view, wanted)
        documents = {d.id: d.paper_id for d in view.records("parse", Document, dataset.id)}
        papers = papers_of(view, dataset.id)
        links = [x for x in view.records("match", Link, dataset.id) if x.used]
        aspects = list(view.records("verify", Aspect, dataset.id))
        chosen = [a for a in view.records("extract", Aspect, dataset.id) if a.paper_id in {x.paper_id for x in links}]
        not_used = [r for r in view.rejections("match", dataset.id) if r.dataset_id == dataset.id]
        stages = ("verify", *WRITERS)
        removed = [r for s in stages for r in view.rejections(s, dataset.id) if r.dataset_id == dataset.id]
        pairs = _rows_of(dataset.id, view)
        own = {d for d, paper in documents.items() if paper in {x.paper_id for x in links}}
        other = {s.document_id for p, _ in pairs for s in p.evidence} - {dataset.id, *own}
        found = (r for d in other for _, result in view.find(d) for r in result.outputs())
        names = {r.id: r.title or r.id for r in found if isinstance(r, Document | Dataset) and r.id in other}
    return _profile(dataset, papers, links, aspects, chosen, not_used, removed, pairs, documents, names)


def _rows_of(dataset_id: str, view: StoreView) -> list[tuple[QAPair, str]]:
    """Return a dataset's released rows, each with the title of the other dataset that it was asked with, or ""."""
    titles, used = {d.id: d.title for d in view.datasets()}, users_of(view.uses())
    users = {x.document_id: used[x.paper_id] for x in view.records("section", SectionLabel) if x.paper_id in used}
    left_out = {r.record_id for r in view.rejections("release")}
    found: dict[str, tuple[QAPair, str]] = {}
    for host, title in titles.items():
        for pair in (p.with_gold(users, titles) for p in view.pairs([host])):
            if pair.gold and pair.dataset_id == dataset_id and pair.id not in left_out:
                found[pair.id] = pair, "" if host == dataset_id else title
    return sorted(found.values(), key=lambda f: (f[0].question_type, f[0].id))


def as_markdown(profile: Profile) -> str:
    """Return the profile as CommonMark; text of papers cannot become markup."""
    return _render("profile.md.j2", profile, autoescape=False)


def as_html(profile: Profile) -> str:
    """Return the profile as one HTML page that needs no network and runs no script, with pictures of the PDF pages that
    hold evidence."""
    return _render("profile.html.j2", profile, autoescape=True, sheets=list(_sheets(profile)))


def _sheets(profile: Profile) -> Iterator[Sheet]:
    """Yield the pictures of the pages that hold evidence of the rows, as far as their files can be drawn."""
    placed = ((row.number, said) for row in profile.rows for said in row.evidence)
    wanted = grouped(((s.paper, s.page), (row, s.box)) for row, s in placed if s.paper and s.page)
    for paper in profile.papers:
        pages = sorted(page for number, page in wanted if number == paper.number)
        file = Path(paper.file)
        drawn = page_pictures(file, pages) if pages and paper.file and file.is_file() else {}
        for page, picture in sorted(drawn.items()):
            wide, high = picture.width, picture.height
            yield Sheet(
                paper=paper.number, page=page, src=picture.src, width=wide, height=high,
                frames=tuple(
                    (number, 100 * x0 / wide, 100 * y0 / high, 100 * (x1 - x0) / wide, 100 * (y1 - y0) / high)
                    for number, box in wanted[paper.number, page] if box for x0, y0, x1, y1 in [box]
                ),
            )  # fmt: skip


def _dataset(view: StoreView, wanted: str) -> Dataset:
    known = {d.id: d for d in view.datasets()}
    if wanted in known:
        return known[wanted]
    low = wanted.lower().removeprefix("https://doi.org/").removeprefix("doi:")
    found = [d for d in known.values() if d.id.startswith(wanted) or (d.doi or "").lower() == low]
    if len(found) == 1:
        return found[0]
    some = shown((d.id for d in found), 5)
    hint = f"It could be: {some}." if found else suggest(wanted, list(known)[:200])
    raise InputError(f"no dataset {wanted!r} in this run", hint=hint)


def _profile(
    dataset: Dataset,
    papers: dict[str, Paper],
    links: Sequence[Link],
    aspects: Sequence[Aspect],
    chosen: Sequence[Aspect],
    not_used: Sequence[Rejection],
    removed: Sequence[Rejection],
    pairs: Sequence[tuple[QAPair, str]],
    documents: Mapping[str, str],
    names: Mapping[str, str],
) -> Profile:
    numbers = {link.paper_id: n for n, link in enumerate(links, 1)}

    def quoted(span: Span, paper_id: str, reason: str = "") -> Statement:
        return Statement(
            text=" ".join(span.text.split()),
            paper=numbers.get(paper_id, 0),
            page=span.page,
            section=span.section.value.replace("_", " ") if span.section else "",
            link=_page_link(papers.get(paper_id), span.page),
            reason=reason,
            box=span.bbox,
            source=names.get(span.document_id, ""),
        )

    linked = tuple(
        LinkedPaper(
            number=numbers[link.paper_id],
            title=paper.title if (paper := papers.get(link.paper_id)) and paper.title else link.paper_id,
            doi=paper.doi if paper else None,
            link=_page_link(paper, None),
            file=(paper.file or "") if paper else "",
            explanation=link.explanation,
            evidence=tuple(quoted(s, link.paper_id) for s in link.evidence),
        )
        for link in links
    )
    # A sentence may be of several aspects, and be kept for one of them.
    reasons = {r.record_id: f"{r.code}: {r.reason}" for r in removed}
    gone = {_place(a): a for a in (*chosen, *aspects) if _id_of(a, dataset) in reasons}
    for aspect in aspects:
        if aspect.id not in reasons:
            gone.pop(_place(aspect), None)
    return Profile(
        id=dataset.id,
        title=dataset.title,
        doi=dataset.doi,
        url=_web(dataset.url) or (f"https://doi.org/{dataset.doi}" if dataset.doi else ""),
        metadata=dataset.text,
        papers=linked,
        aspects=tuple(
            (category.value.replace("_", " ").capitalize(), tuple(quoted(a.span, a.paper_id, a.reason) for a in group))
            for category, group in aspects_by_category(aspects).items()
        ),
        candidates_rejected=tuple((_title_of(papers, r), r.reason) for r in not_used),
        chosen=len({_place(a) for a in chosen}),
        left_out=tuple(
            quoted(a.span, a.paper_id, reasons[_id_of(a, dataset)])
            for a in sorted(gone.values(), key=lambda a: (numbers.get(a.paper_id, 0), a.span.start, a.span.end))
        ),
        rows=tuple(
            Question(
                number=n,
                id=p.id,
                question=p.question,
                answer=p.answer,
                question_type=p.question_type,
                bloom=p.bloom or "",
                evidence=tuple(quoted(s, documents.get(s.document_id, "")) for s in p.evidence),
                asked_with=asked_with,
            )
            for n, (p, asked_with) in enumerate(pairs, 1)
        ),
    )


def _place(aspect: Aspect) -> tuple[str, int, int]:
    return aspect.span.document_id, aspect.span.start, aspect.span.end


def _id_of(aspect: Aspect, dataset: Dataset) -> str:
    return aspect.model_copy(update={"dataset_id": dataset.id}).id


def _title_of(papers: dict[str, Paper], rejection: Rejection) -> str:
    paper_id = rejection.record_id.partition("|")[2]
    paper = papers.get(paper_id)
    return (paper.title if paper and paper.title else "") or paper_id


def _page_link(paper: Paper | None, page: int | None) -> str:
    """Return the file at a page (PDF viewers follow ``#page=``), or the paper on the web."""
    if paper is None:
        return ""
    if paper.file and Path(paper.file).is_file():
        return Path(paper.file).resolve().as_uri() + (f"#page={page}" if page else "")
    return f"https://doi.org/{paper.doi}" if paper.doi else _web(paper.url)


def _web(url: str | None) -> str:
    """Return the address if it is a web link, and not, for example, ``javascript:``."""
    return url if url and re.match(r"https?://[^\s\"'<>]+$", url) else ""


def markdown_text(text: object) -> str:
    """Return the text escaped for CommonMark."""
    return _LINE_START.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(str(text).split())))


def _link_target(link: str) -> str:
    return link.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


def _render(name: str, profile: Profile, *, autoescape: bool, sheets: Sequence[Sheet] = ()) -> str:
    environment = jinja2.Environment(
        autoescape=autoescape,  # noqa: S701  (Markdown has its own escaping: the filter md)
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = words
    environment.filters["md"] = markdown_text
    environment.filters["target"] = _link_target
    text = environment.from_string((_PARTS / name).read_text("utf-8")).render(profile=profile, sheets=sheets)
    return text.rstrip() + "\n"
