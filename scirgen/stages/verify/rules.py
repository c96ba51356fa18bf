"""Rules that need no model: find pieces of sentences, and repetitions.

The model chose the sentences, so the rules reject only what a parser broke or what merely points elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from scirgen.core.records import Aspect

_SAME = 93.0
_LEAST_WORDS = 4
_HAN = re.compile(r"[一-鿿]")
_ITEM = re.compile(r"^(?:[•‣◦▪●■*–—-]|\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})[.)])\s+")
_BEGINS = re.compile(r"[\"'“‘«(\[]?[^\s,;:.)\]}!?]")
_LOWER = re.compile(r"[a-zà-ÿ]+(?![\w-]*[A-Z\d])\b")
"""A first word in lower case without a capital or a digit: the rest of a sentence, not a name such as "pH"."""
_ENDS = re.compile(
    r"[.!?:;。！？：；][\"'”’»)\]]*(?:\s?\[[^\]]{1,40}\])?(?:\s?\([^)]{1,60}\)\.?)?(?:\d{1,3}(?:[,–-]\d{1,3})*)?$"
)
_CUT = re.compile(r"(?:[-–,(\[]|\b(?:and|or|the|an?|of|to|with|in|by|for|from|at|on|as|than|that|which))$")
_FLOAT = r"(?:figs?\.?|figures?|tabs?\.?|tables?|eqs?\.?|equations?|appendix)"
_POINTS = re.compile(
    rf"^(?:see |as (?:shown|listed|given) in (?:the )?{_FLOAT}\b[^,]*\.?$"
    rf"|{_FLOAT}\s?\S{{1,6}} (?:shows?|lists?|gives?|presents?|summari[sz]es?|illustrates?|depicts?|displays?"
    r"|contains?)\b(?! that)"
    r"|.{0,60}\b(?:is|are) (?:shown|listed|given|presented|summari[sz]ed|depicted|illustrated) in (?:the )?"
    r"(?:fig|tab|supp|appendix)\S*(?: \S+)?\.?$)",
    re.I,
)
_LEANS = re.compile(
    r"^(?:among them|of these|for this reason)\b"
    r"|\b(?:the above|aforementioned|above-mentioned)\b"
    r"|^(?!during|following)(?:\w+ing (?:their|its|them|it)\b[^,]*$|the \w+ of (?:their|its|them|it)\b)"
    r"|^(?!it (?:is|was) (?:not )?(?:\w+ ){1,3}(?:to|that|whether|why|how)\b)"
    r"(?:it|they|he|she|its|their|this|these|those|that|such|the (?:former|latter|other)) "
    r"(?:is|are|was|were|has|have|had|can|may|could|did|does)\b",
    re.I,
)


@dataclass(frozen=True)
class Verdict:
    """The decision to keep an aspect or not, with the reason; with the rejection code if not."""

    aspect: Aspect
    keep: bool
    reason: str
    code: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()


def incomplete(text: str, *, alone: bool = True) -> str:
    """Say why a text is a piece or cannot be understood; "" if it can. ``alone``: nothing says what it is about."""
    line = " ".join(text.split())
    item = _ITEM.match(line)
    words = line[item.end() :] if item else line
    if not _HAN.search(words):
        if not _BEGINS.match(words) or (not item and _LOWER.match(words)):
            return "it does not begin like a sentence"
        if len(words.split()) < _LEAST_WORDS:
            return "it is too short to be understood alone"
    if _CUT.search(words) or not (item or _ENDS.search(words)):
        return "it does not end like a sentence"
    if words.count("(") != words.count(")") or words.count("[") != words.count("]"):
        return "a bracket is open: part of it is missing"
    if _POINTS.match(words):
        return "it only points at a figure, table or equation"
    if alone and _LEANS.search(words):
        return "it does not say what it is about"
    return ""


def screen(aspects: Sequence[Aspect]) -> tuple[list[Aspect], list[Verdict]]:
    """Aspects that the rules leave open, in order, and verdicts on the others."""
    left: list[Aspect] = []
    out: list[Verdict] = []
    for aspect in sorted(aspects, key=lambda a: (a.span.start, a.span.end, a.category)):
        why = incomplete(aspect.span.text, alone=not aspect.context)
        if why:
            out.append(Verdict(aspect, False, why, "incomplete"))
        elif (same := _said_before(aspect, left)) is not None:
            why = f"it says the same as a sentence on page {same.span.page or '?'} that is kept"
            out.append(Verdict(aspect, False, why, "redundant"))
        else:
            left.append(aspect)
    return left, out


def _place(aspect: Aspect) -> tuple[str, int, int]:
    return aspect.span.document_id, aspect.span.start, aspect.span.end


def _said_before(aspect: Aspect, kept: Sequence[Aspect]) -> Aspect | None:
    """A kept sentence with nearly the same words, of any aspect; papers often repeat their abstract."""
    others = (k for k in kept if _place(k) != _place(aspect))
    return next((k for k in others if fuzz.token_sort_ratio(k.span.text, aspect.span.text) >= _SAME), None)
