"""`scirgen label plan`: calculates how many labels a claim needs, and explains why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scirgen import InputError
from scirgen.plugin import read_json
from scirgen_bench.intervals import wilson
from scirgen_bench.labels.labelset import TaskName
from scirgen_label.agreement import (
    SD_PLANNED,
    interval_items,
    judge_items,
    precision_items,
)

_DEV = 90


def pilot_figures(file: Path) -> tuple[float, float]:
    """Return (standard deviation, gap) that an earlier ``agreement.json`` measured for a judge, the newest test first.

    Raises:
        InputError: the file cannot be read, or has no judge.
    """
    hint = "Give the agreement.json of: scirgen label agree L/ --judge MODEL"
    try:
        judges = read_json(file, hint=hint)["judges"]
        newest = judges[-1]
        return float(newest["result"]["sd"]), max(0.0, float(newest["result"]["gap"]))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise InputError(f"{file} has no results of a judge", hint=hint) from error


def plan_text(
    source: str, verdicts: Mapping[str, int], task: TaskName, margin: float, pilot: tuple[float, float] | None
) -> str:
    """Return the output of `scirgen label plan`.

    Args:
        source: the population, for the suggested command.
        verdicts: verdict -> candidates.
        task: the labelling task.
        margin: the largest acceptable gap between a judge and people.
        pilot: standard deviation and gap from a pilot; None for an assumed one, with gaps of 0 and 0.02.

    Raises:
        InputError: the pilot's gap is not below the margin.
    """
    total = sum(verdicts.values())
    listed = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in sorted(verdicts.items(), key=lambda v: -v[1]))
    lines = [f"{source}: {total:,} candidates ({listed})", ""]
    sd, gaps = (pilot[0], (pilot[1],)) if pilot else (SD_PLANNED, (0.0, 0.02))
    origin = "of the pilot" if pilot else "assumed without a pilot"
    lines.append(
        f"A judge passes when it agrees with people at most {margin:g} less often than they agree with each other."
    )
    lines.append(f"Items in the test part for that (one-sided 5 %, power 80 %, standard deviation {sd:g} {origin}):")
    needed = 0
    for gap in gaps:
        needed = judge_items(margin, gap, sd)
        lines.append(f"  {needed:>6,}  if its true gap is {gap:g}")
    lines.append("  A judge whose true gap is the margin passes in 5 of 100 such tests, a worse one almost never.")
    if task == "faithful":
        lines += ["", *_precision_lines(verdicts)]
    lines += ["", "Items for a 95 % interval of +/- 0.05:"]
    lines += [f"  {interval_items(share, 0.05):>6,}  around a share of {share:g}" for share in (0.5, 0.8, 0.9, 0.95)]
    test = min(-(-needed // 10) * 10, max(1, total - min(_DEV, total // 4)))
    dev = min(_DEV, max(0, total - test))
    lines.append("")
    if test < needed:
        lines.append(
            f"There are only {total:,} candidates: the test would have {test:,} items and pass a good judge "
            "less often than in 80 of 100 cases."
        )
    strata = "verdict,question_type" if task in ("faithful", "level") else "verdict"
    lines.append("Draw them with:")
    lines.append(
        f"  scirgen label draw {source} --task {task} --n {test} --dev {dev} --strata {strata} --annotators A,B "
        "--out L/"
    )
    lines.append("The dev items are for writing the guideline and the judge's prompt; the test items are opened once.")
    return "\n".join(lines)


def _precision_lines(verdicts: Mapping[str, int]) -> list[str]:
    (low, high), (low_all, high_all) = wilson(61, 64), wilson(86, 100)
    lines = [
        "Kept items that show a precision (one-sided 5 %, power 80 %):",
        f"  {precision_items(0.90, 0.95):>6,}  above 0.90 when it is 0.95",
        f"  {precision_items(0.85, 0.95):>6,}  above 0.85 when it is 0.95",
        f"  {precision_items(0.80, 0.90):>6,}  above 0.80 when it is 0.90",
        "Why 100 items are too few: 61 right of 64 kept is 0.95 "
        f"[{low:.2f}, {high:.2f}], and 86 right of all 100 is 0.86 [{low_all:.2f}, {high_all:.2f}].",
        "  The intervals overlap, so such a sample cannot tell a filter of precision 0.95 from no filter.",
    ]
    if not any(v.startswith("rejected") for v in verdicts):
        lines.append(
            "There are no rejected candidates here: labels will give the precision, but not the recall of the filter."
        )
    else:
        lines.append("Precision needs labels of kept candidates, recall also of rejected ones: stratify by verdict.")
    return lines
