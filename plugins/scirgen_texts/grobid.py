"""Parses PDFs with a GROBID server, through GROBID's own client; the hardened XML reader reads its TEI.

It uses the client's call for one file, without its printing and its configuration file. Two properties of the client
are changed: it would wait for a busy server forever, and it returns a failed connection as a status of the server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import requests
from grobid_client.grobid_client import GrobidClient

from scirgen import PaperError, ParsedPaper, ParserOptions
from scirgen.core.errors import ServerUnavailableError
from scirgen_texts.tei import parse_tei

_COORDINATES = ("head", "p", "s", "figure", "formula", "biblStruct", "note", "title")
_MAX_BYTES = 60_000_000
_BUSY = 429
_LOCAL = "http://localhost:8070"


class _Client(GrobidClient):
    """One silent call of GROBID's client; ``fault`` is the reason why there was no answer."""

    DEFAULT_CONFIG = {**GrobidClient.DEFAULT_CONFIG, "logging": {"console": False, "level": "CRITICAL"}}  # noqa: RUF012
    fault: requests.RequestException | None = None

    def post(self, *args: Any, **kwargs: Any) -> tuple[requests.Response, int]:
        """Return the client's method, but a busy server is reported, and metadata are not looked up (a GROBID server's
        default)."""
        try:
            kwargs["data"] = {"consolidateHeader": "0", **kwargs["data"]}
            answer, status = super().post(*args, **kwargs)
        except requests.RequestException as error:
            self.fault = error
            raise
        return answer, _BUSY if status == 503 else status


class GrobidParser:
    """Asks ``processFulltextDocument`` of the server in ``parse.grobid_url``, with coordinates."""

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one PDF.

        Raises:
            ServerUnavailableError: the server does not answer, is busy or fails; a retry may help.
            PaperError: the server found no text in the file.
        """
        url = options.grobid_url or _LOCAL
        client = _Client(
            grobid_server=url.rstrip("/"), coordinates=list(_COORDINATES), timeout=max(1, round(options.timeout_s)),
            check_server=False,
        )  # fmt: skip
        _, status, text = client.process_pdf(
            "processFulltextDocument", str(path), consolidate_header=False, include_raw_citations=True,
            tei_coordinates=True,
        )  # fmt: skip
        if client.fault is not None:
            raise ServerUnavailableError(
                f"no answer from GROBID at {url}: {client.fault}",
                hint="Start it (docker run -p 8070:8070 lfoppiano/grobid) or set parse.grobid_url.",
            ) from client.fault
        return _read(status, text or "")


def _read(status: int, text: str) -> ParsedPaper:
    if status == _BUSY or 502 <= status <= 504:
        raise ServerUnavailableError(f"GROBID is busy (HTTP {status})", hint="Lower parse.workers.")
    if status == 204:
        raise PaperError("GROBID found no text", hint="It is probably a scan; see parse.ocr.", code="no_text")
    if status == 500:
        code = "no_text" if "NO_BLOCKS" in text else "damaged"
        raise PaperError(f"GROBID cannot read the file: {text[:200]}", code=code)
    if status != 200:
        raise ServerUnavailableError(f"GROBID answered HTTP {status}: {text[:200]}", hint="Check parse.grobid_url.")
    if len(text) > _MAX_BYTES:
        raise PaperError("GROBID's answer is too large for a paper", code="too_large")
    return parse_tei(text.encode(), parser="grobid")
