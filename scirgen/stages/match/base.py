"""The interface of match strategies. `stage` turns judgements into records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from scirgen.core.records import Criteria, Dataset, Document, SectionClass, SectionLabel
from scirgen.core.text.sentences import document_sentences
from scirgen.core.text.verbatim import Verbatim
from scirgen.stages.base import StageContext
from scirgen.stages.match.references import Reference, body_ranges, find_references

STATED = frozenset({"column", "related_doi", "related_identifier", "doi", "file_name"})
"""Ways of finding a candidate in which the user or the record says that the paper belongs to the dataset."""


@dataclass(frozen=True)
class Place:
    """A sentence or reference of the paper, [start, end), that is evidence for or against use."""

    start: int
    end: int
    section: SectionClass
    what: str
    in_references: bool = False


@dataclass(frozen=True)
class Judgement:
    """The decision of a strategy. ``code`` is the rejection code if the dataset is not used; ``places`` are the
    evidence."""

    used: bool
    explanation: str
    places: tuple[Place, ...] = ()
    code: str = "not_used"
    criteria: Criteria | None = None
    prompt: str | None = None
    replies: tuple[str, ...] = ()


class Pair:
    """A dataset and a paper's parsed text, with the derived data that strategies share."""

    def __init__(
        self, dataset: Dataset, document: Document, labels: Sequence[SectionLabel] = (), found_by: Sequence[str] = ()
    ) -> None:
        self.dataset = dataset
        self.document = document
        self.labels = sorted(labels, key=lambda label: label.start)
        self.found_by = tuple(dict.fromkeys(found_by))
        self._starts = [label.start for label in self.labels]

    @property
    def stated(self) -> bool:
        """True if the user or the record itself names this paper as the dataset's."""
        return bool(STATED & set(self.found_by))

    def label_at(self, offset: int) -> SectionLabel | None:
        """Return the heading run that contains an offset."""
        at = bisect_right(self._starts, offset) - 1
        return self.labels[at] if at >= 0 and offset < self.labels[at].end else None

    def section(self, offset: int) -> SectionClass:
        """Return the class of the heading run that contains an offset."""
        run = self.label_at(offset)
        return SectionClass.NONE if run is None else run.label

    @cached_property
    def references(self) -> list[Reference]:
        """The entries of the list of references."""
        return find_references(self.document, self.labels)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """Sentences of the body, in order; neither references nor tables."""
        ranges = body_ranges(self.document, self.references)
        return [s for start, end in ranges for s in document_sentences(self.document, start, end)]

    @cached_property
    def folded(self) -> Verbatim:
        """The text in lower case (character by character, so that offsets are the same), for identifiers and titles."""
        return Verbatim(lowered(self.document.text))

    @cached_property
    def _reference_starts(self) -> list[int]:
        return [entry.start for entry in self.references]

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [start for start, _ in self.sentences]

    def reference_at(self, offset: int) -> Reference | None:
        """Return the entry of the list of references that contains an offset."""
        at = bisect_right(self._reference_starts, offset) - 1
        return self.references[at] if at >= 0 and offset < self.references[at].end else None

    def sentence_at(self, start: int, end: int) -> tuple[int, int]:
        """Return the sentence that contains a place, or the place itself outside of sentences."""
        at = bisect_right(self._sentence_starts, start) - 1
        if at >= 0 and start < self.sentences[at][1]:
            return self.sentences[at]
        return start, end

    def words(self, start: int, end: int) -> str:
        """Return a piece of the text on one line."""
        return " ".join(self.document.text[start:end].split())


MatchPair = Pair
"""The public name of `Pair`."""


class MatchStrategy(Protocol):
    """Decides whether a paper uses a dataset. Registered as ``match_strategy``; made without arguments.

    A strategy that asks the model treats the paper as untrusted: its evidence must be spans of the paper, and a reply
    without evidence never makes a match.
    """

    name: str
    needs: tuple[Literal["generator"], ...]
    """Tells whether it asks the generator; () for a rule."""

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """Return the judgement on one pair.

        Raises:
            ModelError: the model gave no usable reply.
        """


def lowered(text: str) -> str:
    """Lower case without changing the length."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
