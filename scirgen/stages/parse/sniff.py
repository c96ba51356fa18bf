"""Finds the kind of a file from its content, never from its name. It runs in the worker process, since the content is
not trusted."""

from __future__ import annotations

import re
from pathlib import Path

from scirgen.core.errors import PaperError
from scirgen.core.files.named import ordinary
from scirgen.stages.parse.base import FileKind

_HEAD = 8192
_HTML = re.compile(rb"<\s{0,20}(?:!doctype\s+html|html[\s>]|head[\s>]|body[\s>])", re.I)
_TEI = re.compile(rb"<(?:\w+:)?TEI[\s>]")
_JATS = re.compile(rb"<article[\s>]|<pmc-articleset[\s>]|JATS|<front[\s>]")
_NAME = re.compile(rb"<([\w:-]{1,100})")
_LATEX = re.compile(rb"^[^%\n]*\\(?:documentclass|documentstyle|begin\s*\{document\})", re.M)
_MIN_PAGE, _MAX_PAGE = 3000, 60_000_000
_PROSE_TAGS, _HEADING_TAGS = re.compile(rb"<p[\s>]", re.I), re.compile(rb"<h[1-6][\s>]", re.I)
_PAPERS = {b"article", b"pmc-articleset", b"TEI"}
_BINARY = (
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"\x1f\x8b",
    b"\xd0\xcf\x11\xe0",
    b"GIF8",
    b"II*\x00",
    b"MM\x00*",
)


def sniff(path: Path) -> FileKind:
    """Return the kind of a file.

    A PDF header may be anywhere in the first kilobyte (ISO 32000-1, Annex H, implementation note 13).

    Raises:
        PaperError: ``not_found``, ``not_a_pdf`` (HTML under any name, or another binary format), ``damaged`` (empty, or
            bytes that are not text).
    """
    try:
        with ordinary(path, None).open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise PaperError(f"{path}: cannot be read: {error.strerror}", code="not_found") from error
    if not head.strip(b"\x00\t\r\n "):
        raise PaperError("the file is empty", hint="Fetch it again.", code="damaged")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    root = _root(head)
    # A JATS article also has a <body>, and an HTML page may have an <article>, so the file's beginning decides.
    if _HTML.search(head[:2048]) and root.rpartition(b":")[2] not in _PAPERS:
        if _is_full_text(path):
            return "html"
        raise PaperError(
            "the file is an HTML page, not a paper",
            hint="Often a log-in or consent page saved under the paper's name; download the paper itself.",
            code="not_a_pdf",
        )
    if head.startswith(_BINARY):
        raise PaperError("the file is neither a PDF nor text", hint="Convert it to PDF.", code="not_a_pdf")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        if _TEI.search(head):
            return "tei"
        if _JATS.search(head):
            return "jats"
        raise PaperError(
            "XML that is neither JATS nor TEI", hint="Give the paper as PDF, JATS or TEI.", code="unsupported"
        )
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):  # not UTF-16
        raise PaperError(
            "the file is binary and has no PDF header",
            hint="It may be truncated or overwritten; fetch it again.",
            code="damaged",
        )
    return "latex" if _LATEX.search(head) else "text"


def _is_full_text(path: Path) -> bool:
    """Return whether an HTML page may be a paper's full text: long, with paragraphs and headings. The parser looks
    closer."""
    with path.open("rb") as file:
        data = file.read(_MAX_PAGE)
    return len(data) >= _MIN_PAGE and len(_PROSE_TAGS.findall(data)) >= 8 and len(_HEADING_TAGS.findall(data)) >= 3


def _root(head: bytes) -> bytes:
    """Return the name of the first element, after declarations, comments and document type, or ""."""
    at = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    while True:
        while head[at : at + 1].isspace():
            at += 1
        for opening, closing in ((b"<?", b"?>"), (b"<!--", b"-->"), (b"<!DOCTYPE", b">")):
            if head.startswith(opening, at):
                subset = head.find(b"[", at, max(head.find(b">", at), at)) if opening == b"<!DOCTYPE" else -1
                end = head.find(b"]", subset) if subset >= 0 else at
                end = head.find(closing, end) if end >= 0 else -1
                if end < 0:
                    return b""
                at = end + len(closing)
                break
        else:
            name = _NAME.match(head, at)
            return name.group(1) if name else b""
