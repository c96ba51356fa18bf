"""Builds the public sample from what `scirgen generate` left: releases, verdicts, figures and card.

    python examples/release/build.py            writes release/, verdicts.jsonl, figures.json and README.md
    python examples/release/build.py --check    builds elsewhere and names each committed file that differs
    python examples/release/build.py --pack RUNS   writes store/RUN.db.xz from each run RUNS/RUN that is there
    python examples/release/build.py --papers DIR  downloads the papers that papers/*/papers.csv name

A store holds all results of a run and the writer's replies, but none of the scorer's, uncompressed inside so that xz
finds what repeats. Nothing here calls a model.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import lzma
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import urllib.request
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from benchmarks import questions  # noqa: E402
from scirgen import QAPair, Release  # noqa: E402
from scirgen.pipeline.store import result_hash  # noqa: E402
from scirgen.pipeline.views.view import open_view  # noqa: E402
from scirgen_bench.intervals import wilson  # noqa: E402

RUNS = ("en", "en-infection", "en-plos", "es", "pt")
READINGS = {"reading": "", "reading/en-plos": ", en-plos", "reading/en-infection": ", en-infection"}
"""Folder of a reading -> what its kinds of rows are called after."""
ASKED = ("supported", "clear", "real", "worth", "natural", "guess")
COUNTED = (
    "asked_for", "candidates", "accepted", "declined", "rejected_by_the_filter", "about", "with_several_gold_datasets",
    "yes_and_no", "level_as_asked", "levels_given_by_type", "evidence_spans_verbatim",
)  # fmt: skip
TOKENS = ("prompt_tokens", "completion_tokens")
BUILT = ("release", "verdicts.jsonl", "figures.json", "README.md")


def pack(runs: Path) -> None:
    """Write the store of each run, with file names in place of the papers' local paths."""
    for language in (run for run in RUNS if (runs / run).is_dir()):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "run.db")
            db = sqlite3.connect(path)
            sqlite3.connect(f"file:{runs / language / 'run.db'}?mode=ro", uri=True).backup(db)
            db.create_function("plain", 1, _plain)
            db.create_function("stored", 1, lambda blob: zlib.compress(zlib.decompress(blob), 0))
            db.create_function("result_hash", 7, result_hash)
            db.executescript(
                "DELETE FROM replies WHERE kind = 'score';"
                "UPDATE replies SET request = stored(request), reply = stored(reply);"
                "UPDATE results SET outputs = plain(outputs), rejections = plain(rejections);"
                "UPDATE results SET hash = result_hash(stage, key, fingerprint, status, outputs, rejections, failures);"
                "VACUUM; PRAGMA journal_mode = DELETE;"
            )
            db.close()
            (HERE / "store" / f"{language}.db.xz").write_bytes(lzma.compress(path.read_bytes(), preset=9))
        shutil.copy(runs / language / "manifest.json", HERE / "store" / f"{language}.manifest.json")


def _plain(blob: bytes) -> bytes:
    raw = b"r" + zlib.decompress(blob[1:]) if blob[:1] == b"z" else blob
    return re.sub(rb'"/[^"]+/([^/"]+[.](?:pdf|xml))"', rb'"papers/\1"', raw)


def fetch(folder: Path) -> None:
    """Download the papers, and say which differ from those that were used."""
    for language in RUNS:
        table = HERE / "papers" / language / "papers.csv"
        target = folder / language
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(table, target)
        with table.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                with urllib.request.urlopen(row["source"].replace("/blob/", "/raw/")) as answer:  # noqa: S310
                    found = answer.read()
                (target / row["file"]).write_bytes(found)
                if hashlib.sha256(found).hexdigest() != row["sha256"]:
                    print(f"{row['file']}: not the file that was used")


