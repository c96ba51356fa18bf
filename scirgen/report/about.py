"""Describes a run or a release beyond its figures: field, date, judges and datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

from scirgen.core.errors import ScirgenError
from scirgen.core.resources import find_domain
from scirgen.release_files.judged import judged_by, label_note
from scirgen.release_files.publishing import Kind, Publishing, lines_of
from scirgen.release_files.release import Release, ReleaseInfo
from scirgen.report.data import PublishingTable, RecordRow, shown

_LISTED = 300


def field_of(domain: str) -> str:
    """Return the title of a domain, or its name if it is not installed here."""
    try:
        return find_domain(domain).title if domain else ""
    except ScirgenError:
        return domain


def day_of(*files: Path) -> str:
    """Return the day on which the first of the files that exists was last written, as 3 April 2026."""
    day = date.fromtimestamp(next(f for f in files if f.is_file()).stat().st_mtime)
    return f"{day.day} {day:%B %Y}"


def judgements(info: ReleaseInfo | None) -> tuple[str, ...]:
    """State who judged the rows of a release, and how well they agree."""
    if info is None:
        return ()
    people = tuple(f"Labels ({note.task}): {label_note(note)}" for note in info.labels)
    judged = judged_by(info) or ("No language model judged the rows." if info.made else "")
    if unsure := info.counts.get("unsure", 0):
        judged += f" {unsure:,} rows are unsure: no judge read them, and the scores did not decide."
    return tuple(filter(None, (judged.strip(), *(people or ("No person has labelled rows of it.",)))))


def publishing(release: Release) -> PublishingTable:
    """Count what may be published of a release."""
    found = Publishing(line for line in lines_of(release) if line.kind != "passage")
    kinds: tuple[Kind, ...] = ("record", "paper", "question")
    rows = ((r.licence, str(r.terms), tuple(r.counts.get(k, 0) for k in kinds)) for r in found.rows)
    return PublishingTable(rows=tuple(rows), summary=tuple(found.summary()))


def most_rows(titles: Mapping[str, str], papers: Mapping[str, int], rows: Iterable[str]) -> tuple[RecordRow, ...]:
    """Return the datasets with most rows; ``rows`` holds the dataset of each row."""
    counted = Counter(rows)
    order = sorted(titles, key=lambda d: (-counted[d], -papers.get(d, 0), d))
    return tuple(
        RecordRow(id=d, title=shown(titles[d], 200), papers=papers.get(d, 0), rows=counted[d]) for d in order[:_LISTED]
    )
