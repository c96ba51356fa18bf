"""The judge's second look at pairs that a rule, a score or its own first reading doubts. It sees the doubt, the cited
sentences and the text around them, and keeps the pair, mends its evidence, or rejects it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, create_model

from scirgen.core.errors import ModelError, ScirgenError
from scirgen.core.records import QAPair, Span
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.faithfulness.judged import Fault
from scirgen.stages.filter.faithfulness.windows import rank

PROMPT: Final = "second_look"
_PAIRS: Final = 8
_CHARACTERS: Final = 24_000
"""Largest number of pairs, and of characters of text, in a call."""
_BEFORE, _AFTER = 3, 2
"""Sentences shown around a cited one."""
_ELSEWHERE: Final = 4
"""Sentences of each cited document that share most words with the pair; a gloss may stand far from the fact."""
_LONGEST: Final = 900

Action = Literal["keep", "mend", "reject"]


@dataclass(frozen=True)
class Look:
    """The judge's decision about a pair, with its reason, and the pair with its evidence as the judge leaves it."""

    action: Action
    reason: str
    pair: QAPair


@dataclass(frozen=True, order=True)
class _Line:
    """A sentence of a source."""

    document_id: str
    start: int
    end: int

    def touches(self, span: Span) -> bool:
        return self.document_id == span.document_id and self.start < span.end and span.start < self.end


class LookReply(BaseModel):
    """Reasons of rejected and mended pairs, then for each pair its action (``v1``), and the numbers of the lines that
    it gains (``add1``) and loses (``drop1``)."""

    model_config = ConfigDict(extra="ignore")
    faults: list[Fault] = []


