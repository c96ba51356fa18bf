"""The reader of PDFs: chosen once, named with its version, and refused where it differs."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from scirgen.core.config import Config, load_config
from scirgen.core.errors import MissingExtraError
from scirgen.report.pictures import page_pictures
from scirgen.stages.parse import readers
from scirgen.stages.parse.readers import READERS, chosen, reader_in_use, with_reader
from scirgen.stages.parse.stage import ParseStage
from tests.support.made_papers import made_pdf


def config(reader: str) -> Config:
    return load_config(flags={"parse.reader": reader}).config


def test_auto_takes_pymupdf_where_it_is_installed_else_pdfium(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("auto") == "pymupdf"
    monkeypatch.setattr(readers, "READERS", {"pymupdf": "absent_package", "pdfium": READERS["pdfium"]})
    assert chosen("auto") == "pdfium"
    with pytest.raises(MissingExtraError, match="'pymupdf' is not installed") as error:
        chosen("pymupdf")
    assert "scirgen[pymupdf]" in error.value.hint


def test_a_run_keeps_the_reader_that_auto_meant_at_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "READERS", {"pdfium": READERS["pdfium"]})
    resolved = with_reader(config("auto"))
    monkeypatch.undo()
    assert resolved.parse.reader == "pdfium"
    assert reader_in_use(resolved.parse.reader) == f"pdfium {metadata.version('pypdfium2')}"


def test_fingerprint_of_parsing_names_the_reader_and_its_version() -> None:
    used = {name: ParseStage().uses(config(name)).extra for name in ("auto", *READERS)}
    assert used["auto"] == used["pymupdf"] != used["pdfium"]
    assert used["pdfium"][0].startswith(f"pdfium {metadata.version('pypdfium2')}+layout.")


def test_pages_are_drawn_without_pymupdf(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "p.pdf", columns=1)
    found = page_pictures(path, [1, 99])
    assert set(found) == {1}
    assert found[1].src.startswith("data:image/png;base64,iVBOR")
    assert (round(found[1].width), round(found[1].height)) == (595, 842)
