"""What a run of before says about the model that a new one will ask: reply lengths, tokens a character, repairs, speed."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from scirgen.llm.rehearsal import PREFILL_SHARE, SCORE_SHAPE, alike, chat_shape
from scirgen.pipeline.store import Store
from scirgen.pipeline.view import StoreView

_PAUSE_S: Final = 120.0
"""Nothing was finished for so long: the run stood still (killed, resumed later)."""


@dataclass(frozen=True)
class Shape:
    """Means over the replies of one shape (see `scirgen.llm.rehearsal.Call`); ``repairs``: further turns an answer took."""

    replies: int
    tokens_per_character: float
    completion_tokens: float
    repairs: float


@dataclass(frozen=True)
class History:
    """What was learnt, by shape.

    Attributes:
        shapes: means over alike replies.
        models: that answered.
        units_per_second: written tokens, a read one counted as a tenth; None where not known.
        scores_per_candidate: measured log-probabilities for each candidate written.
        accepted_share: of the candidates, those the filter accepted.
    """

    shapes: dict[str, Shape]
    models: frozenset[str]
    units_per_second: float | None
    scores_per_candidate: float | None = None
    accepted_share: float | None = None

    def of(self, shape: str) -> Shape | None:
        """The shape's own means, else those of all replies with the same cap on new tokens."""
        return self.shapes.get(shape) or self.shapes.get(alike(shape))


def read_history(folder: Path) -> History:
    """Learn from a run's stored replies and times. Replies without token counts teach nothing.

    Raises:
        StoreError: there is no run in the folder.
    """
    store = Store(folder / "run.db", writable=False)
    try:
        sums: dict[str, _Sums] = defaultdict(_Sums)
        models: set[str] = set()
        units = 0.0
        for kind, model, request, prompt, completion in _replies(store.db):
            if prompt is None or completion is None:
                continue
            models.add(model)
            shape, characters, repair = _shape_of(kind, json.loads(zlib.decompress(request)))
            for name in {shape, alike(shape)}:
                sums[name].add(characters, prompt, completion, repair)
            units += prompt * PREFILL_SHARE + completion * (PREFILL_SHARE if kind == "score" else 1)
        seconds = _active_seconds(store.db)
        funnel = StoreView(store).funnel()
    finally:
        store.close()
    speed = units / seconds if units and seconds else None
    candidates = funnel["generate"]["outputs"]
    scores = sums[SCORE_SHAPE].count / candidates if candidates and SCORE_SHAPE in sums else None
    accepted = funnel["filter"]["outputs"] / candidates if candidates else None
    return History({n: s.means() for n, s in sums.items()}, frozenset(models), speed, scores, accepted)


def _replies(db: sqlite3.Connection) -> list[Any]:
    there = db.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name='replies'").fetchone()
    if not there:
        return []
    return db.execute("SELECT kind, model, request, prompt_tokens, completion_tokens FROM replies").fetchall()


def _shape_of(kind: str, request: dict[str, Any]) -> tuple[str, int, bool]:
    """Shape, characters of the prompt, and whether it is a repair turn."""
    if kind == "score":
        prompt = request["prompt"]
        text = prompt if isinstance(prompt, str) else "\n".join(m[1] for m in prompt)
        return SCORE_SHAPE, len(text), False
    messages = request["messages"]
    shape = chat_shape(request["schema"], request["sampling"]["max_tokens"])
    return shape, sum(len(m[1]) for m in messages) + len(messages) - 1, any(m[0] == "assistant" for m in messages)


class _Sums:
    def __init__(self) -> None:
        self.count = self.repairs = 0
        self.characters = self.prompt = self.completion = 0.0

    def add(self, characters: int, prompt: int, completion: int, repair: bool) -> None:
        self.count += 1
        self.repairs += repair
        self.characters += characters
        self.prompt += prompt
        self.completion += completion

    def means(self) -> Shape:
        asked = max(1, self.count - self.repairs)
        per_character = self.prompt / self.characters if self.characters else 0.0
        return Shape(self.count, per_character, self.completion / self.count, self.repairs / asked)


def _active_seconds(db: sqlite3.Connection) -> float:
    """Wall time in which results came, pauses left out; the first result's own time is added."""
    rows = db.execute("SELECT finished, seconds FROM results ORDER BY finished").fetchall()
    if not rows:
        return 0.0
    active = float(rows[0][1])
    for (before, _), (after, seconds) in pairwise(rows):
        gap = after - before
        # An item that itself took long is no pause.
        active += gap if gap <= max(_PAUSE_S, 1.5 * seconds) else min(gap, seconds)
    return active
