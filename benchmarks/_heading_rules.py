"""Headings by rules instead of the classifier: what `benchmarks.parsing --rules` sets beside it.

The rules are those that the classifier replaced, on its features: usual names, the PDF's outline, numbers that go on,
and types that only
headings are set in. Lines, reading order, front matter, series and levels are the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scirgen_pdf.headings.features import NAMES
from scirgen_pdf.headings.trees import Classifier, Forest


@dataclass(frozen=True)
class _Rules(Forest):
    def probability(self, row: Sequence[float]) -> float:
        """1 for a heading, 0 for anything else."""
        return float(_is_heading(dict(zip(NAMES, row, strict=False))))


RULES = Classifier(_Rules(()), _Rules(()), 0.5, NAMES)


def _is_heading(f: dict[str, float]) -> bool:
    if f["run_in"]:
        return _is_run_in(f)
    if f["lines"] > 5 or f["words"] > 32 or f["math"] >= 0.5 or not (f["upper"] or f["han"] or f["digit"]):
        return False
    named = bool(f["name_main"] or f["name_back"] or f["name_references"])
    if f["ends_stop"] and not (named or f["number_fits"]):
        return False
    distinct = f["size"] >= 1.05 or any(f[x] for x in ("bold", "italic", "caps", "font", "colour"))
    if f["outline"] or (named and (distinct or f["lines"] == 1)):
        return True
    if f["number_fits"]:
        return bool((distinct or f["number_depth"] > 1) and f["leads"])
    strong = f["size"] >= 1.1 or f["bold"]
    sure = f["key_named"] > 0 or f["key_numbered"] > 0
    usual = (
        distinct and f["key_of_text"] < 0.1 and f["key_share"] > 0.6 and (sure or (f["key_followed"] > 0.65 and strong))
    )
    in_place = f["leads"] or f["next_heading_like"]
    return bool(
        usual and in_place and not (f["numbered_names"] > 0.5 and not sure) and not (f["outlined"] >= 4 and not sure)
    )


def _is_run_in(f: dict[str, float]) -> bool:
    if (
        not (f["bold"] or f["italic"] or f["font"])
        or not (f["upper"] or f["han"])
        or f["rest"] < 60
        or f["after_references"]
    ):
        return False
    least = 3 if f["italic"] and not f["bold"] else 2
    return bool(f["name_back"]) or bool(f["ended"] and f["key_count"] >= least)
