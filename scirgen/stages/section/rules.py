"""Divides a document into heading runs, and classifies these by their headings, with the rules of
taxonomies/sections.yaml."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scirgen.core.records import BlockKind, Document, SectionClass
from scirgen.core.taxonomy import SectionDefinition

_NUMBER: Final = re.compile(
    r"^\s*(?:section\s+)?(?:\d{1,2}(?:\.\d{1,2}){0,4}\.?(?=\s|$|[^\W\d_])|[ivx]{1,5}\.\s|[a-h]\.(?:\d{1,2}\.?)*\s|\(?[a-h1-9]\)\s"
    r"|第?[一二三四五六七八九十]{1,3}[、.．章节]?\s*)\s*",
    re.I,
)

_SIGN: Final = re.compile(
    r"[^\W\d_]\(|[{}<>=]|\w_\w|\b(?:algorithm|class|code|file|function|input|matrix|object|output|value)"
)


def normalise(heading: str) -> str:
    """Lower case, no accents, no numbering, no outer punctuation, letter-spaced capitals closed up, one blank between
    words."""
    text = unicodedata.normalize("NFKD", heading)
    text = "".join(c for c in text if not unicodedata.combining(c)).lower().replace("’", "'")
    text = re.sub(r"\b(?:(?:\w ){3,}\w|[一-鿿](?: [一-鿿])+)\b", lambda m: m.group().replace(" ", ""), text)
    text = _NUMBER.sub("", text)
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s'&/,-]", " ", text)).strip(" -',&")


class HeadingRules:
    """The patterns of all classes, compiled; the document's language is tried first, then English, then the others."""

    def __init__(self, definitions: Sequence[SectionDefinition]) -> None:
        self._languages: dict[str, list[tuple[SectionClass, re.Pattern[str]]]] = {}
        for definition in definitions:
            for language, patterns in definition.headings.items():
                joined = "|".join(f"(?:{pattern})" for pattern in patterns)
                self._languages.setdefault(language, []).append((definition.id, re.compile(joined, re.I)))

    def label(self, heading: str, language: str) -> SectionClass | None:
        """Return the class that a heading names by itself; None if it names none."""
        name = normalise(heading)
        for code in dict.fromkeys((language, "en", *self._languages)):
            for label, pattern in self._languages.get(code, ()):
                if pattern.search(name):
                    return label
        return None

    def label_path(self, path: Sequence[str], language: str) -> SectionClass | None:
        """Return the class of a heading, which is the last in ``path``.

        The outermost heading that names a class decides, so that "Data" below "Results" stays results; a heading below
        one that names none decides by itself.
        """
        return next((found for heading in path if (found := self.label(heading, language))), None)


@dataclass(frozen=True)
class Run:
    """[start, end) of the document's text: a heading and what follows it up to the next one. Front matter has no
    heading. ``signs``: signs and words in it that are frequent where programs or formulas are described."""

    start: int
    end: int
    heading: str
    path: tuple[str, ...]
    signs: int


def heading_runs(document: Document) -> list[Run]:
    """Return all runs, in order; together they cover the whole text."""
    text = document.text
    heads = [b for b in document.blocks if b.kind is BlockKind.HEADING]
    marks = [(0, "", ()), *((h.start, " ".join(text[h.start : h.end].split()), h.heading_path) for h in heads)]
    edges = [*(h.start for h in heads), len(text)]
    return [
        Run(start, end, name, path, len(_SIGN.findall(text, start, end)))
        for (start, name, path), end in zip(marks, edges, strict=True)
        if start < end
    ]
