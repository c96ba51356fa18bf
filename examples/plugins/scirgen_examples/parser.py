"""A parser: a file to blocks in reading order. It runs in a worker process that may be killed."""

from pathlib import Path

from scirgen import BlockKind, PaperError, ParsedBlock, ParsedPaper, ParserOptions


class NotesParser:
    """The first line is the title, a line in capitals a heading, everything else a paragraph."""

    reads = ("text",)  # files of other kinds go to scirgen's own parsers

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        if not lines:
            raise PaperError(f"{path.name} is empty", code="no_text")
        title, *rest = lines
        kinds = [BlockKind.HEADING if line.isupper() else BlockKind.PARAGRAPH for line in rest]
        blocks = [ParsedBlock(kind=kind, text=line) for kind, line in zip(kinds, rest, strict=True)]
        return ParsedPaper(title=title, parser="notes 1", language="en", pages=1, blocks=tuple(blocks))
