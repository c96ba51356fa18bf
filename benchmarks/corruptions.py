"""Faithful pairs of ScIRGen-Geo and the same pairs made unfaithful in known ways. Built each time, never stored."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.geo_pairs import Entry, Pair
from scirgen.core.fingerprint import derived_seed

KINDS: Final = ("swap", "number", "yes_no", "entity", "addition")
"""swap: the answer of another dataset's question of the same type. number, yes_no, entity: one of these changed to
another value that the context does not hold. addition: a fluent sentence of another dataset's answer appended."""

_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w]|[.,]\d)")
_NAME = re.compile(r"\b(?:[A-Z][A-Za-z-]*[A-Z0-9][\w-]*|(?:[A-Z][a-z]+ )+(?:of )?[A-Z][a-z]+)\b")
_ASPECTS = ("Background:", "Research objective:", "Challenges:", "Methods:", "Dataset:", "Datasets:", "Findings:")
_YES_NO = re.compile(r"^(yes|no)\b", re.I)


@dataclass(frozen=True)
class Item:
    """One answer to be judged. ``kind`` is "faithful" or one of `KINDS`; ``of`` is the index of the faithful
    original."""

    entry: int
    pair: Pair
    answer: str
    kind: str
    of: int


def build(entries: Sequence[Entry], per_entry: int = 4, seed: int = 0) -> list[Item]:
    """Faithful pairs and their corruptions.

    Args:
        entries: the datasets to take pairs from; corruptions borrow from the others of them.
        per_entry: pairs taken of each dataset; those with a number or a name of the context first.
        seed: same seed, same items.
    """
    donors: dict[str, list[Pair]] = defaultdict(list)
    names: list[tuple[str, str]] = []
    for entry in entries:
        names += [(entry.id, m) for m in dict.fromkeys(_NAME.findall(entry.context))]
        for pair in entry.pairs:
            donors[pair.kind].append(pair)
    papers = {e.id: frozenset(line for line in e.context.split("\n") if line.startswith(_ASPECTS)) for e in entries}
    items: list[Item] = []
    for number, entry in enumerate(entries):
        rng = random.Random(derived_seed("corruptions", seed, entry.id))
        # What two datasets of one paper say of it would be no corruption.
        strangers = {e.id for e in entries if not papers[e.id] & papers[entry.id]}
        for pair in _chosen(entry, per_entry, rng):
            origin = len(items)
            items.append(Item(number, pair, pair.answer, "faithful", origin))
            for kind, answer in _corrupted(entry, pair, donors, names, strangers, rng):
                items.append(Item(number, pair, answer, kind, origin))
    return items


def _chosen(entry: Entry, count: int, rng: random.Random) -> list[Pair]:
    pool = list(entry.pairs)
    rng.shuffle(pool)
    numbers = [p for p in pool if any(_holds(entry.context, n) for n in _NUMBER.findall(p.answer))]
    names = [p for p in pool if any(n in entry.context for n in _NAME.findall(p.answer))]
    yes_no = [p for p in pool if _YES_NO.match(p.answer)]
    ordered = [*numbers[:1], *yes_no[:1], *names[:1], *pool]
    return list(dict.fromkeys(ordered))[:count]


def _corrupted(
    entry: Entry,
    pair: Pair,
    donors: dict[str, list[Pair]],
    names: list[tuple[str, str]],
    strangers: set[str],
    rng: random.Random,
) -> Iterator[tuple[str, str]]:
    others = [p for p in donors[pair.kind] if p.dataset_id in strangers and p.answer.lower() != pair.answer.lower()]
    if others and not _YES_NO.match(pair.answer):
        yield "swap", rng.choice(others).answer
    if held := [m for m in _NUMBER.finditer(pair.answer) if _holds(entry.context, m.group())]:
        match = rng.choice(held)
        yield (
            "number",
            pair.answer[: match.start()]
            + _other_number(match.group(), entry.context, rng)
            + pair.answer[match.end() :],
        )
    if match := _YES_NO.match(pair.answer):
        word = {"yes": "No", "no": "Yes"}[match.group().lower()]
        yield "yes_no", word + pair.answer[match.end() :]
    if named := [m for m in _NAME.finditer(pair.answer) if m.group() in entry.context]:
        match = rng.choice(named)
        words = len(match.group().split())
        fitting = [n for d, n in names if d in strangers and len(n.split()) == words and n not in entry.context]
        if fitting:
            yield "entity", pair.answer[: match.start()] + rng.choice(fitting) + pair.answer[match.end() :]
    sentences = [p.answer for p in others if len(p.answer.split()) >= 8]
    if len(pair.answer.split()) >= 8 and sentences:
        added = re.split(r"(?<=[.!?])\s", rng.choice(sentences))[0]
        yield "addition", pair.answer.rstrip() + ("" if pair.answer.rstrip().endswith(".") else ".") + " " + added


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
        seed: same seed, same answers. Digits are drawn, so that they share no list with the filter's own alternatives.

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
