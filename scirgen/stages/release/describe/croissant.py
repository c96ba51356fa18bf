"""croissant.json: the release described in Croissant 1.0
(https://docs.mlcommons.org/croissant/docs/croissant-spec.html)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from scirgen.core.fingerprint import file_sha256
from scirgen.core.records import Record
from scirgen.release_files.release import SPLITS, Release, row_model
from scirgen.stages.release.describe.features import TABLES, scalar_columns
from scirgen.stages.release.describe.method import cited

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


class QueryColumns(Record):
    """The single-valued columns of ``tasks/NAME/queries.jsonl``."""

    id: str
    recipe: str
    form: str
    text: str
    split: str


class AbstractColumns(Record):
    """The single-valued columns of ``corpus/abstracts.jsonl``."""

    id: str
    title: str
    licence: str


_TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}


def write_croissant(release: Release, counts: Mapping[str, int]) -> None:
    """Describe the JSONL files and their single-valued columns. ``counts`` is path -> rows; empty files are left
    out."""
    info = release.info
    tables = {name: table for name, table in TABLES.items() if counts.get(table[1])}
    rows = row_model(info.row_fields)
    questions = {f"questions-{s}": (rows, f"{s}.jsonl") for s in SPLITS if counts.get(f"{s}.jsonl")}
    tasks: dict[str, tuple[type[BaseModel], str]] = {
        f"queries-{name}": (QueryColumns, f"tasks/{name}/queries.jsonl") for name in sorted(info.tasks)
    }
    abstracts = "corpus/abstracts.jsonl"
    if counts.get(abstracts):
        tasks["abstracts"] = (AbstractColumns, abstracts)
    described: dict[str, tuple[type[BaseModel], str]] = {**questions, **tables, **tasks}
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": info.name,
        "description": (
            f"{info.counts.get('rows', 0)} questions about {info.counts.get('datasets', 0)} scientific datasets, "
            "each with its gold dataset, an answer and the text the answer stands on."
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "README.md#licences",
        "version": "1.0.0",
        "inLanguage": info.language,
        "citeAs": " ".join(cited(info)),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "encodingFormat": "application/jsonlines",
                "contentSize": f"{(release.folder / path).stat().st_size} B",
                "sha256": file_sha256(release.folder / path),
            }
            for _, path in described.values()
        ],
        "recordSet": [_record_set(name, path, scalar_columns(model)) for name, (model, path) in described.items()],
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    (release.folder / "croissant.json").write_text(text + "\n", encoding="utf-8")


def _record_set(name: str, path: str, columns: Mapping[str, str]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "key": {"@id": f"{name}/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column}",
                "name": f"{name}/{column}",
                "dataType": _TYPES[dtype],
                "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
            }
            for column, dtype in columns.items()
        ],
    }
