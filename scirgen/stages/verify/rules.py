"""Rules that need no model: find incomplete sentences, repetitions, and sentences under two aspects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from scirgen.core.records import Aspect

_SAME = 93.0
_HAN = re.compile(r"[一-鿿]")
_BEGINS = re.compile(r"[\"'“‘«(\[]?(?:[^\W\d_]|\d)")
_ENDS = re.compile(r"[.!?。！？][\"'”’»)\]]*(?:\s?\[[\d,–\s-]+\])?(?:\d{1,3}(?:[,–-]\d{1,3})*)?$")
_POINTS = re.compile(
    r"^(?:\(?(?:figs?\.|figures? |tab\.|tables? |eqs?\.|equations? |see |as (?:shown|listed|given) in |where )|.{0,60}\b(?:is|are) (?:shown|listed|given|presented"
    r"|summari[sz]ed|depicted|illustrated) in (?:the )?(?:fig|tab|supp|appendix)\S*(?: \S+)?\.?$)",
    re.I,
)
_LEANS = re.compile(
    r"^(?:then|thus|hence|accordingly|consequently|among them|of these|for this reason|similarly|likewise)\b"
    r"|\b(?:the above|aforementioned|above-mentioned)\b"
    r"|^(?!during|following)(?:\w+ing (?:their|its|them|it)\b[^,]*$|the \w+ of (?:their|its|them|it)\b)"
    r"|^(?:it|they|he|she|its|their|this|these|those|that|such|the (?:former|latter|other)) (?:is|are|was|were|has|have|had|can|may|could|did|does)\b",
    re.I,
)


@dataclass(frozen=True)
class Verdict:
    """Whether an aspect is kept, and why; with the rejection code if not."""

    aspect: Aspect
    keep: bool
    reason: str
    code: str = ""
    prompt: str = ""
    replies: tuple[str, ...] = ()


def incomplete(text: str, *, alone: bool = True) -> str:
    """Why a text cannot be understood alone; "" if it can. ``alone``: it is kept without the sentence before it."""
    line = " ".join(text.split())
    if not _HAN.search(line):
        if not _BEGINS.match(line) or line[0].islower():
            return "it does not begin like a sentence"
        if len(line.split()) < 6:
            return "it is too short to be understood alone"
    if not _ENDS.search(line):
        return "it does not end like a sentence"
    if abs(line.count("(") - line.count(")")) > 0 or abs(line.count("[") - line.count("]")) > 0:
        return "a bracket is open: part of it is missing"
    if _POINTS.match(line):
        return "it only points at a figure, table or equation"
    if alone and _LEANS.search(line):
        return "it cannot be understood without the sentence before"
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
