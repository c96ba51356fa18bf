"""Stage 2: makes a `Document` from a paper's file. It chooses the parser, and rejects papers that cannot be read."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from scirgen.core.config import Config, ParseConfig
from scirgen.core.corpus.printed import as_printed, differences
from scirgen.core.errors import PaperError, PluginError
from scirgen.core.records import BlockKind, Paper, PlacedLine, Rejection, same_fields
from scirgen.core.records.licences import licence_allowed, not_wanted
from scirgen.core.registry import Provided, Registry, load_registry, suggest
from scirgen.core.registry.plugincode import provided_code
from scirgen.core.text.passages import count_words
from scirgen.stages.base import Scope, Stage, StageContext, StageResult, Uses, WorkItem
from scirgen.stages.parse.assemble import assemble
from scirgen.stages.parse.base import LAYOUT_VERSION, FileKind, ParsedBlock, ParsedPaper, ParserOptions
from scirgen.stages.parse.grid import REFUSED
from scirgen.stages.parse.process import kept
from scirgen.stages.parse.process.pool import ParserPool
from scirgen.stages.parse.readers import reader_in_use

_MIN_ABSTRACT = 150
_SENTENCE_WORDS = 5
"""Fewest words of a block that may be a sentence; a paper has one."""
_SEEN = 40
"""Number of letters and digits at a block's beginning by which the block is found in the other result."""


def better(own: ParsedPaper, grobid: ParsedPaper) -> ParsedPaper:
    """Return GROBID's result if only GROBID found the abstract, or if both or neither found it and GROBID found more
    headings; otherwise ours.

    GROBID's blocks without coordinates get the place of the same text in ours.
    """
    if _completeness(grobid) <= _completeness(own):
        return own
    blocks = tuple(_placed(grobid.blocks, own.blocks))
    return grobid.model_copy(update={"blocks": blocks, "pages": own.pages, "language": grobid.language or own.language})


def _completeness(parsed: ParsedPaper) -> tuple[bool, int]:
    headings = sum(b.kind is BlockKind.HEADING for b in parsed.blocks)
    return len(parsed.abstract) >= _MIN_ABSTRACT, headings


def _placed(blocks: Sequence[ParsedBlock], known: Sequence[ParsedBlock]) -> list[ParsedBlock]:
    text, starts = "", []
    for block in known:
        ends = [*(line.start for line in block.lines[1:]), len(block.text)]
        for line, end in zip(block.lines, ends[: len(block.lines)], strict=True):
            starts.append((len(text), line))
            text += _letters(block.text[line.start : end])
    made, position = [], 0
    for block in blocks:
        beginning = _letters(block.text)[:_SEEN]
        at = text.find(beginning, position) if beginning else -1
        at = text.find(beginning) if at < 0 and len(beginning) == _SEEN else at
        if not block.lines and at >= 0:
            line = next(line for start, line in reversed(starts) if start <= at)
            place = PlacedLine(start=0, page=line.page, bbox=line.bbox)
            block = block.model_copy(update={"lines": (place,)})
        position = at if at >= 0 else position
        made.append(block)
    return made


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


_AUTO: dict[FileKind, str] = {kind: kind for kind in get_args(FileKind)} | {"jats": "text"}
"""The kind of a file -> the parser that ``auto`` takes."""
_FOR_PDF = ("pdf", "grobid")
_POOLS: weakref.WeakValueDictionary[tuple[int, int], ParserPool] = weakref.WeakValueDictionary()
_MAX_KEPT = 20_000
"""Characters of text that a rejection keeps."""
_OCR_SLOWNESS = 10
"""The factor by which a scanned page may take longer than one with a text layer."""


class ParseStage(Stage):
    """One item for each paper with a file. An error that no retry can fix rejects the paper, and the run continues."""

    name = "parse"
    version = 9

    def __init__(self) -> None:
        self._pool: ParserPool | None = None

    def uses(self, config: Config) -> Uses:
        beside = ["grobid beside"] if _both(config.parse) else []
        code = code_of_parsers(config.parse, load_registry())
        reader = reader_in_use(config.parse.reader)
        return Uses(config=("parse",), extra=(f"{reader}+layout.{LAYOUT_VERSION}", *beside, *code))

    def check_settings(self, config: Config, registry: Registry) -> None:
        """Refuse a parser that does not exist, or that declares a kind of file that does not exist."""
        choose_parser(registry, config.parse.parser, "pdf")

    def items(self, scope: Scope, ctx: StageContext) -> Iterable[WorkItem]:
        seen: set[str] = set()
        for paper in scope.outputs("collect", Paper):
            if paper.file and paper.id not in seen:
                seen.add(paper.id)
                yield WorkItem(key=paper.id, inputs=(paper,), salt=" ".join(ctx.config.collect.licences))

    async def process(self, item: WorkItem, ctx: StageContext) -> StageResult:
        """Parse the paper. One whose licence, as stated and printed, is not among ``collect.licences`` is rejected.

        Raises:
            ScirgenError: errors that a retry may fix (a GROBID server that is down), or a missing extra.
        """
        paper = item.one(Paper)
        workers = self._workers(ctx.config.parse.workers, ctx.config.parse.memory_mb)
        try:
            parsed = await read_paper(Path(paper.file or ""), ctx.config.parse, ctx.registry, workers, ctx.folder)
        except PaperError as error:
            if error.retryable:
                raise
            return StageResult(rejections=(_rejection(paper, error.error_code, error.in_full, ctx),))
        document = assemble(paper, parsed, ctx.provenance())
        licence, wanted = as_printed(paper, document).licence, ctx.config.collect.licences
        if wanted and not licence_allowed(licence, wanted):
            return StageResult(rejections=(_rejection(paper, "licence", not_wanted(licence, wanted), ctx),))
        rejections = [_orders(paper, parsed.orders, ctx)] if parsed.orders else []
        for number, block in enumerate(b for b in parsed.blocks if b.refused):
            about = ("Table", f"{paper.id}#{number}")
            rejections.append(ctx.reject(block.refused, REFUSED[block.refused], about, record=block.text[:_MAX_KEPT]))
        if differ := differences(paper, document):
            rejections.append(ctx.reject("print_differs", "; ".join(differ), ("Paper", paper.id)))
        return StageResult(outputs=(document,), rejections=tuple(rejections))

    def _workers(self, size: int, memory_mb: int) -> ParserPool:
        if self._pool is None:
            key = (size, memory_mb)
            self._pool = _POOLS.get(key) or ParserPool(size, memory_mb)
            _POOLS[key] = self._pool
        return self._pool


