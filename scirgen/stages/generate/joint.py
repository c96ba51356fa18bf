"""The strategy ``joint``: one call writes the pairs of several types from the whole material.

ScIRGen (section 2.2) asks for one type per call, without evidence; `docs/method.md` compares the two.

The writer reads record and papers together, chooses what is worth asking, and cites the lines of each pair. So it plans
in the same call, and asks for no fact twice. The material comes first, so that a server's prefix cache can serve it.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.grouped import grouped
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.taxonomy import QuestionType
from scirgen.core.text.language import language_name
from scirgen.stages.base import StageContext
from scirgen.stages.generate.further import answered, with_further
from scirgen.stages.generate.material import Material, material
from scirgen.stages.generate.naming import Called, name_of
from scirgen.stages.generate.passages import fitness
from scirgen.stages.generate.replies import CitedPair, Pairs, pairs_reply, yes_no
from scirgen.stages.generate.strategy import Discard, Draft, Further, Task, Wish

_CHARS_PER_TOKEN = 4
_DEFAULT_CONTEXT = 8192
"""Sizes the material if the server reports no window; the number of types in a call is then not limited."""
_MATERIAL_SHARE = 0.45
_MATERIAL_CHARS = 24_000
_MAX_OFFERED = 12
_PAIR_TOKENS = 160
"""Tokens of a reply for each pair."""
_BOTH_SHARE = 0.1
"""The share of pairs that are to join two documents, in calls with papers."""
_USABLE = 0.9
"""The share of a window that a call may fill by this estimate: numbers and signs take more tokens than words."""
_LARGEST_REPLY = 16_000
"""Tokens; several services refuse calls that ask for more."""


@dataclass(frozen=True)
class _Call:
    """One call: what it shows, the wishes it may fulfil, and how many pairs are wanted and carried by the lines."""

    shown: Material
    wishes: tuple[Wish, ...]
    wanted: int
    max_pairs: int
    prompt: RenderedPrompt


class JointStrategy:
    """One structured call for up to ``generate.types_per_call`` types; the writer chooses among the wishes."""

    name: ClassVar[str] = "joint"
    version: ClassVar[int] = 12
    prompts: ClassVar[tuple[str, ...]] = ("joint", "name")
    writes_together: ClassVar[bool] = True

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard | Further]:
        """Return one draft or discard for each wish, and a discard for each statement that no call shows."""
        context = ctx.chat.capabilities.context_tokens or _DEFAULT_CONTEXT
        shown = material(task, min(_MATERIAL_CHARS, int(context * _CHARS_PER_TOKEN * _MATERIAL_SHARE)))
        parts = shown.parts or (shown.record,)
        called = await name_of(task.dataset, ctx)
        wishes = _spread(task)
        # Of several parts of the papers, each is asked for every other pair.
        wanted = math.ceil(len(task.wishes) / len(parts))
        calls = [
            c for n, part in enumerate(parts) for c in self._calls(part, wishes[n :: len(parts)], wanted, called, ctx)
        ]
        made = await asyncio.gather(*(self._ask(call, called, task.round, ctx) for call in calls))
        full = "limit reached; statements that say more are shown"
        left = [Discard(None, "surplus", full, p.text, passage=p) for p in shown.left_out]
        return [*(one for part in made for one in part), *left]

    def _calls(
        self, shown: Material, wishes: Sequence[Wish], wanted: int, called: Called, ctx: StageContext
    ) -> list[_Call]:
        """As few calls as fit the window, each with whole types: a call does not see the questions of another."""
        window = ctx.chat.capabilities.context_tokens
        calls: list[_Call] = []
        carries = min(wanted, shown.carries)
        for size in _sizes(len(_kinds(wishes)), ctx.config.generate.types_per_call):
            calls = [_share(shown, part, len(wishes), (wanted, carries), called, ctx) for part in _parts(wishes, size)]
            if window is None or all(_tokens(c.prompt) + _least(c) <= window * _USABLE for c in calls):
                break
        return calls

    async def _ask(self, call: _Call, called: Called, turn: int, ctx: StageContext) -> list[Draft | Discard | Further]:
        kinds = _kinds(call.wishes)
        reply = pairs_reply([k.id for k in kinds], call.max_pairs, len(call.shown.lines))
        names = ",".join(k.id for k in kinds)
        try:
            prompt, reply, more = with_further(call.prompt, reply, call.max_pairs, turn, ctx)
            room = min(_LARGEST_REPLY, _room(call, ctx) + more)
            answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed(names, turn), max_tokens=room)
        except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError) as error:
            if isinstance(error, ReplyTruncatedError) and len(kinds) > 1:
                return await self._in_halves(call, called, turn, ctx)
            return [Discard(_kind(w), error.error_code, error.message, prompt=call.prompt) for w in call.wishes]
        written = list(_drafts(answer.value, call, answer.reply_key))
        return [*written, *answered(answer.value, written, call.prompt, answer.reply_key, ctx)]

    async def _in_halves(
        self, call: _Call, called: Called, turn: int, ctx: StageContext
    ) -> list[Draft | Discard | Further]:
        """Return the wishes of a call whose reply was cut: a server may allow shorter replies than its window holds."""
        halves = _parts(call.wishes, math.ceil(len(_kinds(call.wishes)) / 2))
        limits = call.wanted, call.max_pairs
        parts = [_share(call.shown, half, len(call.wishes), limits, called, ctx) for half in halves]
        return [one for made in await asyncio.gather(*(self._ask(p, called, turn, ctx) for p in parts)) for one in made]


def _share(
    shown: Material, wishes: Sequence[Wish], of: int, limits: tuple[int, int], called: Called, ctx: StageContext
) -> _Call:
    """Return a call for some of the ``of`` wishes about what it shows, for a share of the pairs wanted and carried."""
    wanted, max_pairs = (max(1, math.ceil(limit * len(wishes) / of)) for limit in limits)
    return _Call(shown, tuple(wishes), wanted, max_pairs, _prompt(shown, wishes, max_pairs, called, ctx))


def _spread(task: Task) -> list[Wish]:
    """Return the wishes, the first of every type before the second of any.

    Those without a type offer each type once; of many, the twelve with most evidence by their cues, since each costs a
    paragraph.
    """
    free = [w for w in task.wishes if w.kind is None]
    wishes = [w for w in task.wishes if w.kind is not None]
    if free:
        support = {k.id: sum(fitness(p, k) for p in task.passages) for k in task.kinds}
        likely = sorted(task.kinds, key=lambda k: -support[k.id])[:_MAX_OFFERED]
        offered = [k for k in task.kinds if k in likely]
        wishes += [_fitted(free[n % len(free)], kind) for n, kind in enumerate(offered)]
    seen: defaultdict[str, int] = defaultdict(int)
    turns = []
    for wish in wishes:
        seen[_kind(wish).id] += 1
        turns.append(seen[_kind(wish).id])
    return [wishes[i] for i in sorted(range(len(wishes)), key=lambda i: turns[i])]


def _fitted(wish: Wish, kind: QuestionType) -> Wish:
    level = wish.bloom or next(iter(kind.levels), None)
    return Wish(kind, level, wish.polarity if kind.polar else None, wish.position, wish.about)


def _prompt(
    shown: Material, wishes: Sequence[Wish], max_pairs: int, called: Called, ctx: StageContext
) -> RenderedPrompt:
    record = shown.record[0].span.document_id
    return ctx.prompt("joint").render(
        record=[line.shown for line in shown.record],
        name=called.name,
        by=called.by,
        papers=[
            {
                "title": p.paper.title,
                "start": p.paper.start,
                "others": [title for id, title in p.paper.datasets if id != record],
                "lines": [line.shown for line in p.lines],
            }
            for p in shown.papers
        ],
        most=max_pairs,
        both=max(1, round(_BOTH_SHARE * max_pairs)) if shown.papers else 0,
        tasks=[_task(kind, [w for w in wishes if w.kind == kind], ctx) for kind in _kinds(wishes)],
        levels=ctx.taxonomies.bloom.levels,
        tables=any(line.cells for line in shown.lines.values()),
        language=language_name(ctx.config.language),
    )


def _task(kind: QuestionType, wishes: Sequence[Wish], ctx: StageContext) -> dict[str, object]:
    """Return the entry of a type in the prompt."""
    option = kind.answer.kind == "option"
    yes, no = yes_no(ctx.taxonomies.wording.of(ctx.config.language))
    return {
        "kind": kind,
        "sample": next(iter(kind.examples_for(ctx.config.domain)), None),
        "count": len(wishes),
        "level": " or ".join(dict.fromkeys(w.bloom for w in wishes if w.bloom)),
        "polarities": [no if w.polarity == "no" else yes for w in wishes] if kind.polar else [],
        "positions": [("first", "last")[w.position] for w in wishes] if option else [],
    }


def _drafts(reply: Pairs, call: _Call, key: str) -> Iterator[Draft | Discard]:
    """Yield the pairs of a reply, each with the next wish of its type, then the discards for wishes that produced no
    pair.

    A call asks for at most ``max_pairs`` pairs. If the writer used them up, it did not choose the other wishes; if it
    wrote fewer, it declined as many.
    """
    open_wishes = grouped((_kind(wish).id, wish) for wish in call.wishes)
    by_id = {k.id: k for k in _kinds(call.wishes)}
    for pair in reply.pairs:
        if pair.type not in by_id:
            text = f"{pair.question}\n{pair.answer}"
            yield Discard(None, "unknown_type", f"there is no type {pair.type!r}", text, call.prompt, (key,))
            continue
        mine = open_wishes[pair.type]
        wish = mine.pop(0) if mine else Wish(by_id[pair.type])
        yield _draft(pair, wish, call, key)
    left = [w for w in call.wishes if any(w is o for o in open_wishes[_kind(w).id])]
    left = left[: max(0, call.wanted - len(reply.pairs))]
    declined = max(0, call.max_pairs - len(reply.pairs))
    why = " ".join(reply.fewer.split()) or "no reason given"
    full = f"the lines carry at most {call.max_pairs} pairs, and the writer chose others"
    for number, wish in enumerate(left):
        code, reason = ("declined", why) if number < declined else ("unchosen", full)
        yield Discard(_kind(wish), code, reason, prompt=call.prompt, replies=(key,))


def _draft(pair: CitedPair, wish: Wish, call: _Call, key: str) -> Draft | Discard:
    kind = _kind(wish)
    unknown = [n for n in pair.evidence if n not in call.shown.lines]
    if unknown:
        text = f"{pair.question}\n{pair.answer}"
        return Discard(kind, "no_such_line", f"there is no line {unknown[0]}", text, call.prompt, (key,))
    spans = call.shown.evidence(pair.question, pair.evidence, pair.about)
    return Draft(kind, pair.question, pair.answer, spans, wish.bloom, prompt=call.prompt, replies=(key,))


def _room(call: _Call, ctx: StageContext) -> int:
    """Return the most tokens of a reply: enough for its pairs, and more if the window has room after the prompt."""
    window = ctx.chat.capabilities.context_tokens
    free = window - _tokens(call.prompt) if window else _LARGEST_REPLY
    return min(_LARGEST_REPLY, max(_least(call), min(call.prompt.sampling.max_tokens, free)))


def _least(call: _Call) -> int:
    return _PAIR_TOKENS * call.max_pairs


def _tokens(prompt: RenderedPrompt) -> int:
    return sum(len(text) for _, text in prompt.messages) // _CHARS_PER_TOKEN


def _kinds(wishes: Sequence[Wish]) -> list[QuestionType]:
    return list({_kind(w).id: _kind(w) for w in wishes}.values())


def _parts(wishes: Sequence[Wish], max_types: int) -> list[list[Wish]]:
    return [[w for w in wishes if w.kind in group] for group in in_groups(_kinds(wishes), max_types)]


def _sizes(count: int, max_types: int) -> Iterable[int]:
    """Return each size of groups that gives another number of them, from the largest allowed."""
    fewest = max(1, math.ceil(count / max_types))
    return dict.fromkeys(math.ceil(count / groups) for groups in range(fewest, count + 1))


def in_groups(kinds: Sequence[QuestionType], max_types: int) -> Iterable[Sequence[QuestionType]]:
    """Yield the types in as few groups of at most ``max_types`` as possible, of nearly equal sizes."""
    count = math.ceil(len(kinds) / max_types)
    for n in range(count):
        yield kinds[n * len(kinds) // count : (n + 1) * len(kinds) // count]


def _kind(wish: Wish) -> QuestionType:
    assert wish.kind is not None
    return wish.kind
