"""Finds rows that share word n-grams with a benchmark and so must not be in a release. `duplicates` records the
removed rows.

A row is contaminated when its question or answer shares n words in a row with a question or answer of a benchmark, as
in GPT-3's decontamination with n = 13 (Brown et al. 2020, appendix C), or when its question has fewer than n words and
is a question of the benchmark. Words are letters and digits, lower-cased. Paraphrases are not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from scirgen.core.errors import InputError
from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import QAPair
from scirgen.core.text.words import tokens_of
from scirgen.release_files.qafiles import open_qa


class Benchmarks:
    """The benchmarks' n-grams, in memory as 64-bit hashes.

    Args:
        files: question-answer sets that `open_qa` reads.
        n: number of words in a row that count as an overlap.

    Raises:
        InputError: a file is missing, or is not a question-answer set.
    """

    def __init__(self, files: Sequence[Path], n: int) -> None:
        self.n = n
        self._seen: dict[Path, set[int]] = {}
        for file in files:
            seen = self._seen.setdefault(file, set())
            for row in open_qa(file).rows():
                for gram in self._grams(row.question, row.answer or ""):
                    seen.add(hash(gram))

    def overlap(self, pair: QAPair) -> str | None:
        """Why a pair is contaminated: the first benchmark that it overlaps with and the shared words; None if it is
        not."""
        grams = list(self._grams(pair.question, pair.answer))
        for file, seen in self._seen.items():
            shared = next((g for g in grams if hash(g) in seen), None)
            if shared is not None:
                return f"shares {len(shared)} words in a row with {file.name}: {' '.join(shared)!r}"
        return None

    def _grams(self, question: str, answer: str) -> Iterator[tuple[str, ...]]:
        asked = tuple(tokens_of(question.casefold()))
        if asked and len(asked) < self.n:
            yield asked
        # A short answer ("Yes", a number) is not compared, since many questions have it.
        for words in (asked, tuple(tokens_of(answer.casefold()))):
            for start in range(len(words) - self.n + 1):
                yield words[start : start + self.n]


def fingerprint(files: Sequence[Path]) -> str:
    """Hash of the benchmarks' names and bytes.

    Raises:
        InputError: one does not exist.
    """
    parts: list[object] = []
    for path in files:
        found = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        if not found or not path.exists():
            raise InputError(
                f"release.decontaminate: {path} does not exist or is empty",
                hint="Give question-answer sets: JSON Lines, a BEIR folder, ScIRGen-Geo records, or a release.",
            )
        # The file's name is part of the reasons; its folder is not.
        parts += [(path.name, file_sha256(p)) for p in found]
    return digest(*parts)
