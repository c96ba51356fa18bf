"""Run-in headings: a title set off by its typography at the beginning of a paragraph ("**Model evaluation.** The ...")."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from scirgen.core.records import BlockKind
from scirgen.stages.parse.pdf.lines import Style
from scirgen.stages.parse.pdf.paragraphs import Group, split
from scirgen.stages.parse.pdf.terms import DEPTH, kind_of_heading

_MAX_CHARS = 140
_MIN_REST = 60
_TITLE = re.compile(r"^[\"“‘(]?(?:\d{1,2}(?:\.\d{1,2})*\.?\s+)?[A-ZÀ-Þ\d一-鿿][^.:]*(?:\.[^.\s:][^.:]*)*[.:—–]?$")

_Key = tuple[str, float, bool, bool]


def split_run_ins(groups: list[Group], body: Style, first: int) -> list[Group]:
    """The groups with run-in headings made groups of their own (kind ``heading``, level unset).

    A typography counts as one of headings when at least two paragraphs (three for italics) begin with a title in it. Back
    matter is left alone: what is set off there are names and roles; only its own usual headings count.
    """
    found: dict[_Key, list[tuple[int, int]]] = defaultdict(list)
    alone: list[tuple[_Key, int]] = []
    cuts: dict[int, int] = {}
    back = False
    for index, group in enumerate(groups[first:], first):
        if group.kind is BlockKind.HEADING:
            back = kind_of_heading(group.text) in ("back", "references")
        if group.kind is not BlockKind.PARAGRAPH:
            continue
        lead = _lead(group, body)
        if lead is not None and kind_of_heading(group.text[: lead[1]]) == "back":
            cuts[index] = lead[1]
        elif lead is not None and lead[2] and not back:
            found[lead[0]].append((index, lead[1]))
        elif _whole(group, body) and not back and index + 1 < len(groups):
            style = group.style
            alone.append((_key(style), index))
    for (font, size, bold, italic), places in found.items():
        if len(places) >= (3 if italic and not bold else 2):
            cuts |= dict(places)
            for key, index in alone:
                if key == (font, size, bold, italic) and groups[index + 1].kind is BlockKind.PARAGRAPH:
                    groups[index].kind = BlockKind.HEADING
    result: list[Group] = []
    for index, group in enumerate(groups):
        if index not in cuts:
            result.append(group)
            continue
        title, rest = split(group, cuts[index])
        title.kind = BlockKind.HEADING
        result += [title, rest] if rest.lines else [title]
    return result


def _whole(group: Group, body: Style) -> bool:
    """Whether a whole group is a title that ends in a full stop and fills its line, so that its text begins in the next."""
    text = group.text
    return group.share > 0.9 and len(text) <= _MAX_CHARS and _set_off(group.style, body) and bool(_TITLE.match(text))


def level_run_ins(groups: list[Group]) -> None:
    """Set the levels of run-in headings: by number, as printed headings in the same type, or one below what stands above.

    All run-in headings of one typography have one level, the most common one.
    """
    headings = [g for g in groups if g.kind is BlockKind.HEADING]
    votes: dict[_Key, Counter[int]] = defaultdict(Counter)
    above = 1
    for group in headings:
        if group.level is not None:
            above = group.level
            votes[_key(group.style)][above] += 1
        else:
            votes[_key(group.style)][min(above + 1, 4)] += 1
    for group in headings:
        if group.level is None:
            number = DEPTH.match(group.text)
            usual = votes[_key(group.style)].most_common(1)[0][0]
            group.level = number.group(1).count(".") + 1 if number else usual


def _key(style: Style) -> _Key:
    return (style.font, style.size, style.bold, style.italic)


def _lead(group: Group, body: Style) -> tuple[_Key, int, bool] | None:
    """Typography and length of the title a paragraph begins with, and whether a full stop or colon ends it."""
    style = next((r.style for r in group.lines[0].runs if r.text.strip()), None)
    if style is None or not _set_off(style, body):
        return None
    text, done = "", False
    for line in group.lines[:3]:
        position = 0
        for run in line.runs:
            piece = run.text
            if piece.strip() and not _same(run.style, style) and not run.raised:
                done = True
                break
            position += len(piece if position else piece.lstrip())
        if done:
            part = line.text[:position].rstrip()
            text = f"{text} {part}".strip() if part else text
            break
        text = f"{text} {line.text}".strip()
    rest = group.text[len(text) :].lstrip()
    if not done or not 3 <= len(text) <= _MAX_CHARS or len(rest) < _MIN_REST or not _TITLE.match(text):
        return None
    if re.match(r"\d{1,2}\.\s", text) or not re.match(r"[.:—–\s]*[\"“‘(\[]?[A-ZÀ-Þ\d一-鿿]", rest):
        return None
    ended = text[-1] in ".:—–" or rest[0] in ".:—–"
    length = len(text) + (1 if text[-1] not in ".:—–" and rest[0] in ".:—–" else 0)
    if text[-1] == ":" and (" " not in text or text[-2].isdigit()):
        return None
    return _key(style), length, ended


def _set_off(style: Style, body: Style) -> bool:
    if re.search(r"math|symbol|cmmi|cmsy", style.font, re.I) or style.size < body.size - 0.6:
        return False
    return (style.bold and not body.bold) or (style.italic and not body.italic) or style.font != body.font


def _same(a: Style, b: Style) -> bool:
    return (a.font, a.bold, a.italic) == (b.font, b.bold, b.italic)
