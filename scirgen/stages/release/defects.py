"""Counts weaknesses of a release that its users must know, for the card and the datasheet."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from scirgen.release_files.release import ReleaseInfo, ReleaseRow

_SMALL_SPLIT = 100
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_VERIFICATION = "verification"


class Defects:
    """Counts over the rows.

    Attributes:
        rows: rows seen.
        unanswered: rows without an answer.
        checked: rows that people looked at.
        without_evidence: answered rows that cite nothing.
        verdicts: first words of the answers to yes/no questions ("yes", "no", "other").
    """

    def __init__(self) -> None:
        self.rows = self.unanswered = self.without_evidence = self.checked = 0
        self.verdicts: Counter[str] = Counter()
        self._gold: dict[str, str] = {}
        self._repeated: Counter[str] = Counter()

    def see(self, row: ReleaseRow) -> None:
        self.rows += 1
        self.checked += bool(row.checked)
        self.unanswered += not row.answer
        self.without_evidence += bool(row.answer) and not row.evidence
        if row.question_type == _VERIFICATION and row.answer:
            found = _YES_NO.match(row.answer.strip())
            self.verdicts[found[1].lower() if found else "other"] += 1
        if self._gold.setdefault(row.question, row.dataset_id) != row.dataset_id:
            self._repeated[row.question] += 1

    @property
    def repeated(self) -> int:
        """Number of rows that repeat, word for word, the question of an earlier row about another dataset."""
        return self._repeated.total()


def known_limits(info: ReleaseInfo, found: Defects) -> Iterator[str]:
    """Yield the sentences for the card, general ones first; figures of zero are left out."""
    own = info.origin == "scirgen run"
    reviewed = (
        f", and people checked {found.checked:,} of {found.rows:,}."
        if found.checked
        else ", and no person reviewed them."
    )
    if found.rows:
        yield "Questions and answers are synthetic" + (reviewed if own else ".")
        yield (
            f"One {'paper' if info.papers_alone else 'dataset'} is named as the answer to a question, or a few; others "
            "may answer it too, so that retrieval figures are lower bounds."
        )
    if found.without_evidence:
        yield (
            f"{found.without_evidence:,} of {found.rows:,} answers cite no evidence, so that they cannot be "
            "checked against their source."
        )
    if found.unanswered:
        yield f"{found.unanswered:,} question(s) have no answer."
    if found.repeated:
        yield f"{found.repeated:,} rows ask word for word what another row asks about another dataset."
    if total := found.verdicts.total():
        yes, no = found.verdicts["yes"], found.verdicts["no"]
        odd = f", {other:,} neither" if (other := found.verdicts["other"]) else ""
        yield (
            f"Of {total:,} answers to yes/no questions {yes:,} are Yes, {no:,} No{odd}: always saying Yes is "
            f"right in {yes / total:.0%}."
        )
    passages = sum(info.licences.values())
    if unknown := info.licences.get("unknown", 0):
        yield (
            f"For {unknown:,} of {passages:,} passages the source states no licence; whether they may be "
            "redistributed is not known."
        )
    leaks = [row for row in info.leakage if row.shared and row.what.startswith("datasets with a paper")]
    for row in leaks:
        yield (
            f"{row.shared:,} of {row.of:,} {row.right} datasets with papers share one with {row.left}: figures "
            f"on {row.right} are flattered."
        )
    for name, size in info.splits.items():
        if 0 < size.rows < _SMALL_SPLIT:
            yield f"The split {name} has {size.rows} question(s); figures measured on it are uncertain."
