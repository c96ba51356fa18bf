"""Records of known services in files: exports of Zenodo, Dataverse and STAC, and forms that plugins know (kind
``record_form``).

DCAT and schema.org need no code here, since the table of keys in `mapping` covers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from scirgen.core.records import Dataset, Rejection
from scirgen.core.registry import Registry
from scirgen.stages.collect.files.envelopes import as_dict, as_list, as_text, at_path
from scirgen.stages.collect.files.mapping import texts

RecordForm = Callable[[Mapping[str, object]], Dataset | Rejection | None]
"""The dataset of a record in a catalogue's own form, or why it cannot be used; None for a record in another form."""


def record_forms(registry: Registry) -> tuple[RecordForm, ...]:
    """Return the forms of records that plugins know."""
    return tuple(cast(RecordForm, registry.get("record_form", name)) for name in registry.summaries("record_form"))


def plain(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return the record with plain keys (title, description, ...), if it has the form of Zenodo, Dataverse or STAC;
    otherwise unchanged."""
    metadata = as_dict(record.get("metadata"))
    if metadata.get("title") and ("doi" in record or "links" in record or "pids" in record or "creators" in metadata):
        return _zenodo(record, metadata)
    version = as_dict(record.get("latestVersion") or record.get("datasetVersion"))
    citation = as_dict(as_dict(version.get("metadataBlocks")).get("citation"))
    if citation:
        return _dataverse(record, version, citation)
    if record.get("global_id") and record.get("name"):
        return _dataverse_hit(record)
    if record.get("stac_version") or (
        record.get("type") == "Feature" and isinstance(record.get("properties"), Mapping)
    ):
        return _stac(record)
    return record


def _kept(found: Mapping[str, object]) -> dict[str, object]:
    return {k: v for k, v in found.items() if v not in (None, "", [], ())}


def _zenodo(record: Mapping[str, object], metadata: Mapping[str, object]) -> dict[str, object]:
    """Read a record in the form of Zenodo or InvenioRDM."""
    related = [as_dict(r) for r in as_list(metadata.get("related_identifiers"))]
    return _kept({
        "id": as_text(record.get("doi")) or as_text(at_path(record, "pids.doi.identifier"))
        or as_text(record.get("id")),
        "title": metadata.get("title"),
        "description": metadata.get("description"),
        "doi": record.get("doi") or metadata.get("doi") or at_path(record, "pids.doi.identifier"),
        "url": at_path(record, "links.html") or at_path(record, "links.self_html") or at_path(record, "links.self"),
        "authors": [
            as_text(c.get("name")) or as_text(at_path(c, "person_or_org.name"))
            for c in map(as_dict, as_list(metadata.get("creators")))
        ],
        "keywords": metadata.get("keywords")
        or [t for s in as_list(metadata.get("subjects")) for t in texts(s) or texts(as_dict(s).get("subject"))],
        "related": [as_text(r.get("identifier")) for r in related],
        "licence": metadata.get("license") or metadata.get("rights"),
        "language": metadata.get("language") or at_path(metadata, "languages.id"),
        "Published": metadata.get("publication_date"),
        "Version": metadata.get("version"),
    })  # fmt: skip


def _dataverse(
    record: Mapping[str, object], version: Mapping[str, object], citation: Mapping[str, object]
) -> dict[str, object]:
    """Return a dataset as Dataverse exports it: fields with ``typeName`` and value, compound ones with inner fields."""
    fields = {as_text(f.get("typeName")): f.get("value") for f in map(as_dict, as_list(citation.get("fields")))}
    doi = as_text(version.get("datasetPersistentId")) or "/".join(
        filter(None, (as_text(record.get("authority")), as_text(record.get("identifier"))))
    )
    return _kept({
        "id": doi or as_text(record.get("id")),
        "title": fields.get("title"),
        "description": "\n".join(_inner(fields, "dsDescription", "dsDescriptionValue")),
        "doi": doi,
        "url": record.get("persistentUrl"),
        "authors": list(_inner(fields, "author", "authorName")),
        "keywords": [*_inner(fields, "keyword", "keywordValue"), *texts(fields.get("subject"))],
        "related": [
            *_inner(fields, "publication", "publicationIDNumber"),
            *_inner(fields, "publication", "publicationCitation"),
        ],
        "licence": [v for v in (version.get("license"), version.get("termsOfUse")) if v],
        "Kind of data": "; ".join(texts(fields.get("kindOfData"))),
        "Time range": "; ".join(" to ".join(p) for p in zip(
            _inner(fields, "timePeriodCovered", "timePeriodCoveredStart"),
            _inner(fields, "timePeriodCovered", "timePeriodCoveredEnd"), strict=False,
        )),
        "Published": version.get("releaseTime") or record.get("publicationDate"),
    })  # fmt: skip


def _inner(fields: Mapping[str, object], group: str, name: str) -> Iterator[str]:
    value = fields.get(group)
    for entry in value if isinstance(value, list) else [value]:
        if text := as_text(as_dict(as_dict(entry).get(name)).get("value")):
            yield text


def _dataverse_hit(record: Mapping[str, object]) -> dict[str, object]:
    """Return a dataset as Dataverse's search returns it."""
    return _kept({
        "id": record.get("global_id"),
        "title": record.get("name"),
        "description": record.get("description"),
        "doi": record.get("global_id"),
        "url": record.get("url"),
        "authors": record.get("authors"),
        "keywords": [*texts(record.get("keywords")), *texts(record.get("subjects"))],
        "related": [
            as_text(as_dict(p).get("url")) or as_text(as_dict(p).get("citation"))
            for p in as_list(record.get("publications"))
        ],
        "Publisher": record.get("publisher"),
        "Published": record.get("published_at"),
        "Kind of data": "; ".join(texts(record.get("kindOfData"))),
    })  # fmt: skip


def _stac(record: Mapping[str, object]) -> dict[str, object]:
    """Return a STAC collection, or an item (a GeoJSON feature), whose description is in its properties."""
    said = {**as_dict(record.get("properties")), **{k: v for k, v in record.items() if k != "properties"}}
    links = [as_dict(link) for link in as_list(record.get("links"))]
    interval = as_list(at_path(record, "extent.temporal.interval.0"))
    box = as_list(at_path(record, "extent.spatial.bbox.0")) or as_list(record.get("bbox"))
    sides = [as_text(v) for v in (box if len(box) == 4 else [])]
    own = {
        k: v for k, v in as_dict(record.get("properties")).items() if isinstance(v, (str, int, float)) and ":" not in k
    }
    return _kept({
        **own,
        "id": record.get("id"),
        "title": said.get("title") or said.get("name") or record.get("id"),
        "description": said.get("description"),
        "doi": said.get("sci:doi"),
        "url": next((link.get("href") for link in links if link.get("rel") in ("self", "about", "via")), None),
        "authors": [as_text(as_dict(p).get("name")) for p in as_list(said.get("providers"))],
        "keywords": said.get("keywords"),
        "related": [
            as_text(as_dict(p).get("doi")) or as_text(as_dict(p).get("citation"))
            for p in as_list(said.get("sci:publications"))
        ],
        "licence": said.get("license"),
        "Time range": " to ".join(as_text(t) or "today" for t in interval) or said.get("datetime"),
        "Spatial extent": "longitude {0} to {2}, latitude {1} to {3} (degrees)".format(*sides) if sides else "",
    })  # fmt: skip
