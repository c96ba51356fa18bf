"""The parser for Markdown, plain text and JATS. Their blocks have no pages and boxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from scirgen.core.errors import PaperError
from scirgen.core.records import BlockKind
from scirgen.core.secrets.addresses import without_passwords
from scirgen.stages.parse.assemble import abstract_of, clean, mark_references
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper, ParserOptions
from scirgen.stages.parse.grid import GivenCell, table_block
from scirgen.stages.parse.jats import parse_jats
from scirgen.stages.parse.sniff import sniff
from scirgen.stages.parse.terms import DEPTH, kind_of_heading
from scirgen.stages.parse.xmlread import read_xml

_MAX_BYTES = 60_000_000
_ATX = re.compile(r"^(#{1,6})\s+(.+?)\s*#*\s*(?:\{[^}]*\})?\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_YAML = re.compile(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*\n", re.S)
_RULE = re.compile(r"^\s*\|?[-: |]{6,}\|?$")
_BAR = re.compile(r"(?<!\\)\|")
_EDGES = re.compile(r"^\s*\|?|(?<!\\)\|?\s*$")
_TABLE_CAPTION = re.compile(r"Table(?:\s[A-Z]?\d{1,3})?[.:]\s")
_LIST = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_INLINE = (
    (re.compile(r"!\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\((?:[^)(]|\([^)]*\))*\)"), r"\1"),
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=\S)(.+?)(?<=\S)\*(?!\w)"), r"\1"),
    (re.compile(r"`([^`]+)`"), r"\1"),
)


class TextParser:
    """Reads text files; the content decides the kind of a file."""

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one file.

        Raises:
            PaperError: ``damaged``, ``no_text``, ``unsupported``, ``too_large``, ``not_a_pdf``.
        """
        kind = sniff(path)
        if kind not in ("jats", "text"):
            raise PaperError(
                f"the text parser does not read {kind} files", hint="Set parse.parser: auto.", code="unsupported"
            )
        data = paper_bytes(path)
        return parse_jats(read_xml(data)) if kind == "jats" else parse_markdown(decoded(data))


def paper_bytes(path: Path) -> bytes:
    """Return the bytes of a paper that is a text file.

    Raises:
        PaperError: ``too_large``.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise PaperError("too large for a paper", code="too_large")
    return path.read_bytes()


def parse_markdown(text: str) -> ParsedPaper:
    """Return the blocks of Markdown or plain text; in plain text, lines that hold only a numbered or a usual section
    name are headings.

    Raises:
        PaperError: ``no_text``.
    """
    title = ""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    match = _YAML.match(text)
    if match:
        found = re.search(r"^title:\s*['\"]?(.+?)['\"]?\s*$", match.group(1), re.M)
        title = found.group(1) if found else ""
        text = text[match.end() :]
    blocks = [ParsedBlock(kind=BlockKind.TITLE, text=title)] if title else []
    blocks += _markdown_blocks(text)
    if not title:
        title = _promote_title(blocks)
    mark_references(blocks)
    if not any(b.kind is BlockKind.PARAGRAPH for b in blocks):
        raise PaperError("the file contains no text", code="no_text")
    return ParsedPaper(title=title, abstract=abstract_of(blocks), parser="text/1", blocks=tuple(blocks))


def decoded(data: bytes) -> str:
    """Return the text of bytes in the first encoding that fits, without passwords of addresses."""
    for encoding in ("utf-8-sig", "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "gb18030"):
        try:
            return _tidy(data.decode(encoding).replace("\t", " "))
        except UnicodeDecodeError:
            continue
    return _tidy(data.decode("cp1252", errors="replace"))


def _tidy(text: str) -> str:
    # A reader of LaTeX would break up the entities and escapes in an address, and leave its password.
    return without_passwords(clean(text.replace("\r\n", "\n").replace("\r", "\n")))


def _markdown_blocks(text: str) -> list[ParsedBlock]:
    blocks: list[ParsedBlock] = []
    paragraph: list[str] = []
    fence = ""

    def flush() -> None:
        if paragraph:
            blocks.append(_paragraph(paragraph))
            paragraph.clear()

    for line in text.split("\n"):
        opening = _FENCE.match(line)
        if fence or opening:
            if opening and not fence:
                flush()
                fence = opening.group(1)
            elif opening and opening.group(1) == fence:
                fence = ""
            continue
        heading = _ATX.match(line)
        underline = re.match(r"^(=+|-+)\s*$", line) and len(paragraph) == 1 and len(line.strip()) >= 3
        if heading:
            flush()
            blocks.append(
                ParsedBlock(kind=BlockKind.HEADING, text=_inline(heading.group(2)), level=len(heading.group(1)))
            )
        elif underline:
            name = _inline(paragraph.pop())
            blocks.append(ParsedBlock(kind=BlockKind.HEADING, text=name, level=1 if "=" in line else 2))
        elif not line.strip():
            flush()
        else:
            if _LIST.match(line):
                flush()
            paragraph.append(line.strip())
    flush()
    for n in range(1, len(blocks)):  # Pandoc prints a caption below its table
        above = blocks[n - 2].kind if n > 1 else None
        if (blocks[n - 1].kind, blocks[n].kind) == (BlockKind.TABLE, BlockKind.CAPTION) and above != BlockKind.CAPTION:
            blocks[n - 1 : n + 1] = blocks[n], blocks[n - 1]
    return [b for b in blocks if b.text]


def _paragraph(lines: list[str]) -> ParsedBlock:
    text = _inline(" ".join(lines))
    number = DEPTH.match(text)
    alone = len(lines) == 1 and len(text) < 90
    if alone and (
        kind_of_heading(text) or (number and "." not in text[number.end() :] and text[number.end() :][:1].isupper())
    ):
        return ParsedBlock(kind=BlockKind.HEADING, text=text, level=number.group(1).count(".") + 1 if number else 1)
    if (
        lines[0].startswith("|")
        or _RULE.match(lines[0])
        or (len(lines) > 2 and "|" in lines[1] and _RULE.match(lines[1]))
    ):
        return _table(lines)
    if _TABLE_CAPTION.match(text):
        return ParsedBlock(kind=BlockKind.CAPTION, text=text)
    if _LIST.match(lines[0]):
        return ParsedBlock(kind=BlockKind.LIST_ITEM, text=text)
    return ParsedBlock(kind=BlockKind.PARAGRAPH, text=text)


def _table(lines: Sequence[str]) -> ParsedBlock:
    """Return the block of a pipe table; tables of other forms are refused."""
    piped = len(lines) > 2 and "|" in lines[1] and _RULE.match(lines[1]) is not None
    texts = [_BAR.split(_EDGES.sub("", line)) for line in lines]
    rows = [[GivenCell(_inline(text).replace("\\|", "|")) for text in row] for row in texts]
    if piped:
        return table_block([rows[0], *rows[2:]], 1)
    return table_block(rows, refused="table_shape")


def _inline(text: str) -> str:
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return re.sub(r"\s+", " ", text).strip()


def _promote_title(blocks: list[ParsedBlock]) -> str:
    """Take a single outermost heading at the top as the title; then levels count from the next one."""
    if not blocks or blocks[0].kind is not BlockKind.HEADING or kind_of_heading(blocks[0].text):
        return ""
    level = blocks[0].level or 1
    if sum(b.kind is BlockKind.HEADING and (b.level or 1) <= level for b in blocks) > 1:
        return ""
    blocks[0].kind, blocks[0].level = BlockKind.TITLE, None
    for block in blocks:
        if block.level:
            block.level -= level
    return blocks[0].text
