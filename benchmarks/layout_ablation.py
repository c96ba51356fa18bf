"""Switches the rules of the layout off, one after the other: ``python -m benchmarks.parsing --ablate``.

A pass is left out of its tuple. A limit becomes 0 and then higher than anything, so that it never or always decides,
and a tuple becomes empty. Pages are read once, and the draft before each pass of the layout is kept.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._papers import Truth
from scirgen import ParsedPaper
from scirgen.stages.parse.base import ParserOptions
from scirgen_pdf.analyse import LAYOUT, TEXT, Pass, analyse, lay_out
from scirgen_pdf.headings.trees import classifier
from scirgen_pdf.parser import read_pages

Passes = tuple[Pass, ...]
Scores = dict[str, float | int | None]
_HIGH = 1_000_000
_ENOUGH = 3  # papers with a changed row show that a rule is needed
_LEAST = 0.001  # of a row


class Switch(NamedTuple):
    """All passes, of which one is left out or has one rule switched off."""

    name: str
    layout: Passes
    text: Passes


def switches(layout: Passes = LAYOUT, text: Passes = TEXT) -> Iterator[Switch]:
    """Each pass left out, and then each of its rules off."""
    known: list[Any] = []
    for one in (*layout, *text):
        yield Switch(one.name, *(tuple(p for p in passes if p is not one) for passes in (layout, text)))
        if one.rules is None or any(one.rules is rules for rules in known):
            continue
        known.append(one.rules)
        for field in fields(one.rules):
            for off in _off(getattr(one.rules, field.name)):
                other = replace(one.rules, **{field.name: off})
                name = f"{type(one.rules).__name__}.{field.name} = {off}"
                yield Switch(name, *(_with(passes, one.rules, other) for passes in (layout, text)))


def _off(value: Any) -> Sequence[Any]:
    return ((),) if isinstance(value, tuple) else (0, _HIGH)


def _with(passes: Passes, rules: Any, other: Any) -> Passes:
    return tuple(one._replace(rules=other) if one.rules is rules else one for one in passes)


class Pages:
    """The pages of a paper, read once."""

    def __init__(self, path: Path, reader: str) -> None:
        """Read the pages with ``reader``, and lay them out by all rules."""
        with read_pages(path, ParserOptions(no_extract="parse", reader=reader)) as read:
            marks = [read.marks(number) for number in range(len(read.pages))]
        self._outline = read.outline
        draft = lay_out(read.pages, read.title, marks.__getitem__, ())
        self._drafts = [pickle.dumps(draft)]  # the passes change what they are given
        for one in LAYOUT:
            one.run(draft, one.rules)
            self._drafts.append(pickle.dumps(draft))
        self.usual = self.parsed(LAYOUT, TEXT)

    def parsed(self, layout: Passes, text: Passes) -> ParsedPaper | None:
        """Return what the passes make of the pages; None where one of them needs what is switched off."""
        try:
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(layout, LAYOUT, strict=False)))
            draft = pickle.loads(self._drafts[same])
            for one in layout[same:]:
                one.run(draft, one.rules)
            return analyse(draft, self._outline, "", classifier(), text)
        except Exception:
            return None


def ablate(
    truths: Sequence[tuple[Path, Truth]],
    reader: str,
    scores: Callable[[Truth, ParsedPaper], Scores],
    report: Callable[[str], None],
) -> None:
    """Report for each switch the papers that change, and the rows of the benchmark that change by more than .001.

    Args:
        truths: folder and truth of each paper.
        reader: "pdfium", "pymupdf" or "auto".
        scores: the row of a paper.
        report: takes a line a switch.
    """
    papers = [(truth, Pages(folder / "pdf" / f"{truth.name}.pdf", reader)) for folder, truth in truths]
    rows = {truth.name: scores(truth, pages.usual) for truth, pages in papers if pages.usual}
    for switch in switches():
        changed, found = 0, []
        for truth, pages in papers:
            parsed = pages.parsed(switch.layout, switch.text)
            if parsed == pages.usual:
                continue
            changed += 1
            found += [f"{truth.name}: {_change(rows[truth.name], scores(truth, parsed) if parsed else None)}"]
            found = [line for line in found if not line.endswith(": ")]
            if len(found) >= _ENOUGH:
                break
        report(f"{len(found)} rows, {changed} papers: {switch.name} {json.dumps(found, ensure_ascii=False)}")


def _change(before: Scores, after: Scores | None) -> str:
    """Return the columns that differ, with both values; "fails" where the passes cannot do without the rule."""
    if after is None:
        return "fails"
    pairs = {key: (value or 0.0, after.get(key) or 0.0) for key, value in before.items() if key != "pages_per_s"}
    return ", ".join(f"{key} {a:.3f} {b:.3f}" for key, (a, b) in pairs.items() if abs(a - b) > _LEAST)
