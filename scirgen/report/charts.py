"""Charts of a report as static SVG: Vega-Altair specifications rendered by vl-convert, offline.

They are drawn in a child process (``python -m scirgen.report.charts``), because the renderer ends its process when it
cannot get memory. Text and axes use ``currentColor``, so one SVG works in light and dark mode; every chart has a
description. The page's template draws the tables.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

from scirgen.report.data import LEVELS, ReportData

Row = dict[str, str | float]


_LONGEST_S = 120.0


def charts_of(data: ReportData) -> tuple[dict[str, str], str]:
    """Chart name -> SVG text, and why there is none: the extra is missing, or the child process failed."""
    if any(importlib.util.find_spec(name) is None for name in ("altair", "vl_convert")):
        return {}, "Charts need the extra scirgen[report]"
    needed = data.model_copy(
        update={"sample": (), "sides": (), "scores": tuple(s for s in data.scores if math.isfinite(s.value))}
    )
    try:
        # -P: no module of the current folder is imported.
        child = subprocess.run(
            [sys.executable, "-P", "-m", "scirgen.report.charts"],
            input=needed.model_dump_json().encode(),
            capture_output=True,
            timeout=_LONGEST_S,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {}, f"Charts could not be drawn ({type(error).__name__})"
    if child.returncode:
        return {}, f"Charts could not be drawn: their process ended with {child.returncode}, often for lack of memory"
    drawn: dict[str, str] = json.loads(child.stdout)
    return drawn, "" if drawn else "There is nothing to draw yet"


def _altair() -> Any:
    # Altair's calls are only partly typed.
    return importlib.import_module("altair")


def draw(data: ReportData) -> dict[str, str]:
    """Chart name -> SVG text. A chart without data is left out."""
    charts: dict[str, str] = {}
    if data.rows:
        charts["types"] = _bars(
            [{"name": r.question_type, "value": r.rows} for r in data.types if r.rows], "rows", "Rows per question type"
        )
        charts["bloom"] = _bars(
            [{"name": k, "value": n} for k, n in data.bloom.items()], "rows", "Rows per Bloom level", sort=list(LEVELS)
        )
        charts["heat"] = _heat(data)
    if data.funnel:
        charts["funnel"] = _funnel(data)
    scores: list[Row] = [
        {"name": s.name, "value": s.value, "verdict": "kept" if s.accepted else "rejected"} for s in data.scores
    ]
    for name in sorted({str(s["name"]) for s in scores}):
        limits = sorted({s.threshold for s in data.scores if s.name == name and s.threshold is not None})
        charts[f"score {name}"] = _histogram([s for s in scores if s["name"] == name], name, limits)
    return charts


def _bars(rows: Sequence[Row], unit: str, description: str, sort: list[str] | str = "-x") -> str:
    alt = _altair()
    base = alt.Chart(alt.Data(values=list(rows)))
    bars = base.mark_bar(color="#3b82c4").encode(
        x=alt.X("value:Q", title=unit), y=alt.Y("name:N", sort=sort, title=None)
    )
    text = base.mark_text(align="left", dx=4, color="currentColor").encode(
        x="value:Q", y=alt.Y("name:N", sort=sort), text="value:Q"
    )
    return _svg((bars + text).properties(width=300, height=alt.Step(20), description=description))


def _heat(data: ReportData) -> str:
    alt = _altair()
    rows = [
        {"type": t, "level": level, "rows": n}
        for t, levels in data.bloom_by_type.items()
        for level, n in levels.items()
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("level:O", title="Bloom level", sort=list(LEVELS), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("type:N", title=None),
    )
    boxes = base.mark_rect().encode(color=alt.Color("rows:Q", scale=alt.Scale(scheme="blues"), legend=None))
    most = max((n for levels in data.bloom_by_type.values() for n in levels.values()), default=1)
    text = base.mark_text().encode(
        text="rows:Q", color=alt.condition(f"datum.rows > {most} / 2", alt.value("white"), alt.value("#123"))
    )
    described = (boxes + text).properties(
        width=300, height=alt.Step(20), description="Rows per question type and Bloom level"
    )
    return _svg(described)


def _funnel(data: ReportData) -> str:
    alt = _altair()
    rows = [
        {"stage": r.stage, "what": what, "count": count}
        for r in data.funnel
        for what, count in (("produced", r.outputs), ("rejected", sum(r.rejected.values())), ("failed", r.failed))
    ]
    most = max((max(r.outputs, sum(r.rejected.values()), r.failed) for r in data.funnel), default=1)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "count:Q",
                title="records (logarithmic)",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(values=_decades(most), labelOverlap=True),
            ),
            y=alt.Y("stage:N", sort=[r.stage for r in data.funnel], title=None),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=["produced", "rejected", "failed"], range=["#3b82c4", "#d98a3d", "#c23b3b"]),
                legend=alt.Legend(orient="top"),
            ),
            yOffset=alt.YOffset("what:N", sort=["produced", "rejected", "failed"]),
        )
    )
    return _svg(
        chart.properties(width=300, height=alt.Step(10), description="Records produced, rejected and failed per stage")
    )


def _decades(most: int) -> list[int]:
    """0, 1, 10, 100 ... up to the largest count: marks that do not overlap on a logarithmic axis."""
    return [0, *(10**n for n in range(len(str(most))) if 10**n <= most)]


def _histogram(rows: Sequence[Row], name: str, thresholds: Sequence[float]) -> str:
    """Rejected and kept pairs side by side, with the thresholds. Counts have axes of their own: most pairs are kept."""
    alt = _altair()
    steps = binned(rows)
    edges = [float(s[end]) for s in steps for end in ("from", "to")] + list(thresholds)
    across = alt.Scale(domain=[min(edges), max(edges)])
    panels = []
    for verdict, color in (("rejected", "#d98a3d"), ("kept", "#3b82c4")):
        found = [s for s in steps if s["verdict"] == verdict]
        most = max((int(s["pairs"]) for s in found), default=1)
        bars = (
            alt.Chart(alt.Data(values=found))
            .mark_bar(color=color)
            .encode(
                x=alt.X(
                    "from:Q", bin="binned", title=name, scale=across, axis=alt.Axis(tickCount=6, labelOverlap=True)
                ),
                x2=alt.X2("to:Q"),
                y=alt.Y(
                    "pairs:Q",
                    title="pairs",
                    scale=alt.Scale(domain=[0, most]),
                    axis=alt.Axis(tickMinStep=1, tickCount=4, format=",d"),
                ),
            )
        )
        lines = alt.Chart(alt.Data(values=[{"at": t} for t in thresholds])).mark_rule(
            color="#c23b3b", size=2, strokeDash=[4, 3]
        )
        panel = bars + lines.encode(x=alt.X("at:Q")) if thresholds else bars
        title = f"{verdict}: {sum(int(s['pairs']) for s in found):,}"
        panels.append(
            panel.properties(width=190, height=150, title=alt.Title(title, color="currentColor", fontSize=12))
        )
    described = f"Distribution of {name} of rejected and kept pairs, with the threshold"
    return _svg(alt.hconcat(*panels, description=described))


def binned(rows: Sequence[Row]) -> list[Row]:
    """Counts of values for each verdict, in at most about 40 steps of 1, 2 or 5 times a power of ten.

    They are counted here because drawing 60,000 single values takes Vega twenty seconds and 700 MB.
    """
    values = [float(r["value"]) for r in rows]
    wide = (max(values) - min(values)) / 40 or 0.01
    power = 10.0 ** math.floor(math.log10(wide))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= wide * 0.999)
    # A value on a border belongs to the step that begins there, even if rounding puts it slightly below.
    counts = Counter((math.floor(v / step + 1e-9), str(r["verdict"])) for v, r in zip(values, rows, strict=True))
    return [
        {"from": round(n * step, 12), "to": round((n + 1) * step, 12), "verdict": verdict, "pairs": count}
        for (n, verdict), count in sorted(counts.items())
    ]


def _svg(chart: Any) -> str:
    import vl_convert

    styled = (
        chart.configure(
            background="transparent", font="sans-serif", padding={"left": 16, "right": 24, "top": 5, "bottom": 5}
        )
        .configure_axis(
            labelColor="currentColor",
            titleColor="currentColor",
            gridColor="currentColor",
            gridOpacity=0.12,
            domainColor="currentColor",
            tickColor="currentColor",
            labelFontSize=11,
            labelLimit=220,
        )
        .configure_view(stroke=None)
        .configure_legend(labelColor="currentColor", titleColor="currentColor")
    )
    # The description covers the whole chart; parts that have a role but no name confuse screen readers.
    svg: str = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", vl_convert.vegalite_to_svg(styled.to_json()))
    description = chart.description if isinstance(chart.description, str) else ""
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)


if __name__ == "__main__":
    print(json.dumps(draw(ReportData.model_validate_json(sys.stdin.buffer.read()))))
