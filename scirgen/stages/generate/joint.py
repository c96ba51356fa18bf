"""The paper's way of generating (ScIRGen, section 2.2): one call writes the pairs of several types from the whole material.

Questions about the data and about papers are requested in separate calls; the first sees only the record, so that
neither repeats the other. The material comes first, so that a server's prefix cache can serve it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from scirgen.core.errors import ReplyInvalidError, ReplyRefusedError, ReplyTruncatedError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Span
from scirgen.core.taxonomy import QuestionType
from scirgen.core.text.language import language_name
from scirgen.stages.base import StageContext
from scirgen.stages.generate.material import Material, material
from scirgen.stages.generate.replies import Declined, Pairs, QuotedPair, pairs_reply
from scirgen.stages.generate.strategy import Discard, Draft, Task, Wish

_CHARS_PER_TOKEN = 4
_DEFAULT_CONTEXT = 8192
"""Sizes the material if the server reports no window; the number of types in a call is then not limited."""
_MATERIAL_SHARE = 0.45
_MATERIAL_CHARS = 24_000
_PAIR_TOKENS = {"numbers": 160, "quotes": 320}
"""Tokens of a reply for each pair."""
_USABLE = 0.9
"""The share of a window that a call may fill by this estimate: numbers and signs take more tokens than words."""
_LARGEST_REPLY = 16_000
"""Tokens; several services refuse calls that ask for more."""


class JointStrategy:
    """One structured call for up to ``generate.types_per_call`` types; the model declines a wish that the material
    cannot answer."""

    name: ClassVar[str] = "joint"
    version: ClassVar[int] = 6
    prompts: ClassVar[tuple[str, ...]] = ("joint",)
    writes_together: ClassVar[bool] = True

    async def generate(self, task: Task, ctx: StageContext) -> Sequence[Draft | Discard]:
        """One draft or discard for each wish."""
        context = ctx.chat.capabilities.context_tokens or _DEFAULT_CONTEXT
        shown = material(task, min(_MATERIAL_CHARS, int(context * _CHARS_PER_TOKEN * _MATERIAL_SHARE)))
        about_data = [w for w in task.wishes if w.about == "dataset"]
        others = [w for w in task.wishes if w.about != "dataset"]
        halves = ((replace(shown, papers=()), about_data), (shown, others))
        calls = [(part, call) for part, asked in halves for call in self._calls(part, asked, ctx)]
        made = await asyncio.gather(*(self._ask(part, *call, task.round, ctx) for part, call in calls))
        return [one for part in made for one in part]

    def _calls(
        self, shown: Material, wishes: Sequence[Wish], ctx: StageContext
    ) -> list[tuple[list[Wish], RenderedPrompt]]:
        """As few calls as fit the window, each with whole types: a call does not see the questions of another."""
        window = ctx.chat.capabilities.context_tokens
        calls: list[tuple[list[Wish], RenderedPrompt]] = []
        for most in _sizes(len(_kinds(wishes)), ctx.config.generate.types_per_call):
            calls = [(part, self._prompt(shown, part, ctx)) for part in _parts(wishes, most)]
            if window is None or all(_fits(prompt, len(part), window, ctx) for part, prompt in calls):
                break
        return calls

    async def _ask(
        self, shown: Material, wishes: Sequence[Wish], prompt: RenderedPrompt, turn: int, ctx: StageContext
    ) -> list[Draft | Discard]:
        quotes = ctx.config.generate.evidence == "quotes"
        kinds = [_kind(w) for w in wishes]
        reply = pairs_reply(kinds, ctx.taxonomies.wording.of(ctx.config.language), len(shown.lines), quotes=quotes)
        names = ",".join(dict.fromkeys(k.id for k in kinds))
        try:
            room = _room(prompt, len(wishes), ctx)
            answer = await ctx.chat.ask(prompt, reply, seed=ctx.seed(names, turn), max_tokens=room)
        except (ReplyInvalidError, ReplyTruncatedError, ReplyRefusedError) as error:
            several = len(_kinds(wishes))
            if isinstance(error, ReplyTruncatedError) and several > 1:
                return await self._in_halves(shown, _parts(wishes, math.ceil(several / 2)), turn, ctx)
            return [Discard(k, error.error_code, error.message, prompt=prompt) for k in kinds]
        return [_draft(answer.value, n, w, shown, prompt, answer.reply_key) for n, w in enumerate(wishes, 1)]

    async def _in_halves(
        self, shown: Material, parts: Iterable[Sequence[Wish]], turn: int, ctx: StageContext
    ) -> list[Draft | Discard]:
        """The wishes of a call whose reply was cut: a server may allow shorter replies than its window holds."""
        asked = [self._ask(shown, part, self._prompt(shown, part, ctx), turn, ctx) for part in parts]
        return [one for made in await asyncio.gather(*asked) for one in made]

    def _prompt(self, shown: Material, wishes: Sequence[Wish], ctx: StageContext) -> RenderedPrompt:
        tasks: dict[str, dict[str, object]] = {}
        for number, wish in enumerate(wishes, 1):
            kind = _kind(wish)
            samples = kind.examples_for(ctx.config.domain)
            entry = tasks.setdefault(kind.id, {"kind": kind, "samples": samples, "wishes": list[object]()})
            listed = entry["wishes"]
            assert isinstance(listed, list)
            listed.append({"number": number, "about": wish.about, **wish_view(wish, ctx)})
        levels = sorted({w.bloom for w in wishes if w.bloom})
        return ctx.prompt("joint").render(
            record=[line.shown for line in shown.record],
            papers=[
                {
                    "title": p.paper.title,
                    "others": [title for id, title in p.paper.datasets if id != shown.record[0].spans[0].document_id],
                    "lines": [line.shown for line in p.lines],
                }
                for p in shown.papers
            ],
            tasks=list(tasks.values()),
            levels=[ctx.taxonomies.bloom_level(level) for level in levels],
            quotes=ctx.config.generate.evidence == "quotes",
            language=language_name(ctx.config.language),
        )


def _fits(prompt: RenderedPrompt, pairs: int, window: int, ctx: StageContext) -> bool:
    return _tokens(prompt) + _least(pairs, ctx) <= window * _USABLE


def _room(prompt: RenderedPrompt, pairs: int, ctx: StageContext) -> int:
    """The most tokens of a reply: enough for its pairs, and more where the window has room beside the prompt."""
    window = ctx.chat.capabilities.context_tokens
    free = window - _tokens(prompt) if window else _LARGEST_REPLY
    return min(_LARGEST_REPLY, max(_least(pairs, ctx), min(prompt.sampling.max_tokens, free)))


def _least(pairs: int, ctx: StageContext) -> int:
    return _PAIR_TOKENS[ctx.config.generate.evidence] * pairs


def _tokens(prompt: RenderedPrompt) -> int:
    return sum(len(text) for _, text in prompt.messages) // _CHARS_PER_TOKEN


def _kinds(wishes: Sequence[Wish]) -> list[QuestionType]:
    return list({_kind(w).id: _kind(w) for w in wishes}.values())


def _parts(wishes: Sequence[Wish], most: int) -> list[list[Wish]]:
    return [[w for w in wishes if w.kind in group] for group in in_groups(_kinds(wishes), most)]


def _sizes(count: int, most: int) -> Iterable[int]:
    """Each size of groups that gives another number of them, from the largest allowed."""
    fewest = max(1, math.ceil(count / most))
    return dict.fromkeys(math.ceil(count / groups) for groups in range(fewest, count + 1))


def in_groups(kinds: Sequence[QuestionType], most: int) -> Iterable[Sequence[QuestionType]]:
    """The types in as few groups of at most ``most`` as possible, of nearly equal sizes."""
    count = math.ceil(len(kinds) / most)
    for n in range(count):
        yield kinds[n * len(kinds) // count : (n + 1) * len(kinds) // count]


def wish_view(wish: Wish, ctx: StageContext) -> dict[str, object]:
    """A wish as prompts see it: the Bloom level spelled out."""
    level = ctx.taxonomies.bloom_level(wish.bloom) if wish.bloom else None
    return {"bloom": level, "polarity": wish.polarity, "position": wish.position}


def _kind(wish: Wish) -> QuestionType:
    assert wish.kind is not None
    return wish.kind


def _draft(reply: Pairs, number: int, wish: Wish, shown: Material, prompt: RenderedPrompt, key: str) -> Draft | Discard:
    kind, pair = _kind(wish), reply.of(number)
    if isinstance(pair, Declined):
        why = " ".join(pair.declined.split()) or "no reason given"
        return Discard(kind, "declined", why, prompt=prompt, replies=(key,))
    spans: tuple[Span, ...] = ()
    quotes: tuple[str, ...] = ()
    if isinstance(pair, QuotedPair):
        quotes = tuple(pair.evidence)
    else:
        lines = shown.lines
        unknown = [n for n in pair.evidence if n not in lines]
        if unknown:
            text = f"{pair.question}\n{pair.answer}"
            return Discard(kind, "no_such_line", f"there is no line {unknown[0]}", text, prompt, (key,))
        numbers = [*pair.evidence, *shown.naming(pair.question, pair.evidence)]
        spans = tuple(dict.fromkeys(s for n in numbers for s in lines[n].spans))
    return Draft(kind, pair.question, pair.answer, spans, quotes, wish.bloom, prompt=prompt, replies=(key,))
