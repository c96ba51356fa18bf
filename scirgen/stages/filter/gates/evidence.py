"""Gates for evidence: it occurs verbatim at its stated position, and it supports the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from scirgen.claims.computed import cell_numbers, computed
from scirgen.claims.conformance import polarity
from scirgen.claims.quantities import quantities
from scirgen.claims.support import (
    content,
    share_known,
    spelled_out,
    unstated,
    vocabulary,
    worded,
)
from scirgen.core.records import QAPair, Span
from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.textmatch import stem
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict
from scirgen.stages.filter.gates.form import foreign_letters, foreign_material, type_of

_FOREIGN_PASSAGE = 60
_FOREIGN_NAME = 4
"""This many letters of another script are a passage of a text, or a name in an answer, and cannot match words of the
answer's language."""

_LONG = 10
"""Without evidence words count only in answers of so many: a short answer may say the same in other words."""
_RELATED = 0.7
_TERM = 2
"""This many words or fewer are a term ("Landsat"), for which there are seldom other words."""
_ELSEWHERE = 0.5
"""Other words for what the evidence says are seldom in the dataset either; those of an answer to another question are
(docs/benchmarks/faithfulness.md)."""


class NotVerbatimGate(PairGate):
    """Evidence is missing, or is not the text that stands at its place in the document."""

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
    """A message about the first span that is not verbatim; None if all are."""
    for span in evidence:
        source = sources.get(span.document_id)
        if source is None:
            return f"the evidence cites {span.document_id!r}, which is not among the dataset's documents"
        if not span.text.strip() or source[span.start : span.end] != span.text:
            return f"the evidence at {span.start}-{span.end} of {span.document_id!r} differs from the text there"
    return None


class NotSupportedGate(PairGate):
    """A number of the answer, or most of its words, are not in its evidence (or in the whole context, if it has none).

    Answers of inference types (`QuestionType.inference`) go beyond the words of their evidence, and an answer that is
    a number has hardly any: only their numbers are checked.
    """

    code: ClassVar[str] = "not_supported"
    explanation: ClassVar[str] = (
        "A number of the answer is neither in its evidence nor in its question; or fewer of its content words are than "
        "the threshold (Yes and No: of the question's words, half the threshold), and most others stand elsewhere in "
        "the dataset's text (inference types, answers that are a number, and texts in another language: words are not "
        "compared)."
    )
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    beside_judge: ClassVar[bool] = False
    order: ClassVar[int] = 95
    version: ClassVar[int] = 16
    default_threshold: ClassVar[float | None] = 0.4
    needs: ClassVar[tuple[str, ...]] = ("answer", "context")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        # Without evidence this is the dataset's whole text, which is read once for all its rows.
        stood = "\n".join(s.shown for s in pair.evidence) or material.context
        spelled = " ".join(spelled_out(f"{pair.question}\n{pair.answer}", stood))
        asked = f"{spelled}\n{pair.question}"
        cells = cell_numbers(pair.evidence)
        lacking = unstated(pair.answer, stood, wording, also=asked, counts=bool(pair.evidence))
        if lacking := [q for q in lacking if not computed(q, cells)]:
            return Verdict(False, f"the answer's number {lacking[0].text.strip()} is not in its evidence")
        foreign = foreign_letters(stood, pair.language) >= _FOREIGN_PASSAGE
        if foreign or foreign_material(stood, pair.language, ctx.taxonomies):
            return ACCEPT  # the fact may be there in the other language
        kind = type_of(pair, ctx)
        inferred = kind is not None and kind.inference
        if inferred or foreign_letters(f"{pair.question} {pair.answer}", pair.language) >= _FOREIGN_NAME:
            return ACCEPT
        return self._worded(pair, stood, spelled, material, ctx)

    def _worded(self, pair: QAPair, stood: str, spelled: str, material: Material, ctx: StageContext) -> Verdict:
        """Tells whether enough of the answer's words are there; a number's words do not count ("0.45 m per year" of
        "450 mm annually")."""
        wording, kind = ctx.taxonomies.wording.of(pair.language), type_of(pair, ctx)
        counted, least, whose = 0, self.threshold(ctx.config), "the answer's words"
        if _is_polar(pair, ctx):
            # "Yes": what is claimed stands in the question, which also names the dataset and the place. Right and
            # turned answers lie
            # below 0.4 equally often: words only tell claims about something else.
            least, whose = least / 2, "the question's words"
            said, known = content(pair.question, wording.stop), _known(spelled, stood, wording)
        else:
            said = list(dict.fromkeys(content(worded(pair.answer), wording.stop)))
            known = _known(f"{spelled}\n{pair.question}", stood, wording)
            found_numbers = quantities(pair.answer)  # all of them are stated: "0.25 deg." is half known
            if kind is not None and kind.answer.kind == "number" and any(not q.count for q in found_numbers):
                return ACCEPT
            counted = len(found_numbers)
        share = (share_known(said, *known) * len(said) + counted) / (len(said) + counted) if said or counted else 1.0
        if share >= least:
            return ACCEPT
        if not pair.evidence and not _is_polar(pair, ctx) and len(said) < _LONG:
            return ACCEPT
        if not pair.evidence:
            return Verdict(False, f"only {share:.0%} of {whose} are in the dataset's text", share)
        lost = [w for w in said if share_known([w], *known) < _RELATED]
        if not share and len(said) <= _TERM:
            return Verdict(False, f"its evidence has no {lost[0]!r}", share)
        stems = {stem(w) for w in vocabulary(material.context, wording.stop)}
        elsewhere = sum(stem(w) in stems for w in lost) / max(1, len(lost))  # related words occur by chance
        if elsewhere < _ELSEWHERE:
            return ACCEPT
        return Verdict(
            False,
            f"only {share:.0%} of {whose} are in its evidence, and "
            f"{elsewhere:.0%} of the others stand elsewhere in the dataset's text",
            share,
        )


def _known(asked: str, stood: str, wording: LanguageWording) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a pair's own texts, and those of its evidence."""
    return frozenset(content(asked, wording.stop)), vocabulary(stood, wording.stop)


def _is_polar(pair: QAPair, ctx: StageContext) -> bool:
    """Tells whether the answer is a yes or a no, or counts as one because the language's words for them are unknown."""
    kind, wording = type_of(pair, ctx), ctx.taxonomies.wording.of(pair.language)
    if kind is None or not kind.polar:
        return False
    return not wording.affirmative or polarity(pair.answer, wording) is not None
