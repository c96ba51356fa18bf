"""The taxonomies of retrieval tasks: fields of a need for data, facets of an abstract with their grades."""

from __future__ import annotations

from pydantic import Field

from scirgen.core.errors import ResourceError
from scirgen.plugin import AspectCategory, Frozen, Taxonomies, suggest


class NeedField(Frozen):
    """One requirement that a person looking for data may have."""

    id: str = Field(pattern=r"^[a-z_]+$")
    name: str
    definition: str
    in_keyphrases: bool = True


class Needs(Frozen):
    """Fields of a need for data, and which of them each domain uses."""

    version: int
    sources: tuple[str, ...]
    fields: tuple[NeedField, ...]
    sets: dict[str, tuple[str, ...]] = Field(description="domain -> ids of its fields, in order")
    first_person: dict[str, tuple[str, ...]] = Field(
        default={},
        description="language -> words with which a text refers to its writer; languages without such words are not "
        "checked",
    )

    def of(self, domain: str) -> tuple[NeedField, ...]:
        """Return the fields of a domain, or those of ``default``.

        Raises:
            ResourceError: the set names a field that the file does not define.
        """
        known = {f.id: f for f in self.fields}
        chosen = self.sets.get(domain) or self.sets.get("default", ())
        if unknown := [f for f in chosen if f not in known]:
            raise ResourceError(
                f"taxonomies/needs.yaml: the set {domain!r} names the unknown field {unknown[0]!r}",
                hint=suggest(unknown[0], known),
            )
        return tuple(known[f] for f in chosen)


class Facet(Frozen):
    """A respect in which two papers may be similar; ``grades`` say what 3, 2 and 1 mean for it.

    Attributes:
        headings: patterns of headings inside an abstract ("Methods:") under which its sentences stand.
        cues: patterns that indicate the facet where no model sorted the sentences.
    """

    id: str = Field(pattern=r"^[a-z_]+$")
    name: str
    definition: str
    aspects: tuple[AspectCategory, ...]
    headings: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    grades: dict[int, str]


class GradeWord(Frozen):
    """A word that a judge of one requirement may choose, and its value."""

    word: str = Field(pattern=r"^[A-Z]+$")
    grade: int = Field(ge=0)
    definition: str


class Facets(Frozen):
    """Facets of an abstract with their grades, and the words of the judge of a requirement."""

    version: int
    sources: tuple[str, ...]
    facets: tuple[Facet, ...]
    unrelated: str
    labels: dict[int, str]
    requirement: tuple[GradeWord, ...]

    def facet(self, id: str) -> Facet:
        """Return one facet by id.

        Raises:
            ResourceError: no entry has that id.
        """
        for entry in self.facets:
            if entry.id == id:
                return entry
        raise ResourceError(f"unknown facet {id!r}", hint=suggest(id, [entry.id for entry in self.facets]))

    def scale(self, facet: Facet) -> list[tuple[int, str, str]]:
        """Return (grade, label, meaning) from the highest to 0."""
        meanings = {**facet.grades, 0: self.unrelated}
        return [(grade, self.labels[grade], meanings[grade]) for grade in sorted(meanings, reverse=True)]


def needs_of(taxonomies: Taxonomies) -> Needs:
    """Load the fields of a need for data."""
    return taxonomies.load("needs", Needs)


def facets_of(taxonomies: Taxonomies) -> Facets:
    """Load the facets of an abstract and their grades."""
    return taxonomies.load("facets", Facets)