async def read_paper(
    path: Path, config: ParseConfig, registry: Registry, workers: ParserPool, run: Path | None = None
) -> ParsedPaper:
    """Return the result of the parser that suits the file. With ``auto`` and a GROBID address, both parsers read a PDF,
    and the better result is kept. A file that the run in the folder ``run`` has read is not read again.

    Raises:
        PaperError: the file cannot be read.
        ScirgenError: a server that the parser needs does not answer, or an extra is missing.
    """
    limit = {"timeout_s": config.timeout_s * (_OCR_SLOWNESS if config.ocr else 1)}
    options = ParserOptions(**same_fields(config, ParserOptions) | limit)
    by_kind = {kind: parser for kind in _AUTO if (parser := choose_parser(registry, config.parser, kind)) is not None}
    versions = ParseStage.version, LAYOUT_VERSION, reader_in_use(config.reader), code_of_parsers(config, registry)
    told = options.model_dump(mode="json", exclude={"timeout_s", "grobid_url", "reader"}), config.parser, versions
    place = None if config.parser == "grobid" else kept.place_of(run, path)
    own = kept.load(place, told)
    if own is None:
        own = await workers.parse(by_kind, path, options)
        kept.keep(place, told, own)
    words = [count_words(b.text) for b in own.blocks]
    if max(words, default=0) < _SENTENCE_WORDS:
        raise PaperError(
            f"the file contains {sum(words)} words and no sentence",
            hint="It may be a placeholder or a broken download; give the whole paper.",
            code="no_sentence",
        )
    if config.tables == "skip":
        plain = (b.model_copy(update={"table": None, "refused": ""}) for b in own.blocks)
        own = own.model_copy(update={"blocks": tuple(plain)})
    if own.kind != "pdf" or not _both(config):
        return own
    try:
        return better(own, await workers.parse(registry.entries()["parser", "grobid"][1], path, options))
    except PaperError as error:
        if error.retryable:
            raise
        return own  # GROBID cannot read it, the layout could


def code_of_parsers(config: ParseConfig, registry: Registry) -> tuple[str, ...]:
    """Return hashes of the code of all parsers that may read a paper with these settings."""
    names = dict.fromkeys([config.parser, *_AUTO.values(), *(["grobid"] if _both(config) else [])])
    return tuple(code for name in names for code in provided_code(registry, "parser", name))


def _both(config: ParseConfig) -> bool:
    return config.parser == "auto" and bool(config.grobid_url)


def choose_parser(registry: Registry, wanted: str, kind: FileKind) -> Provided | None:
    """Return the parser plugin for a file; imported in the worker process only. None if no parser reads it.

    With the ``text`` parser or one for PDF set, files of other forms are read as with ``auto``; so are those that a
    plugin's parser does not declare (``reads``).

    Raises:
        PluginError: no parser has that name, or ``reads`` is not a tuple of kinds.
    """
    name, entries = wanted, registry.entries()
    if wanted == "auto" or (wanted in ("text", *_FOR_PDF) and kind != "pdf"):
        name = _AUTO[kind]
    elif ("parser", wanted) not in entries:
        raise PluginError(f"unknown parser {wanted!r}", hint=suggest(wanted, ["auto", *registry.names("parser")]))
    elif wanted not in _FOR_PDF and registry.provider("parser", wanted) != "scirgen":
        reads = getattr(registry.get("parser", wanted), "reads", ())
        if odd := next((k for k in reads if k not in _AUTO), ""):
            raise PluginError(f"parser {wanted!r}: reads has {odd!r}, not a kind of file", hint=suggest(odd, _AUTO))
        name = wanted if kind in reads or not reads else _AUTO[kind]
    return entries["parser", name][1] if ("parser", name) in entries else None


def _orders(paper: Paper, sentences: Sequence[str], ctx: StageContext) -> Rejection:
    reason = f"{len(sentences)} sentence(s) address a language model, not the paper's readers; they were removed"
    return ctx.reject("instructions", reason, ("Sentence", paper.id), record="\n".join(sentences)[:_MAX_KEPT])


def _rejection(paper: Paper, code: str, reason: str, ctx: StageContext) -> Rejection:
    return ctx.reject(code, reason, paper, record=paper.model_dump_json(exclude={"file", "provenance"}))
