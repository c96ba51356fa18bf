"""What thresholds of `release.decontaminate_similarity` find and wrongly drop.

    python -m benchmarks.decontamination --model st:DIR [--release GEO] [--json FILE]

Two measurements. Hand-written questions in two wordings (to be found), and with one thing changed that makes another question of
it (not to be found). And, where a release is given, questions of dev against questions of train, which are about other datasets:
how many a threshold would drop.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from scirgen.core.records import QAPair
from scirgen.qa.release import Release
from scirgen.stages.release.settle.contamination import Benchmarks
from scirgen.stages.release.settle.paraphrases import Paraphrases

THRESHOLDS = (0.8, 0.85, 0.9, 0.95)
WORDS = 13

# (a question, the same in other words, another question that looks like it)
TRIPLES = (
    ("What is the spatial resolution of the Arvel streamflow grid?", "How fine are the cells of the Arvel streamflow grid in space?", "What is the temporal resolution of the Arvel streamflow grid?"),
    ("Why did lake ice on Issvar break up earlier after 1990?", "What made the ice of Lake Issvar break up sooner after 1990?", "Why did lake ice on Issvar form later after 1990?"),
    ("How many soil moisture stations are in the Norrun network?", "What number of stations does the Norrun soil moisture network have?", "How many snow depth stations are in the Norrun network?"),
    ("Which sensor measured the snow depth at Brenna pass?", "With what instrument was snow depth observed at Brenna pass?", "Which sensor measured the wind speed at Brenna pass?"),
    ("Did precipitation in the Okla basin increase between 1980 and 2010?", "Was there a rise in precipitation in the Okla basin from 1980 to 2010?", "Did precipitation in the Vess basin increase between 1980 and 2010?"),
    ("How was the glacier mass balance of Tolgar estimated?", "By what method was Tolgar glacier's mass balance derived?", "How was the glacier velocity of Tolgar estimated?"),
    ("What is the mean annual temperature of the Senn plateau?", "What temperature does the Senn plateau have on average over a year?", "What is the mean annual precipitation of the Senn plateau?"),
    ("Compare the accuracy of the MODIS and the Landsat snow maps of the Halm range.", "Which snow maps of the Halm range are more accurate, those from Landsat or those from MODIS?", "Compare the cost of the MODIS and the Landsat snow maps of the Halm range."),
    ("What period does the Karsk discharge record cover?", "From when to when does the Karsk discharge record run?", "What area does the Karsk discharge record cover?"),
    ("How can the Miren land cover map be used to plan irrigation?", "In what way could irrigation planners make use of the Miren land cover map?", "How can the Miren land cover map be used to plan roads?"),
    ("What would happen to the permafrost at Ulta if summers warmed by 2 degrees?", "Suppose summers became 2 degrees warmer: what would become of the permafrost at Ulta?", "What would happen to the permafrost at Ulta if summers warmed by 4 degrees?"),
    ("Which variables are in the Dorne weather station data?", "What quantities do the data of the Dorne weather station contain?", "Which units are in the Dorne weather station data?"),
    ("Is the Felmar vegetation index corrected for clouds?", "Have clouds been corrected for in the Felmar vegetation index?", "Is the Felmar vegetation index corrected for topography?"),
    ("What causes the gaps in the Ristad carbon flux series?", "Why does the series of carbon fluxes from Ristad have gaps?", "What causes the trend in the Ristad carbon flux series?"),
    ("Where was the Pelsk groundwater survey carried out?", "In which place did the Pelsk groundwater survey take place?", "When was the Pelsk groundwater survey carried out?"),
    ("What is the largest flood in the Arvel record of 2006?", "Which flood of 2006 is the biggest in the Arvel record?", "What is the largest flood in the Arvel record of 2016?"),
    ("How does grazing affect the biomass of the Sundal meadows?", "What effect has grazing on biomass in the meadows of Sundal?", "How does mowing affect the biomass of the Sundal meadows?"),
    ("Which file format do the Vintar radar images come in?", "In what format are the files of the Vintar radar images?", "Which projection do the Vintar radar images come in?"),
    ("How were missing values in the Tolgar rainfall series filled?", "What was done to fill gaps in Tolgar's rainfall series?", "How were missing values in the Tolgar rainfall series flagged?"),
    ("What are the limitations of the Okla erosion model?", "In which respects does the Okla erosion model fall short?", "What are the inputs of the Okla erosion model?"),
    ("Explain how the Norrun probes were calibrated in the laboratory.", "Describe the laboratory calibration of the probes at Norrun.", "Explain how the Norrun probes were installed in the field."),
    ("Which months have the least snow on the Senn plateau?", "In what months is there least snow on the Senn plateau?", "Which months have the most snow on the Senn plateau?"),
    ("What share of the Halm range is covered by forest?", "How much of the Halm range is forest?", "What share of the Halm range is covered by glaciers?"),
    ("Can the Issvar data be used to train a neural network for ice detection?", "Are the Issvar data fit for training a neural network that detects ice?", "Can the Issvar data be used to validate a satellite product of ice?"),
)  # fmt: skip


def handwritten(uri: str) -> list[dict[str, float]]:
    """Share of rewordings found, and of changed questions wrongly found, for each threshold."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked.jsonl"
        file.write_text("".join(json.dumps({"question": q}) + "\n" for q, _, _ in TRIPLES), encoding="utf-8")
        same, other = [_pair(s) for _, s, _ in TRIPLES], [_pair(o) for _, _, o in TRIPLES]
        ngrams = Benchmarks([file], WORDS)
        rows = [
            {
                "threshold": t,
                "found": len(list(Paraphrases([file], uri, t).find(same))) / len(same),
                "wrong": len(list(Paraphrases([file], uri, t).find(other))) / len(other),
            }
            for t in THRESHOLDS
        ]
        shared = sum(ngrams.overlap(p) is not None for p in same) / len(same)
        return [{"threshold": float("nan"), "found": shared, "wrong": 0.0}, *rows]