def build(out: Path) -> None:
    """Build everything into a folder."""
    figures: dict[str, Any] = {"runs": {}}
    candidates: dict[str, tuple[str, str]] = {}
    kinds: Counter[str] = Counter()
    lengths: list[int] = []
    documents: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for language in RUNS:
            run = Path(folder, language)
            run.mkdir()
            (run / "run.db").write_bytes(lzma.decompress((HERE / "store" / f"{language}.db.xz").read_bytes()))
            merged = Path(folder, f"{language}-merged")
            scirgen = Path(sys.executable).with_name("scirgen")
            options = ["--out", merged, "--config", HERE / "release.yaml", "--no-report", "--quiet"]
            subprocess.run([scirgen, "merge", run, *options], check=True)
            shutil.copytree(merged / "release", out / "release" / language)
            view = open_view(merged)
            pairs = list(view.pairs())
            rejected = [r.record_id for r in view.rejections() if (r.stage, r.record_kind) == ("filter", "QAPair")]
            counted = questions.measure(view, merged)
            figures["runs"][language] = {k: counted[k] for k in COUNTED}
            answered = Counter(p.asked for p in view.records("answer", QAPair))
            figures["runs"][language]["answered"] = dict(sorted(answered.items()))
            [[figures["runs"][language]["unanswered"]]] = view.store.rows(
                "SELECT COUNT(*) FROM rows WHERE kind = 'Unanswered'"
            )
            spent = json.loads((HERE / "store" / f"{language}.manifest.json").read_text())["usage"]["generator"]
            figures["runs"][language]["cost"] = {k: spent[k] for k in ("calls", "prompt_tokens", "completion_tokens")}
            figures["runs"][language]["tokens_per_row"] = [round(spent[k] / len(pairs)) for k in TOKENS]
            view.close()
            candidates |= {p.id: (language, _kind(p)) for p in pairs} | dict.fromkeys(rejected, (language, "rejected"))
            kinds.update(p.asked for p in pairs)
            lengths += [len(p.question.split()) for p in pairs]
            for pair in pairs:
                documents["several" if len({s.document_id for s in pair.evidence}) > 1 else "one"] += 1
    rows = sum(documents.values())
    tokens = Counter[str]()
    for run_figures in figures["runs"].values():
        tokens.update(run_figures["cost"])
    figures["all"] = {
        "candidates": len(candidates),
        "released": rows,
        "asked": dict(sorted(kinds.items())),
        "rows_citing_several_documents": documents["several"],
        "rows_needing_several_documents": sum(
            (row.needs_documents or 0) > 1 for run in RUNS for row in Release(out / "release" / run).rows()
        ),
        "median_words_of_a_question": statistics.median(lengths),
        "tokens_per_row": {k: round(tokens[k] / rows, 1) for k in TOKENS},
        "calls": tokens["calls"],
    }
    figures["reading"] = read(candidates, out)
    (out / "figures.json").write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "README.md").write_text(card(figures), encoding="utf-8")


