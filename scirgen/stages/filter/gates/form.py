"""Gates for the form of a pair: schema, language, and conformance to its question type."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import ClassVar, Literal

from scirgen.claims.conformance import answer_problem, matches
from scirgen.core.errors import ResourceError
from scirgen.core.records import QAPair
from scirgen.core.taxonomy import LanguageWording, QuestionType, Taxonomies, Wording
from scirgen.core.text.textmatch import content_words, normalise, words
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import ACCEPT, Material, PairGate, Verdict

_DEBRIS = re.compile(
    r"</?data-[0-9a-f]{6,}>|<\|[a-z_]+\|>|\[/?INST\]|^\s*```|^\s*[{\[]\s*\"|\{\{|\}\}|\\u[0-9a-f]{4}|�|[\x00-\x08\x0b\x0c\x0e-\x1f]"
    r"|^\s*(?:question|answer|q|a|evidence|context)\s*\d*\s*[:：]|\n\s*(?:question|answer|q|a)\s*\d*\s*[:：]",
    re.IGNORECASE,
)

_MAYBE_DEBRIS = re.compile(r"[<\[`{}\\�\x00-\x08\x0b\x0c\x0e-\x1f:：]")
"""A character of each kind of debris; most texts have none of them, so the patterns need not be tried."""


def type_of(pair: QAPair, ctx: StageContext) -> QuestionType | None:
    """Return the pair's question type in the pair's language; None if no type has that id."""
    try:
        return ctx.taxonomies.question_type(pair.question_type, pair.language)
    except ResourceError:
        return None


class SchemaGate(PairGate):
    """Empty parts, debris of the reply's format, or a placeholder for an answer."""

    code: ClassVar[str] = "schema"
    explanation: ClassVar[str] = (
        "An empty part, remains of the reply's format, a question that breaks off, or a non-answer."
    )
    order: ClassVar[int] = 10
    version: ClassVar[int] = 2
    needs: ClassVar[tuple[str, ...]] = ("answer",)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        question, answer = pair.question.strip(), pair.answer.strip()
        if not words(question) or not words(answer):
            return Verdict(False, "the question is empty" if not words(question) else "the answer is empty")
        for part, text in (("question", question), ("answer", answer)):
            debris = _MAYBE_DEBRIS.search(text) and _DEBRIS.search(text)
            if debris:
                return Verdict(False, f"the {part} contains remains of the reply's format: {debris.group().strip()!r}")
        wording = ctx.taxonomies.wording.of(pair.language)
        if words(question)[-1] in wording.unfinished:
            return Verdict(False, f"the question breaks off after {words(question)[-1]!r}")
        if matches(wording.placeholders, normalise(answer), normalised=True):
            return Verdict(False, f"the answer says nothing: {answer[:60]!r}")
        return ACCEPT


class LanguageGate(PairGate):
    """Script and function words indicate another language than the wanted one."""

    code: ClassVar[str] = "language"
    explanation: ClassVar[str] = (
        "Question or answer is in another language than requested (script; function words, threshold: how many more of "
        "another language's)."
    )
    order: ClassVar[int] = 20
    default_threshold: ClassVar[float | None] = 3

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return bool(wording.function_words) or language.split("-")[0] in _SCRIPTS

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        wording, wanted = ctx.taxonomies.wording, pair.language.split("-")[0]
        for part, text in (("question", pair.question), ("answer", pair.answer)):
            other = foreign_language(text, wanted, wording, self.threshold(ctx.config))
            if other:
                return Verdict(False, f"the {part} seems to be in {other!r}, not {wanted!r}")
        return ACCEPT


_SCRIPTS = {
    "zh": re.compile(r"[㐀-䶿一-鿿]"),
    "ja": re.compile(r"[぀-ヿ]"),
    "ko": re.compile(r"[가-힯]"),
    "ru": re.compile(r"[Ѐ-ӿ]"),
    "ar": re.compile(r"[؀-ۿ]"),
}
_SAMPLE = 4000
_SURE = 2
_LETTER = re.compile(r"[^\W\d_]")


