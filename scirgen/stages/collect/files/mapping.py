"""Converts a mapping in a file to a `Dataset` by its keys, regardless of case, spaces and ``_``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scirgen.core.fingerprint import content_id
from scirgen.core.records import Dataset, Rejection
from scirgen.core.records.licences import normalise_licence
from scirgen.core.text.doi import find_doi
from scirgen.core.text.language import by_language, language_code, stated_language
from scirgen.core.text.words import letters
from scirgen.stages.collect.files.envelopes import at_path

COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "identifier", "dataset_id", "uuid", "guid", "key", "@id"),
    "title": ("title", "name", "title_en", "dataset_title", "titel", "titre", "título", "titulo", "标题", "名称"),
    "description": (
        "description", "abstract", "summary", "notes", "beschreibung", "zusammenfassung", "résumé", "descripción",
        "resumen", "descrição", "resumo", "描述", "摘要",
    ),
    "doi": ("doi", "dataset_doi"),
    "url": ("url", "landing_page", "link", "homepage", "same_as"),
    "authors": ("authors", "author", "creators", "creator", "autor", "autoren", "autores", "auteurs", "auteur", "作者"),
    "keywords": (
        "keywords", "keyword", "tags", "subjects", "subject", "theme", "schlagwörter", "schlagworte", "mots-clés",
        "palabras_clave", "palavras-chave", "关键词",
    ),
    "related": (
        "related", "related_papers", "related_identifiers", "references", "citations", "literature", "citation",
        "is_referenced_by",
    ),
    "licence": (
        "licence", "license", "licences", "licenses", "license_id", "licence_id", "license_url", "rights",
        "access_rights", "lizenz", "licencia", "licença", "许可",
    ),
    "language": ("language", "lang", "sprache", "langue", "idioma", "语言"),
    "papers": ("papers", "paper", "paper_files", "paper_dois"),
}  # fmt: skip
"""Field of `Dataset` -> keys from which it is read; the first that is present counts. ``papers`` names papers of this
dataset."""

_STATING = frozenset(
    {"name", "title", "value", "label", "@value", "id", "@id", "url", "uri", "path", "identifier", "en", "props"}
)
_ENGLISH = ("titleen",)
_UNSEEN = {"@context", "@type", "@graph", "type"}
_LONGEST_FIELD = 4000
_DEEPEST = 8
_MAX_ENTRIES = 100


def squeezed(key: str) -> str:
    """Return a key without case, spaces, ``_``, ``-`` and the prefix or namespace of linked data (``dct:``,
    ``http://...#``)."""
    local = key if key.startswith("@") else re.split(r"[:/#]", key)[-1] or key
    return re.sub(r"[\s_-]+", "", local).lower()


def in_english(value: object) -> object:
    """Return the English part of a value in several languages; without English, the first part with a language."""
    parts = by_language(value)
    return parts.get("en") or next((part for code, part in parts.items() if code), value)


def texts(value: object) -> list[str]:
    """Return the texts in a value: a string (split at ``;`` or ``|``), a list, or objects with a name or title."""
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, str):
        parts = re.split(r"\s*[;|]\s*", value.strip())
        return [p for p in parts if p]
    if isinstance(value, Mapping):
        for key in ("name", "title", "nameEn", "value", "label", "@value", "id", "@id", "doi", "url"):
            if isinstance(value.get(key), str) and value[key]:
                return [str(value[key]).strip()]
        return []
    if isinstance(value, Iterable):
        return [t for item in value for t in ([item.strip()] if isinstance(item, str) else texts(item)) if t]
    return [str(value)]


def _cited(value: object) -> list[str]:
    """Like `texts`, but for an object with a DOI (in ``sameAs``, ``@id`` or ``identifier``), the DOI."""
    if isinstance(value, Mapping):
        doi = next((d for v in value.values() if isinstance(v, str) and (d := find_doi(v))), None)
        return [doi] if doi else texts(value)
    return [cited for item in value for cited in _cited(item)] if isinstance(value, list) else texts(value)


def _listed(record: Mapping[str, object]) -> str:
    """Return the record's keys, for a message."""
    keys = [str(k)[:40] for k in record]
    return f"its fields: {', '.join(keys[:12])}{', ...' if len(keys) > 12 else ''}" if keys else "it is empty"


def keywords(value: object) -> list[str]:
    """Like `texts`, but a plain string without ``;`` is split at its commas."""
    if isinstance(value, str) and not re.search(r"[;|]", value):
        return [k for k in re.split(r"\s*,\s*", value.strip()) if k]
    return texts(value)


def text(value: object) -> str:
    """Return one text: a string as it is, or the parts of a value joined."""
    return value.strip() if isinstance(value, str) else "; ".join(texts(value))


