"""Finds paraphrased questions of a benchmark by sentence embeddings. `contamination` finds shared words.

A row is contaminated when the cosine of its question and a benchmark's question is at or above a threshold, as in the
embedding step of LMSYS's decontaminator (Yang et al. 2023, arXiv:2311.04850); their second step, in which a model reads
both, is left out. Answers are not compared, since short ones ("Yes", numbers) are similar to many.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from scirgen.core.errors import ConfigError, MissingExtraError
from scirgen.core.records import QAPair
from scirgen.llm.encoders.embeddings import identity, model_of, open_embedder
from scirgen.qa.qafiles import open_qa

_PAIRS = 256
_QUESTIONS = 32_768


class Paraphrases:
    """The benchmarks' questions as vectors, in memory.

    Args:
        files: question-answer sets that `open_qa` reads.
        uri: ``st:MODEL_OR_DIR``.
        similarity: least cosine that counts as the same question.

    Raises:
        InputError: a file is missing, or is not a question-answer set.
        ConfigError, ModelAccessError, MissingExtraError: the model cannot be used.
    """

    def __init__(self, files: Sequence[Path], uri: str, similarity: float) -> None:
        self.similarity = similarity
        self._embedder = open_embedder(model_of(uri))
        asked: dict[str, str] = {}
        for file in files:
            for row in open_qa(file).rows():
                if row.question.strip():
                    asked.setdefault(row.question, file.name)
        self._questions = list(asked)
        self._files = list(asked.values())
        self._vectors = self._embedder.embed(self._questions)

    def find(self, pairs: Iterable[QAPair]) -> Iterator[tuple[QAPair, str, float]]:
        """Contaminated pairs, each with the reason (the benchmark and its question) and the cosine, in the given order."""
        remaining = iter(pairs)
        while block := list(islice(remaining, _PAIRS)):
            yield from self._in_block(block)

    def _in_block(self, pairs: Sequence[QAPair]) -> Iterator[tuple[QAPair, str, float]]:
        if not self._questions:
            return
        vectors = self._embedder.embed([p.question for p in pairs])
        best = np.full(len(pairs), -2.0, dtype=np.float32)
        nearest = np.zeros(len(pairs), dtype=np.int64)
        for at in range(0, len(self._questions), _QUESTIONS):
            cosines = vectors @ self._vectors[at : at + _QUESTIONS].T
            found = cosines.argmax(axis=1)
            values = cosines[np.arange(len(pairs)), found]
            better = values > best
            best[better], nearest[better] = values[better], found[better] + at
        # Sums of float32 differ in the last digits between processors, and equal questions must reach a threshold of 1.
        for i in np.flatnonzero(np.round(best, 4) >= round(self.similarity, 4)).tolist():
            cosine = round(float(best[i]), 4)
            reason = f"asks what {self._files[nearest[i]]} asks: {self._questions[nearest[i]]!r} (cosine {cosine:.3f})"
            yield pairs[i], reason, cosine


def describe(uri: str) -> str:
    """The model's name for a card: a folder's last part with the hash of its files, or the id on the Hub."""
    name = model_of(uri)
    folder = Path(name).expanduser()
    return f"{folder.resolve().name} ({identity(name)[:15]})" if folder.is_dir() else name


def model_fingerprint(uri: str, files: Sequence[Path]) -> str:
    """The model's part of the fingerprint; "" for none. It is checked before a run begins, so that the release cannot
    fail because of it.

    Raises:
        ConfigError: no benchmarks, a malformed name, or a folder that does not exist.
        MissingExtraError: sentence-transformers is not installed.
    """
    if uri and not files:
        raise ConfigError(
            "release.decontaminate_model is set, but there is nothing to compare with",
            hint="Name the benchmarks in release.decontaminate, or leave the model out.",
        )
    return usable_model(uri, "release.decontaminate_model")


def usable_model(uri: str, setting: str) -> str:
    """The part of a fingerprint that identifies an embedding model; "" for none.

    Raises:
        ConfigError: a malformed name, or a folder that does not exist.
        MissingExtraError: sentence-transformers is not installed.
    """
    if not uri:
        return ""
    name = model_of(uri)
    if name.startswith(("/", ".", "~")) and not Path(name).expanduser().is_dir():
        raise ConfigError(f"{setting}: {name} is not a folder", hint="Write st:MODEL_OR_DIR.")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"{setting} needs sentence-transformers", hint="pip install 'scirgen[dense]'")
    return identity(name)
