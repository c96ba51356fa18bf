"""Finds the ways to refer to a dataset in a paper (identifiers, title, names and acronyms), and its distinctive
words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from scirgen.core.records import Dataset
from scirgen.core.text.words import DATA_WORDS, singular, telling_words, tokens_of

_ACCESSIONS = re.compile(
    r"\b(?:\d{5}\.\d{2}\.[A-Za-z][\w.]+\d|GSE\d{3,8}|PRJ[EDN][A-Z]\d{3,9}|[SED]RP\d{5,9}|PANGAEA\.\d{4,7}|DP\d\.\d{5}\.\d{3}"
    r"|PXD\d{6}|E-[A-Z]{4}-\d+)\b"
)
_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")
_PARENTHESES = re.compile(r"[（(]([^()（）]{2,60})[)）]")
_NAME = re.compile(r"(?:[A-Z]|[a-z]{2,6}(?=[A-Z]))[A-Za-z]*\d*(?:[-.]?[A-Za-z0-9]+)*(?:\.\d+)?")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]{2,}[A-Z0-9]")
_VERSIONED = re.compile(
    r"\b(?:(?:version|release|collection|edition|v)[ .]*\d[\w.]*"
    r"|(?:from )?(?:1[89]|20)\d\d(?:\s*(?:[-–—]|to)\s*(?:\d{2,4}|present|now))?)\b",
    re.I,
)
_ACRONYM_VERSION = re.compile(r"([A-Za-z]{3,}?)[vV]?\d[\d.]*[a-z]?")
_SHORTEST_TITLE = 32


@dataclass(frozen=True)
class Name:
    """A name from the title. ``programme``: it precedes a colon, so many datasets may share it."""

    text: str
    programme: bool = False


class DatasetNames:
    """The texts by which a dataset is found in a paper."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    @cached_property
    def identifiers(self) -> tuple[str, ...]:
        """The DOI, the part after its prefix if that is unmistakable, and accession numbers in the metadata; lower
        case."""
        found: list[str] = []
        if self._dataset.doi:
            doi = self._dataset.doi.lower()
            own = doi.partition("/")[2]
            found.append(doi)
            if len(own) >= 10 and sum(c.isdigit() for c in own) >= 4 and any(c.isalpha() for c in own):
                found.append(own)
        metadata = " ".join(value for _, value in self._dataset.fields)
        found += [m.group().lower() for m in _ACCESSIONS.finditer(f"{self._dataset.id} {metadata}")]
        return tuple(dict.fromkeys(found))

    @cached_property
    def title(self) -> str | None:
        """The title, if it is too long to occur by chance."""
        return self._dataset.title if sum(c.isalnum() for c in self._dataset.title) >= _SHORTEST_TITLE else None

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Names and acronyms in the title; the acronym of a concept ("... water index (NDWI)") does not count."""
        title = self._dataset.title
        before, colon, rest = re.sub("：", ":", title).partition(":")
        found: list[Name] = []
        if colon and rest.strip() and _is_name(before.strip()):
            found.append(Name(before.strip(), programme=True))
        for match in _PARENTHESES.finditer(title):
            first = re.split(r"[,;，；]", match.group(1))[0].strip()
            if _is_name(first) and not _abbreviates_concept(first, title[: match.start()]):
                found.append(Name(first))
        known = {n.text for n in found}
        plain = _WORD.findall(_PARENTHESES.sub(" ", title))
        found += [Name(word) for word in plain if word not in known and _is_mixed(word)]
        if self.short_title:
            found.append(Name(self.short_title))
        return tuple(dict.fromkeys(found))

    @cached_property
    def short_title(self) -> str | None:
        """A title of a few words, if one of them is spelt as only names are ("CREMMA Medii Aevi")."""
        words = _WORD.findall(self._dataset.title)
        named = any(_is_mixed(w) or _ACRONYM.fullmatch(w) for w in words)
        return self._dataset.title if self.title is None and named and len(words) >= 2 else None

    @cached_property
    def marks(self) -> frozenset[str]:
        """Words of the title that are spelt as names of instruments, products and programmes are, without hyphens and
        version."""
        words = _WORD.findall(self._dataset.title)
        return frozenset(_unversioned(w) for w in words if _ACRONYM.fullmatch(w) or _is_mixed(w))

    @cached_property
    def bare_title(self) -> str:
        """The title without parentheses, years and version, as papers write it, or "" if it is not a proper name."""
        bare = " ".join(_VERSIONED.sub(" ", _PARENTHESES.sub(" ", self._dataset.title)).split()).strip(" ,;:.-–")
        words = bare.removeprefix("The ").split()
        return " ".join(words) if len(words) >= 3 and sum(w[0].isupper() for w in words) >= 3 else ""

    def marked(self, text: str) -> bool:
        """Return whether a text has one of the `marks` as a word, in any version, or the `bare_title`."""
        if self.bare_title and self.bare_title in " ".join(text.split()):
            return True
        return not self.marks.isdisjoint(map(_unversioned, _WORD.findall(text)))

    @cached_property
    def places(self) -> frozenset[str]:
        """Words that name places. A shared place never makes a match."""
        listed = " ".join(
            v
            for label, v in self._dataset.fields
            if label.lower().startswith(("place", "spatial", "region", "location"))
        )
        words = {singular(w.lower()) for w in tokens_of(listed)}
        names = {n.text for n in self.names}
        inside = [
            w for w in _WORD.findall(self._dataset.title)[1:] if w[:1].isupper() and w[1:].islower() and w not in names
        ]
        # In a Title With Capitals, a capital does not show a name.
        capitals = sum(w[:1].isupper() for w in _WORD.findall(self._dataset.title) if len(w) > 3)
        lower = sum(w[:1].islower() for w in _WORD.findall(self._dataset.title) if len(w) > 3)
        return frozenset(
            words | ({singular(t.lower()) for w in inside for t in tokens_of(w)} if capitals <= lower else set())
        )

    @cached_property
    def telling(self) -> frozenset[str]:
        """Distinctive words of the title: neither common words, nor words for data in general, nor places, nor
        names."""
        names = {singular(part.lower()) for n in self.names for part in tokens_of(n.text)}
        return telling_words(self._dataset.title) - self.places - names - DATA_WORDS

    @cached_property
    def subject(self) -> frozenset[str]:
        """The distinctive words of title and keywords."""
        keywords = telling_words(" ".join(self._dataset.keywords))
        return self.telling | (keywords - self.places - DATA_WORDS)


def _unversioned(word: str) -> str:
    """Remove hyphens and a version behind the letters: GFED4s and GFEDv4 are both GFED."""
    plain = word.replace("-", "")
    return version.group(1) if (version := _ACRONYM_VERSION.fullmatch(plain)) else plain


def _is_name(text: str) -> bool:
    return (
        3 <= len(text) <= 24
        and _NAME.fullmatch(text) is not None
        and sum(c.isupper() for c in text) >= 2
        and not text.isdigit()
    )


def _is_mixed(word: str) -> bool:
    """Return whether a word is spelt as only names are: capitals inside it (HiWATER, CalCOFI), or letters and digits
    (ERA5, GRFRV1.0)."""
    capitals = sum(c.isupper() for c in word)
    plain = "-" not in word and len(word) >= 4
    return (
        plain and capitals >= 2 and (any(c.islower() for c in word[1:-1]) or (word[0].isalpha() and word[-1].isdigit()))
    )


def _abbreviates_concept(acronym: str, before: str) -> bool:
    """Return whether the words right before an acronym begin with its letters, and none of them means data in
    general."""
    letters = [c.lower() for c in acronym if c.isupper()]
    words = _WORD.findall(before.replace("-", " "))[-len(letters) - 3 :]
    for skip in range(4):
        tail = words[len(words) - len(letters) - skip : len(words) - skip] if len(words) >= len(letters) + skip else []
        if tail and [w[:1].lower() for w in tail] == letters:
            return not any(w.lower() in DATA_WORDS for w in tail)
    return False
