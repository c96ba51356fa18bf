"""Draws the picture of docs/proof.md as SVG: how three sets of queries rank systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

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
