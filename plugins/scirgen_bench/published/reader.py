"""The reader of ScIRGen-Geo's records for `scirgen audit` and `scirgen analyze`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from scirgen.plugin import QAGroup, QARow, read_objects
from scirgen.release_files.qafiles import texts_in
from scirgen_bench.published.scirgen_geo_files import HINT, is_record, questions, records_in


class GeoReader:
    """Reads a folder of ScIRGen-Geo's JSON files (flat, or in ``train/dev/test``), or its ``records.jsonl[.gz]``."""

    def claims(self, path: Path) -> bool:
        """Return whether the first record is one of ScIRGen-Geo's."""
        if path.is_dir():
            path = next(iter(sorted(path.glob("*.json")) or sorted(path.glob("*/*.json"))), path)
        if not path.is_file() or not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
            return False
        return is_record(next((value for _, value in read_objects(path, hint=HINT)), {}))

    def groups(self, path: Path, split: str | None, language: str) -> Iterator[QAGroup]:
        """Yield the questions, one dataset at a time, with all text that its record has."""
        for record, own, _ in records_in(path):
            if split is not None and own != split:
                continue
            identity = _string(record.get("id"))
            metadata = _mapping(_mapping(record.get("context")).get("metadata"))
            extracts = [s for paper in _items(record.get("extract_pdfs_data")) for s in texts_in(paper)]
            title = _string(metadata.get("titleEn"))
            parts = [title, _string(metadata.get("description")), _string(metadata.get("instructions")), *extracts]
            parts += list(texts_in({k: v for k, v in _mapping(record.get("context")).items() if k != "metadata"}))
            rows = (
                QARow(f"{identity}#{n}", q.question, q.answer, q.kind, q.level, own, language or "en", (identity,))
                for n, q in enumerate(questions(record))
            )
            yield QAGroup(identity, title, "\n".join(p for p in parts if p), tuple(rows))


def _string(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Mapping[str, object]]:
    return [i for i in value if isinstance(i, Mapping)] if isinstance(value, list) else []
