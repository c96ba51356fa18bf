"""Figures about a model from an earlier run: reply lengths, tokens per character, repairs, speed."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from scirgen.commands.estimate.rehearsal import PREFILL_SHARE, SCORE_SHAPE, alike, chat_shape
from scirgen.core.files.inflate import inflate
from scirgen.pipeline.store import Store
from scirgen.pipeline.views.merged_view import refuse_merged
from scirgen.pipeline.views.view import StoreView

_PAUSE_S: Final = 120.0
"""A longer time without a finished item counts as a pause (killed, resumed later)."""


@dataclass(frozen=True)
class Shape:
    """Means over the replies of one shape (see `scirgen.commands.estimate.rehearsal.Call`).

    ``asked``: replies that were not repair turns; ``repairs``: repair turns per answer.
    """

    replies: int
    asked: int
    tokens_per_character: float
    completion_tokens: float
    repairs: float


@dataclass(frozen=True)
class History:
    """Figures by shape.

    Attributes:
        shapes: means over similar replies.
        models: models that answered.
        units_per_second: tokens written per second, where a token read counts as a tenth; None if unknown.
        scores_per_pair: log-probabilities measured per requested pair, usable or not.
        accepted_per_pair: share of requested pairs that the filter accepted.
        pairs: number of requested pairs.
        items: stage -> number of processed items.
    """

    shapes: dict[str, Shape]
    models: frozenset[str]
    units_per_second: float | None
    scores_per_pair: float | None = None
    accepted_per_pair: float | None = None
    pairs: int = 0
    items: dict[str, int] = field(default_factory=dict)

    def of(self, shape: str) -> Shape | None:
        """The shape's own means, else those of all replies with the same cap on new tokens."""
        return self.shapes.get(shape) or self.shapes.get(alike(shape))


def read_history(folder: Path) -> History:
    """Read figures from a run's stored replies and times; replies without token counts are ignored.

    Raises:
        StoreError: the folder has no run.
    """
    with Store(folder / "run.db", writable=False) as store:
        refuse_merged(store)
        sums: dict[str, _Sums] = defaultdict(_Sums)
        models: set[str] = set()
        units = 0.0
        asked = {_name(messages) for _, _, request, _, _ in _replies(store.db) if (messages := request.get("messages"))}
        for kind, model, request, prompt, completion in _replies(store.db):
            if prompt is None or completion is None:
                continue
            models.add(model)
            shape, characters = _shape_of(kind, request)
            # A repair turn is an earlier request, its reply, and the error; worked examples are turns, too.
            repair = _name(request.get("messages", [])[:-2]) in asked
            for name in {shape, alike(shape)}:
                sums[name].add(characters, prompt, completion, repair)
            units += prompt * PREFILL_SHARE + completion * (PREFILL_SHARE if kind == "score" else 1)
        seconds = _active_seconds(store.db)
        funnel = StoreView(store).funnel()
    speed = units / seconds if units and seconds else None
    written = funnel["generate"]
    pairs = written["outputs"] + written["rejected"]
    scores = sums[SCORE_SHAPE].count / pairs if pairs and SCORE_SHAPE in sums else None
    items = {stage: row["done"] + row["partial"] + row["failed"] for stage, row in funnel.items()}
    accepted = funnel["filter"]["outputs"] / pairs if pairs else None
    return History({n: s.means() for n, s in sums.items()}, frozenset(models), speed, scores, accepted, pairs, items)


def _replies(db: sqlite3.Connection) -> Iterator[tuple[str, str, dict[str, Any], int | None, int | None]]:
    """Kind, model, request, and tokens of prompt and reply, for each stored reply."""
    there = db.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name='replies'").fetchone()
    rows = db.execute("SELECT kind, model, request, prompt_tokens, completion_tokens FROM replies") if there else ()
    for kind, model, request, prompt, completion in rows:
        yield kind, model, json.loads(inflate(request)), prompt, completion


def _name(messages: list[list[str]]) -> int:
    return hash(tuple((role, content) for role, content in messages))


def _shape_of(kind: str, request: dict[str, Any]) -> tuple[str, int]:
    """The shape of a request, and the characters of its prompt."""
    if kind == "score":
        prompt = request["prompt"]
        text = prompt if isinstance(prompt, str) else "\n".join(m[1] for m in prompt)
        return SCORE_SHAPE, len(text)
    messages = request["messages"]
    shape = chat_shape(request["schema"], request["sampling"]["max_tokens"])
    return shape, sum(len(m[1]) for m in messages) + len(messages) - 1


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
        return Shape(self.count, asked, per_character, self.completion / self.count, self.repairs / asked)


def _active_seconds(db: sqlite3.Connection) -> float:
    """Wall time in which results arrived, without pauses; the first result's own time is added."""
    rows = db.execute("SELECT finished, seconds FROM results ORDER BY finished").fetchall()
    if not rows:
        return 0.0
    active = float(rows[0][1])
    for (before, _), (after, seconds) in pairwise(rows):
        gap = after - before
        # An item that itself took long does not count as a pause.
        active += gap if gap <= max(_PAUSE_S, 1.5 * seconds) else min(gap, seconds)
    return active
