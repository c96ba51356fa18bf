"""Records in the form of DataCite's REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scirgen import Dataset, Rejection, normalise_licence
from scirgen_services.forms.fields import as_dict, as_list, as_text, find_doi, stated_language

_PAPER_RELATIONS = frozenset({
    "IsCitedBy", "IsReferencedBy", "IsSupplementTo", "IsSupplementedBy", "IsDocumentedBy", "IsDescribedBy",
    "IsSourceOf",
    "References", "Cites", "IsReviewedBy",
})  # fmt: skip
_NO_PAPERS = frozenset(
    {"Dataset", "Software", "Image", "Audiovisual", "Collection", "Sound", "PhysicalObject", "Model"}
)


def recognised(record: Mapping[str, object]) -> Dataset | Rejection | None:
    """Return the dataset of a record in a file, if it has DataCite's form."""
    if as_dict(record.get("attributes")).get("titles"):
        return dataset_of(record)
    if isinstance(record.get("titles"), list) and record.get("doi") and (record.get("types") or record.get("creators")):
        return dataset_of({"id": record["doi"], "attributes": record})
    return None


def dataset_of(item: Mapping[str, object]) -> Dataset | Rejection:
    """Return the dataset that an entry of DataCite's ``data`` describes, or the reason why it cannot be used."""
    record = as_dict(item.get("attributes"))
    doi = find_doi(as_text(record.get("doi")) or as_text(item.get("id")))
    titles = [as_dict(t) for t in as_list(record.get("titles"))]
    titles.sort(key=lambda t: (bool(t.get("titleType")), _not_english(t)))  # the main title first
    title = next(filter(None, map(_title, titles)), "")
    if not doi or not title:
        code, lacks = ("no_title", "no title") if doi else ("no_id", "no DOI")
        about = ("Dataset", as_text(item.get("id")) or "?")
        return Rejection.of("collect", code, f"DataCite record {item.get('id')!r} has {lacks}", about)
    described = _descriptions(record)
    description = next((text for kind, text in described if kind in ("Abstract", "")), "")
    fields = (*_fields(record, titles), *((_KINDS.get(k, k), t) for k, t in described if t != description))
    return Dataset(
        id=doi,
        title=title,
        description=description or next((text for _, text in described), ""),
        doi=doi,
        url=as_text(record.get("url")) or f"https://doi.org/{doi}",
        authors=_texts(record, "creators", "name"),
        keywords=_texts(record, "subjects", "subject"),
        fields=tuple((label, text) for label, text in fields if text),
        related=tuple(dict.fromkeys(_related(record))),
        licence=_licence(record),
        language=stated_language(as_text(record.get("language")), title, description),
        language_guessed=not as_text(record.get("language")),
        translations=tuple(
            (as_text(t.get("lang"))[:2].lower(), "title", _title(t))
            for t in titles
            if _title(t) and _title(t) != title and t.get("lang") and t.get("titleType") != "Subtitle"
        ),
    )


def _title(entry: Mapping[str, object]) -> str:
    return as_text(entry.get("title"))


def _not_english(entry: Mapping[str, object]) -> bool:
    return not as_text(entry.get("lang")).lower().startswith("en")


_KINDS = {
    "": "Description",
    "Abstract": "Abstract",
    "TechnicalInfo": "Technical information",
    "TableOfContents": "Table of contents",
    "SeriesInformation": "Series",
    "Other": "Notes",
}


