"""Draws the two pictures of docs/proof.md as SVG: how three sets of queries rank systems, and the curve of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import mean

import numpy as np

_INK, _LINE, _FAINT = "#1f2328", "#0969da", "#8c959f"
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img" aria-label="{}" font-family="sans-serif" '
    'font-size="13" fill="{}"><rect width="100%" height="100%" fill="#ffffff"/>'
)


def _text(x: float, y: float, words: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def rankings(systems: Sequence[str], means: Mapping[str, Sequence[float]]) -> str:
    """Draw a column of systems for each set, best first, and lines from the first set's places to the others'.

    Args:
        systems: their names.
        means: set -> mean score of each system; the first set is people's.
    """
    names, step, top = list(means), 21, 52
    called = {"seeking": "asked first", "people": "people's queries", "known_item": "known items"}
    place = {name: np.argsort(np.argsort([-v for v in values], kind="stable")) for name, values in means.items()}
    columns = [175, 175 + 260, 175 + 520]
    parts = [_HEAD.format(870, top + step * len(systems), "How three sets of queries rank retrieval systems", _INK)]
    order = [1, 0, 2]  # people's between the two others
    for x, n in zip(columns, order, strict=True):
        parts.append(_text(x, 26, called.get(names[n], names[n]), "middle", 'font-weight="600"'))
    people = place[names[0]]
    for side, n in ((0, 1), (2, 2)):
        for s, system in enumerate(systems):
            ys = [top + step * int(p[s]) for p in (place[names[n]], people)]
            ends = (columns[side] + (8 if side == 0 else -8), columns[1] + (-8 if side == 0 else 8))
            colour = _LINE if abs(int(people[s]) - int(place[names[n]][s])) <= 2 else _FAINT
            parts.append(
                f'<path d="M{ends[0]} {ys[0]}L{ends[1]} {ys[1]}" stroke="{colour}" stroke-width="1.5"/>'
                + _text(columns[side], ys[0] + 4, system, "end" if side == 0 else "start")
            )
    parts += [f'<circle cx="{columns[1]}" cy="{top + step * n}" r="3" fill="{_LINE}"/>' for n in range(len(systems))]
    return "\n".join([*parts, "</svg>\n"])


def curve(points: Mapping[int, Sequence[float]], lines: Mapping[str, float]) -> str:
    """Draw nDCG@10 by number of rows: a dot for each seed, a line through the means, and others' values as rules.

    Args:
        points: number of rows -> a value for each seed; 0 is the untrained model.
        lines: name -> value.
    """
    left, width, bottom, height = 60, 460, 250, 210
    values = [v for seeds in points.values() for v in seeds] + list(lines.values())
    low, high = 0.9 * min(values), 1.05 * max(values)

    def at(rows: float, value: float) -> tuple[float, float]:
        return left + width * rows / max(points), round(bottom - height * (value - low) / (high - low), 1)

    parts = [_HEAD.format(640, 300, "nDCG@10 on people's queries by number of rows trained on", _INK)]
    for name, value in lines.items():
        y = at(0, value)[1]
        parts.append(f'<path d="M{left} {y}h{width}" stroke="{_FAINT}" stroke-dasharray="4 4"/>')
        parts.append(_text(left + width + 8, y + 4, f"{name} {value:.3f}"))
    path = "L".join("{:.1f} {}".format(*at(rows, mean(seeds))) for rows, seeds in points.items())
    parts.append(f'<path d="M{path}" fill="none" stroke="{_LINE}" stroke-width="2"/>')
    for rows, seeds in points.items():
        parts += ['<circle cx="{:.1f}" cy="{}" r="3" fill="#0969da"/>'.format(*at(rows, v)) for v in seeds]
        parts.append(_text(at(rows, low)[0], bottom + 18, str(rows), "middle"))
    parts.append(_text(left + width / 2, bottom + 38, "rows", "middle"))
    for rows, x, anchor in ((0, left - 8, "end"), (max(points), left + width + 8, "start")):
        parts.append(_text(x, at(0, mean(points[rows]))[1] + 4, f"{mean(points[rows]):.3f}", anchor))
    return "\n".join([*parts, "</svg>\n"])
