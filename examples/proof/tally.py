"""Print what three readers say of the rows in reading/: python examples/proof/tally.py

Each share counts the rows for which two of the three readers said true. Standard library only.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent / "reading"
ASKED = ("supported", "clear", "real", "worth", "natural", "guess")


def main() -> None:
    """Print a line for each kind of row."""
    items = [json.loads(line) for line in (HERE / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    readers = [
        {said["n"]: said for said in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
        for file in sorted(HERE.glob("R*.jsonl"))
    ]
    for kind in ("seeking", "known", "planted"):
        rows = [item["n"] for item in items if item["kind"] == kind]
        true = {name: sum(median(bool(r[n][name]) for r in readers) for n in rows) for name in ASKED}
        several = sum(median(r[n]["joins"] for r in readers) >= 2 for n in rows)
        lines = Counter(letter for r in readers for n in rows for letter in r[n]["spans"])
        shares = ", ".join(f"{name} {count / len(rows):.0%}" for name, count in true.items())
        needed = lines["n"] / lines.total()
        print(f"{kind} {len(rows)}: {shares}, two facts or more {several / len(rows):.0%}, lines needed {needed:.0%}")


if __name__ == "__main__":
    main()
