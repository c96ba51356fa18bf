"""The local tagger against the published Bloom labels of ScIRGen-Geo: trained on its train, measured on its dev
questions.

python -m benchmarks.bloom [--target level|question_type] --json FILE
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import time
from pathlib import Path

from benchmarks import REALDATA
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen_bench.tagger import evaluate, fit, read_labels


def split_labels(records: Path, folder: Path) -> tuple[Path, Path]:
    """Write the labelled questions of the train and the dev split as JSONL; returns the two files."""
    files = {split: folder / f"{split}.jsonl" for split in ("train", "dev")}
    opened = {split: path.open("w", encoding="utf-8") for split, path in files.items()}
    with gzip.open(records, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if record["split"] not in opened:
                continue
            for kind, pairs in record["query"].items():
                for pair in pairs:
                    row = {"question": pair["QuestionEn"], "question_type": kind, "level": pair.get("Level")}
                    opened[record["split"]].write(json.dumps(row, ensure_ascii=False) + "\n")
    for file in opened.values():
        file.close()
    return files["train"], files["dev"]


def main() -> None:
    """Train, measure, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=Path, default=REALDATA / "geo" / "records.jsonl.gz")
    parser.add_argument("--target", choices=["level", "question_type"], default="level")
    parser.add_argument("--json", type=Path, required=True)
    args = parser.parse_args()
    taxonomies = Taxonomies(Resources())
    with tempfile.TemporaryDirectory() as folder:
        train_file, test_file = split_labels(args.records, Path(folder))
        train, _ = read_labels(train_file, args.target, taxonomies)
        test, skipped = read_labels(test_file, args.target, taxonomies)
    started = time.perf_counter()
    tagger = fit(train, args.target)
    report, differing = evaluate(tagger, train, test)
    report["fit_s"] = round(time.perf_counter() - started, 1)
    report["skipped"] = skipped
    report["surest_disagreements"] = [vars(d) for d in differing[:40]]
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(
        json.dumps({k: report[k] for k in ("accuracy", "macro_f1", "kappa", "questions_per_s", "baselines")}, indent=2)
    )


if __name__ == "__main__":
    main()
