"""Divides a need into aspects and sub-aspects by DORIS-MAE's rules, and checks the division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from pydantic import BaseModel, ConfigDict, Field

from scirgen import Span
from scirgen.plugin import content_words, sentence_spans
from scirgen_bench.tasks.records import Query

LEAST_ASPECTS, MOST_ASPECTS, MOST_SUB_ASPECTS = 3, 9, 6
_EQUAL = 0.8
_JOINED = 2
"""Aspects of a sub-query."""


class AspectDraft(BaseModel):
    """One aspect as the model gave it."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(description="a requirement: The document should ...")
    sentences: list[int] = Field(description="numbers of the sentences it comes from")
    sub_aspects: list[str] = Field(description="simple requirements, each a part of the aspect; may be empty")


class DecomposeReply(BaseModel):
    """The aspects of a need."""

    model_config = ConfigDict(extra="forbid")
    aspects: list[AspectDraft]


@dataclass(frozen=True)
class Fault:
    """The reason why a division, or one of its sub-aspects (``text``), is not kept."""

    code: str
    reason: str
    text: str = ""


def sentences_of(text: str, language: str) -> list[tuple[int, int]]:
    """Return the offsets of a need's sentences; their numbers count from 1."""
    return sentence_spans(text, language)


def fault_of(reply: DecomposeReply, sentences: int, stop: frozenset[str]) -> Fault | None:
    """Return the first problem that makes the whole division unusable; None if it can be kept."""
    aspects = reply.aspects
    if not LEAST_ASPECTS <= len(aspects) <= MOST_ASPECTS:
        return Fault("aspect_count", f"{len(aspects)} aspects instead of {LEAST_ASPECTS} to {MOST_ASPECTS}")
    for aspect in aspects:
        if wrong := [n for n in aspect.sentences if not 1 <= n <= sentences]:
            return Fault("sentence_number", f"sentence {wrong[0]} does not exist", aspect.text)
        if not aspect.sentences:
            return Fault("sentence_number", "an aspect names no sentence", aspect.text)
        if not content_words(aspect.text, stop):
            return Fault("empty_aspect", "an aspect says nothing", aspect.text)
    covered = {n for aspect in aspects for n in aspect.sentences}
    if left := [n for n in range(1, sentences + 1) if n not in covered]:
        return Fault("uncovered_sentence", f"sentence {left[0]} is in no aspect")
    for one, other in combinations(aspects, 2):
        if _alike(one.text, other.text, stop) >= _EQUAL:
            return Fault("equal_aspects", f"two aspects say nearly the same: {one.text!r}", other.text)
    return None


def kept_sub_aspects(draft: AspectDraft, stop: frozenset[str]) -> tuple[list[str], list[Fault]]:
    """Return the usable sub-aspects, and the others: empty ones, or repeats of the aspect or a sub-aspect."""
    kept: list[str] = []
    faults: list[Fault] = []
    whole = set(content_words(draft.text, stop))
    for text in (" ".join(t.split()) for t in draft.sub_aspects):
        own = set(content_words(text, stop))
        if not own or own >= whole:
            faults.append(Fault("no_content", "the sub-aspect is not narrower than its aspect", text))
        elif any(set(content_words(k, stop)) == own for k in kept):
            faults.append(Fault("no_content", "the sub-aspect repeats another one", text))
        elif len(kept) == MOST_SUB_ASPECTS:
            faults.append(Fault("sub_aspect_count", f"more than {MOST_SUB_ASPECTS} sub-aspects", text))
        else:
            kept.append(text)
    return kept, faults


def same_cover(one: DecomposeReply, other: DecomposeReply) -> float:
    """Measure how similar two divisions of a need are: the share of pairs of sentences that both join or both separate
    (Rand index)."""
    a, b = _joined(one), _joined(other)
    numbers = sorted({n for r in (one, other) for x in r.aspects for n in x.sentences})
    pairs = list(combinations(numbers, 2))
    return sum((p in a) == (p in b) for p in pairs) / len(pairs) if pairs else 1.0


def aspect_queries(
    need: Query, reply: DecomposeReply, sentences: Sequence[tuple[int, int]], stop: frozenset[str]
) -> tuple[Query, list[Query], list[Fault]]:
    """Return the need, its aspects and its sub-aspects as queries, and the sub-aspects that were dropped."""
    made: list[Query] = []
    faults: list[Fault] = []
    aspects: list[Query] = []
    for place, draft in enumerate(reply.aspects, 1):
        text = " ".join(draft.text.split())
        spans = tuple(
            Span(document_id=need.id, start=s, end=e, text=need.text[s:e])
            for s, e in (sentences[n - 1] for n in sorted(set(draft.sentences)))
        )
        aspect = need.model_copy(
            update={
                "id": f"{need.id}/{place}",
                "form": "aspect",
                "text": text,
                "parent": need.id,
                "spans": spans,
                "gold": (),
            }
        )
        aspects.append(aspect)
        made.append(aspect)
        kept, dropped = kept_sub_aspects(draft, stop)
        faults += dropped
        made += [
            aspect.model_copy(
                update={"id": f"{aspect.id}{chr(96 + n)}", "form": "sub_aspect", "text": sub, "parent": aspect.id}
            )
            for n, sub in enumerate(kept, 1)
        ]
    return need.model_copy(update={"parts": tuple(a.id for a in aspects)}), made, faults


def sub_queries(need: Query, aspects: Sequence[Query]) -> Iterator[Query]:
    """Yield a query for every two aspects (DORIS-MAE, section 3), made of their sentences in the aspects' order, each
    once; its grades are those of the aspects.

    A combination is left out if its sentences also belong to another aspect, since it would ask for more than its
    grades cover.
    """
    for chosen in combinations(aspects, _JOINED):
        spans = {(s.start, s.end): s for a in chosen for s in a.spans}
        touching = [a for a in aspects if any((s.start, s.end) in spans for s in a.spans)]
        if len(touching) > _JOINED or len(chosen) == len(aspects):
            continue
        yield need.model_copy(
            update={
                "id": f"{need.id}/" + "+".join(a.id.rpartition("/")[2] for a in chosen),
                "form": "sub_query",
                "text": " ".join(s.text for s in spans.values()),
                "parent": need.id,
                "parts": tuple(a.id for a in chosen),
                "spans": tuple(spans.values()),
            }
        )


def _joined(reply: DecomposeReply) -> set[tuple[int, int]]:
    return {pair for a in reply.aspects for pair in combinations(sorted(set(a.sentences)), 2)}


def _alike(one: str, other: str, stop: frozenset[str]) -> float:
    a, b = set(content_words(one, stop)), set(content_words(other, stop))
    return len(a & b) / len(a | b) if a | b else 1.0
