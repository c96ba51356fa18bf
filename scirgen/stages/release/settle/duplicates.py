"""Removes accepted rows from a release: those of other parts, contaminated questions, near-duplicates, and rows beyond
a target.

`scirgen.repeats.neardup` and `scirgen.stages.generate.quotas` decide which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scirgen.core.fingerprint import digest, file_sha256
from scirgen.core.records import QAPair, Rejection
from scirgen.core.safety.files import named_files
from scirgen.core.taxonomy import LanguageWording
from scirgen.core.text.words import tokens_of
from scirgen.release_files.qafiles import open_qa
from scirgen.repeats.neardup import Asked, Resolution, near_duplicates
from scirgen.repeats.neardup import resolve as resolve_by_words
from scirgen.stages.release.content import ReleaseContent
from scirgen.stages.release.settle.grouping import unit_of


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
        """Return why a pair is contaminated: the first benchmark that it overlaps with and the shared words; None if it
        is not."""
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


def fingerprint(names: Sequence[str]) -> str:
    """Return the hash of the benchmarks' names and bytes.

    Raises:
        InputError: see `named_files`.
    """
    # The file's name is part of the reasons; its folder is not.
    found = (named_files(name, "release.decontaminate") for name in names)
    return digest(*((path.name, file_sha256(file)) for path, files in found for file in files))


Choose = Callable[[frozenset[str]], tuple[frozenset[str], tuple[str, ...]]]
"""Chooses among the ids of pairs that may be released. Returns the ids that a target keeps, and notes for the card."""

Resolve = Callable[[Iterable[Asked], LanguageWording], Resolution]
"""The questions of a run -> the decisions about its near-duplicates."""


@dataclass(frozen=True)
class Settled:
    """The released content, and the rejections.

    Attributes:
        content: the content without the dropped pairs.
        positives: pair id -> all datasets that answer it, for those with more than one.
        groups: sets of units that share a near-duplicate question.
        rejections: the dropped pairs, with reasons.
    """

    content: ReleaseContent
    positives: Mapping[str, tuple[str, ...]]
    groups: list[set[str]]
    rejections: list[Rejection]


def settle(
    content: ReleaseContent,
    wording: LanguageWording,
    benchmarks: Benchmarks | None = None,
    choose: Choose | None = None,
    resolve: Resolve = resolve_by_words,
) -> Settled:
    """Remove a run's duplicates. Of questions that others published, none is removed, and only their groups are found.

    Args:
        content: the accepted pairs. Pairs that people labelled unfaithful are removed first, and people's corrections
            are applied.
        wording: words of the release's language.
        benchmarks: questions that must not be in the release. They are removed first, so that a near-duplicate may
            replace a dropped row.
        choose: applies a target; called last, so that it counts only rows that can be released.
        resolve: finds near-duplicates and decides about them; by words alone unless an embedding model is configured.
    """
    if content.keep_all:
        asked = [_asked(p) for p in content.pairs()]
        units = {p.id: unit_of(p) for p in content.pairs()}
        found = near_duplicates(asked, wording.stop, directed=wording.directed)
        groups = [{units[g.leader], *(units[m] for m, _ in g.members)} for g in found]
        return Settled(content, _several(content), [g for g in groups if len(g) > 1], [])
    found_wrong = _expert_rejected(content)
    drafts = content.pairs
    content = replace(content, pairs=lambda: (content.reviewed.corrected(p) for p in drafts()))
    rejections = _contaminated(content, benchmarks) | found_wrong | _of_other_parts(content)
    # A near miss without an answer must not drop the answered question that it resembles.
    parts = [
        resolve((_asked(p) for p in content.pairs() if p.id not in rejections and bool(p.answer) == answered), wording)
        for answered in (True, False)
    ]
    drops = {d.id: d for part in parts for d in part.drops}
    for pair in content.pairs():
        if drop := drops.get(pair.id):
            rejections[pair.id] = _rejection(pair, drop.code, drop.reason, drop.score)
    remaining = frozenset(p.id for p in content.pairs() if p.id not in rejections)
    info, chosen = content.info, remaining
    if choose is not None:
        chosen, notes = choose(remaining)
        info = info.model_copy(update={"notes": (*info.notes, *notes)})
    surplus = remaining - chosen
    for pair in (p for p in content.pairs() if p.id in surplus):
        like = " ".join(filter(None, (pair.asked, pair.question_type, pair.bloom)))
        reason = f"the target (generate.quota) keeps no more rows like it: {like}"
        rejections[pair.id] = _rejection(pair, "over_quota", reason, None)
    several = _several(content) | parts[0].positives | parts[1].positives
    positives = {k: v for k, v in several.items() if k in chosen}

    def kept() -> Iterator[QAPair]:
        return (p for p in content.pairs() if p.id in chosen)

    return Settled(
        replace(content, pairs=kept, info=info),
        positives,
        [set(positives[p.id]) for p in kept() if p.id in positives and unit_of(p) == p.dataset_id],
        list(rejections.values()),
    )


def _asked(pair: QAPair) -> Asked:
    named = pair.dataset_id if pair.gold else ""
    return Asked(pair.id, named, pair.question, pair.answer, pair.question_type, pair.dataset_ids)


def _several(content: ReleaseContent) -> dict[str, tuple[str, ...]]:
    """Return the pairs that several datasets answer as they are: those about a paper that all these datasets use."""
    return {p.id: p.gold for p in content.pairs() if len(p.gold) > 1}


def _expert_rejected(content: ReleaseContent) -> dict[str, Rejection]:
    """Return the rejections of pairs that people found unfaithful, in their original wording."""
    found = ((pair, content.reviewed.unfaithful.get(pair.id, "")) for pair in content.pairs())
    return {p.id: _rejection(p, "expert_rejected", reason, None) for p, reason in found if reason}


def _of_other_parts(content: ReleaseContent) -> dict[str, Rejection]:
    """Return the rejections of pairs that a part may not release alone."""
    if not content.elsewhere:
        return {}
    reason = "it cites a document that only another part has read"
    cited = (p for p in content.pairs() if any(s.document_id in content.elsewhere for s in p.evidence))
    return {p.id: _rejection(p, "other_part", reason, None) for p in cited}


def _contaminated(content: ReleaseContent, benchmarks: Benchmarks | None) -> dict[str, Rejection]:
    if benchmarks is None:
        return {}
    found = ((pair, benchmarks.overlap(pair)) for pair in content.pairs())
    return {p.id: _rejection(p, "contaminated", reason, None) for p, reason in found if reason is not None}


def _rejection(pair: QAPair, code: str, reason: str, score: float | None) -> Rejection:
    record = pair.model_dump_json(exclude_defaults=True)
    return Rejection.of("release", code, reason, pair, score=score, record=record)
