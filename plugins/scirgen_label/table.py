"""Writes the labels of a folder as a table, one row per label."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scirgen_bench.labels.labelset import LabelSet
from scirgen_label.files import write_text


def export(labels: LabelSet, out: Path | None = None) -> tuple[Path, int]:
    """Write ``labels.csv``; returns the file and its number of labels.

    Args:
        labels: the folder.
        out: the file; by default one in the folder.
    """
    path = out or labels.folder / "labels.csv"
    rows = list(_rows(labels))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else ["item"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())
    return path, len(rows)


def _rows(labels: LabelSet) -> Iterator[dict[str, Any]]:
    for item in labels.items:
        for annotator in sorted(labels.labels):
            if label := labels.labels[annotator].get(item.id):
                row = {
                    "item": item.id,
                    "record": item.record,
                    "part": item.part,
                    "stratum": item.stratum,
                    "weight": item.weight,
                    "annotator": annotator,
                    "label": label.label,
                    "reason": label.reason,
                    "seconds": label.seconds,
                    "settled": labels.settled(item.id).label or "",
                    "fields": json.dumps(label.fields, ensure_ascii=False, sort_keys=True),
                    "question": item.shown.question,
                    "answer": item.shown.answer,
                }
                yield {k: _plain(v) for k, v in row.items()}


def _plain(value: object) -> object:
    # A spreadsheet executes a cell that starts like a formula, and text from papers is untrusted.
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
