"""Describes in plain sentences what was read, what was lost and why, for readers who do not program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from scirgen.core.text.shown import counted, shown
from scirgen.report.codes import meanings
from scirgen.report.data import ReportData, StageRow
from scirgen.report.html import brief, words

_REASONS: Final = 3
_OF_READ: Final = ("table_", "print_differs", "instructions")
"""Beginnings of codes of the step parse about parts of papers that were read."""


def in_plain_words(data: ReportData) -> list[str]:
    """Return the sentences about a run, in the order of its steps; none for a release without a run."""
    stages = {row.stage: row for row in data.funnel}
    return [" ".join(sentence) for sentence in _sentences(data, stages)] if stages else []


def _sentences(data: ReportData, stages: Mapping[str, StageRow]) -> Iterator[tuple[str, ...]]:
    collect, parse, match = (stages.get(name) for name in ("collect", "parse", "match"))
    own = data.papers_alone
    papers = parse.outputs if parse else 0
    read = counted(papers, "paper") if own else counted(data.datasets, "record") + " of datasets"
    yield (f"Read: {read}" + (f" and {counted(papers, 'paper')}." if not own and papers else "."),)
    if collect and collect.rejected:
        yield f"{counted(_lost(collect), 'file or record', 'files or records')} set aside.", *_why(collect)
    unread, remarks = _apart(parse, _OF_READ) if parse else (None, None)
    if unread and _lost(unread):
        all_ = counted(_lost(unread) + papers, "paper")
        yield f"{_lost(unread):,} of {all_} could not be read{_named(data.papers_unread)}.", *_why(unread)
    if remarks and _lost(remarks):
        yield f"{counted(_lost(remarks), 'remark')} on papers that were read.", *_why(remarks)
    if match and not own and papers > data.papers:
        idle = papers - data.papers
        are = "is" if idle == 1 else "are"
        of = f"{idle:,} of your {counted(papers, 'paper')}"
        yield f"{of} {are} used by no dataset{_named(data.papers_unused)}.", *_why(match)
    if idle := data.datasets - data.datasets_with_rows:
        yield (f"{idle:,} of {counted(data.datasets, 'paper' if own else 'record')} gave no question.",)
    judged = stages.get("filter")
    if data.candidates and judged:
        yield f"{judged.outputs:,} of {counted(data.candidates, 'candidate question')} were kept.", *_why(judged)
    if data.released is not None and data.released < data.rows and (released := stages.get("release")):
        yield f"{data.released:,} of the {data.rows:,} kept questions are in the release.", *_why(released)
    failed = {stage: row.failures for stage, row in stages.items() if row.failures and stage != "parse"}
    for stage, codes in failed.items():
        reasons = ", ".join(f"{words(code)} {n:,}" for code, n in codes.items())
        yield (f"In the step {stage}, {reasons} could not be done; the same command tries again.",)


def _apart(row: StageRow, codes: tuple[str, ...]) -> tuple[StageRow, StageRow]:
    """Return the row without the rejections whose codes begin so, and a row with them alone."""
    chosen = {code: n for code, n in row.rejected.items() if code.startswith(codes)}
    others = {code: n for code, n in row.rejected.items() if not code.startswith(codes)}
    return row.model_copy(update={"rejected": others}), row.model_copy(update={"rejected": chosen, "failures": {}})


def _named(papers: tuple[str, ...]) -> str:
    return f" ({shown(papers)})" if papers else ""


def _lost(row: StageRow) -> int:
    return sum(row.rejected.values()) + sum(row.failures.values())


def _why(row: StageRow) -> Iterator[str]:
    """Yield the commonest reasons with their numbers."""
    found = sorted({**row.rejected, **row.failures}.items(), key=lambda e: (-e[1], e[0]))
    meaning = meanings(code for code, _ in found)
    for code, n in found[:_REASONS]:
        yield f"{brief(meaning.get(code, words(code)))[:-1]} ({n:,})."
    if others := sum(n for _, n in found[_REASONS:]):
        yield f"Other reasons ({others:,})."
