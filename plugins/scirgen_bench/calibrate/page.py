"""The page of `scirgen calibrate`: the paper's table, scores by type and length, and reliability plots. One file, no
network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from scirgen_bench.calibrate.calibrate import Calibrated, ScorerFindings
from scirgen_bench.calibrate.quality import Bin, Quality
from scirgen_bench.intervals import Interval

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .7rem;border-bottom:1px solid #d0d7de;
  text-align:right}
td{white-space:nowrap}td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}.note{color:#57606a}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}td,th{border-color:#30363d}.note{color:#9198a1}}
"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 320, 50, 40


def calibration_page(found: Calibrated, title: str) -> str:
    """The page. ``title`` is the name of the calibrated labels; it is untrusted."""
    rows = [] if found.unfiltered is None else [_row("No filter", found.unfiltered, "")]
    rows += [_row(n, s.configured, _with_interval(s.auc, s.auc_interval)) for n, s in found.scorers.items()]
    parts = [
        f"<h1>Calibration: {escape(title)}</h1>",
        f"<p>{found.rows} labelled answers, {found.faithful} of them faithful. "
        f"Intervals are 95 % bootstrap intervals.</p>",
        "<h2>No filter and each filter, side by side</h2>",
        _table(("Filter", "Threshold", "Kept", "Precision", "Recall", "F1", "ROC-AUC"), rows),
        "<p class=note>The layout of table 2 of ScIRGen (KDD 2025). Thresholds are fitted to these labels only "
        "where it says so.</p>",
    ]
    for name, scorer in found.scorers.items():
        parts += _scorer(name, scorer)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>Calibration: {escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _scorer(name: str, scorer: ScorerFindings) -> list[str]:
    parts = [f"<h2>{escape(name)}</h2>"]
    if scorer.failed:
        parts.append("<p>Not scored: " + escape(", ".join(f"{n} {code}" for code, n in scorer.failed.items())) + "</p>")
    if scorer.wanted is None:
        parts.append("<p>No threshold reaches the wanted precision on these labels.</p>")
    else:
        parts.append("<p>At the threshold fitted to the wanted precision:</p>")
        columns = ("", "Threshold", "Kept", "Precision", "Recall", "F1", "")
        parts.append(_table(columns, [_row("fitted", scorer.wanted, "")]))
    parts += [reliability_svg(scorer.reliability, f"Reliability of {name}")]
    for label, groups in (("Question type", scorer.by_type), ("Answer length", scorer.by_length)):
        rows = [
            (k or "not given", str(g.rows), str(g.faithful), _with_interval(g.auc, None), *_three(g.at_threshold),
             _number(g.threshold_wanted))
            for k, g in groups.items()
        ]  # fmt: skip
        head = (
            label, "Labels", "Faithful", "ROC-AUC", "Precision", "Recall", "F1", "Threshold for the wanted precision",
        )  # fmt: skip
        parts.append(_table(head, rows))
    parts.append(
        f"<p class=note>Precision, recall and F1 of a type or length are at the threshold in force "
        f"({_number(scorer.configured.threshold)}). Those fitted to few labels are not saved.</p>"
    )
    return parts


def reliability_svg(bins: Sequence[Bin], title: str) -> str:
    """Share of faithful answers by score, with 95 % intervals: bars with equal numbers of answers, lowest score
    first."""
    wide, high = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - 20
    step = wide / max(1, len(bins))

    def y(share: float) -> float:
        return 20 + high * (1 - share)

    marks = [
        f'<text x="{_LEFT - 6}" y="{y(s) + 4:.1f}" text-anchor="end">{s:.0%}</text>'
        f'<line x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y(s):.1f}" y2="{y(s):.1f}" stroke="#8886"/>'
        for s in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    for i, row in enumerate(bins):
        x, middle = _LEFT + i * step + step * 0.15, _LEFT + i * step + step / 2
        label = f"{row.low:.3g} to {row.high:.3g}: {row.faithful:.0%} of {row.rows}"
        marks.append(
            f'<rect x="{x:.1f}" y="{y(row.faithful):.1f}" width="{step * 0.7:.1f}" '
            f'height="{20 + high - y(row.faithful):.1f}" fill="#3b82c4"><title>{escape(label)}</title></rect>'
            f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{y(row.interval[0]):.1f}" '
            f'y2="{y(row.interval[1]):.1f}" stroke="currentColor"/>'
            f'<text x="{middle:.1f}" y="{20 + high + 16}" text-anchor="middle">{row.low:.2g}</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" '
        f'aria-label="{escape(title)}" font-size="11" '
        f'fill="currentColor"><title>{escape(title)}</title>{"".join(marks)}'
        f'<text x="{_LEFT}" y="10">share that is faithful, with 95 % intervals</text>'
        f'<text x="{_LEFT + wide / 2:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">'
        f"score (lowest of each bar)</text></svg>"
    )


def _row(name: str, at: Quality, auc: str) -> tuple[str, ...]:
    threshold = "-" if at.threshold == float("-inf") else _number(at.threshold)
    return (name, threshold, f"{at.kept} of {at.rows}", *_three(at), auc)


def _three(at: Quality) -> tuple[str, str, str]:
    return (
        _with_interval(at.precision, at.precision_interval),
        _with_interval(at.recall, at.recall_interval),
        _with_interval(at.f1, at.f1_interval),
    )


def _with_interval(value: float | None, interval: Interval | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f"<th>{escape(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
