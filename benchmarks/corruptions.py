"""False answers made of true ones: swapped with another answer, or with another number. Built each time, never
stored."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from scirgen.core.fingerprint import derived_seed

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w]|[.,]\d)")
_YES_NO = re.compile(r"^(yes|no)\b", re.I)


def _holds(text: str, number: str) -> bool:
    return re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", text) is not None


def _other_number(number: str, context: str, rng: random.Random) -> str:
    """Another number of the same form (digits, decimals; years stay near) that the context does not hold."""
    while True:
        if re.fullmatch(r"(1[89]|20)\d\d", number):
            other = str(int(number) + rng.choice((-1, 1)) * rng.randint(2, 15))
        else:
            digits = [str(rng.randint(0, 9)) if c.isdigit() else c for c in number]
            if digits[0] == "0" and number[0] != "0":
                digits[0] = str(rng.randint(1, 9))
            other = "".join(digits)
            if len(number) == 1:
                other = str(rng.randint(2, 19))
        if other != number and not _holds(context, other):
            return other


def of_pairs(pairs: Sequence[tuple[str, str, str, str]], seed: int = 0) -> Iterator[tuple[int, str, str]]:
    """Make false answers of true ones: the answer of another question of the same dataset and type, and other digits.

    Args:
        pairs: dataset, question type, answer and evidence of each.
        seed: same seed, same answers. Digits are drawn.

    Yields:
        The original's index, "swap" or "number", and the false answer.
    """
    for at, (dataset, kind, answer, evidence) in enumerate(pairs):
        rng = random.Random(derived_seed("pairs", seed, dataset, kind, answer))
        others = sorted({a for d, k, a, _ in pairs if (d, k) == (dataset, kind) and a.lower() != answer.lower()})
        if others and not _YES_NO.match(answer):
            yield at, "swap", rng.choice(others)
        if held := list(_NUMBER.finditer(answer)):
            match = rng.choice(held)
            other = _other_number(match.group(), f"{answer}\n{evidence}", rng)
            yield at, "number", answer[: match.start()] + other + answer[match.end() :]