def foreign_language(text: str, wanted: str, wording: Wording, margin: float) -> str | None:
    """Return the language that script or function words indicate, if it is not ``wanted``.

    A script counts if it has a third of the letters. A language in the same script counts if the text has at least
    ``margin`` more of its function words than of the wanted language's.
    """
    if wanted in _SCRIPTS or not text.isascii():
        letters = len(_LETTER.findall(text)) or 1
        shares = {name: len(pattern.findall(text)) / letters for name, pattern in _SCRIPTS.items()}
        script = max(shares, key=lambda name: shares[name])
        if shares[script] > 1 / 3:
            compatible = {script, "ja"} if script == "zh" else {script}
            return None if wanted in compatible else script
        if wanted in _SCRIPTS:
            return "a language in Latin script" if letters > 20 and shares[wanted] < 0.05 else None
    tokens = words(text)
    if len(tokens) < margin:
        return None
    speakers, own = wording.languages_of_words, wanted.lower()
    hits = Counter(language for token in tokens for language in speakers.get(token, ()))
    for language in sorted(hits):
        if language != own and hits[language] - hits[own] >= margin:
            return language
    return None


@lru_cache(maxsize=64)
def foreign_material(text: str, language: str, taxonomies: Taxonomies) -> bool:
    """Call `foreign_text` once for all rows about a text."""
    return foreign_text(text, language, taxonomies.wording)


def foreign_text(text: str, language: str, wording: Wording) -> bool:
    """Return whether material is written in another language than the pairs about it, so that their words cannot be
    compared."""
    return foreign_language(text[:_SAMPLE], language.split("-")[0], wording, _SURE) is not None


@lru_cache(maxsize=256)
def foreign_letters(text: str, language: str) -> int:
    """Return the number of letters of a text that are of a script that the language does not use; 0 for languages that
    mix scripts, such as Chinese."""
    if text.isascii() or language.split("-")[0] in _SCRIPTS:
        return 0
    return sum(len(pattern.findall(text)) for pattern in _SCRIPTS.values())


class AnswerInQuestionGate(PairGate):
    """The question already says the phrase that it asks for: "Where in the Heihe River Basin ...?", "the Heihe River
    Basin"."""

    code: ClassVar[str] = "answer_in_question"
    explanation: ClassVar[str] = (
        "The question holds its answer: each content word of a phrase is in it. A question that names options "
        "may hold them."
    )
    known_items: ClassVar[bool] = True
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    beside_judge: ClassVar[bool] = False
    order: ClassVar[int] = 45
    needs: ClassVar[tuple[str, ...]] = ("type", "answer")

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        kind, wording = type_of(pair, ctx), ctx.taxonomies.wording.of(pair.language)
        if kind is None or kind.answer.kind != "phrase" or set(words(pair.question)) & set(wording.either):
            return ACCEPT
        answer_words = set(content_words(pair.answer, wording.stop))
        if not answer_words or answer_words - set(content_words(pair.question, wording.stop)):
            return ACCEPT
        return Verdict(False, f"the question holds its answer: {pair.answer[:60]!r}")


class TypeAnswerGate(PairGate):
    """The answer does not have the form its type asks for, by taxonomies/graesser.yaml."""

    code: ClassVar[str] = "type_answer"
    explanation: ClassVar[str] = "The answer does not have the form of its type: yes/no, a number, an option, words."
    known_items: ClassVar[bool] = True
    action: ClassVar[Literal["reject", "doubt"]] = "doubt"
    beside_judge: ClassVar[bool] = False
    order: ClassVar[int] = 60
    version: ClassVar[int] = 3
    needs: ClassVar[tuple[str, ...]] = ("type", "answer")

    def speaks(self, language: str, wording: LanguageWording) -> bool:
        return bool(wording.affirmative)

    def judge(self, pair: QAPair, material: Material, ctx: StageContext) -> Verdict:
        kind = type_of(pair, ctx)
        if kind is None:
            return Verdict(False, "the answer has an unknown type")
        wording = ctx.taxonomies.wording.of(pair.language)
        problem = answer_problem(kind, pair.question, pair.answer, wording)
        return Verdict(False, f"the answer {problem}") if problem else ACCEPT