def _descriptions(record: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return (type, text) of all descriptions, the abstract first, English ones before others."""
    found = [as_dict(d) for d in as_list(record.get("descriptions"))]
    ordered = sorted(found, key=lambda d: (d.get("descriptionType") != "Abstract", _not_english(d)))
    told = ((as_text(d.get("descriptionType")), as_text(d.get("description"))) for d in ordered)
    return list(dict.fromkeys((kind, text) for kind, text in told if text))


def _texts(record: Mapping[str, object], group: str, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(t for e in as_list(record.get(group)) if (t := as_text(as_dict(e).get(key)))))


def _fields(record: Mapping[str, object], titles: list[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    yield "Subtitle", "; ".join(_title(t) for t in titles if t.get("titleType") == "Subtitle")
    yield "Version", as_text(record.get("version"))
    publisher = record.get("publisher")
    yield "Publisher", as_text(as_dict(publisher).get("name")) or as_text(publisher)
    yield "Published", as_text(record.get("publicationYear"))
    dates = [as_dict(d) for d in as_list(record.get("dates"))]
    yield (
        "Time range",
        "; ".join(as_text(d.get("date")) for d in dates if d.get("dateType") in ("Collected", "Coverage")),
    )
    yield "Places", "; ".join(_texts(record, "geoLocations", "geoLocationPlace"))
    places = [as_dict(g) for g in as_list(record.get("geoLocations"))]
    extents = (
        t for g in places for t in (_box(as_dict(g.get("geoLocationBox"))), _point(as_dict(g.get("geoLocationPoint"))))
    )
    yield "Spatial extent", "; ".join(filter(None, extents))
    yield "Format", "; ".join(filter(None, map(as_text, as_list(record.get("formats")))))
    yield "Size", "; ".join(filter(None, map(as_text, as_list(record.get("sizes")))))
    yield "Funding", "; ".join(map(_award, map(as_dict, as_list(record.get("fundingReferences")))))
    items = [as_dict(i) for i in as_list(record.get("relatedItems"))]
    yield "Related items", "; ".join(dict.fromkeys(t for i in items for t in _texts(i, "titles", "title")[:1]))


def _award(reference: Mapping[str, object]) -> str:
    award = ": ".join(filter(None, (as_text(reference.get("awardNumber")), as_text(reference.get("awardTitle")))))
    return as_text(reference.get("funderName")) + (f" (award {award})" if award else "")


def _point(point: Mapping[str, object]) -> str:
    sides = [as_text(point.get(k)) for k in ("pointLongitude", "pointLatitude")]
    return "longitude {}, latitude {} (degrees)".format(*sides) if all(sides) else ""


def _box(box: Mapping[str, object]) -> str:
    sides = [
        as_text(box.get(k))
        for k in ("westBoundLongitude", "eastBoundLongitude", "southBoundLatitude", "northBoundLatitude")
    ]
    if not all(sides):
        return ""
    return "longitude {} to {}, latitude {} to {} (degrees)".format(*sides)


def _related(record: Mapping[str, object]) -> Iterator[str]:
    for entry in map(as_dict, as_list(record.get("relatedIdentifiers"))):
        if entry.get("relationType") in _PAPER_RELATIONS and entry.get("resourceTypeGeneral") not in _NO_PAPERS:
            yield from _doi(entry.get("relatedIdentifier"), entry.get("relatedIdentifierType"))
    for item in map(as_dict, as_list(record.get("relatedItems"))):
        if item.get("relationType") in _PAPER_RELATIONS and item.get("relatedItemType") not in _NO_PAPERS:
            identifier = as_dict(item.get("relatedItemIdentifier"))
            yield from _doi(identifier.get("relatedItemIdentifier"), identifier.get("relatedItemIdentifierType"))


def _doi(identifier: object, kind: object) -> Iterator[str]:
    """Yield the DOI of an identifier, if it has one; arXiv registers one for each of its numbers."""
    text = as_text(identifier)
    number = re.fullmatch(r"(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]{2,20}/\d{7})(?:v\d+)?", text.strip().lower())
    if doi := find_doi(text):
        yield doi
    elif number and as_text(kind).lower() == "arxiv":
        yield f"10.48550/arxiv.{number.group(1)}"


def _licence(record: Mapping[str, object]) -> str:
    entries = map(as_dict, as_list(record.get("rightsList")))
    return normalise_licence(as_text(e.get(k)) for e in entries for k in ("rightsIdentifier", "rightsUri", "rights"))
