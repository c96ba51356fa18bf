"""DataFinder's precise rule for finding the papers that use a dataset (Viswanathan et al., ACL 2023, section 3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from scirgen import Judgement, Place, StageContext
from scirgen import MatchPair as Pair
from scirgen.plugin import SectionClass
from scirgen.stages.match.mention import evidence, find_mentions, letters
from scirgen.stages.match.references import Reference

S = TypeVar("S")

_ON: Final = ("dataset", "experiment", "evaluation", "result", "training", "testing")
_OFF: Final = ("related work", "future work", "discussion", "conclusion", "concluding")
_PRETRAINED: Final = ("pretrain", "pre-train", "pre - train")
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>;,]+", re.I)
_LEAST_NAMED: Final = 2
_SHORTEST: Final = 32


class DataFinderStrategy:
    """``datafinder``: a paper that cites a work that introduces the dataset (the record's own literature, or the
    dataset itself) and names the dataset in at least two sentences that count.

    Those are below headings of results, experiments, evaluation, training and testing, and not about pretraining. A
    paper that introduces the dataset does not count.
    """

    name = "datafinder"
    needs = ()

    async def judge(self, pair: Pair, ctx: StageContext) -> Judgement:
        """Apply the rule."""
        findings, literature = find_mentions(pair), _literature(pair)
        introducing = [e for e in pair.references if any(_is_work(e, doi, text) for doi, text in literature)]
        entries = [Place(e.start, e.end, SectionClass.NONE, "introducing paper", True) for e in introducing]
        entries += [e for e in findings.entries if e.start not in {p.start for p in entries}]
        named = _counted(pair, findings.named)
        places = evidence(named, entries)
        title = letters(pair.document.title)
        if len(title) >= _SHORTEST and any(title in letters(text) for _, text in literature):
            why = "The paper introduces the dataset; the rule leaves such papers out."
            return Judgement(False, why, places, "introduces")
        if entries and len(named) >= _LEAST_NAMED:
            times = f"names it in {len(named)} sentences of the sections that count"
            why = f"The paper cites a work that introduces the dataset and {times}."
            return Judgement(True, why, places)
        lacks = (
            "does not cite a work that introduces the dataset" if not entries else f"names it in {len(named)} sentences"
        )
        code = "mentioned_only" if named or entries else "not_named"
        return Judgement(False, f"The paper {lacks}; the rule wants a citation and two sentences.", places, code)


def counted(sections: Iterable[tuple[str, Sequence[S]]], text: Callable[[S], str]) -> Iterator[S]:
    """Yield the sentences of relevant sections; a heading with words of both kinds counts as relevant.

    Args:
        sections: (heading, sentences) in the paper's order.
        text: the words of a sentence.
    """
    counting = False
    for heading, sentences in sections:
        title = heading.lower()
        counting = any(word in title for word in _ON) or (counting and not any(word in title for word in _OFF))
        yield from (s for s in sentences if counting and not any(word in text(s).lower() for word in _PRETRAINED))


def _counted(pair: Pair, places: Sequence[Place]) -> list[Place]:
    """Return the sentences that name the dataset and count, each once."""
    named = {(p.start, p.end): p for p in places if p.section is not SectionClass.RELATED_WORK}.values()
    sections = ((label.heading, [p for p in named if label.start <= p.start < label.end]) for label in pair.labels)
    return list(counted(sections, lambda place: pair.words(place.start, place.end)))


def _literature(pair: Pair) -> list[tuple[str, str]]:
    """Return (DOI, title or reference) of the papers that the record calls its literature; "" for what it lacks."""
    found = []
    for related in pair.dataset.related:
        doi = _DOI.search(related)
        text = related[: doi.start()] if doi else related
        found.append((doi.group().rstrip(".)") if doi else "", text.strip()))
    return [(doi, text) for doi, text in found if doi or text]


def _is_work(entry: Reference, doi: str, text: str) -> bool:
    squeezed = letters(entry.text)
    if doi and letters(doi) in squeezed:
        return True
    # The record may give a whole reference; its longest sentence counts as the title.
    title = max(re.split(r"[.?!]\s", text), key=len, default="")
    return any(len(t) >= _SHORTEST and t in squeezed for t in map(letters, (text, title)))
