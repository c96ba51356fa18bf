"""A population and scripted annotators, for tests of labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen_bench.labels.labelset import Hidden, Item, LabelSet, Marked, Shown
from scirgen_label.draw import Request, draw
from scirgen_label.sources import Candidate, Material


class Population:
    """``size`` pairs of 7 datasets. Every third was rejected; those whose number is not a multiple of four are
    faithful."""

    kind = "made"

    def __init__(self, size: int) -> None:
        self.size = size

    def candidates(self) -> Iterator[Candidate]:
        for n in range(self.size):
            verdict = "kept" if n % 3 else "rejected_by_score"
            hidden = Hidden(
                verdict=verdict,
                question_type="quantification",
                dataset_id=f"d{n % 7}",
                scores={"shift": 0.05 if n % 4 == 0 else 0.4},
            )
            yield Candidate(f"qa-{n}", f"d{n % 7}", {"verdict": verdict, "question_type": "quantification"}, hidden)

    def material(self, records: Collection[str]) -> Material:
        marked = (Marked(text="It is 3 m deep.", where="metadata"),)
        return Material(
            {
                r: Shown(question=f"How deep is {r}?", answer=f"{r} is 3 m deep.", evidence=marked, context="d")
                for r in records
            },
            {"d": "It is 3 m deep."},
        )


def truth(item: Item) -> str:
    """The right label."""
    return "no" if int(item.record.split("-")[1]) % 4 == 0 else "yes"


def drawn(folder: Path, test: int = 60, dev: int = 20, size: int = 200) -> LabelSet:
    """A sample of the population."""
    guideline = PromptLibrary(Resources()).get("label/faithful")
    return draw(Population(size), "made", Request("faithful", test, dev, strata=("verdict",)), guideline, folder)


def labels_file(
    labels: LabelSet, annotator: str, path: Path, say: Callable[[int, Item], str] | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    items: Collection[Item] | None = None,
) -> Path:  # fmt: skip
    """A file as the page's Download button writes it. ``say`` gives the label of the n-th item; by default the right
    one."""
    lines = []
    for n, item in enumerate(labels.items if items is None else items):
        fields = {"stands_alone": "yes", "fits_type": "no" if n % 10 == 0 else "yes", **(more or {}).get(item.id, {})}
        lines.append(
            json.dumps({
                "sample": labels.sample.id, "item": item.id, "task": "faithful", "annotator": annotator,
                "label": say(n, item) if say else truth(item), "reason": "The source says so.", "fields": fields,
                "seconds": 30 + n % 5, "guideline": labels.sample.guideline,
            })
        )  # fmt: skip
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path
