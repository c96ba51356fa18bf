"""Labelled answers that the coefficients of the bundled scorer are fitted and measured on: by hand, and of a strong
writer.

The strong writer's are `pairs/` and `desk/` of `$SCIRGEN_REALDATA`; swaps within dataset and type and drawn digits
are made of them each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import REALDATA
from benchmarks.corruptions import of_pairs
from scirgen.core.records import QAPair, Span

HAND = Path(__file__).parent / "data" / "hand_pairs.jsonl"
MADE_OF = 100
SAMPLED = {"swap": 3, "number": 2}
"""The number of the strong writer's true answers that are corrupted: every third is swapped, every second gets other
digits, which keeps the measuring short."""

TRUE = ("written", "close", "loose", "right")
HELD = ("held", "held2")
"""Parts that nothing was fitted on, nor looked at when rules were chosen."""


@dataclass(frozen=True)
class Row:
    """One answer.

    Attributes:
        pair: with its evidence as spans.
        part: "strong", "desk", "hand" (fitted on), or one of `HELD`.
        fold: what is left out together: a dataset, or a piece of evidence.
        made: one of `TRUE`, or how the answer was made false.
        context: what the dataset's texts say; for pairs by hand the evidence of all questions about the same source.
    """

    pair: QAPair
    part: str
    fold: str
    made: str
    context: str

    @property
    def faithful(self) -> bool:
        """True if the evidence supports the answer."""
        return self.made in TRUE


def rows() -> list[Row]:
    """All labelled answers; those of the strong writer where the real data are."""
    folder = REALDATA / "pairs"
    found = [*by_hand(HAND), *(by_strong_writer(folder) if folder.is_dir() else ()), *desk(REALDATA / "desk")]
    # An answer that was made twice counts once.
    return list({(r.pair.question, r.pair.answer, r.made): r for r in found}.values())


def by_hand(path: Path) -> Iterator[Row]:
    """Answers to pieces of evidence, and swaps within a paper; all questions to one piece are one fold."""
    every = list(_lines(path))
    said: dict[str, dict[str, None]] = {}
    for one in every:
        said.setdefault(_source(one), {}).update(dict.fromkeys(one["evidence"]))
    for one in every:
        part = one["part"] if one["part"] in HELD else "hand"
        swapped = _swapped(one, every)
        for made, answer in (*one["answers"].items(), *([("swap", swapped)] if swapped else [])):
            pair = _pair(one, one["id"], one["type"], answer, one["id"][:3])
            yield Row(pair, part, one["id"][:3], made, "\n".join(said[_source(one)]))


def _source(one: dict[str, Any]) -> str:
    """Paper or kind of source. Invented findings of part held2 have a context of their own."""
    return str(one["source"]).partition(":")[0] + ("2" if one["part"] == "held2" else "")


def _swapped(one: dict[str, Any], every: list[dict[str, Any]]) -> str | None:
    """The answer in the evidence's words to the next question about another piece of the same paper; None for records
    and invented findings."""
    if one["source"].startswith(("own", "records")) or "close" not in one["answers"]:
        return None
    same = [o for o in every if (o["source"], o["part"]) == (one["source"], one["part"]) and "close" in o["answers"]]
    at = same.index(one)
    return next((o["answers"]["close"] for o in same[at:] + same[:at] if o["id"][:3] != one["id"][:3]), None)


def by_strong_writer(folder: Path) -> Iterator[Row]:
    """The written pairs and their corruptions, the subtle ones, then swaps and digits made of the true ones."""
    strong = list(_lines(folder / "strong-dev.jsonl"))
    contexts = json.loads((folder / "contexts.json").read_text(encoding="utf-8"))
    datasets = {one["id"]: one["dataset"] for one in strong}
    stood = {one["id"]: contexts[one["context_id"]] for one in strong}
    for one in strong:
        made = one["made"] if (one["label"] == "faithful") == (one["made"] == "written") else ""
        if made:
            yield Row(
                _pair(one, one["id"], one["question_type"], one["answer"], one["dataset"]),
                "strong",
                one["dataset"],
                made,
                stood[one["id"]],
            )
    for one in _lines(folder / "subtle-dev.jsonl"):
        dataset = datasets[one["of"]]
        yield Row(
            _pair(one, one["id"], one["question_type"], one["answer"], dataset),
            "strong",
            dataset,
            "subtle",
            stood[one["of"]],
        )
    true = [one for one in strong if one["made"] == "written" and one["label"] == "faithful"]
    told = [(one["dataset"], one["question_type"], one["answer"], "\n".join(one["evidence"])) for one in true]
    for at, made, answer in of_pairs(told):
        if at >= MADE_OF or at % SAMPLED[made]:
            continue
        one = true[at]
        pair = _pair(one, one["id"], one["question_type"], answer, one["dataset"])
        yield Row(pair, "strong", one["dataset"], made, stood[one["id"]])


def desk(folder: Path) -> Iterator[Row]:
    """Yield a strong writer's candidates; true where two of three readers found the answer supported."""
    path = folder / "rows.jsonl"
    every = list(_lines(path)) if path.is_file() else []
    said: dict[str, dict[str, None]] = {}
    for one in every:
        said.setdefault(one["dataset"], {}).update(dict.fromkeys(one["evidence"]))
    for one in every:
        made = "written" if one["verdicts"]["supported"].count("yes") > 1 else "unsupported"
        pair = _pair(one, one["id"], one["question_type"], one["answer"], one["dataset"])
        yield Row(pair, "desk", one["dataset"], made, "\n".join(said[one["dataset"]]))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _pair(one: dict[str, Any], name: str, kind: str, answer: str, dataset: str) -> QAPair:
    spans = tuple(Span(document_id="", start=0, end=len(text), text=text) for text in one["evidence"])
    return QAPair(
        id=name, dataset_id=dataset, question=one["question"], answer=answer, question_type=kind, evidence=spans
    )
