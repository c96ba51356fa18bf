"""The strategy that needs no model: `MentionStrategy`, for papers that name or cite a dataset where data are used."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scirgen.core.records import Criteria, SectionClass
from scirgen.core.runtime import stop_here
from scirgen.core.text.words import DATA_WORDS, telling_words
from scirgen.stages.base import StageContext
from scirgen.stages.match.base import Judgement, Pair, Place, lowered
from scirgen.stages.match.names import DatasetNames, Name
from scirgen.stages.match.references import Reference, body_ranges, citing_offsets

USE_CUES = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|obtain(?:ed|s)?|deriv(?:ed|es)|download(?:ed)?|retriev(?:ed|es)|taken from|based on"
    r"|acquired|collected"
    r"|appl(?:y|ied|ies)|employ(?:ed|s)?|extract(?:ed|s)?|provided by|access(?:ed)?|forced (?:by|with)"
    r"|driven (?:by|with)|analy[sz]ed?"
    r"|validat(?:e|ed)|available (?:at|from|in|through)|archived|deposited|this dataset|our dataset|we present"
    r"|utili[sz](?:ed|ada|ado)"
    r"|obtid[oa]s?|obtenid[oa]s?)\b",
    re.I,
)
"""Verbs by which authors say that they used data."""

_WINDOW = 250
_MAX_PLACES = 8
_PROGRAMME_COVERAGE = 0.6
MOST_CITED = 20
"""Number of references to one dataset whose citations are looked for; each is a search through the text."""


@dataclass(frozen=True)
class _Hit:
    offset: int
    end: int
    what: str


@dataclass(frozen=True)
class Findings:
    """Where a paper names or cites a dataset: places in the body, and entries of its references."""

    named: tuple[Place, ...]
    cited: tuple[Place, ...]
    entries: tuple[Place, ...]

    def uses(self) -> list[Place]:
        """Return the places at which naming or citing means use."""
        return [p for p in (*self.named, *self.cited) if p.section is not SectionClass.RELATED_WORK]


def find_mentions(pair: Pair) -> Findings:
    """Return all places where the paper names the dataset or cites it, by identifier, title or a name that the context
    confirms.

    It takes time linear in the text; a paper of megabytes may name a dataset at every word.

    Raises:
        RunStoppingError: the run ends.
    """
    names = DatasetNames(pair.dataset)
    hits = sorted({*_identifier_hits(pair, names), *_name_hits(pair, names)}, key=lambda h: h.offset)
    entry_of = {h: pair.reference_at(h.offset) for h in hits}
    by_entry = {e: h.what for h, e in entry_of.items() if e is not None}
    for entry in pair.references:
        stop_here()
        if entry.doi and entry.doi.lower() in names.identifiers:
            by_entry[entry] = "identifier"
        elif entry not in by_entry and _same_title(entry, names):
            by_entry[entry] = "title"
    named = [_place(pair, h.offset, h.end, h.what) for h, e in entry_of.items() if e is None]
    ranges = body_ranges(pair.document, pair.references)
    cited = [
        _place(pair, o, o + 1, f"citation of reference {e.number}, which has its {what}")
        for e, what in islice(by_entry.items(), MOST_CITED)
        for o in citing_offsets(pair.document, ranges, e)
    ]
    entries = [Place(e.start, e.end, SectionClass.NONE, what, in_references=True) for e, what in by_entry.items()]
    return Findings(tuple(named), tuple(cited), tuple(entries))


class MentionStrategy:
    """``mention``: a dataset is used if the paper names or cites it by identifier, title or a confirmed name, outside
    of related work.

    In abstract and introduction, the sentence must also say so ("we used", "derived from").
    """

    name = "mention"
    needs = ()

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        return judge_mentions(pair, await asyncio.to_thread(find_mentions, pair))


_DESCRIBED: Final = Criteria(methodology="yes", terminology="yes", results="unclear")
_LISTED: Final = Criteria(methodology="unclear", terminology="yes", results="unclear")


def judge_mentions(pair: Pair, findings: Findings) -> Judgement:
    """Return the judgement of ``mention`` on what was found."""
    uses = [p for p in findings.uses() if says_use(pair, p)]
    places = evidence(uses, findings.entries)
    if uses:
        kinds = ", ".join(dict.fromkeys(p.what for p in uses))
        why = f"The paper names or cites the dataset where it describes its data, by {kinds}."
        return Judgement(True, why, places, criteria=_DESCRIBED)
    sure = [e for e in findings.entries if e.what in ("identifier", "title")]
    if sure and not findings.cited and not findings.named:
        why = f"The dataset itself is in the paper's references, by {sure[0].what}; where it is cited was not found."
        return Judgement(True, why, places, criteria=_LISTED)
    elsewhere = [p for p in (*findings.named, *findings.cited) if p.section is not SectionClass.RELATED_WORK]
    if elsewhere and any(e.what == "identifier" for e in sure):
        why = "The dataset's identifier is in the paper's references, and the paper cites it outside of related work."
        return Judgement(True, why, evidence(elsewhere, findings.entries), criteria=_LISTED)
    if findings.named or findings.cited or findings.entries:
        why = "The paper mentions the dataset, but not where it describes the data that it uses."
        return Judgement(False, why, evidence([*findings.named, *findings.cited], findings.entries), "mentioned_only")
    return Judgement(False, "The paper has neither the dataset's identifiers nor its title or name.", code="not_named")


def bears_title(pair: Pair) -> bool:
    """Return whether the paper has the dataset's title, alone or before a colon or dash, as its own."""
    own = pair.dataset.title.strip()
    if DatasetNames(pair.dataset).title is None and not DatasetNames(pair.dataset).short_title:
        return False
    head = re.split(r"\s*[:：]|\s+[–—-]\s", pair.document.title)[0]
    return bool(own) and letters(own) in (letters(pair.document.title), letters(head))


