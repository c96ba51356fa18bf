"""Checks that a question and an answer have the form of their question type, as the taxonomy states it.

Used by the type gates, by prompt linting and for choosing between candidates. Wording stays in the YAML files.
"""

from __future__ import annotations

import re
from functools import lru_cache

from scirgen.core.taxonomy import LanguageWording, QuestionType
from scirgen.core.text.textmatch import coverage, normalise, stem, words

_QUESTION_MARKS = ("?", "？", "¿")
_CLOSERS = "\"')]”’»"


@lru_cache(maxsize=4096)
def _pattern(pattern: str, normalised: bool = False) -> re.Pattern[str]:
    # In lower-case text a pattern without capitals finds the same whether case counts or not, and up to three times
    # as fast when it does.
    plain = normalised and not any(c.isupper() for c in _ESCAPED.sub("", pattern))
    return re.compile(pattern, 0 if plain else re.IGNORECASE)


_ESCAPED = re.compile(r"\\.")


def matches(patterns: tuple[str, ...], text: str, *, normalised: bool = False) -> str | None:
    """Return the first pattern that is found in the text, or None; case never counts.

    ``normalised``: the text comes from `textmatch.normalise`.
    """
    return next((pattern for pattern in patterns if _pattern(pattern, normalised).search(text)), None)


def phrase(patterns: tuple[str, ...], text: str) -> str | None:
    """Return the words of a text that the first of the patterns finds in it, or None."""
    plain = normalise(text)
    pattern = matches(patterns, plain, normalised=True)
    found = _pattern(pattern, True).search(plain) if pattern is not None else None
    return found.group().strip() if found is not None else None


def question_problem(kind: QuestionType, question: str) -> str | None:
    """Return why the question does not have the form of its type, or None."""
    text = question.strip().lstrip("¿¡ ")
    asks = text.rstrip(_CLOSERS).endswith(_QUESTION_MARKS)
    expected = kind.question
    if expected.form == "question" and not asks and matches(expected.unmarked, text) is None:
        return "does not end with a question mark"
    if expected.form == "statement" and asks:
        return "is a question, but the type requires a statement"
    if expected.any_of and matches(expected.any_of, text) is None:
        return f"has none of the forms of a {kind.name} question"
    unwanted = matches(expected.none_of, text)
    return f"has a form that a {kind.name} question must not have: {unwanted}" if unwanted else None


def answer_problem(kind: QuestionType, question: str, answer: str, wording: LanguageWording) -> str | None:
    """Return why the answer does not have the form of its type, or None."""
    expected, text = kind.answer, answer.strip()
    count = len(words(text))
    if count < expected.min_words or count > expected.max_words:
        return f"has {count} words, not {expected.min_words} to {expected.max_words}"
    if expected.kind == "yes_no" and wording.affirmative and polarity(text, wording) is None:
        return "says neither yes nor no"
    if expected.kind == "number" and not re.search(r"\d", text) and matches(expected.any_of, text) is None:
        return "has no number"
    if expected.kind == "option" and not names_option(question, text, wording):
        return "is not one of the options that the question names"
    if expected.any_of and matches(expected.any_of, text) is None:
        return f"has none of the forms of a {kind.name} answer"
    unwanted = matches(expected.none_of, text)
    return f"has a form that a {kind.name} answer must not have: {unwanted}" if unwanted else None


_CLAUSE = re.compile(r"[,;:]|\b(?:and|but|while|whereas|despite|although|because|if|when)\b", re.IGNORECASE)


def pointer(question: str, wording: LanguageWording) -> str | None:
    """Return the phrase by which the question points at a text or dataset its reader cannot see, or None."""
    text = normalise(_without_named(question, wording))
    for pattern in wording.pointing:
        if found := _pattern(pattern, True).search(text):
            return found.group()
    for pattern in wording.pointing_unless_introduced:
        for found in _pattern(pattern, True).finditer(text):
            before = text[: found.start()]
            own = {stem(w) for w in words(found.group())[1:]}
            if not _CLAUSE.search(before) and not own & {stem(w) for w in words(before)}:
                return found.group()
    return None


def _without_named(question: str, wording: LanguageWording) -> str:
    """Return the question with "the dataset CHIRPS" shortened to "CHIRPS": who names data points at no unseen text."""
    for pattern in wording.named:
        # German writes nouns with a capital, so a name needs a second one, a digit or quotation marks.
        name = r"\w*[A-Z\d]\w*[A-Z\d]" if wording.capitals == "nouns" else r"[A-Z]"
        question = re.sub(rf"(?i:{pattern}) (?=[\"'„“«‘]|{name})", "", question)
    return question


def polarity(answer: str, wording: LanguageWording) -> str | None:
    """Return "yes" or "no" when the answer begins with a word of that meaning, else None."""
    text = normalise(answer)
    for value, options in (("no", wording.negative), ("yes", wording.affirmative)):
        for option in sorted(options, key=len, reverse=True):
            start = normalise(option)
            rest = text[len(start) :]
            if text.startswith(start) and (not rest or not rest[0].isalnum() or not start.isascii()):
                return value
    return None


def names_option(question: str, answer: str, wording: LanguageWording) -> bool:
    """Return whether most of the answer's content words are in the question, as when an option is chosen."""
    stop = wording.stop
    said = {stem(w) for w in words(answer) if w not in stop} or {stem(w) for w in words(answer)}
    return coverage(said, {stem(w) for w in words(question)}) >= 0.5
