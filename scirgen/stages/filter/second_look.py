"""The judge's second look at pairs that a rule, a score or its own first reading doubts. It sees the doubt, the cited
sentences and the text around them, and keeps the pair, mends its evidence, or rejects it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from scirgen.core.records import QAPair, Span
from scirgen.core.text.sentences import sentence_spans
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.deciding import Ruling
from scirgen.stages.filter.faithfulness.batches import Batch, Reply, ask_each, batches, no_verdict, reply_to
from scirgen.stages.filter.faithfulness.windows import rank

PROMPT: Final = "second_look"
_PAIRS: Final = 8
"""Largest number of pairs in a call."""
_BEFORE, _AFTER = 3, 2
"""Sentences shown around a cited one."""
_ELSEWHERE: Final = 4
"""Sentences of each cited document that share most words with the pair; a gloss may stand far from the fact."""
_LONGEST: Final = 900

Action = Literal["keep", "mend", "reject"]


@dataclass(frozen=True, order=True)
class _Line:
    """A sentence of a source."""

    document_id: str
    start: int
    end: int

    def touches(self, span: Span) -> bool:
        return self.document_id == span.document_id and self.start < span.end and span.start < self.end


class LookReply(Reply):
    """Reasons of rejected and mended pairs, then for each pair its action (``v1``), and the numbers of the lines that
    it gains (``add1``) and loses (``drop1``)."""


async def second_look(pairs: Sequence[QAPair], material: Material, ctx: StageContext) -> list[Ruling]:
    """Ask the judge once more about pairs with doubts.

    A mended pair keeps at least one span that carries its answer; added spans are sentences of the sources, word for
    word, and only say what or where the answer is about.
    """
    groups = batches(pairs, lambda pair: sorted(set(_around(pair, material))), _PAIRS, _length)
    found = await ask_each(groups, lambda batch: _ask(batch, material, ctx))
    return [_ruling(pair, found[pair.id]) for pair in pairs]


def _ruling(pair: QAPair, outcome: tuple[Action, str, QAPair] | Exception) -> Ruling:
    if isinstance(outcome, Exception):
        return Ruling(pair, error=outcome)
    action, why, mended = outcome
    if action != "reject":
        return Ruling(mended)
    doubt = pair.doubts[-1]
    value = next((s.value for s in pair.scores if s.name == doubt.code), None)
    return Ruling(pair, "reject", doubt.code, f"{why or 'the judge agrees'} (doubt: {doubt.reason})", value)


async def _ask(
    batch: Batch[_Line], material: Material, ctx: StageContext
) -> dict[str, tuple[Action, str, QAPair] | Exception]:
    numbers = {line: n for n, line in enumerate(sorted(batch.texts), 1)}
    mine = [[batch.texts[n - 1] for n in cited] for cited in batch.cited]
    listed = [
        {
            "number": n,
            "question": pair.question,
            "answer": pair.answer,
            "cited": [numbers[i] for i in lines if any(i.touches(s) for s in pair.evidence)],
            "doubts": [doubt.reason for doubt in pair.doubts],
        }
        for n, (pair, lines) in enumerate(zip(batch.pairs, mine, strict=True), 1)
    ]
    prompt = ctx.prompt(PROMPT).render(texts=list(_printed(numbers, material, batch.pairs)), pairs=listed)
    wanted = reply_to(
        LookReply, range(1, len(batch.pairs) + 1), v=(Action, None), add=(list[int], []), drop=(list[int], [])
    )
    seed = ctx.seed("second look", *(p.id for p in batch.pairs))
    reply = (await ctx.judge.ask(prompt, wanted, seed=seed)).value
    outcomes: dict[str, tuple[Action, str, QAPair] | Exception] = {}
    for n, (pair, lines) in enumerate(zip(batch.pairs, mine, strict=True), 1):
        action: Action | None = getattr(reply, f"v{n}")
        if action is None:
            outcomes[pair.id] = no_verdict(n)
            continue
        own = {numbers[line]: line for line in lines}
        gained, lost = ([own[i] for i in dict.fromkeys(getattr(reply, f"{w}{n}")) if i in own] for w in ("add", "drop"))
        mended = _mended(pair, gained, lost, lines, material) if action == "mend" else pair
        outcomes[pair.id] = action, reply.fault(n), mended
    return outcomes


def _length(line: _Line) -> int:
    return min(line.end - line.start, _LONGEST)


def _mended(
    pair: QAPair, gained: Sequence[_Line], lost: Sequence[_Line], lines: Sequence[_Line], material: Material
) -> QAPair:
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
