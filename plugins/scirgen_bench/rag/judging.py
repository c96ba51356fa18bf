"""Has models judge the answers of a system: whether they entail the reference, what its chunks support, and nuggets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import create_model

from scirgen import Config, ModelError, ReleaseRow
from scirgen.plugin import ChatSession, PromptLibrary, Registry, Resources, derived_seed, open_sessions, sentence_spans
from scirgen_bench.answer_metrics import THRESHOLD, open_judge, question_entails
from scirgen_bench.honesty import nugget_scores, refused
from scirgen_bench.rag.answers import Given
from scirgen_bench.rag.evaluate import Judged

_SUPPORT: Final = {"full": 1.0, "partial": 0.5, "none": 0.0}
_MAX_CHARS = 24_000
"""Characters of chunks that a judge is shown, at most; of a small window, half."""
_CHARS_A_TOKEN = 4
_MAX_SENTENCES = 12


async def judge_systems(
    rows: Sequence[ReleaseRow],
    systems: Mapping[str, Mapping[str, Given]],
    registry: Registry,
    out: Path,
    *,
    judge: str = "",
    entailment: str = "",
) -> dict[str, Judged]:
    """Judge each system's answers; replies are kept in ``out/replies.db``, so that a second run repeats no call.

    Args:
        rows: the questions.
        systems: name -> question id -> what the system gave.
        registry: where models are looked up.
        out: folder for the replies.
        judge: URI of the model that judges support and nuggets; empty: neither.
        entailment: URI of an entailment model; empty: answers are not compared with references.

    Raises:
        ConfigError: a model is not known.
        ModelAccessError: a model cannot be loaded.
    """
    prompts = PromptLibrary(Resources())
    answered = {
        name: [(r, given[r.id]) for r in rows if r.id in given and given[r.id].answer.strip()]
        for name, given in systems.items()
    }
    entailed = {name: await _entailed(pairs, registry, entailment) for name, pairs in answered.items()}
    found = {name: Judged(entailment=entailment, entailed=entailed[name]) for name in systems}
    if not judge:
        return found
    config = Config.model_validate({"models": {"generator": judge}})
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    replies = out / "replies.db"
    async with await open_sessions(config, registry, replies, prompts=prompts, needs_scores=False) as sessions:
        for name, pairs in answered.items():
            nuggets = await nugget_scores([(r, g.answer) for r, g in pairs if r.answer], sessions.chat, prompts)
            support = await _support(pairs, sessions.chat, prompts)
            found[name] = Judged(str(sessions.chat.identity), entailment, entailed[name], support, nuggets)
    return found


Pairs = Sequence[tuple[ReleaseRow, Given]]


async def _entailed(pairs: Pairs, registry: Registry, uri: str) -> dict[str, float]:
    asked = [(row, given) for row, given in pairs if row.answer]
    if not uri or not asked:
        return {}
    triples = [(r.question, g.answer, r.answer) for r, g in asked]
    judged = await question_entails(triples, open_judge(uri, registry))
    return {
        r.id: float(one.entailment > THRESHOLD) for (r, _), one in zip(asked, judged, strict=True) if one is not None
    }


async def _support(pairs: Pairs, chat: ChatSession, prompts: PromptLibrary) -> dict[str, float]:
    """Row id -> share of the answer's sentences that its own chunks support; refusals are left out."""

    async def one(row: ReleaseRow, given: Given) -> float | None:
        said = [given.answer[a:b] for a, b in sentence_spans(given.answer, row.language)][:_MAX_SENTENCES]
        labels: Any = Literal[tuple(_SUPPORT)]
        fields: dict[str, Any] = {f"s{n}": (labels, ...) for n in range(1, len(said) + 1)}
        prompt = prompts.get("benchmark/support", chat.pack).render(
            question=row.question, chunks=_shown(given, chat.capabilities.context_tokens), sentences=said
        )
        try:
            reply = await chat.ask(
                prompt, create_model("SupportLabels", **fields), seed=derived_seed(0, "support", row.id)
            )
        except ModelError as error:
            if error.fatal:
                raise
            return None
        given_labels = list(reply.value.model_dump().values())
        return sum(_SUPPORT[label] for label in given_labels) / len(given_labels)

    asked = [(row, given) for row, given in pairs if not refused(given.answer)]
    values = await asyncio.gather(*(one(row, given) for row, given in asked))
    return {row.id: value for (row, _), value in zip(asked, values, strict=True) if value is not None}


def _shown(given: Given, window: int | None) -> list[str]:
    """Return the chunks that fit into half of the judge's window, best first."""
    room = min(_MAX_CHARS, (window or _MAX_CHARS) * _CHARS_A_TOKEN // 2)
    shown: list[str] = []
    for chunk in given.chunks:
        if room <= 0:
            break
        shown.append(chunk.text[:room])
        room -= len(chunk.text)
    return shown
