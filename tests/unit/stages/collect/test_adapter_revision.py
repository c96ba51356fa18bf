"""What makes a catalogue be read again: the adapter's code, the files' content, or the user's word."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from scirgen import SourceSetup
from scirgen.stages.collect.files import folder
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.validated_source import checked

ADAPTER = """
from scirgen import FolderSource

class Mine(FolderSource):
    name = "mine"

    def dataset(self, record, where):
        return super().dataset({**record, "title": record[%r]}, where)
"""

SERVICE = """
class Notes:
    name = "notes"

    def papers(self, dataset):
        return [dataset.%s]

    def fetch(self, paper):
        return None
"""


@pytest.fixture
def records(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"id": "1", "titel": "Ice"}\n')
    return tmp_path / "in"


def revision_of(module: str, records: Path) -> str | None:
    sys.modules.pop(module, None)
    importlib.invalidate_caches()
    return checked(importlib.import_module(module).Mine(SourceSetup(input=records))).revision(None)


def test_edited_adapter_changes_the_revision(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "adapter_one.py").write_text(ADAPTER % "title")
    before = revision_of("adapter_one", records)
    assert revision_of("adapter_one", records) == before
    (tmp_path / "adapter_one.py").write_text(ADAPTER % "titel")
    assert revision_of("adapter_one", records) != before


def test_edited_module_beside_the_adapter_changes_it_too(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "adapter_two"
    package.mkdir()
    (package / "__init__.py").write_text(ADAPTER % "titel")
    (package / "units.py").write_text("FACTOR = 1\n")
    before = revision_of("adapter_two", records)
    (package / "units.py").write_text("FACTOR = 2\n")
    assert revision_of("adapter_two", records) != before


def test_edited_paper_service_reads_the_pages_again(records: Path) -> None:
    def made(way: str) -> str | None:
        scope: dict[str, object] = {"__name__": "__notebook__"}
        exec(SERVICE % way, scope)
        source = checked(FolderSource(SourceSetup(input=records)))
        source.services.append(scope["Notes"]())  # type: ignore[operator]
        return source.revision(None)

    assert made("doi") == made("doi") != made("id")


def test_edited_form_of_records_reads_the_files_again(records: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = FolderSource(SourceSetup(input=records)).revision(None)
    monkeypatch.setattr(folder, "provided_code", lambda registry, kind, name: (kind, name, "edited"))
    assert FolderSource(SourceSetup(input=records)).revision(None) != before


def test_class_without_a_file_is_known_by_its_byte_code(records: Path) -> None:
    def made(title: str) -> str | None:
        scope: dict[str, object] = {"__name__": "__notebook__"}
        exec(ADAPTER % title, scope)
        return checked(scope["Mine"](SourceSetup(input=records))).revision(None)

    assert made("title") == made("title") != made("titel")


def test_file_with_other_content_but_the_same_size_and_time_is_read_again(records: Path) -> None:
    file = records / "a.jsonl"
    before, when = FolderSource(SourceSetup(input=records)).revision(None), file.stat()
    file.write_text('{"id": "1", "title": "Ice"}\n')
    os.utime(file, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert file.stat().st_size == when.st_size
    assert FolderSource(SourceSetup(input=records)).revision(None) != before


def test_scirgens_own_sources_have_no_code_in_their_revision(records: Path) -> None:
    source = FolderSource(SourceSetup(input=records))
    assert checked(source).revision(None) == source.revision(None)
