"""Gates for questions of small models: their form, their subject, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import ClassVar

from scirgen import ACCEPT, Material, PairGate, QAPair, StageContext, Verdict
from scirgen.claims.conformance import polarity, question_problem
from scirgen.core.errors import ResourceError
from scirgen.core.taxonomy import ENGLISH, LanguageWording
from scirgen.core.text.textmatch import names, stem, words
from scirgen.plugin import content_words
from scirgen.stages.filter.gates.form import foreign_material, type_of

_UNSPACED = re.compile("[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯]")
_SHARED_BEGINNING = 4
_NAME_WORTH = 3
"""A proper name narrows a search as much as three other words."""


class TypeQuestionGate(PairGate):
    """The question does not have the form of its type, by taxonomies/graesser.yaml."""

    code: ClassVar[str] = "type_question"
    explanation: ClassVar[str] = "The question does not have the form of its type (taxonomies/graesser.yaml)."
    on_by_default: ClassVar[bool] = False
    order: ClassVar[int] = 50
    needs: ClassVar[tuple[str, ...]] = ("type",)

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return bool(wording.types) or language.split("-")[0] == ENGLISH

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        kind = type_of(pair, ctx)
        problem = question_problem(kind, pair.question) if kind else "has an unknown type"
        return Verdict(False, f"the question {problem}") if problem else ACCEPT


class VagueGate(PairGate):
    """The question could be asked of any dataset: "What method is used to evaluate the quality of the observation
    data?"."""

    code: ClassVar[str] = "vague"
    explanation: ClassVar[str] = (
        "The question could be asked of any dataset: fewer words than the threshold say what it is about (a name "
        "counts three times; a question type may ask for fewer)."
    )
    on_by_default: ClassVar[bool] = False
    order: ClassVar[int] = 75
    default_threshold: ClassVar[float | None] = 3
    needs: ClassVar[tuple[str, ...]] = ("type",)

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return bool(wording.generic_words)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording.of(pair.language)
        if not wording.generic_words:
            return ACCEPT  # the generic words of this language are unknown
        asked = _unspaced_without(pair.question, wording.generic_words)
        telling = set(content_words(asked, wording.stop)) - _stems(wording.generic_words)
        worth = len(telling) + (_NAME_WORTH - 1) * len(telling & names(asked))
        least = self.threshold(ctx.config)
        try:
            own = ctx.taxonomies.question_type(pair.question_type, pair.language).question.telling_words
        except ResourceError:
            own = None
        if own is not None:
            least = min(least, own)
        if worth >= least:
            return ACCEPT
        said = ", ".join(repr(w) for w in dict.fromkeys(words(asked)) if stem(w) in telling) or "nothing"
        return Verdict(False, f"only {said} says what the question is about", float(worth))


_MONTHS = frozenset(
    stem(month)
    for month in ("january", "february", "march", "april", "may", "june", "july",
        "august", "september", "october", "november", "december")
)  # fmt: skip
"""A material may write "Mar. 16" or "2008-03-16"."""


class UnknownNameGate(PairGate):
    """The question names a place, an instrument or a product that is nowhere in the material.

    One such name is the mistake itself where the right answer is No: "Do the data cover Colombo?".
    """

    code: ClassVar[str] = "unknown_name"
    explanation: ClassVar[str] = "The question contains a proper name that is not in the evidence, metadata or papers."
    on_by_default: ClassVar[bool] = False
    order: ClassVar[int] = 92
    needs: ClassVar[tuple[str, ...]] = ("context",)

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return wording.capitals != "nouns"

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording = ctx.taxonomies.wording
        if wording.of(pair.language).capitals == "nouns" or foreign_material(
            material.context, pair.language, ctx.taxonomies
        ):
            return ACCEPT  # capitals do not show names, or names are spelt differently in the material's language
        asked = names(pair.question) - _MONTHS
        if not asked:
            return ACCEPT
        title = material.dataset.title if material.dataset else ""
        texts = (material.context, "\n".join(s.text for s in pair.evidence), title)
        # A name is known by another form of it: "Asian" by "Asia", "MODIS's" by "MODIS", "SSMI" by "SSM/I".
        unknown = [name for name in sorted(asked) if not _is_known(name, texts)]
        kind = type_of(pair, ctx)
        mistaken = kind is not None and kind.polar and polarity(pair.answer, wording.of(pair.language)) == "no"
        if len(unknown) > mistaken:
            return Verdict(False, f"{unknown[0]!r} is nowhere in the material")
        return ACCEPT


def _unspaced_without(text: str, phrases: Collection[str]) -> str:
    """Return the text; in a language without spaces between words, the phrases are removed from it, longest first."""
    if not _UNSPACED.search(text):
        return text
    for phrase in sorted(phrases, key=len, reverse=True):
        text = text.replace(phrase, " ")
    return text


def _is_known(name: str, texts: Sequence[str]) -> bool:
    plain = stem(name.removesuffix("'s").removesuffix("'"))
    return any(plain in _known(t) or plain[:_SHARED_BEGINNING] in _known(t) or plain in _run(t) for t in texts)


@lru_cache(maxsize=64)
def _known(text: str) -> frozenset[str]:
    """Return the stems of the words, and their first letters."""
    found = {stem(w) for w in words(text)}
    return frozenset(found | {w[:_SHARED_BEGINNING] for w in found})


@lru_cache(maxsize=256)
def _run(text: str) -> str:
    return "".join(words(text))


@lru_cache(maxsize=16)
def _stems(listed: tuple[str, ...]) -> frozenset[str]:
    return frozenset(stem(w) for w in listed)