def statements(value: object) -> list[str]:
    """Return all texts that state a licence: a text as it is, the names and addresses of objects."""
    if isinstance(value, Mapping):
        return [one for key, inner in value.items() if key.lower() in _STATING for one in statements(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in statements(inner)]
    return [value] if isinstance(value, str) else []


class RecordMapping:
    """The meaning of keys: the table above, with the user's own column names before it.

    Args:
        columns: field of `Dataset` -> the user's column name, or several of which the first that is present counts;
            after them the names of the table.
    """

    def __init__(self, columns: Mapping[str, str | Sequence[str]] | None = None) -> None:
        self.own = own = {f: (c,) if isinstance(c, str) else tuple(c) for f, c in (columns or {}).items()}
        self._keys = {f: tuple(squeezed(k) for k in (*own.get(f, ()), *names)) for f, names in COLUMNS.items()}
        paths = [path for listed in own.values() for path in listed]
        self._paths = {squeezed(path): path for path in paths if "." in path}
        self._own = frozenset(map(squeezed, paths))
        self._known = {k for keys in self._keys.values() for k in keys} | {squeezed(k) for k in _UNSEEN}

    def dataset(self, record: Mapping[str, object], where: str) -> Dataset | Rejection:
        """Return the dataset a mapping describes, or the reason why it cannot be used.

        Other keys become ``fields`` if their value is a text, a number or a list of these.
        """
        by_key = self._by_key(record)
        title = self._text(by_key, "title")
        doi = find_doi(self._text(by_key, "doi")) or find_doi(self._text(by_key, "id"))
        # Ids are written into tables whose columns are separated by white space.
        identity = re.sub(r"[\s\x00-\x1f\x7f]+", "_", self._text(by_key, "id"))
        if not title:
            about, raw = ("Dataset", identity or where), json.dumps(record, ensure_ascii=False, default=str)[:2000]
            return Rejection.of(
                "collect", "no_title", f"{where}: the record has no title; {_listed(record)}", about, record=raw
            )
        description = self._text(by_key, "description")
        extra = (
            (k, self._field(v)) for k, v in record.items() if squeezed(k) not in self._known and not k.startswith("_")
        )
        return Dataset(
            id=identity or doi or content_id("dataset", title, description),
            title=title,
            description=description,
            doi=doi,
            url=self._text(by_key, "url") or None,
            authors=tuple(texts(self._value(by_key, "authors"))),
            keywords=tuple(keywords(self._value(by_key, "keywords"))),
            fields=tuple((k, v) for k, v in extra if v),
            related=tuple(_cited(self._value(by_key, "related"))),
            licence=normalise_licence(self._licences(by_key)),
            language=stated_language(self._text(by_key, "language"), title, description),
            language_guessed=not self._text(by_key, "language"),
            translations=tuple(self._translations(by_key, (("title", title), ("description", description)))),
        )

    def applies(self, record: Mapping[str, object]) -> bool:
        """Return whether a record has one of the user's columns."""
        return not self._own.isdisjoint(self._by_key(record))

    def lacking(self, record: Mapping[str, object], fields: Iterable[str]) -> list[str]:
        """Return the fields for which the record has none of the user's columns."""
        by_key = self._by_key(record)
        return [f for f in fields if by_key.keys().isdisjoint(map(squeezed, self.own[f]))]

    def papers(self, record: Mapping[str, object]) -> tuple[str, ...]:
        """Return the file names and DOIs of the dataset's papers, according to its record."""
        return tuple(texts(self._value(self._by_key(record), "papers")))

    def _by_key(self, record: Mapping[str, object]) -> dict[str, object]:
        """Return the record by squeezed keys, with the values of the user's dotted columns."""
        found = {squeezed(k): v for k, v in record.items()}
        return found | {key: v for key, path in self._paths.items() if (v := at_path(record, path)) is not None}

    def _value(self, by_key: Mapping[str, object], field: str) -> object:
        found = next((by_key[k] for k in self._keys[field] if by_key.get(k) not in (None, "", [], {})), None)
        return in_english(found)

    def _text(self, by_key: Mapping[str, object], field: str) -> str:
        return text(self._value(by_key, field))

    def _translations(
        self, by_key: Mapping[str, object], taken: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[str, str, str]]:
        """Yield (language, field, text) of titles and descriptions in other languages than the one that was taken."""
        for name, own in taken:
            if (said := self._text({k: by_key.get(k) for k in _ENGLISH}, name)) not in ("", own):
                yield "en", name, said
            for key in self._keys[name]:
                for code, part in (by_language(by_key.get(key)) or by_language(by_key.get(f"{key}translated"))).items():
                    if code and (said := text(part)) and said != own:
                        yield code, name, said

    def _licences(self, by_key: Mapping[str, object]) -> list[str]:
        """Return all that the record says about its licence and rights: in the user's own column, else under all keys
        of the table."""
        keys = self._keys["licence"][: len(self.own["licence"])] if "licence" in self.own else self._keys["licence"]
        return [said for key in keys for said in statements(in_english(by_key.get(key)))]

    @staticmethod
    def _field(value: object) -> str:
        if isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value)):
            return ""
        return text(value)[:_LONGEST_FIELD]


def unread(record: Mapping[str, object], dataset: Dataset, papers: Sequence[str]) -> list[str]:
    """Return the dotted keys of a record whose values appear neither in the dataset made from it nor in its names of
    papers.

    Values are compared by their letters and digits. Flags and values of one or two signs do not count.
    """
    has = letters("\n".join((dataset.model_dump_json(exclude={"source", "provenance"}), *papers)))
    names = {dataset.licence, dataset.language}

    def lost(value: str) -> bool:
        plain = letters(value)
        doi = find_doi(value)
        return (
            len(plain) > 2
            and '"coordinates"' not in value  # a place, which becomes an extent
            and plain not in has
            and not (doi and letters(doi) in has)
            and names.isdisjoint((normalise_licence(value), language_code(value)))
        )

    return list(dict.fromkeys(path for path, value in _leaves(record) if lost(value)))


def _leaves(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (dotted key, text) of all texts and numbers. Objects with a ``key`` and a ``value`` (CKAN) are named by the
    key."""
    if isinstance(value, Mapping):
        own = str(value["key"]) if {"key", "value"} <= value.keys() else ""
        for key, inner in ((own, value["value"]),) if own else value.items():
            if depth < _DEEPEST and not str(key).startswith("@"):
                yield from _leaves(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for inner in value[:_MAX_ENTRIES]:
            yield from _leaves(inner, path, depth + 1)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield path, str(value)
