"""Writing report.html (one file, no network) and report.json into a run's folder."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

import jinja2

from scirgen.core.errors import StoreError
from scirgen.report.charts import draw
from scirgen.report.figures import ReportData, gather

_PARTS = files("scirgen.report") / "page"


def write_report(folder: Path) -> Path:
    """Write report.html and report.json for a run.

    Returns:
        The path of report.html.

    Raises:
        StoreError: the folder is no run, or cannot be written.
    """
    data = gather(folder)
    _write(folder / "report.json", data.model_dump_json(indent=2) + "\n")
    _write(folder / "report.html", render(data))
    return folder / "report.html"


def render(data: ReportData) -> str:
    """The page. All text is escaped, and the content security policy admits the page's one script by its hash only."""
    script, style = (_PARTS / "report.js").read_text("utf-8"), (_PARTS / "report.css").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((_PARTS / "report.html.j2").read_text("utf-8"))
    return template.render(
        data=data,
        charts=draw(data),
        script=script,
        style=style,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", hint="Free some space, then: scirgen report RUN"
        ) from error
