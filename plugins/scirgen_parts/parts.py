"""The pipeline's parts alone: parse files, match papers with records, score answers, tag questions.

Each calls the stage that a run calls, with the same settings, and keeps nothing on disk.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scirgen import (
    BlockKind,
    Config,
    Domain,
    InputError,
    Material,
    Paper,
    PaperError,
    QAPair,
    Span,
    Stage,
    StageContext,
    Table,
    WorkItem,
)
from scirgen.claims.conformance import answer_problem, question_problem
from scirgen.commands.tables import Row, Rows, rows_of
from scirgen.core.records import SectionLabel
from scirgen.core.records.table import Table as DocumentTable
from scirgen.llm.session import ScoreSession
from scirgen.pipeline.intake import open_input
from scirgen.pipeline.run import opened_context
from scirgen.plugin import ChatSession, Document, Link, blocking, content_id, file_sha256, load_registry, resolve_config
from scirgen.release_files.qafiles import lacking, no_rows, plain_groups
from scirgen.stages.base import made_stage, suited
from scirgen.stages.collect.files.paperfolder import PAPER_TYPES, PaperFolder
from scirgen.stages.collect.pages import Collected, pages
from scirgen.stages.filter.deciding import outcome, score_all, sentence
from scirgen.stages.parse.assemble import assemble, titled
from scirgen.stages.parse.frontmatter import front_matter
from scirgen.stages.parse.grid import REFUSED, refused_place
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.stage import read_paper

Settings = Mapping[str, object]


# -- parse -------------------------------------------------------------------------------------------------------------


def parse(
    files: str | Path | Sequence[str | Path], *, domain: str | None = None, settings: Settings | None = None
) -> Table:
    """Read papers: structure, places on the page, front matter.

    Args:
        files: a file, a folder, or several.
        domain: name of the domain whose settings are used.
        settings: dotted setting -> value (``parse.*``).

    Returns:
        One row per file: file, title, authors, doi, year, licence, abstract, language, pages, ``tables`` (how many are
        read as cells), ``tables_refused`` (code -> how many are not), and ``blocks`` (kind, text, level, page, box,
        place in the paper's text, headings above it; of a table its cells, or, where it or its caption stands, why it
        is ``refused``); ``error`` and ``reason`` if it cannot be read.

    Raises:
        InputError: a file does not exist, or there is none.
    """
    loaded, _ = resolve_config(domain=domain, flags=dict(settings or {}), reads=("parse",))
    listed = [files] if isinstance(files, (str, Path)) else list(files)
    found = [path for given in listed for path in _papers(Path(given))]
    return Table(blocking(_parsed(found, loaded.config)), "parsed papers")


def _papers(given: Path) -> list[Path]:
    found = [given] if given.is_file() else [f.path for f in PaperFolder(given).files]
    if not found:
        raise InputError(
            f"{given} contains no paper" if given.exists() else f"{given} does not exist",
            hint=f"Give files or folders of papers: {', '.join(PAPER_TYPES)}.",
            code="no_papers",
        )
    return found


async def _parsed(files: Iterable[Path], config: Config) -> list[Row]:
    rows: list[Row] = []
    pool, registry = ParserPool(config.parse.workers, config.parse.memory_mb), load_registry()
    try:
        for file in files:
            try:
                parsed = await read_paper(file, config.parse, registry, pool)
            except PaperError as error:
                rows.append({"file": str(file), "error": error.error_code, "reason": error.in_full})
                continue
            front = front_matter(parsed)
            document = assemble(Paper(id=f"paper-{file_sha256(file)[:16]}", file=str(file)), parsed, None)
            given = (b for b in titled(parsed.blocks) if b.text.strip())
            blocks = [
                {
                    "kind": block.kind.value, "text": document.text[block.start : block.end], "level": block.level,
                    "page": block.page, "box": block.bbox, "start": block.start, "end": block.end,
                    "headings": list(block.heading_path),
                    **({"table": _cells(document, block.table)} if block.table else {}),
                    **({"refused": read.refused} if read.refused else {}),
                }
                for block, read in zip(document.blocks, given, strict=True)
            ]  # fmt: skip
            rows.append({
                "file": str(file), "title": front.title, "authors": list(front.authors), "doi": front.doi,
                "year": front.year, "licence": front.licence, "abstract": front.abstract,
                "language": document.language, "pages": document.pages, "parser": document.parser,
                "tables": sum("table" in b for b in blocks),
                "tables_refused": dict(Counter(b["refused"] for b in blocks if "refused" in b)), "blocks": blocks,
            })  # fmt: skip
    finally:
        pool.close()
    return rows


def _cells(document: Document, table: DocumentTable) -> Row:
    """Return a table for JSON: the place, text, page and box of each cell with its row and column."""
    cells = []
    for cell in table.cells:
        span = document.span(cell.start, cell.end)
        cells.append({
            **cell.model_dump(), "text": span.text, "headers": list(span.headers), "page": span.page, "box": span.bbox,
        })  # fmt: skip
    return {**table.model_dump(exclude={"cells"}), "cells": cells}


def as_markdown(row: Row) -> str:
    """Return a parsed paper as Markdown."""
    lines: list[str] = []
    for block in _blocks(row):
        text = " ".join(str(block["text"]).split())
        match block["kind"]:
            case BlockKind.TITLE:
                lines.append(f"# {text}")
            case BlockKind.HEADING:
                lines.append(f"{'#' * min(6, 1 + int(block['level'] or 1))} {text}")
            case BlockKind.LIST_ITEM | BlockKind.REFERENCE:
                lines.append(f"- {_escaped(_BULLET.sub('', text))}")
            case BlockKind.TABLE:
                lines.append(str(block["text"]) if "table" in block else f"```\n{block['text']}\n```")
            case _:
                lines.append(_escaped(text))
    return "\n\n".join(lines)


_MARK = re.compile(r"^(\d{1,9}(?=[.)]\s)|(?=#{1,6}\s|>|[-+*]\s|\||`{3}|~{3}|[-*_]{3,}$))")
"""Before what Markdown does not take for text at the beginning of a line."""
_BULLET = re.compile(r"^[-+*•▪◦–]\s+")


def _escaped(text: str) -> str:
    return _MARK.sub(r"\1\\", text)


def _blocks(row: Row) -> list[dict[str, Any]]:
    return row.get("blocks", [])  # type: ignore[return-value]


def refused_tables(row: Row) -> list[str]:
    """Return a line for each table of a parsed paper that is not read as cells: code, page, beginning and reason."""
    return [
        f"{code}{refused_place(block['text'], block['page'])}: {REFUSED[code]}"
        for block in _blocks(row)
        if (code := block.get("refused"))
    ]


# -- score and tag -----------------------------------------------------------------------------------------------------


def score(
    rows: Rows,
    *,
    scorers: Sequence[str] = ("shift",),
    model: str | None = None,
    domain: str | None = None,
    settings: Settings | None = None,
) -> Table:
    """Measure how much a context supports an answer, row by row.

    Args:
        rows: a path, a list of mappings or a DataFrame, with question, answer, and context (or evidence).
        scorers: names of faithfulness scorers (``scirgen plugins list --kind faithfulness``).
        model: URI of the model that measures log-probabilities and judges.
        domain: name of the domain whose prompts are used.
        settings: dotted setting -> value (``filter.*``, ``models.*``).

    Returns:
        The rows with a column for each scorer, ``verdict`` (kept, rejected, unsure, not measured) and ``why``.

    Raises:
        InputError: a row has no question, answer or context.
        ScirgenError: the model or a scorer cannot be used.
    """
    flags = {**_models(model, True), **(settings or {}), "filter.faithfulness": list(scorers)}
    loaded, pack = resolve_config(domain=domain, flags=flags, reads=("filter", "models", "limits"))
    return blocking(_scored(list(rows_of(rows)), loaded.config, pack))


async def _scored(rows: list[Row], config: Config, pack: Domain) -> Table:
    found: list[Row] = []
    pairs = _pairs(rows)
    contexts = [_context(n, row) for n, row in enumerate(rows, 1)]
    async with opened_context(config, pack, "filter", needs_scores=True) as ctx:
        for row, pair, context in zip(rows, pairs, contexts, strict=True):
            cited = Span(document_id=pair.dataset_id, start=0, end=len(context), text=context)
            pair = pair.model_copy(update={"evidence": (cited,)})
            scored = await score_all([pair], Material(None, (), context, {pair.dataset_id: context}), ctx)
            judged, error = scored[pair.id]
            against = next((s for s in judged.scores if s.passed is False), None)
            found.append({
                **row,
                **{s.name: s.value for s in judged.scores if not s.abstained},
                "verdict": "not measured" if error or not judged.scores else outcome(judged),
                "why": str(error) if error else sentence(against, ctx.registry) if against else "",
            })  # fmt: skip
        return Table(found, _by("scores", ctx.score_session or ctx.chat_session))


def tag(
    rows: Rows,
    *,
    model: str | None = None,
    domain: str | None = None,
    settings: Settings | None = None,
) -> Table:
    """Find the question types whose form a question has, and its Bloom level.

    Args:
        rows: a path, a list of mappings or a DataFrame, with question and answer; question_type and context help.
        model: URI of the model that chooses the level.
        domain: name of the domain whose taxonomies are used.
        settings: dotted setting -> value (``tag.*``, ``models.*``).

    Returns:
        The rows with ``possible_types`` (by the taxonomy's rules of form), ``question_type`` (the row's own, else the
        first possible one) and ``bloom``.

    Raises:
        InputError: a row has no question or answer.
        ScirgenError: the model cannot be used.
    """
    flags = {**_models(model, False), **(settings or {})}
    loaded, pack = resolve_config(domain=domain, flags=flags, reads=("tag", "models", "limits"))
    return blocking(_tagged(list(rows_of(rows)), loaded.config, pack))


async def _tagged(rows: list[Row], config: Config, pack: Domain) -> Table:
    found: list[Row] = []
    given = _pairs(rows)
    async with opened_context(config, pack, "tag", needs_scores=False) as ctx:
        stage, size = _stage("tag", ctx), config.tag.batch_size
        possible: list[list[str]] = []
        pairs: list[QAPair] = []
        for pair in given:
            possible.append(_possible(pair, ctx))
            kind = pair.question_type or next(iter(possible[-1]), _USUAL)
            pairs.append(pair.model_copy(update={"question_type": kind}))
        tagged: dict[str, QAPair] = {}
        for at in range(0, len(pairs), size):
            result = await stage.process(WorkItem(f"rows {at}", tuple(pairs[at : at + size])), ctx)
            tagged.update({p.id: p for p in result.outputs if isinstance(p, QAPair)})
    for row, pair, kinds in zip(rows, pairs, possible, strict=True):
        level = tagged[pair.id].bloom if pair.id in tagged else None
        found.append({**row, "question_type": pair.question_type, "possible_types": kinds, "bloom": level})
    return Table(found, _by("tags", ctx.chat_session))


def _by(made: str, session: ChatSession | ScoreSession | None) -> str:
    return f"{made} by {session.identity}" if session is not None else made


_USUAL = "concept_completion"


def _possible(pair: QAPair, ctx: StageContext) -> list[str]:
    kinds = (ctx.taxonomies.question_type(k.id, pair.language) for k in ctx.taxonomies.graesser.types)
    return [
        kind.id
        for kind in kinds
        if kind.question.any_of
        and not question_problem(kind, pair.question)
        and not answer_problem(kind, pair.question, pair.answer, ctx.taxonomies.wording.of(pair.language))
    ]


# -- match -------------------------------------------------------------------------------------------------------------


def match(
    records: str | Path,
    papers: str | Path | None = None,
    *,
    model: str | None = None,
    domain: str | None = None,
    settings: Settings | None = None,
) -> Table:
    """Decide which papers of a folder use which datasets.

    Args:
        records: folder or file of records.
        papers: folder of papers, if it is not inside the records' folder.
        model: URI of the model, for strategies that ask one.
        domain: name of the domain.
        settings: dotted setting -> value (``collect.*``, ``parse.*``, ``section.*``, ``match.*``, ``models.*``).

    Returns:
        One row for each candidate pair: dataset, paper, file, found_by, used, explanation, evidence, criteria.

    Raises:
        ScirgenError: the input or the model cannot be used.
    """
    flags = {
        "input": str(records),
        "papers": str(papers) if papers else None,
        **_models(model, False),
        **(settings or {}),
    }
    known = ("input", "papers", "collect", "parse", "section", "match", "models", "limits")
    loaded, pack = resolve_config(domain=domain, flags={k: v for k, v in flags.items() if v is not None}, reads=known)
    return Table(blocking(_matched(loaded.config, pack)), "matched papers")


async def _matched(config: Config, pack: Domain) -> list[Row]:
    rows: list[Row] = []
    read: dict[str, tuple[Document, tuple[SectionLabel, ...]] | None] = {}
    with TemporaryDirectory(prefix="scirgen-match-") as folder:
        async with opened_context(config, pack, "match", needs_scores=False) as ctx:
            source = open_input(config, ctx.registry, pack, Path(folder))
            async for page in pages(source, config.collect, limit=config.collect.limit):
                for item in page.items:
                    rows += await _judged(item, read, ctx)
    return rows


async def _judged(
    item: Collected, read: dict[str, tuple[Document, tuple[SectionLabel, ...]] | None], ctx: StageContext
) -> list[Row]:
    """Return the candidates of one dataset; each paper is read once."""
    rows: list[Row] = []
    for paper, link in zip(item.papers, item.links, strict=True):
        if paper.id not in read:
            parsed = await _stage("parse", ctx).process(WorkItem(paper.id, (paper,)), ctx.at("parse", paper.id, ""))
            document = next((d for d in parsed.outputs if isinstance(d, Document)), None)
            labels: tuple[SectionLabel, ...] = ()
            if document is not None:
                sections = WorkItem(paper.id, (document,))
                result = await _stage("section", ctx).process(sections, ctx.at("section", paper.id, ""))
                labels = tuple(label for label in result.outputs if isinstance(label, SectionLabel))
            read[paper.id] = (document, labels) if document is not None else None
        row: dict[str, object] = {
            "dataset": item.dataset.id, "paper": paper.id, "file": paper.file, "found_by": link.found_by,
        }  # fmt: skip
        known = read[paper.id]
        if known is None:
            rows.append(
                {**row, "used": None, "explanation": "the paper cannot be read", "criteria": None, "evidence": []}
            )
            continue
        given = (item.dataset, known[0], link, *known[1])
        result = await _stage("match", ctx).process(WorkItem(link.id, given), ctx.at("match", link.id, ""))
        left = (Link.model_validate_json(r.record) for r in result.rejections)
        judged = next(chain((o for o in result.outputs if isinstance(o, Link)), left))
        said = judged.model_dump(mode="json", include={"used", "explanation", "criteria"})
        rows.append({**row, **said, "evidence": [s.text for s in judged.evidence]})
    return rows


def _stage(name: str, ctx: StageContext) -> Stage:
    return suited(made_stage(ctx.registry, name), ctx)


# -- shared ------------------------------------------------------------------------------------------------------------


def _models(model: str | None, scores: bool) -> dict[str, object]:
    roles = ("generator", "scorer") if scores else ("generator",)
    return {f"models.{role}": model for role in roles} if model else {}


def _pairs(rows: Sequence[Row]) -> list[QAPair]:
    """Return a pair for each row, in their order.

    Raises:
        InputError: there is no row, or a row has no question or no answer.
    """
    if not rows:
        raise no_rows("the table")
    found: list[QAPair] = []
    for number, row in enumerate(rows, 1):
        [asked] = [q for group in plain_groups([row], first=number) for q in group.rows]
        if not asked.question or not asked.answer:
            raise lacking("answer" if asked.question else "question", number, row)
        found.append(
            QAPair(
                id=content_id("row", number), dataset_id=f"row-{number}", question=asked.question, answer=asked.answer,
                question_type=asked.question_type, language=asked.language,
            )
        )  # fmt: skip
    return found


def _context(number: int, row: Row) -> str:
    [group] = plain_groups([row])
    if not group.context:
        raise lacking("context", number, row)
    return group.context
