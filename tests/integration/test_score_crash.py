"""A process that dies in the middle of scoring loses the batch in flight and nothing else."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.cache import ReplyCache
from scirgen.llm.score_session import CachedScoreSession

BATCHES = [[ScoreRequest(f"Context {b}. Question {q}?", f" answer {q}") for q in range(6)] for b in range(5)]


class Model:
    """Remembers its measurements, and dies by SIGKILL in batch ``dies``, after measuring and before returning it."""

    identity = ModelIdentity("scripted", "scorer", "1")
    capabilities = Capabilities(logprobs=True)

    def __init__(self, dies: int | None = None) -> None:
        self.dies = dies
        self.batches: list[Sequence[ScoreRequest]] = []

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply]:
        self.batches.append(requests)
        if len(self.batches) - 1 == self.dies:
            signal.raise_signal(signal.SIGKILL)
        return [ScoreReply((r.continuation,), (-1.0 - len(self.batches),), 3) for r in requests]

    async def aclose(self) -> None:
        pass


def run(path: str, dies: int | None = None) -> tuple[Model, list[float]]:
    async def measured() -> list[float]:
        replies = [reply for batch in BATCHES for reply in await session.score(batch)]
        return [r.mean for r in replies if isinstance(r, ScoreReply)]

    model = Model(dies)
    session = CachedScoreSession(model, cache=ReplyCache.open(path))
    return model, asyncio.run(measured())


def test_killed_in_a_batch_only_it_and_later_ones_are_repeated(tmp_path: Path) -> None:
    path = tmp_path / "replies.db"
    killed = subprocess.run([sys.executable, __file__, str(path), "2"], capture_output=True, text=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    model, means = run(str(path))
    assert model.batches == BATCHES[2:]
    assert means[:12] == [-2.0] * 6 + [-3.0] * 6, "what was kept is what was measured before the crash"
    again, _ = run(str(path))
    assert again.batches == []


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
