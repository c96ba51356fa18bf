"""`scirgen label agree`: agreement of the annotators, quality of the labelled items, and the test of judges."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scirgen import InputError
from scirgen.plugin import grouped, read_json
from scirgen_bench.intervals import wilson
from scirgen_bench.labels.labelset import Item, LabelSet, Part
from scirgen_label.agreement import (
    FEW_CLUSTERS,
    agreement,
    exact,
    kappa,
    macro_f1,
    mean_known,
    non_inferiority,
)
from scirgen_label.files import write_text
from scirgen_label.judge import Judged

FILE: Final = "agreement.json"
OPENED: Final = "opened.json"
_YES: Final = "yes"


def measure(labels: LabelSet, *, resamples: int = 500) -> dict[str, Any]:
    """Measure the annotators' agreement on all items and on each part, and count how items were resolved.

    Raises:
        InputError: fewer than two annotators' labels were merged.
    """
    people = labels.annotators
    if len(people) < 2:
        raise InputError(
            f"{labels.folder} has labels of {len(people)} annotator(s); agreement needs two",
            hint=f"scirgen label merge {labels.folder} A.jsonl B.jsonl",
        )
    parts: dict[str, Any] = {}
    for part in (None, "dev", "test"):
        items = labels.part(part)
        columns = {a: labels.column(a, items) for a in people}
        if sum(all(c[n] is not None for c in columns.values()) for n in range(len(items))) > 1:
            parts[part or "all"] = agreement(
                columns,
                [i.cluster for i in items],
                order=labels.task.scale,
                weights=[i.weight for i in items],
                resamples=resamples,
            )
    settled = Counter(labels.settled(item.id).how for item in labels.items)
    seconds = [x.seconds for a in people for x in labels.labels[a].values() if x.seconds]
    return {
        "sample": labels.sample.id,
        "task": labels.sample.task,
        "guideline": labels.sample.guideline,
        "labels": labels.content_hash(),
        "annotators": {a: len(labels.labels[a]) for a in people},
        "language_models": [a for a in people if a in labels.sample.language_models],
        "items": len(labels.items),
        "margin": labels.sample.margin,
        "settled": dict(sorted(settled.items())),
        "agreement": parts,
        "further": _further(labels),
        "seconds_median": round(sorted(seconds)[len(seconds) // 2], 1) if seconds else None,
        "faithful": _faithful(labels) if labels.sample.task == "faithful" else {},
        "judges": [],
    }


def _further(labels: LabelSet) -> dict[str, Any]:
    """Measure agreement on the further questions of the task."""
    table: dict[str, Any] = {}
    for name in labels.task.required:
        columns = [[_field(labels, a, i, name) for i in labels.items] for a in labels.annotators]
        pairs = [(a, b) for n, a in enumerate(columns) for b in columns[n + 1 :]]
        values = {
            "exact": mean_known(exact(a, b) for a, b in pairs),
            "kappa": mean_known(kappa(a, b) for a, b in pairs),
        }
        table[name] = {k: None if v is None else round(v, 6) for k, v in values.items()}
    return table


def _field(labels: LabelSet, annotator: str, item: Item, name: str) -> str | None:
    label = labels.labels[annotator].get(item.id)
    return (label.fields.get(name) or None) if label else None


def _faithful(labels: LabelSet) -> dict[str, Any]:
    """Share of faithful answers by verdict; for the kept ones, this is the filter's precision."""
    table: dict[str, Any] = {}
    settled = ((item, labels.settled(item.id).label) for item in labels.items)
    groups = grouped((i.hidden.verdict, (label == _YES, i.weight)) for i, label in settled if label is not None)
    for verdict, rows in sorted(groups.items()):
        total = sum(w for _, w in rows)
        share = sum(w for good, w in rows if good) / total
        # Kish's effective size: unequal weights reduce the value of a sample.
        effective = max(1, round(total**2 / sum(w * w for _, w in rows)))
        low, high = wilson(min(effective, round(share * effective)), effective)
        table[verdict] = {
            "items": len(rows),
            "effective": effective,
            "share": round(share, 6),
            "interval": [round(low, 6), round(high, 6)],
        }
    return table


def verdicts(labels: LabelSet, judged: Sequence[Judged], part: Part) -> list[dict[str, Any]]:
    """Test judges for non-inferiority on a part by the sample's margin, and compare them with the settled labels.

    The test part can be opened only once: the judges tested on it are recorded with their identities, and another or a
    changed judge is refused.

    Raises:
        InputError: the test part was opened for other judges, or too few items are labelled.
    """
    if part == "test":
        _open_once(labels, judged)
    items = labels.part(part)
    humans = [labels.column(a, items) for a in labels.annotators]
    settled = [labels.settled(i.id).label for i in items]
    found = []
    for judge in judged:
        column = [judge.labels.get(i.id) for i in items]
        result = non_inferiority(
            humans,
            column,
            [i.cluster for i in items],
            margin=labels.sample.margin,
            weights=[i.weight for i in items],
        )
        against = {
            "exact": exact(settled, column),
            "kappa": kappa(settled, column),
            "macro_f1": macro_f1(settled, column),
        }
        found.append(
            {
                "judge": judge.judge,
                "identity": judge.identity,
                "hash": judge.hash,
                "part": part,
                "guideline": labels.sample.guideline,
                "validated": part == "test" and result.passed,
                "result": result.as_json(),
                "failed": dict(judge.failed),
                "against_settled": {k: None if v is None else round(v, 6) for k, v in against.items()},
            }
        )
    return found


