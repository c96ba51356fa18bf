"""Gates on evidence: it stands verbatim where it says, and the answer is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from scirgen.core.records import QAPair, Span
from scirgen.core.text.textmatch import content_words, coverage, numbers, states_number
from scirgen.qa.conformance import polarity
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.gates.form import foreign_text, type_of

_MANY_ADDED = 4
_ADDED_SHARE = 0.5
"""A long answer that says its question again looks supported; what it adds must be. Paraphrases of a word or two pass."""


class NotVerbatimGate(PairGate):
    """Evidence is missing, or is not the text that stands at its place in the document."""

    code: ClassVar[str] = "not_verbatim"
    explanation: ClassVar[str] = (
        "There is no evidence, or it is not what stands at its place in the document or metadata."
    )
    order: ClassVar[int] = 15
    needs: ClassVar[tuple[str, ...]] = ("evidence", "sources")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        problem = "there is no evidence" if not pair.evidence else verbatim_problem(pair.evidence, material.sources)
        return Verdict(False, problem) if problem else ACCEPT


def verbatim_problem(evidence: Sequence[Span], sources: dict[str, str]) -> str | None:
    """The first span that is not verbatim, in words; None when all are."""
    for span in evidence:
        source = sources.get(span.document_id)
        if source is None:
            return f"the evidence cites {span.document_id!r}, which is not among the dataset's documents"
        if not span.text.strip() or source[span.start : span.end] != span.text:
            return f"the evidence at {span.start}-{span.end} of {span.document_id!r} is not what stands there"
    return None


class NotSupportedGate(PairGate):
    """Too little of the answer is in its evidence (in the whole context, where it has none)."""

    code: ClassVar[str] = "not_supported"
    explanation: ClassVar[str] = (
        "Fewer than the threshold of the answer's content words are in its evidence or question, or a number in it is not, or "
        "of the words it adds to its question more are missing from its own evidence than are there."
    )
    order: ClassVar[int] = 95
    version: ClassVar[int] = 3
    default_threshold: ClassVar[float | None] = 0.4
    needs: ClassVar[tuple[str, ...]] = ("answer", "context")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        support = "\n".join(s.text for s in pair.evidence) or material.context
        stop = ctx.taxonomies.wording.of(pair.language).stop
        stated, figures = _vocabulary(support, stop)
        asked, claimed = set(content_words(pair.question, stop)), numbers(pair.answer)
        figures |= numbers(pair.question)
        # A count of things listed in the evidence is a small number that need not be written there.
        missing = sorted(n for n in claimed if not _small(n) and not states_number(n, figures))
        if missing:
            return Verdict(False, f"the answer's number {missing[0]} is not in its evidence")
        if foreign_text(support, pair.language, ctx.taxonomies.wording):
            return ACCEPT
        said = {w for w in content_words(pair.answer, stop) if not w[0].isdigit()}
        stated_numbers = sum(states_number(n, figures) for n in claimed)  # "every 10 min" supports "10 minutes"
        if _is_polar(pair, ctx):
            said = set()  # the words for yes and no say nothing of their own
        if said or stated_numbers:
            known = coverage(said, stated | asked) * len(said) + stated_numbers
            share = known / (len(said) + stated_numbers)
        else:
            share = coverage(asked, stated)  # "Yes": what is claimed stands in the question
        added = said - asked
        if pair.evidence and len(added) >= _MANY_ADDED and (found := coverage(added, stated)) < _ADDED_SHARE:
            return Verdict(False, f"only {found:.0%} of the words the answer adds are in its evidence", found)
        if share < self.threshold(ctx.config):
            return Verdict(False, f"only {share:.0%} of the answer's words are in its evidence", share)
        return ACCEPT


def _is_polar(pair: QAPair, ctx: StageContext) -> bool:
    """Whether the answer is a yes or a no, or is taken for one because nobody said how the language says them."""
    kind, wording = type_of(pair, ctx), ctx.taxonomies.wording.of(pair.language)
    if kind is None or not kind.polar:
        return False
    return not wording.affirmative or polarity(pair.answer, wording) is not None


@lru_cache(maxsize=64)
def _vocabulary(text: str, stop_words: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Content words and numbers; the pairs of a dataset often share their context."""
    return frozenset(content_words(text, stop_words)), frozenset(numbers(text))


def _small(number: str) -> bool:
    return number.isdigit() and int(number) <= 20