def read(candidates: dict[str, tuple[str, str]], out: Path) -> dict[str, Any]:
    """Join the readers' verdicts: counts for each row that was read, and shares for each kind of row."""
    kinds: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    lines: list[dict[str, Any]] = []
    for name, after in READINGS.items():
        folder = HERE / name
        items = {i["n"]: i for i in map(json.loads, (folder / "items.jsonl").read_text(encoding="utf-8").splitlines())}
        readers = [
            {said["n"]: said for said in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
            for file in sorted(folder.glob("R*.jsonl"))
        ]
        for n, item in items.items():
            said = [reader[n] for reader in readers]
            language, kind = candidates[item["row"]]
            kinds[("planted" if item.get("planted") else kind) + after].append(said)
            if not item.get("planted"):
                why = [v["why"] for v in said if v.get("why")]
                lines.append({"id": item["row"], "language": language, "kind": kind, "readers": len(said)}
                             | {a: sum(v[a] for v in said) for a in ASKED} | {"why": why})  # fmt: skip
    lines.sort(key=lambda line: (line["language"], line["id"]))
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (out / "verdicts.jsonl").write_text(text, encoding="utf-8")
    shares = {}
    for kind, read_rows in sorted(kinds.items()):
        shares[kind] = {a: _share([2 * sum(v[a] for v in said) > len(said) for said in read_rows]) for a in ASKED}
        joined = [statistics.median(v["joins"] for v in said) >= 2 for said in read_rows]
        shares[kind]["two facts or more"] = _share(joined)
        spans = [letter == "n" for said in read_rows for v in said for letter in v["spans"]]
        shares[kind]["evidence lines needed"] = [round(100 * sum(spans) / len(spans), 1)]
    return {"readers": len(readers), "read": len(lines), "shares": shares}


def _kind(pair: QAPair) -> str:
    return pair.asked.replace("known_item", "known items")


def _share(values: list[bool]) -> list[Any]:
    low, high = wilson(sum(values), len(values))
    return [sum(values), len(values), *(round(100 * x, 1) for x in (low, high))]


def card(figures: dict[str, Any]) -> str:
    """Fill the card's text with the figures."""
    total = figures["all"]
    runs = figures["runs"]
    table = ["| | " + " | ".join(runs) + " |", "|---" * (len(runs) + 1) + "|"]
    picks: dict[str, Callable[[dict[str, Any]], str]] = {
        "known items asked for at most, written; rows released": lambda r: (
            f"{r['asked_for']:,}, {r['candidates']}; {r['accepted']}"
        ),
        "rejected by the filter": lambda r: (
            ", ".join(f"{code} {n}" for code, n in r["rejected_by_the_filter"].items()) or "none"
        ),
        "level asked for = level tagged": lambda r: "{} of {}".format(*r["level_as_asked"]),
        "evidence spans verbatim": lambda r: "{} of {}".format(*r["evidence_spans_verbatim"]),
        "calls, prompt and reply tokens": lambda r: ", ".join(f"{n:,}" for n in r["cost"].values()),
    }
    for label, pick in picks.items():
        table.append(f"| {label} | " + " | ".join(pick(r) for r in runs.values()) + " |")
    shares = figures["reading"]["shares"]
    order = ("seeking", "narrowed", "known items", "rejected", "planted")
    names = [n + after for after in READINGS.values() for n in order if n + after in shares]
    reading = ["| true to the majority | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    labels = dict.fromkeys(ASKED) | {"guess": "answered without documents", "two facts or more": None}
    for asked, label in labels.items():
        cells = ["{} of {} [{}, {}]".format(*shares[n][asked]) for n in names]
        reading.append(f"| {label or asked} | " + " | ".join(cells) + " |")
    cells = [f"{shares[n]['evidence lines needed'][0]} %" for n in names]
    reading.append("| evidence lines needed, of all readers' | " + " | ".join(cells) + " |")
    return (HERE / "card.md").read_text(encoding="utf-8").format(
        rows=total["released"], candidates=total["candidates"], calls=total["calls"],
        several=round(100 * total["rows_citing_several_documents"] / total["released"]),
        needs=total["rows_needing_several_documents"],
        words=round(total["median_words_of_a_question"]), prompt=f"{total['tokens_per_row']['prompt_tokens']:,}",
        reply=total["tokens_per_row"]["completion_tokens"], runs="\n".join(table),
        readers=figures["reading"]["readers"], read=figures["reading"]["read"], reading="\n".join(reading),
        unanswered=figures["runs"]["en-plos"]["unanswered"],
        unanswered_infection=figures["runs"]["en-infection"]["unanswered"],
        asked=", ".join(f"{kind.replace('_', ' ')} {n}" for kind, n in total["asked"].items()),
    )  # fmt: skip


def main() -> None:
    """Build, check, pack or fetch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pack", type=Path, metavar="RUNS")
    parser.add_argument("--papers", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    if arguments.pack or arguments.papers:
        return pack(arguments.pack) if arguments.pack else fetch(arguments.papers)
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder)
        build(new)
        if arguments.check:
            sides = [
                {p.relative_to(root): p.read_bytes() for name in BUILT for p in [root / name, *(root / name).rglob("*")]
                 if p.is_file()} for root in (HERE, new)
            ]  # fmt: skip
            differ = sorted(str(p) for p in sides[0].keys() | sides[1].keys() if sides[0].get(p) != sides[1].get(p))
            print("\n".join(f"differs: {p}" for p in differ) or f"{len(sides[0])} files, all as committed")
            sys.exit(bool(differ))
        shutil.rmtree(HERE / "release", ignore_errors=True)
        shutil.copytree(new, HERE, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
