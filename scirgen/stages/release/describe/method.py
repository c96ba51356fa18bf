"""Describes in sentences how a run made its release, from its rows and counts alone, for the card and the datasheet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from scirgen.core.records import LINKED, LINKS
from scirgen.release_files.judged import judged_by
from scirgen.release_files.release import ReleaseInfo, ReleaseRow

READER = "second_reader"


class Method:
    """Counts over the rows of a run's release."""

    def __init__(self) -> None:
        self._rows = self._by_rules = self._tagged = self._mended = 0
        self._unsure: Counter[str] = Counter()
        self._read: list[bool] = []
        self._linked: Counter[str] = Counter()
        self.models: set[str] = set()
        self._decided: Counter[str] = Counter()
        self._measured: Counter[str] = Counter()
        self._thresholds: defaultdict[str, set[float]] = defaultdict(set)

    def see(self, row: ReleaseRow) -> None:
        self._rows += 1
        self._by_rules += row.model is None
        self.models.update([row.model] if row.model else [])
        self._tagged += row.bloom is not None
        self._unsure[row.question_type] += row.unsure
        self._mended += row.mended
        for score in row.scores:
            if score.name == READER:
                self._read.append(bool(score.value))
                continue
            if score.name == LINKED:
                self._linked[row.linked] += 1
                continue
            (self._measured if score.passed is None else self._decided)[score.name] += 1
            if score.passed is not None and score.threshold is not None:
                self._thresholds[score.name].add(score.threshold)

    def writers(self) -> str:
        if not self._by_rules:
            return "A language model wrote the questions and answers; they are synthetic."
        if self._by_rules == self._rows:
            return "Rules wrote the questions and answers; they are synthetic."
        return (
            f"Rules wrote {self._by_rules:,} of the {self._rows:,} questions with their answers, a language "
            "model the others; "
            "they are synthetic."
        )

    def filter(self) -> str:
        """Describe which scores decided which rows were kept."""
        if not self._decided:
            return (
                "No score decided which rows were kept; the checks listed under 'What was left out' did." + self._open()
            )
        named = ", ".join(f"{name} ({self._of(name, n)})" for name, n in sorted(self._decided.items()))
        more = f" Measured without deciding: {', '.join(sorted(self._measured))}." if self._measured else ""
        return f"Scores that decided which rows were kept: {named}.{more}{self._open()}"

    def _open(self) -> str:
        unsure = +self._unsure
        if not unsure:
            return ""
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in unsure.most_common())
        return f" Of {unsure.total():,} rows the scores were not sure, and no judge decided (`unsure`): {kinds}."

    def _looked(self) -> Iterator[str]:
        """Say what the judge mended, and how often a second reader answers otherwise."""
        if self._mended:
            yield f"Looking again at doubts, the judge mended the evidence of {self._mended:,} rows (`mended`)."
        if self._read:
            other = len(self._read) - sum(self._read)
            yield (
                f"A second reading answered {len(self._read):,} of the questions from their evidence alone, without "
                f"seeing the answers: {other:,} of its answers differ."
            )
        if self._linked:
            several, ways = self._linked.total(), {way: n for way in LINKS if (n := self._linked[way])}
            told = ", ".join(f"{n:,} {way} ({LINKS[way]})" for way, n in ways.items())
            yield (
                f"{several:,} answers cite several documents, and the judge was asked each question without each of "
                f"them: {sum(ways.values()):,} need two or more (`needs_documents`, `linked`){': ' * bool(told)}{told}."
            )

    def _of(self, name: str, rows: int) -> str:
        limits = ", ".join(f"{value:g}" for value in sorted(self._thresholds[name]))
        return f"{rows:,} rows" + (f", threshold {limits}" if limits else "")

    def sentences(self, info: ReleaseInfo) -> Iterator[str]:
        """Describe what was read, who wrote, what decided and what was tagged."""
        papers, aspects = info.counts.get("papers", 0), info.counts.get("aspects", 0)
        if info.papers_alone:
            yield (
                f"The material is the titles, abstracts and passages of {papers:,} papers, and {aspects:,} statements "
                "quoted from them, of six kinds (ScIRGen, section 2.1)."
            )
        elif aspects:
            yield (
                f"The material is the datasets' metadata and {aspects:,} statements quoted from {papers:,} "
                "papers, of six kinds "
                "(ScIRGen, section 2.1)."
            )
        else:
            yield "The material is the datasets' metadata; no statement of a paper was used."
        if not self._rows:
            return
        yield f"{self.writers()} Question types are those of Graesser that ScIRGen adapts."
        yield self.filter()
        if judged := judged_by(info):
            yield judged
        yield from self._looked()
        if self._tagged:
            yield f"{self._tagged:,} of {self._rows:,} questions have a level of revised Bloom."


def cited(info: ReleaseInfo) -> list[str]:
    """List the papers to cite: that of imported data, or of the method that the run followed; then those of the
    tasks."""
    own = info.citation or _SCIRGEN
    return list(dict.fromkeys((own, *(task.follows for task in info.tasks.values() if task.follows))))


_SCIRGEN = (
    "ScIRGen: Synthesize Realistic and Large-Scale RAG Dataset for Scientific Research. KDD 2025. arXiv:2506.11117."
)