async def second_look(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> dict[str, Look | Exception]:
    """Ask the judge once more about pairs with doubts; by pair id its decision, or the error that left it without one.

    A mended pair keeps at least one span that carries its answer; added spans are sentences of the sources, word for
    word, and only say what or where the answer is about.
    """
    shown = {pair.id: tuple(sorted(_around(pair, material))) for pair in pairs}
    found: dict[str, Look | Exception] = {}
    for part in await asyncio.gather(*(_ask(batch, shown, material, ctx) for batch in _batches(pairs, shown))):
        found.update(part)
    return found


def _batches(pairs: Sequence[QAPair], shown: dict[str, tuple[_Line, ...]]) -> Iterator[list[QAPair]]:
    batch: list[QAPair] = []
    lines: set[_Line] = set()
    for pair in pairs:
        more = lines | set(shown[pair.id])
        if batch and (len(batch) >= _PAIRS or sum(min(n.end - n.start, _LONGEST) for n in more) > _CHARACTERS):
            yield batch
            batch, more = [], set(shown[pair.id])
        batch.append(pair)
        lines = more
    if batch:
        yield batch


async def _ask(
    pairs: Sequence[QAPair], shown: dict[str, tuple[_Line, ...]], material: Material, ctx: StageContext
) -> dict[str, Look | Exception]:
    lines = sorted({line for pair in pairs for line in shown[pair.id]})
    numbers = {line: n for n, line in enumerate(lines, 1)}
    listed = [
        {
            "number": n,
            "question": pair.question,
            "answer": pair.answer,
            "cited": [numbers[i] for i in shown[pair.id] if any(i.touches(s) for s in pair.evidence)],
            "doubts": [doubt.reason for doubt in pair.doubts],
        }
        for n, pair in enumerate(pairs, 1)
    ]
    prompt = ctx.prompt(PROMPT).render(texts=list(_printed(numbers, material, pairs)), pairs=listed)
    fields: dict[str, Any] = {}
    for n in range(1, len(pairs) + 1):
        fields |= {f"v{n}": (Action, None), f"add{n}": (list[int], []), f"drop{n}": (list[int], [])}
    try:
        reply = await ctx.judge.ask(
            prompt, create_model("LookReply", __base__=LookReply, **fields),
            seed=ctx.seed("second look", *(p.id for p in pairs)),
        )  # fmt: skip
    except ScirgenError as error:
        if error.fatal:
            raise
        return {pair.id: error for pair in pairs}
    found: dict[str, Look | Exception] = {}
    for n, pair in enumerate(pairs, 1):
        action: Action | None = getattr(reply.value, f"v{n}")
        if action is None:
            found[pair.id] = ModelError(f"the judge returned no verdict for pair {n}", code="no_verdict")
            continue
        why = " ".join(next((f.fault for f in reply.value.faults if f.number == n), "").split())[:200]
        own = {numbers[line]: line for line in shown[pair.id]}
        if action == "mend":
            gained, lost = (
                [own[i] for i in dict.fromkeys(getattr(reply.value, f"{name}{n}")) if i in own]
                for name in ("add", "drop")
            )
            pair = _mended(pair, gained, lost, own.values(), material)
        found[pair.id] = Look(action, why, pair)
    return found


def _mended(pair: QAPair, gained: Sequence[_Line], lost: Sequence[_Line], lines: Any, material: Material) -> QAPair:
    """Return the pair without the spans all of whose sentences are lost, and with a span for each gained sentence."""
    kept = [s for s in pair.evidence if not _covered(s, [i for i in lines if i.touches(s)], lost)]
    if not any(s.role == "answer" for s in kept):
        kept = list(pair.evidence)
    new = [_span(i, material) for i in gained if not any(i.touches(s) for s in kept)]
    evidence = (*kept, *new)
    return pair.model_copy(update={"evidence": evidence, "mended": True}) if evidence != pair.evidence else pair


def _covered(span: Span, touched: Sequence[_Line], lost: Sequence[_Line]) -> bool:
    return bool(touched) and set(touched) <= set(lost)


def _span(line: _Line, material: Material) -> Span:
    document = material.documents.get(line.document_id)
    text = material.sources[line.document_id][line.start : line.end]
    made = Span(document_id=line.document_id, start=line.start, end=line.end, text=text)
    placed = document.span(line.start, line.end) if document else made
    return placed.model_copy(update={"role": "context"})


def _around(pair: QAPair, material: Material) -> Iterator[_Line]:
    """Give the cited sentences, those around them, and those of the same sources nearest to the pair."""
    for document_id in dict.fromkeys(s.document_id for s in pair.evidence):
        text, spans = material.sources.get(document_id), [s for s in pair.evidence if s.document_id == document_id]
        if text is None:
            continue
        lines = [_Line(document_id, a, b) for a, b in _sentences(text)]
        near: set[int] = set()
        for at, line in enumerate(lines):
            if any(line.touches(s) for s in spans):
                near.update(range(max(0, at - _BEFORE), min(len(lines), at + _AFTER + 1)))
        texts = tuple(text[i.start : i.end] for i in lines)
        yield from (lines[i] for i in near | set(rank(f"{pair.question} {pair.answer}", texts)[:_ELSEWHERE]))


@lru_cache(maxsize=64)
def _sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Cut a source into sentences; a line's end also ends one."""
    found: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        found += ((a + at, b + at) for a, b in sentence_spans(line) if line[a:b].strip())
        at += len(line)
    return tuple(found)


def _printed(numbers: dict[_Line, int], material: Material, pairs: Sequence[QAPair]) -> Iterator[str]:
    """Print the numbered sentences, each source under its title; a quote of an unknown source as it is."""
    last = ""
    for line, n in numbers.items():
        if line.document_id != last:
            last = line.document_id
            yield f"From: {material.title(last)}"
        text = " ".join(material.sources[last][line.start : line.end].split())
        yield f"[{n}] {text if len(text) <= _LONGEST else text[:_LONGEST] + ' ...'}"
    quotes = (s for pair in pairs for s in pair.evidence if s.document_id not in material.sources)
    for text in dict.fromkeys(" ".join(s.text.split()) for s in quotes):
        yield f"[-] {text}"