def _open_once(labels: LabelSet, judged: Sequence[Judged]) -> None:
    path = labels.folder / OPENED
    now = {j.judge: j.identity for j in judged}
    before: dict[str, str] = read_json(path, hint="Restore the file.") if path.is_file() else now
    if strange := {k: v for k, v in now.items() if before.get(k) != v}:
        name, identity = next(iter(strange.items()))
        known = before.get(name)
        what = f"{name} was {known!r} then and is {identity!r} now" if known else f"{name} was not among them"
        raise InputError(
            f"the test part was already opened for {', '.join(sorted(before))}: {what}",
            hint="A changed judge needs a new test part: scirgen label draw SOURCE --follow L/ --out L2/ (the "
            "old one joins dev).",
        )
    if not path.is_file():
        write_text(path, json.dumps(before, indent=2, sort_keys=True) + "\n")


def keep_earlier(labels: LabelSet, found: dict[str, Any]) -> None:
    """Add the verdicts of an earlier ``agreement.json`` on the same labels; a judge that is tested again replaces its
    earlier verdict."""
    path = labels.folder / FILE
    earlier = read_json(path, hint="Remove the file, and measure again.") if path.is_file() else {}
    if earlier.get("labels") != found["labels"]:
        return
    now = {(j["hash"], j["part"]) for j in found["judges"]}
    found["judges"] = [j for j in earlier["judges"] if (j["hash"], j["part"]) not in now] + found["judges"]


def write(labels: LabelSet, found: Mapping[str, Any]) -> None:
    """Write ``agreement.json``; the same labels give the same bytes."""
    write_text(labels.folder / FILE, json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def as_text(found: Mapping[str, Any]) -> str:
    """Return the findings as tables and sentences."""
    models = found.get("language_models", ())
    people = ", ".join(f"{a}{' (a language model)' if a in models else ''} {n}" for a, n in found["annotators"].items())
    settled = ", ".join(f"{n} {how}" for how, n in found["settled"].items())
    lines = [f"{found['task']}: {found['items']} items; labels: {people}; {settled}"]
    if found["seconds_median"] is not None:
        lines.append(f"median time per item: {found['seconds_median']:g} s")
    names = (
        ("exact", "exact agreement"), ("exact_weighted", "  in the population"), ("kappa", "Cohen's kappa"),
        ("kappa_quadratic", "  quadratic"), ("alpha_nominal", "Krippendorff's alpha"), ("alpha_ordinal", "  ordinal"),
        ("macro_f1", "macro F1"), ("spearman", "Spearman's rho"),
    )  # fmt: skip
    lines += [
        "",
        f"{'':24}" + "".join(f"{part + ' (' + str(p['items']) + ')':24}" for part, p in found["agreement"].items()),
    ]
    for key, name in names:
        cells = [p[key] for p in found["agreement"].values()]
        if any(c["value"] is not None for c in cells):
            lines.append(f"{name:24}" + "".join(f"{_cell(c['value'], c['interval']):24}" for c in cells))
    if (few := max((p["clusters"] for p in found["agreement"].values()), default=0)) < FEW_CLUSTERS:
        lines.append(f"Only {few} datasets or queries: intervals that resample them are not reliable.")
    for name, values in found["further"].items():
        lines.append(f"{name}: exact {_cell(values['exact'])}, kappa {_cell(values['kappa'])}")
    if found["faithful"]:
        lines += ["", "Faithful, by the run's decision (weighted, 95 % interval):"]
        lines += [
            f"  {v:20}{_cell(g['share'], g['interval']):22}{g['items']} items" for v, g in found["faithful"].items()
        ]
    readers = "people" if not models else "language models" if len(models) == len(found["annotators"]) else "annotators"
    for judge in found["judges"]:
        lines += ["", *_judge_lines(judge, readers)]
    return "\n".join(lines)


def _judge_lines(judge: Mapping[str, Any], readers: str) -> list[str]:
    r = judge["result"]
    lines = [f"Judge {judge['judge']} on {judge['part']}: {judge['identity']}"]
    lines.append(
        f"  {readers} agree with each other on {r['human_human']:.3f}, with the judge on {r['human_judge']:.3f} of "
        f"{r['items']} items: "
        f"gap {r['gap']:+.3f}, one-sided 95 % bound {r['bound']:+.3f}, margin {r['margin']:g}"
    )
    if judge["failed"]:
        lines.append("  without a label: " + ", ".join(f"{n} {code}" for code, n in judge["failed"].items()))
    against = ", ".join(f"{k} {_cell(v)}" for k, v in judge["against_settled"].items())
    lines.append(f"  with the labels that {readers} settled on: {against}")
    if judge["part"] == "dev":
        lines.append(
            "  On dev items this is for improving the judge. It decides nothing: add --test when the judge is final."
        )
    elif judge["validated"]:
        lines.append("  PASSED: the bound is below the margin. Its labels may be used as validated.")
    else:
        lines.append('  NOT PASSED: the bound is not below the margin. Its labels stay "unvalidated".')
    return lines


def _cell(value: float | None, interval: Sequence[float] | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def read_labels(folder: str | Path) -> LabelSet:
    """Read a folder of labels, as ``scirgen label draw`` makes it."""
    return LabelSet(Path(folder))


def measure_agreement(folder: str | Path) -> dict[str, Any]:
    """Measure how well the annotators of a folder agree, as ``scirgen label agree`` does."""
    return measure(read_labels(folder))
