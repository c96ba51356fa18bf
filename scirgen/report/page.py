"""Writes report.html (one file, no network) and report.json into a run's folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from scirgen.core.errors import InputError, StoreError
from scirgen.core.fingerprint import digest
from scirgen.core.records import LINKS, ORIGINS
from scirgen.core.safety.files import mode_beside, write_new
from scirgen.core.text.shown import counted
from scirgen.release_files.judged import known_writer
from scirgen.release_files.release import SPLITS, Release
from scirgen.report.charts import histograms
from scirgen.report.codes import meanings
from scirgen.report.counting import summaries
from scirgen.report.data import ReportData, SampleRow
from scirgen.report.figures import gather
from scirgen.report.html import fill_page
from scirgen.report.plain import in_plain_words
from scirgen.report.profile import as_html, build_profile
from scirgen.report.released import gather_release

_PARTS = files("scirgen.report") / "page"
_EXAMPLES: Final = 10
_FEW_WORDS: Final = 3


def write_report(folder: Path, out: Path | None = None, *, pages: bool = False) -> Path:
    """Write report.html and report.json for a run, or for a release without a run (an imported one).

    Args:
        folder: a run's folder, or a release.
        out: output folder; by default the run's folder, or for a release, which contains only the files it lists, a
            folder beside it (``NAME-report``).
        pages: also write a page for each dataset that has rows, into ``datasets/``; only for a run.

    Returns:
        The path of report.html.

    Raises:
        InputError: the folder is neither, or the release is damaged.
        StoreError: the files cannot be written.
    """
    if not (folder / "run.db").is_file() and not (folder / "release.json").is_file():
        raise InputError(
            f"{folder} is neither a run nor a release",
            hint="Give the folder that --out named, or a release's folder.",
            code="no_run",
        )
    if (folder / "run.db").is_file():
        data = gather(folder)
        out = out or folder
    elif pages:
        raise InputError(f"{folder} is a release", hint="Pages of datasets need the run's folder.")
    else:
        data = gather_release(Release(folder))
        place = folder.resolve()
        out = out or place.with_name(f"{place.name}-report")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{out} cannot be created: {error.strerror}", hint="Choose another with --out.") from error
    mode = mode_beside(folder / "run.db")
    written: dict[str, str] = {}
    for record in data.records if pages else ():
        if record.rows:
            written[record.id] = f"datasets/{digest('page', record.id)[:16]}.html"
            (out / "datasets").mkdir(exist_ok=True)
            _write(out / written[record.id], as_html(build_profile(folder, record.id)), mode)
    _write(out / "report.json", data.model_dump_json(indent=2) + "\n", mode)
    _write(out / "report.html", render(data, written), mode)
    return out / "report.html"


def render(data: ReportData, pages: Mapping[str, str] | None = None) -> str:
    """Return the page. All text is escaped; the content security policy allows the page's script only by its hash.

    Args:
        data: the figures.
        pages: dataset id -> address of its page.
    """
    pages = pages or {}
    return fill_page(
        _PARTS,
        "report",
        data=data,
        title=data.name or "scirgen report",
        said=_in_a_sentence(data),
        embedded=known_writer(m for role, m in data.models.items() if role != "scorer"),
        plain=in_plain_words(data),
        subject="paper" if data.papers_alone else "dataset",
        came_about=_came_about(data),
        links=LINKS,
        per_row=_tokens_per_row(data),
        meanings=meanings(_codes(data)),
        scores=summaries(data.scores),
        usage=_usage(data.usage, data.last_usage),
        facets=_facets(data.sample),
        listed=frozenset(r.id for r in data.sample),
        charts=histograms(data.scores),
        flow=_flow(data),
        examples=_examples(data.sample),
        most=max((n for levels in data.bloom_by_type.values() for n in levels.values()), default=1),
        pages=pages,
    )


def _in_a_sentence(data: ReportData) -> str:
    """Describe the dataset in one sentence."""
    rows = (data.rows if data.released is None else data.released) - data.bare
    kinds = sum(bool(t.rows) for t in data.types)
    levels = [level for level, n in data.bloom.items() if n]
    writers = [m for role, m in data.models.items() if role != "scorer"]
    of = f"of {counted(kinds, 'type')}" if kinds else ""
    of += f" and Bloom levels {levels[0]} to {levels[-1]}" if kinds and len(levels) > 1 else ""
    some = f"{data.datasets_with_rows:,} of " if 0 < data.datasets_with_rows < data.datasets else ""
    alone = data.papers_alone
    papers = counted(data.papers, "paper")
    read = papers if alone else f"{some}{counted(data.datasets, 'dataset')}"
    about = f"about {read} of the domain {data.domain or 'unknown'}"
    about += f" and {papers} that use them" if data.papers and not alone else ""
    rules = "rules and " if known_writer(writers) else ""
    by = f"written by {rules}{', '.join(writers)}" if writers else ""
    by += f" and kept from {data.candidates:,} candidates" if writers and data.candidates else ""
    queries = sum(data.queries.values())
    recipes = ", ".join(f"{recipe} {n:,}" for recipe, n in data.queries.items())
    asked = f"{counted(queries, 'retrieval query', 'retrieval queries')} ({recipes})" if queries else ""
    if queries and not data.candidates:
        return ", ".join(p for p in (asked, about, by) if p) + "."
    count = f"{counted(rows, 'question')} with answers"
    said = ", ".join(p for p in (count, of, about, by) if p) + "; each answer names the text that it rests on."
    besides = [f"{data.bare:,} that nothing in the texts answers" if data.bare else "", asked]
    return said + "".join(f" Beside them, {one}." for one in besides if one)


def _came_about(data: ReportData) -> str:
    """Say how many questions came about in which way, and what known items fill; "" if all are known items."""
    if not set(data.asked) - {"known_item"} and not data.seeking:
        return ""
    total = sum(data.asked.values())
    origins = ", ".join(f"{data.asked.get(o, 0):,} {words}" for o, words in ORIGINS.items() if data.asked.get(o))
    filled = math.ceil(total * data.seeking) - (total - data.asked.get("known_item", 0))
    rest = f" {data.seeking:.0%} were to be asked by people; known items fill {filled:,} of these rows."
    return f"Of {total:,} questions, {origins}." + (rest if filled > 0 and data.asked.get("known_item") else "")


_FLOW: Final = {
    "collect": "datasets",
    "parse": "papers read",
    "match": "papers used",
    "extract": "sentences chosen",
    "verify": "sentences kept, counted for each dataset that uses their paper",
    "ask": "questions asked without the text",
    "answer": "of these answered, as candidates",
    "generate": "candidate questions written from the text",
    "filter": "questions kept",
    "release": "questions released",
}


_FLOW_OF_PAPERS: Final = {
    "collect": "papers",
    "match": "papers used, each for its own record",
    "verify": "sentences kept",
}


_NOT_LOST: Final = {"parse": ("table_", "print_differs", "instructions"), "answer": ("one_document",)}
"""The beginnings of codes that reject a part (a table, a linked question): no paper and no question is lost."""


def _flow(data: ReportData) -> list[dict[str, object]]:
    """Return the steps from records to rows: what is left after each, how much was lost, and the commonest reasons,
    those of failures first."""
    counted = {"collect": data.datasets, "match": data.papers, "release": data.released or 0}
    found: list[dict[str, object]] = []
    for row in data.funnel:
        rejected = {code: n for code, n in row.rejected.items() if not code.startswith(_NOT_LOST.get(row.stage, ()))}
        lost, failed = (sorted(of.items(), key=lambda e: -e[1]) for of in (rejected, row.failures))
        if row.stage in _FLOW or failed:
            name = _FLOW_OF_PAPERS.get(row.stage) if data.papers_alone else None
            found.append({
                "stage": row.stage, "name": name or _FLOW.get(row.stage, row.stage),
                "left": counted.get(row.stage, row.outputs), "failed": failed, "lost": lost[:3],
                "others": sum(n for _, n in lost[3:]),
            })  # fmt: skip
    return found


def _examples(sample: Sequence[SampleRow]) -> list[SampleRow]:
    """Return the accepted rows with evidence, of different types and datasets if possible; short answers last."""
    rows = [r for r in sample if r.status == "accepted" and r.evidence]
    rows.sort(key=lambda r: len(r.answer.split()) <= _FEW_WORDS)
    first = {r.question_type: r for r in reversed(rows)}
    apart = {r.dataset: r for r in reversed(list(first.values()))}
    return [*apart.values(), *(r for r in rows if r not in apart.values())][:_EXAMPLES]


def _tokens_per_row(data: ReportData) -> str:
    """Return the tokens of all models, read and written, per released row; empty if unknown."""
    counts = [data.usage.get(f"{name} tokens per released row, all models") for name in ("prompt", "reply")]
    said = [f"{n:,.0f}" for n in counts if isinstance(n, int | float)]
    return " / ".join(said) if len(said) == len(counts) else ""


def _codes(data: ReportData) -> set[str]:
    found = {*data.defects, *data.unwritten, *(r.code for r in data.sample if r.code)}
    for stage in data.funnel:
        found |= set(stage.rejected)
    return {code.rpartition(": ")[2] for code in found}


def _facets(sample: Sequence[SampleRow]) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Return the filters of the sample: (attribute, label, values with their numbers of rows)."""
    columns = {
        "status": ("Status", [r.status for r in sample]),
        "split": ("Split", [r.stage for r in sample if r.stage in SPLITS]),
        "type": ("Type", [r.question_type for r in sample]),
        "bloom": ("Bloom", [r.bloom for r in sample]),
        "code": ("Reason", [r.code for r in sample]),
    }
    return [(name, label, sorted(Counter(v for v in values if v).items())) for name, (label, values) in columns.items()]


def _usage(usage: Mapping[str, object], last: Mapping[str, object]) -> dict[str, list[object]]:
    """Return the usage as a table, with a column per role (for all invocations, then for the last one) and a row per
    count; other entries stay as they are."""
    roles = {name: value for name, value in usage.items() if isinstance(value, Mapping)}
    roles |= {f"{name}, last invocation": value for name, value in last.items() if isinstance(value, Mapping)}
    names = sorted({str(name) for value in roles.values() for name in value})
    return {
        "roles": list(roles),
        "rows": [
            (n.replace("_", " "), [_number(value[n]) if n in value else "" for value in roles.values()]) for n in names
        ],
        "rest": [(n.replace("_", " "), _number(v)) for n, v in usage.items() if n not in roles],
    }


def _number(value: object) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, (int, float)) else str(value)


def _write(path: Path, text: str, mode: int) -> None:
    try:
        write_new(path, text, mode=mode)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", hint="Free some space, then: scirgen report RUN"
        ) from error
