"""Extracts a question or an answer from a small model's plain text; returns None if it cannot."""

from __future__ import annotations

import re

_LEAD = re.compile(
    r"^\s*(?:[-*•#>]+\s*|\d+[.)]\s*|"
    r"(?:sure|certainly|here(?:'s| is| are)[^:\n]{0,60}|question|answer|q|a|response)\s*\d*\s*[:：.]\s*)+",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’`*_ "
_SENTENCE = re.compile(r".{1,1000}?[.!?。！？](?=\s|$|[\"”'’])", re.DOTALL)


def one_question(text: str, form: str = "question") -> str | None:
    """Return the first question of a reply (for requests and assertions, the first sentence), without labels."""
    for line in text.splitlines():
        line = _bare(line)
        if not line:
            continue
        if form != "question":
            match = _SENTENCE.match(line)
            sentence = match.group() if match else line
            return sentence.strip(_QUOTES) or None
        end = min((at for mark in "?？" if (at := line.find(mark)) >= 0), default=-1)
        if end >= 0:
            # Text before the question in the same line is a comment on it.
            sentence = re.split(r"(?<=[.!:])\s+(?=[A-Z])", line[: end + 1].strip())[-1]
            return sentence.strip(_QUOTES) or None
    return None


def one_answer(text: str, cut: bool, sentences: int = 4) -> str | None:
    """Return the first paragraph of a reply that is not a list, at most ``sentences`` long. Of a reply that was cut
    off, only whole sentences."""
    if len(re.findall(r"^\s*(?:[-*•]|\d{1,2}[.)])\s", text, re.MULTILINE)) > 1:
        return None  # a list is not an answer in sentences
    paragraph = next((p for p in re.split(r"\n\s*\n", text.strip()) if _bare(p)), "")
    body = re.sub(r"\s+", " ", _bare(paragraph))
    if not body:
        return None
    whole = [m.group().strip() for m in _SENTENCE.finditer(body)]
    if not whole:
        return None if cut else body.strip(_QUOTES) or None
    return " ".join(whole[:sentences]).strip(' "“”`') or None


def _bare(text: str) -> str:
    return _LEAD.sub("", text).strip().strip(_QUOTES)
