"""Gates for evidence: it occurs verbatim at its stated position, and it supports the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from scirgen.core.records import QAPair, Span
from scirgen.qa.claims.names import unnamed
from scirgen.qa.claims.quantities import quantities
from scirgen.qa.claims.support import added, content, share_known, spelled_out, unstated, worded, wrong_signs
from scirgen.qa.conformance import polarity
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.gates.form import foreign_text, type_of

_MANY_ADDED = 5
_ADDED_SHARE = 0.15
"""A long answer that says its question again looks supported; what it adds must be. Right answers have at least 0.2 from 5 words on."""


class NotVerbatimGate(PairGate):
    """Evidence is missing, or is not the text that stands at its place in the document."""

    code: ClassVar[str] = "not_verbatim"
    explanation: ClassVar[str] = (
        "There is no evidence, or it differs from the text at its position in the document or metadata."
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
            return f"the evidence at {span.start}-{span.end} of {span.document_id!r} differs from the text there"
    return None


class NotSupportedGate(PairGate):
    """A number or a name of the answer, or most of its words, are not in its evidence (in the whole context, where it has none).

    Answers of inference types (`QuestionType.inference`) go beyond the words of their evidence: only their numbers and names
    are checked. So are the numbers alone of answers that are a number.
    """

    code: ClassVar[str] = "not_supported"
    explanation: ClassVar[str] = (
        "A number of the answer, or an abbreviation in an inferred one, is neither in its evidence nor in its question, or has the other sign there; or fewer of its "
        "content words are than the threshold (Yes and No: of the question's words, half the threshold; inference types, and answers that are a "
        "number: words are not compared)."
    )
    order: ClassVar[int] = 95
    version: ClassVar[int] = 8
    # 0.4 rejects none of 89 right answers of a strong writer and one of 47 written by hand (docs/gates.md).
    default_threshold: ClassVar[float | None] = 0.4
    needs: ClassVar[tuple[str, ...]] = ("answer", "context")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        evidence = [s.text for s in pair.evidence] or [material.context]
        if words := spelled_out(f"{pair.question}\n{pair.answer}", "\n".join(evidence)):
            evidence.append(" ".join(words))
        text = "\n".join((*evidence, pair.question))
        if lacking := unstated(pair.answer, text, wording):
            return Verdict(False, f"the answer's number {lacking[0].text.strip()} is not in its evidence")
        if turned := wrong_signs(pair.answer, text, wording):
            number, word = turned[0]
            return Verdict(
                False,
                f"the answer says {word!r} of {number.text.strip()}, which its evidence writes with the other sign",
            )
        if foreign_text("\n".join(evidence), pair.language, ctx.taxonomies.wording):
            return ACCEPT
        kind = type_of(pair, ctx)
        inferred = kind is not None and kind.inference
        if inferred and (strangers := unnamed(pair.answer, f"{text}\n{material.context}")):
            return Verdict(False, f"the answer's name {strangers[0]!r} is not in its evidence")
        if inferred:
            return ACCEPT
        said = list(dict.fromkeys(content(worded(pair.answer), wording.stop)))
        least = self.threshold(ctx.config)
        if _is_polar(pair, ctx):
            # "Yes": what is claimed stands in the question, which also names the dataset and the place. Of labelled rows 5 of 89 right and 5 of 99
            # turned ones are below 0.4: words only tell claims about something else.
            least /= 2
            share = share_known(
                content(pair.question, wording.stop), frozenset(content("\n".join(evidence), wording.stop))
            )
        else:
            found_numbers = quantities(pair.answer)  # all of them are stated: "0.25 deg." is half known
            if kind is not None and kind.answer.kind == "number" and any(not q.count for q in found_numbers):
                return ACCEPT  # "0.45 m per year" of "450 mm annually": the number is the answer
            counted = len(found_numbers)
            known = share_known(said, frozenset(content(text, wording.stop))) * len(said)
            share = (known + counted) / (len(said) + counted) if said or counted else 1.0
            many, found = added(pair.answer, pair.question, evidence, wording) if pair.evidence else (0, 1.0)
            if many >= _MANY_ADDED and found < _ADDED_SHARE:
                return Verdict(False, f"only {found:.0%} of the words the answer adds are in its evidence", found)
        if share < least:
            return Verdict(False, f"only {share:.0%} of the answer's words are in its evidence", share)
        return ACCEPT


def _is_polar(pair: QAPair, ctx: StageContext) -> bool:
    """Whether the answer is a yes or a no, or is taken for one because nobody said how the language says them."""
    kind, wording = type_of(pair, ctx), ctx.taxonomies.wording.of(pair.language)
    if kind is None or not kind.polar:
        return False
    return not wording.affirmative or polarity(pair.answer, wording) is not None
