"""The source ``scirgen-geo``: dataset records as ScIRGen-Geo released them (one JSON object a dataset, or JSON
Lines)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from scirgen import Dataset, FolderSource, Rejection, normalise_licence

_NOTHING = {"", "无", "none", "null", "n/a"}
_OTHERS = {"others", "other"}


class ReleasedGeoSource(FolderSource):
    """Reads the released format; the questions and extracts in it are not read, only the records and their
    literature."""

    name = "scirgen-geo"

    @classmethod
    def claims(cls, path: Path) -> bool:
        """Return whether the first record has the released format's ``context.metadata``."""
        record = cls.first_record(path)
        return record is not None and "metadata" in _mapping(record.get("context"))

    def dataset(self, record: Mapping[str, object], where: str) -> Dataset | Rejection:
        """Return a dataset in English, with the Chinese title, description and instructions as translations."""
        context = _mapping(record.get("context"))
        metadata = _mapping(context.get("metadata"))
        title, identity = _text(metadata.get("titleEn")), _text(record.get("id"))
        if not title or not identity:
            code, lacks = ("no_title", "no English title") if not title else ("no_id", "no id")
            return Rejection(
                stage="collect", code=code, reason=f"{where}: the record has {lacks}", record_kind="Dataset",
                record_id=identity or where,
            )  # fmt: skip
        doi = _text(metadata.get("doi")).lower()
        return Dataset(
            id=identity,
            title=title,
            description=_text(metadata.get("description")),
            doi=doi if doi.startswith("10.") else None,
            url=f"https://doi.org/{doi}" if doi.startswith("10.") else None,
            authors=tuple(_names(context, "authorList", "nameEn")),
            keywords=tuple(
                dict.fromkeys((*_names(context, "themeList", "nameEn"), *_names(context, "keywordStandList", "nameEn")))
            ),
            fields=tuple((label, value) for label, value in _fields(context, metadata) if value),
            related=tuple(dict.fromkeys(_related(context))),
            licence=_licence(_text(metadata.get("license"))),
            translations=tuple(
                ("zh", field, text)
                for field, key in (
                    ("title", "titleCn"),
                    ("description", "descriptionCn"),
                    ("instructions", "instructionsCn"),
                )
                if (text := _text(metadata.get(key)))
            ),
        )  # fmt: skip

    def named_papers(self, record: Mapping[str, object]) -> tuple[str, ...]:
        """Return nothing: the released records name no files."""
        return ()


def _fields(context: Mapping[str, object], metadata: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    yield "Instructions", _text(metadata.get("instructions"))
    yield "Spatial extent", _box(metadata)
    yield "Time range", _range(_text(metadata.get("startTime")), _text(metadata.get("endTime")))
    yield "Places", "; ".join(_names(context, "placeKeywordList", "keywordEn"))
    yield "Periods", "; ".join(_names(context, "temporalKeywordList", "keywordEn"))
    yield "Format", _text(metadata.get("dataFormat"))
    yield "Size", _size(metadata.get("fileSize"))
    yield "Authors", "; ".join(_names(context, "authorList", "nameEn"))
    yield "Projects", "; ".join(_names(context, "projectList", "titleEn"))
    yield "Funding", "; ".join(_names(context, "fundVOList", "titleEn"))


def _related(context: Mapping[str, object]) -> Iterator[str]:
    """Yield the record's own literature: the full reference where there is one (it holds the DOI), and the title."""
    for item in _items(context, "literatureList"):
        for key in ("referenceEn", "titleEn"):
            if text := _text(item.get(key)):
                yield text


def _box(metadata: Mapping[str, object]) -> str:
    sides = [metadata.get(k) for k in ("west", "east", "south", "north")]
    if not all(isinstance(s, (int, float)) for s in sides):
        return ""
    west, east, south, north = (f"{s:g}" for s in sides if isinstance(s, (int, float)))
    return f"longitude {west} to {east}, latitude {south} to {north} (degrees)"


def _range(start: str, end: str) -> str:
    # The clock times in the records are those of data entry; only the days mean something.
    start, end = start[:10], end[:10]
    return f"{start} to {end}" if start and end and start != end else start or end


def _size(given: object) -> str:
    if not isinstance(given, (int, float)) or given <= 0:
        return ""
    size = float(given)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TB"


def _licence(stated: str) -> str:
    # Some records hold the catalogue's internal number of a licence; what it stands for is not documented.
    return "unknown" if stated.isdecimal() else normalise_licence(stated)


def _names(context: Mapping[str, object], group: str, key: str) -> list[str]:
    names = (_text(item.get(key)) for item in _items(context, group))
    return list(dict.fromkeys(n for n in names if n and n.lower() not in _OTHERS))


def _items(context: Mapping[str, object], group: str) -> list[Mapping[str, object]]:
    found = context.get(group)
    return [_mapping(item) for item in found] if isinstance(found, list) else []


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    text = str(value).strip() if value is not None else ""
    return "" if text.lower() in _NOTHING else text