def released(folder: Path, uri: str, asked: int, against: int) -> list[dict[str, object]]:
    """How many of some questions of dev each threshold drops, with some questions of train as the benchmark."""
    release = Release(folder)
    draw = random.Random(0)
    train, dev = list(release.rows("train")), list(release.rows("dev"))
    train = draw.sample(train, min(against, len(train)))
    dev = draw.sample(dev, min(asked, len(dev)))
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "train.jsonl"
        file.write_text("".join(json.dumps({"question": r.question}) + "\n" for r in train), encoding="utf-8")
        pairs = [_pair(r.question) for r in dev]
        found = list(Paraphrases([file], uri, min(THRESHOLDS)).find(pairs))
        shared = sum(Benchmarks([file], WORDS).overlap(p) is not None for p in pairs)
    rows: list[dict[str, object]] = [{"threshold": None, "dropped": shared / len(pairs), "examples": []}]
    for low, high in zip(THRESHOLDS, (*THRESHOLDS[1:], 1.01), strict=True):
        inside = sorted((c, p.question, why) for p, why, c in found if low <= c < high)
        rows.append(
            {
                "threshold": low,
                "dropped": sum(c >= low for _, _, c in found) / len(pairs),
                "examples": [f"{q} / {why}" for _, q, why in draw.sample(inside, min(5, len(inside)))],
            }
        )
    return rows


def _pair(question: str) -> QAPair:
    return QAPair(
        id=QAPair.make_id("d", "t", question, "-"), dataset_id="d", question=question, answer="-", question_type="t"
    )


def _table(title: str, rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    print(f"\n{title}\n")
    print("| cosine | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for row in rows:
        threshold = row["threshold"]
        name = f"{threshold:.2f}" if threshold == threshold and threshold is not None else f"({WORDS} words in a row)"
        print(f"| {name} | " + " | ".join(f"{row[c]:.1%}" for c in columns) + " |")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="st:MODEL_OR_DIR")
    parser.add_argument("--release", type=Path)
    parser.add_argument("--asked", type=int, default=2000)
    parser.add_argument("--against", type=int, default=20000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures: dict[str, object] = {"handwritten": handwritten(options.model)}
    _table("Hand-written questions", figures["handwritten"], ("found", "wrong"))
    if options.release:
        figures["released"] = released(options.release, options.model, options.asked, options.against)
        _table("Dev against train", figures["released"], ("dropped",))
        for row in figures["released"]:
            for example in row["examples"]:
                print(f"{row['threshold']}: {example}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
