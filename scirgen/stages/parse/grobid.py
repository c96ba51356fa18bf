"""PDFs parsed by a GROBID server; its TEI is read by the hardened XML reader.

The one call it takes is made directly: grobid-client-python drives whole folders from a configuration file of its own, logs to
the console, and gives back a status and a text, which leaves nothing to be gained from it here.
"""

from __future__ import annotations

from pathlib import Path

import httpx

from scirgen.core.errors import PaperError, ServerUnavailableError
from scirgen.stages.parse.base import ParsedPaper, ParserOptions
from scirgen.stages.parse.xml.tei import parse_tei
from scirgen.stages.parse.xml.xmlread import read_xml

_COORDINATES = ("head", "p", "s", "figure", "formula", "biblStruct", "note", "title")
_MAX_BYTES = 60_000_000


class GrobidParser:
    """Asks ``/api/processFulltextDocument`` of the server in ``parse.grobid_url``."""

    def parse(self, path: Path, options: ParserOptions) -> ParsedPaper:
        """Parse one PDF.

        Raises:
            ServerUnavailableError: the server is not there, busy or failing; a retry may help.
            PaperError: the server found nothing to read in the file.
        """
        url = options.grobid_url.rstrip("/") + "/api/processFulltextDocument"
        fields = {
            "consolidateHeader": "0",
            "consolidateCitations": "0",
            "includeRawCitations": "1",
            "teiCoordinates": list(_COORDINATES),
        }
        try:
            with path.open("rb") as file:
                reply = httpx.post(
                    url,
                    data=fields,
                    files={"input": (path.name, file, "application/pdf")},
                    headers={"Accept": "application/xml"},
                    timeout=options.timeout_s,
                )
        except httpx.HTTPError as error:
            raise ServerUnavailableError(
                f"no answer from GROBID at {options.grobid_url}: {error}",
                hint="Start it (docker run -p 8070:8070 lfoppiano/grobid) or set parse.grobid_url.",
            ) from error
        return self._read(reply)

    @staticmethod
    def _read(reply: httpx.Response) -> ParsedPaper:
        if reply.status_code == 503 or reply.status_code == 429 or 502 <= reply.status_code <= 504:
            raise ServerUnavailableError(f"GROBID is busy (HTTP {reply.status_code})", hint="Lower parse.workers.")
        if reply.status_code == 204:
            raise PaperError("GROBID found no text in it", hint="It is probably a scan; see parse.ocr.", code="no_text")
        if reply.status_code == 500:
            reason = reply.text[:200]
            code = "no_text" if "NO_BLOCKS" in reason else "damaged"
            raise PaperError(f"GROBID cannot read it: {reason}", code=code)
        if reply.status_code != 200:
            raise ServerUnavailableError(
                f"GROBID answers HTTP {reply.status_code}: {reply.text[:200]}", hint="Check parse.grobid_url."
            )
        if len(reply.content) > _MAX_BYTES:
            raise PaperError("GROBID's answer is too large for a paper", code="too_large")
        return parse_tei(read_xml(reply.content), parser="grobid")
