"""Gates for evidence: it occurs verbatim at its stated position, supports the answer, and is about the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from scirgen.claims.computed import cell_numbers, computed
from scirgen.claims.quantities import quantities
from scirgen.claims.support import content, share_known, unstated, vocabulary, worded
from scirgen.core.records import QAPair, Span
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.gates.form import foreign_letters, foreign_material, type_of

_FOREIGN_PASSAGE = 60
_FOREIGN_NAME = 4
"""This many letters of another script are a passage of a text, or a name in an answer, and cannot match words of the
answer's language."""

_LEAST_WORDS = 4
"""A shorter question may ask for one thing in other words than its evidence."""
_LONG = 10
"""Without evidence words count only in answers of so many: a short answer may say the same in other words."""


class NotVerbatimGate(PairGate):
    """Evidence is missing, or differs from the text at its place in the document."""

    code: ClassVar[str] = "not_verbatim"
    explanation: ClassVar[str] = (
        "There is no evidence, or it differs from the text at its position in the document or metadata."
    )
    known_items: ClassVar[bool] = True
    order: ClassVar[int] = 15
    needs: ClassVar[tuple[str, ...]] = ("evidence", "sources")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        problem = "there is no evidence" if not pair.evidence else verbatim_problem(pair.evidence, material.sources)
        return Verdict(False, problem) if problem else ACCEPT


def verbatim_problem(evidence: Sequence[Span], sources: dict[str, str]) -> str | None:
    """Return a message about the first span that is not verbatim; None if all are."""
    for span in evidence:
        source = sources.get(span.document_id)
        if source is None:
            return f"the evidence cites {span.document_id!r}, which is not among the dataset's documents"
        if not span.text.strip() or source[span.start : span.end] != span.text:
            return f"the evidence at {span.start}-{span.end} of {span.document_id!r} differs from the text there"
    return None


class NotSupportedGate(PairGate):
    """A number of the answer, or most of its words, are not in its evidence (or in the whole context, if it has none).

    Answers of inference types (`QuestionType.inference`) go beyond the words of their evidence, and a number or a Yes
    has hardly any: only their numbers are checked.
    """

    code: ClassVar[str] = "not_supported"
    explanation: ClassVar[str] = (
        "A number of the answer is neither in its evidence nor in its question; or fewer of its content words are than "
        "the threshold (inference types, Yes and No, numbers, and texts in another language: words are not compared)."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    beside_judge: ClassVar[bool] = False
    order: ClassVar[int] = 95
    version: ClassVar[int] = 18
    default_threshold: ClassVar[float | None] = 0.4
    needs: ClassVar[tuple[str, ...]] = ("answer", "context")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        # Without evidence this is the dataset's whole text, which is read once for all its rows.
        stood = "\n".join(s.shown for s in pair.evidence) or material.context
        cells = cell_numbers(pair.evidence)
        lacking = unstated(pair.answer, stood, wording, also=pair.question, counts=bool(pair.evidence))
        if lacking := [q for q in lacking if not computed(q, cells)]:
            return Verdict(False, f"the answer's number {lacking[0].text.strip()} is not in its evidence")
        kind = type_of(pair, ctx)
        inferred = kind is not None and (kind.inference or kind.polar)
        foreign = (
            foreign_letters(stood, pair.language) >= _FOREIGN_PASSAGE
            or foreign_letters(f"{pair.question} {pair.answer}", pair.language) >= _FOREIGN_NAME
            or foreign_material(stood, pair.language, ctx.taxonomies)
        )
        counted = quantities(pair.answer)
        measured = kind is not None and kind.answer.kind == "number" and any(not q.count for q in counted)
        if inferred or foreign or measured:
            return ACCEPT
        terms = list(dict.fromkeys(content(worded(pair.answer), wording.stop)))
        if not terms or (not pair.evidence and len(terms) < _LONG):
            return ACCEPT
        known = (frozenset(content(pair.question, wording.stop)), vocabulary(stood, wording.stop))
        # All numbers are stated, so "0.25 deg." is half known.
        share = (share_known(terms, *known) * len(terms) + len(counted)) / (len(terms) + len(counted))
        if share >= self.threshold(ctx.config):
            return ACCEPT
        return Verdict(False, f"only {share:.0%} of the answer's words are in its evidence", share)


class OtherQuestionGate(PairGate):
    """Hardly a word of the question, its names included, is in the cited lines or the dataset's title.

    A cache that answers a prompt with the reply to another one gives such pairs: lines are cited by number, so the
    question comes with lines of another record (docs/benchmarks/faithfulness.md, "Replies to another prompt").
    """

    code: ClassVar[str] = "other_question"
    explanation: ClassVar[str] = (
        "Fewer of the question's content words than the threshold are in its evidence or the title: it seems to have "
        "been written for another text."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    order: ClassVar[int] = 94
    default_threshold: ClassVar[float | None] = 0.1
    needs: ClassVar[tuple[str, ...]] = ("evidence",)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        cited = "\n".join(span.text for span in pair.evidence)
        asked = list(dict.fromkeys(content(pair.question, wording.stop)))
        if not cited or len(asked) < _LEAST_WORDS or foreign_letters(cited, pair.language) >= _FOREIGN_NAME:
            return ACCEPT
        title = material.dataset.title if material.dataset else ""
        share = share_known(asked, vocabulary(f"{title}\n{cited}", wording.stop))
        if share >= self.threshold(ctx.config) or foreign_material(cited, pair.language, ctx.taxonomies):
            return ACCEPT
        return Verdict(False, f"only {share:.0%} of the question's words are in its evidence", share)
