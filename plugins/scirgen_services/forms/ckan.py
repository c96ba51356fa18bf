"""Packages of CKAN as datasets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from scirgen import Dataset, Rejection, normalise_licence
from scirgen.plugin import find_dois
from scirgen_services.forms.fields import as_dict, as_list, as_text, by_language, find_doi, stated_language


def recognised(record: Mapping[str, object]) -> Dataset | Rejection | None:
    """Return the dataset of a record in a file, if it has CKAN's form."""
    known = isinstance(record.get("resources"), list) and "notes" in record and "extras" in record
    return dataset_of(record) if known else None


def dataset_of(item: Mapping[str, object], portal: str = "") -> Dataset | Rejection:
    """Return the dataset that a CKAN package describes, or the reason why it cannot be used; ``portal`` is the address
    below which its page is."""
    extras = {as_text(as_dict(e).get("key")): as_dict(e).get("value") for e in as_list(item.get("extras"))}
    said = {key: "; ".join(_values(value)) for key, value in extras.items() if key}
    identity = as_text(item.get("id")) or as_text(item.get("name"))
    titles, described = (
        {**by_language(item.get(k)), **by_language(item.get(f"{k}_translated"))} for k in ("title", "notes")
    )
    title = as_text(item.get("title")) or _one_of(titles) or as_text(item.get("name"))
    notes = as_text(item.get("notes")) or _one_of(described)
    if not title or not identity:
        lacks = "title" if identity else "id"
        reason = f"CKAN package {identity or title!r} has no {lacks}"
        return Rejection.of("collect", f"no_{lacks}", reason, ("Dataset", identity or "?"))
    resources = [as_dict(r) for r in as_list(item.get("resources"))]
    own = (as_text(item.get("doi")), said.get("doi"), said.get("DOI"), said.get("identifier"))
    doi = next(filter(None, map(find_doi, own)), None)
    creators = (item.get("author"), said.get("creator_name"), said.get("author_name"), item.get("maintainer"))
    language = next(iter(_values(extras.get("language") or item.get("language"))), "")
    cited = (notes, *said.values(), *(as_text(r.get("url")) for r in resources))
    named = (d for text in cited for d in find_dois(text))
    return Dataset(
        id=identity,
        title=title,
        description=notes,
        doi=doi,
        url=as_text(item.get("url"))
        or (f"{portal}/dataset/{as_text(item.get('name')) or identity}" if portal else None),
        authors=tuple(filter(None, map(as_text, creators)))[:1],
        keywords=tuple(
            t
            for e in as_list(item.get("tags"))
            if (t := as_text(as_dict(e).get("display_name") or as_dict(e).get("name")))
        ),
        fields=tuple((label, text) for label, text in _fields(item, said, resources) if text and len(text) <= 2000),
        related=tuple(dict.fromkeys(r for r in (*named, *_references(item, extras)) if r != doi)),
        licence=_licence(item, resources),
        language=stated_language(language, title, notes),
        language_guessed=not language,
        translations=tuple(
            (code, name, text)
            for name, own, parts in (("title", title, titles), ("description", notes, described))
            for code, part in parts.items()
            if (text := as_text(part)) and text != own
        ),
    )  # fmt: skip


_REFERENCES = ("references", "reference", "publications", "related_publications", "literature", "citations")


def _one_of(parts: Mapping[str, object]) -> str:
    """Return the English text of a value in several languages, or its first."""
    return as_text(parts.get("en")) or next(filter(None, map(as_text, parts.values())), "")


def _references(item: Mapping[str, object], extras: Mapping[str, object]) -> Iterator[str]:
    """Yield the DOIs of the papers that a package refers to; the titles of those without one."""
    for value in (where.get(key) for key in _REFERENCES for where in (item, extras)):
        objects = ([as_text(as_dict(v).get(k)) for k in ("doi", "url", "title")] for v in as_list(value))
        for texts in (*([text] for text in _values(value)), *objects):
            if found := next((d for t in texts if (d := find_doi(t))), texts[-1]):
                yield found


_READ_ELSEWHERE = frozenset({"doi", "identifier", "language", "spatial", "creator_name", "author_name"})


def _fields(
    item: Mapping[str, object], said: Mapping[str, str], resources: list[Mapping[str, object]]
) -> Iterator[tuple[str, str]]:
    yield "Organisation", as_text(as_dict(item.get("organization")).get("title"))
    yield "Maintainer", as_text(item.get("maintainer"))
    yield "Version", as_text(item.get("version"))
    yield "Format", "; ".join(dict.fromkeys(filter(None, (as_text(r.get("format")) for r in resources))))
    files = (": ".join(filter(None, (as_text(r.get("name")), as_text(r.get("description"))))) for r in resources)
    yield "Files", "; ".join(dict.fromkeys(filter(None, files)))[:2000]
    yield "Spatial extent", _extent(said.get("spatial", ""))
    yield from ((key, text) for key, text in said.items() if key.lower() not in _READ_ELSEWHERE)


def _values(value: object) -> list[str]:
    """Return the texts of an extra: DCAT-AP portals write lists as JSON; only places are objects with text."""
    text = as_text(value)
    if text[:1] in ("[", "{"):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return []
        return [text] if isinstance(parsed, dict) and "coordinates" in parsed else [
            t for v in as_list(parsed) if (t := as_text(v))
        ]  # fmt: skip
    return [t for v in as_list(value) if (t := as_text(v))] or ([text] if text else [])


def _extent(geojson: str) -> str:
    """Return the box of a GeoJSON geometry as text."""
    numbers = [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", geojson.partition("coordinates")[2])]
    east, north = numbers[::2], numbers[1::2]
    if not north or len(east) != len(north):
        return ""
    if len(east) == 1:
        return f"longitude {east[0]:g}, latitude {north[0]:g} (degrees)"
    sides = (min(east), max(east), min(north), max(north))
    return "longitude {:g} to {:g}, latitude {:g} to {:g} (degrees)".format(*sides)


def _licence(item: Mapping[str, object], resources: list[Mapping[str, object]]) -> str:
    """Return the licence on which the package and its resources agree, or all of their texts."""
    places = (
        item.get("license_url"),
        item.get("license_id"),
        item.get("license_title"),
        *(r.get("license") for r in resources),
    )
    return normalise_licence(map(as_text, places))
