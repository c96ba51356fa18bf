"""A fast local classifier of questions: n-grams and a linear model, loaded and applied with numpy alone.
`scirgen_bench.tagger` trains it.

A folder holds ``tagger.json`` (labels, version, measured accuracy), ``terms.txt.gz`` (one feature per line) and
``weights.npz`` (inverse document frequencies, coefficients, intercepts). Nothing is pickled, so loading a folder cannot
run its author's code.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from scirgen.core.errors import InputError
from scirgen.core.files.inflate import open_gzip
from scirgen.core.files.jsonl import read_json
from scirgen.core.fingerprint import digest, file_sha256

FEATURES_VERSION: Final = 1
"""Raised by hand whenever `blocks` gives other features for the same question."""

_TOKEN = re.compile(r"\w+(?:['’]\w+)?|[?,.]")
_BLOCKS: Final = 3
_FILES: Final = ("terms.txt.gz", "weights.npz")


@dataclass(frozen=True)
class Labelled:
    """A question to classify; ``question_type`` is "" if it is unknown, or if it is what the tagger predicts."""

    question: str
    question_type: str = ""


def blocks(item: Labelled) -> tuple[list[str], list[str], list[str]]:
    """The features of a question, in three blocks, each weighted and normalised separately.

    Word n-grams up to three; the type with n-grams up to three, since the same words mean another level in another
    type; the question's opening with each of its words, since "How do ... compare" and "in terms of accuracy" decide
    together.
    """
    tokens = _TOKEN.findall(item.question.lower().replace("’", "'"))
    framed = ["<s>", *tokens, "</s>"]
    grams = [" ".join(framed[i : i + n]) for n in (1, 2, 3) for i in range(len(framed) - n + 1)]
    if not item.question_type:
        typed: list[str] = []
    else:
        typed = [item.question_type, *(f"{item.question_type}|{g}" for g in grams)]
    openings = {" ".join(tokens[:n]) for n in (2, 3, 4)}
    opened = [f"{o}#{w}" for o in openings for w in set(tokens)]
    return grams, typed, opened


class QuestionTagger:
    """Assigns one of ``labels`` to a question. Immutable; safe for concurrent use."""

    def __init__(
        self,
        terms: Sequence[str],
        idf: NDArray[np.float32],
        coefficients: NDArray[np.float32],
        intercepts: NDArray[np.float32],
        meta: dict[str, Any],
    ) -> None:
        """Arrays: ``idf`` (terms,), ``coefficients`` (terms, labels), ``intercepts`` (labels,). ``meta`` holds at
        least ``labels``."""
        self._index: tuple[dict[str, int], ...] = tuple({} for _ in range(_BLOCKS))
        for i, term in enumerate(terms):
            self._index[int(term[0])][term[1:]] = i
        self._terms = list(terms)
        self._idf, self._coefficients, self._intercepts = idf, coefficients, intercepts
        self.meta = meta
        self.labels: list[str] = list(meta["labels"])

    @property
    def target(self) -> str:
        """``level`` or ``question_type``."""
        return str(self.meta["target"])

    @property
    def revision(self) -> str:
        """Content hash; part of the fingerprint of the questions that it tagged."""
        return digest(self._idf.tobytes(), self._coefficients.tobytes(), self.labels, FEATURES_VERSION)

    def scores(self, items: Sequence[Labelled]) -> NDArray[np.float32]:
        """Decision values, (questions, labels); the highest decides."""
        found = np.empty((len(items), len(self.labels)), dtype=np.float32)
        for row, item in enumerate(items):
            total = self._intercepts
            for indices, weights in self._weighted(item):
                total = total + weights @ self._coefficients[indices]
            found[row] = total
        return found

    def predict(self, items: Sequence[Labelled]) -> list[str]:
        """The label of each question."""
        return [self.labels[i] for i in self.scores(items).argmax(axis=1)] if items else []

    def _weighted(self, item: Labelled) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float32]]]:
        for features, index in zip(blocks(item), self._index, strict=True):
            known = [(index[f], n) for f, n in Counter(features).items() if f in index]
            if not known:
                continue
            indices = np.array([i for i, _ in known], dtype=np.intp)
            counts = np.array([1.0 if n == 1 else 1.0 + math.log(n) for _, n in known], dtype=np.float32)
            weights = counts * self._idf[indices]
            yield indices, weights / np.float32(math.sqrt(weights @ weights))

    def save(self, folder: Path) -> None:
        """Write the three files.

        Raises:
            OSError: the folder cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.GzipFile(folder / _FILES[0], "wb", mtime=0) as file:
            file.write("\n".join(self._terms).encode())
        np.savez(folder / _FILES[1], idf=self._idf, coefficients=self._coefficients, intercepts=self._intercepts)
        hashes = {name: file_sha256(folder / name) for name in _FILES}
        meta = {**self.meta, "features_version": FEATURES_VERSION, "files": hashes}
        (folder / "tagger.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> QuestionTagger:
        """Read what `save` wrote.

        Raises:
            InputError: the folder holds no tagger, or it is damaged or of another version.
        """
        try:
            meta = read_json(folder / "tagger.json", hint="Train it again.")
            if meta["features_version"] != FEATURES_VERSION:
                raise InputError(
                    f"{folder}: made by another version of scirgen", hint="Train it again: scirgen tagger train."
                )
            for name, sha256 in meta["files"].items():
                if file_sha256(folder / name) != sha256:
                    raise InputError(f"{folder / name} is not the file that was saved", hint="Train it again.")
            with open_gzip(folder / _FILES[0]) as packed:
                terms = packed.read().decode().split("\n")
            with np.load(folder / _FILES[1], allow_pickle=False) as arrays:
                return cls(terms, arrays["idf"], arrays["coefficients"], arrays["intercepts"], meta)
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise InputError(
                f"{folder}: no usable tagger: {error}", hint="Make one: scirgen tagger train --labels FILE --out DIR."
            ) from error