def _identifier_hits(pair: Pair, names: DatasetNames) -> Iterator[_Hit]:
    wanted = [(i, "identifier") for i in names.identifiers]
    if names.title:
        wanted.append((lowered(names.title), "title"))
    text = pair.document.text
    for quote, what in wanted:
        at = 0
        while (found := pair.folded.find(quote, at)) is not None:
            stop_here()
            start, at = found
            # 10.1/abc is not 10.1/abc.2
            if what == "title" or not re.match(r"[-._/][^\W_]", text[at : at + 2]):
                yield _Hit(start, at, what)


def _name_hits(pair: Pair, names: DatasetNames) -> Iterator[_Hit]:
    text = pair.document.text
    for name in names.names:
        found = [
            _Hit(m.start(), m.end(), f"name {name.text}")
            for m in re.finditer(rf"(?<![^\W_]){re.escape(name.text)}(?![^\W_])", text)
        ]
        confirmed = [h for h in found if _confirms(_around(pair, h), name, names)]
        if name.text == names.short_title:
            yield from found
        elif name.programme:
            yield from confirmed
        elif confirmed:
            yield from found


def _around(pair: Pair, hit: _Hit) -> str:
    """Return the reference, or the words around a name."""
    stop_here()
    if entry := pair.reference_at(hit.offset):
        return entry.text
    return pair.document.text[max(0, hit.offset - _WINDOW) : hit.end + _WINDOW]


def _confirms(around: str, name: Name, names: DatasetNames) -> bool:
    """Return whether the words around a name are from the dataset's title, so that the name does not mean something
    else."""
    nearby = telling_words(around)
    if name.programme:
        wanted = (names.telling | (names.places & telling_words(names.title or ""))) - telling_words(name.text)
        return bool(wanted) and len(wanted & nearby) >= max(2, _PROGRAMME_COVERAGE * len(wanted))
    if len(names.telling) < 2:
        return names.telling <= nearby and bool(nearby & DATA_WORDS)
    return len(names.telling & nearby) >= 2


def _same_title(entry: Reference, names: DatasetNames) -> bool:
    """Return whether a reference has all distinctive words, places, years and names of the title, in any order."""
    if not names.title:
        return False
    wanted = telling_words(names.title)
    return len(wanted) >= 6 and len(names.telling) >= 2 and wanted <= telling_words(entry.text)


def letters(text: str) -> str:
    """Return the letters and digits of a text, without case."""
    return "".join(c for c in text.casefold() if c.isalnum())


def _place(pair: Pair, offset: int, end: int, what: str) -> Place:
    stop_here()
    start, stop = pair.sentence_at(offset, end)
    return Place(start, stop, pair.section(offset), what)


def says_use(pair: Pair, place: Place) -> bool:
    """Return whether a place shows use; in the introduction, the sentence itself must state it."""
    if place.section is not SectionClass.INTRODUCTION:
        return True
    return USE_CUES.search(pair.document.text[place.start : place.end]) is not None


def evidence(uses: Sequence[Place], entries: Sequence[Place]) -> tuple[Place, ...]:
    """Return the distinct sentences, at most eight, then the references that explain them."""
    distinct = {(p.start, p.end): p for p in sorted(uses, key=lambda p: p.start)}
    return (*list(distinct.values())[:_MAX_PLACES], *sorted(entries, key=lambda p: p.start))
