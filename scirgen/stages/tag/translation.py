"""Translates question and answer of accepted pairs. A pair keeps its id; a failed translation is recorded as a failure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from scirgen.core.errors import ScirgenError
from scirgen.core.prompts import FENCE, unfenced
from scirgen.core.records import Failure, QAPair
from scirgen.core.text.language import TELLABLE, detect_language, language_name
from scirgen.core.text.textmatch import normalise
from scirgen.stages.base import StageContext
from scirgen.stages.tag.replies import Translation

_DIGITS = re.compile(r"\d+")
_ATTEMPTS = 2
_LEAST = {"zh": 0.08, "ja": 0.12, "ko": 0.15}
_LEAST_OTHERS = 0.35
"""Least length of a translation, as a share of the source's characters; good translations are two to three times as long."""
_SENTENCE_WORDS = 6
_HAN, _LETTER, _HAN_SHARE = re.compile(r"[㐀-䶿一-鿿]"), re.compile(r"[^\W\d_]"), 0.2


@dataclass(frozen=True)
class Translated:
    """A pair with the translations that succeeded, and the failures of the others."""

    pair: QAPair
    failures: tuple[Failure, ...] = ()


async def translate(pairs: Sequence[QAPair], ctx: StageContext) -> list[Translated]:
    """Translate every pair into every language of ``tag.translate_to`` except its own.

    Raises:
        ScirgenError: a fatal one.
    """
    return list(await asyncio.gather(*(_pair(p, ctx) for p in pairs)))


async def _pair(pair: QAPair, ctx: StageContext) -> Translated:
    wanted = [code for code in dict.fromkeys(ctx.config.tag.translate_to) if code != pair.language]
    done = await asyncio.gather(*(_one(pair, code, ctx) for code in wanted))
    texts: list[tuple[str, str, str]] = []
    replies: list[str] = []
    for code, made in zip(wanted, done, strict=True):
        if not isinstance(made, Failure):
            value, reply = made
            texts += [(code, "question", value.question.strip()), (code, "answer", value.answer.strip())]
            replies.append(reply)
    origin = pair.provenance
    if origin is not None:
        origin = origin.model_copy(update={"replies": (*origin.replies, *replies)})
    changed = pair.model_copy(update={"translations": tuple(texts), "provenance": origin})
    return Translated(changed, tuple(made for made in done if isinstance(made, Failure)))


async def _one(pair: QAPair, code: str, ctx: StageContext) -> tuple[Translation, str] | Failure:
    prompt = ctx.prompt("translate").render(
        question=pair.question,
        answer=pair.answer,
        source=language_name(pair.language),
        language=language_name(code),
    )
    problem = ""
    for attempt in range(_ATTEMPTS):
        try:
            reply = await ctx.chat.ask(prompt, Translation, seed=ctx.seed("translate", pair.id, code), sample=attempt)
        except ScirgenError as error:
            if error.fatal:
                raise
            return _failure(pair, error.error_code, f"into {code}: {error.message}", ctx, error.hint)
        made = Translation(question=unfenced(reply.value.question), answer=unfenced(reply.value.answer))
        found = _problem(pair, made, code)
        if found is None:
            return made, reply.reply_key
        problem = found
    return _failure(pair, "translation_invalid", f"into {code}: {problem}", ctx)


def _problem(pair: QAPair, made: Translation, code: str) -> str | None:
    """Whether a text is not a translation, by signs that need no knowledge of the language."""
    for part, source, text in (("question", pair.question, made.question), ("answer", pair.answer, made.answer)):
        if not text.strip():
            return f"the {part} is empty"
        if FENCE.search(text):
            return f"the {part} holds a tag of the prompt"
        if len(text.strip()) < len(source) * _LEAST.get(code.split("-")[0], _LEAST_OTHERS):
            return f"the {part} is too short to say the same"
        lost = set(_digits(source)) - set(_digits(text))
        if lost:
            return f"the {part} lost the numbers {sorted(lost)}"
    if normalise(made.question) == normalise(pair.question):
        return "the question is the same as before"
    language = code.split("-")[0]
    if normalise(made.answer) == normalise(made.question):
        return "the answer is the question again"
    if len(pair.answer.split()) >= _SENTENCE_WORDS and normalise(made.answer) == normalise(pair.answer):
        return "the answer is the same as before"
    if language == "zh":
        # Names and units may stay unchanged, but a sentence without any such character was not translated.
        long = len(pair.answer.split()) >= _SENTENCE_WORDS
        for part, text in (("question", made.question), ("answer", made.answer if long else "")):
            if text and len(_HAN.findall(text)) < max(1.0, _HAN_SHARE * len(_LETTER.findall(text))):
                return f"the {part} is not in Chinese characters"
    if language in TELLABLE and (seen := detect_language(made.question, language)) != language:
        return f"the question seems to be in {seen!r}"
    return None


def _digits(text: str) -> list[str]:
    return _DIGITS.findall(re.sub(r"(?<=\d)[,.\s](?=\d)", "", text))


def _failure(pair: QAPair, code: str, message: str, ctx: StageContext, hint: str = "") -> Failure:
    return Failure(stage=ctx.stage, code=code, message=message, hint=hint, record_id=pair.id)
