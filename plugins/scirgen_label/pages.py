"""The labelling page: one HTML file per annotator, without anything that could bias the annotator."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from scirgen import InputError
from scirgen.plugin import digest
from scirgen.report.html import fill_page
from scirgen.report.pictures import Picture, page_pictures
from scirgen_bench.labels.labelset import ADJUDICATOR, Item, Label, LabelSet
from scirgen_label.files import write_text

_PARTS = files("scirgen_label") / "page"
_TITLES: Final = {
    "faithful": ("Is the answer faithful to its source?", "Question"),
    "relevance": ("How well does the document meet the requirement?", "Requirement"),
    "query": ("Would a researcher send this query?", "Query"),
    "level": ("Which level of the revised Bloom taxonomy?", "Question"),
    "link": ("Does the paper use the dataset?", "Paper"),
    "facet": ("What does the sentence do in its abstract?", "Sentence"),
}
_RESERVED: Final = frozenset("jkfzrecpg?")
MAILABLE: Final = 20_000_000
"""Size in bytes above which many mail servers refuse attachments."""


def write_pages(labels: LabelSet, *, pictures: bool = True) -> list[Path]:
    """Write ``L/NAME.html`` for every annotator.

    Args:
        labels: the folder.
        pictures: include the PDF pages with the evidence, if the papers' files still exist.

    Raises:
        InputError: a file cannot be written.
    """
    drawn = pictures_of(labels) if pictures else {}
    written = []
    for annotator in labels.sample.annotators:
        path = labels.folder / f"{annotator}.html"
        write_text(path, page(labels, annotator, labels.items, drawn))
        written.append(path)
    return written


def write_adjudication(labels: LabelSet, items: Sequence[Item], pictures: Mapping[str, Picture] | None = None) -> Path:
    """Write ``L/adjudicate.html``: the disputed items with both labels and reasons, without the annotators' names."""
    path = labels.folder / "adjudicate.html"
    write_text(path, page(labels, ADJUDICATOR, items, pictures or {}))
    return path


def page(labels: LabelSet, annotator: str, items: Sequence[Item], pictures: Mapping[str, Picture]) -> str:
    """Return one annotator's page.

    Args:
        labels: the folder.
        annotator: the annotator's name; it decides the order of items, so annotators tire at different ones.
        items: the items to show.
        pictures: ``document:page`` -> picture.
    """
    sample, task = labels.sample, labels.task
    taken = [c.key for c in sample.choices]
    if clash := [k for k in taken if k in _RESERVED or taken.count(k) > 1]:
        raise InputError(
            f"the guideline {sample.guideline} uses a reserved key: {', '.join(sorted(set(clash)))}",
            hint=f"Reserved keys: {' '.join(sorted(_RESERVED))}.",
        )
    ordered = sorted(items, key=lambda i: digest("order", annotator, i.id))
    contexts = labels.contexts()
    ask, heading = _TITLES[task.name]
    data = {
        "sample": sample.id, "task": task.name, "annotator": annotator, "guideline": sample.guideline,
        "reason": task.reason, "required": list(task.required), "heading": heading,
        "choices": [{"id": c.id, "key": c.key} for c in sample.choices],
        "items": [_shown(i, labels if annotator == ADJUDICATOR else None) for i in ordered],
        "contexts": {k: contexts[k] for k in sorted({i.shown.context for i in ordered}) if k in contexts},
        "pictures": {k: {"src": p.src, "width": p.width, "height": p.height} for k, p in sorted(pictures.items())},
    }  # fmt: skip
    return fill_page(
        _PARTS,
        "label",
        title=f"Labels: {task.name}, {annotator}",
        guideline=sample.guideline,
        text=[p.strip() for p in re.split(r"\n\s*\n|\n(?=\d+\. )", sample.text) if p.strip()],
        ask=ask,
        task=task.name,
        choices=sample.choices,
        reason_required=task.reason,
        # "<" could end the script element early; everything else is safe in a block that is not executed.
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),
    )


def _shown(item: Item, given: LabelSet | None) -> dict[str, object]:
    shown = item.shown.model_dump(mode="json")
    for piece in shown["evidence"]:
        piece["picture"] = f"{piece.pop('document')}:{piece['page']}"
    return {"id": item.id, **shown, **({"given": _given(item, given)} if given else {})}


def _given(item: Item, labels: LabelSet) -> list[dict[str, object]]:
    names = {c.id: c.name for c in labels.sample.choices}
    found: list[Label] = [labels.labels[a][item.id] for a in labels.annotators if item.id in labels.labels[a]]
    found.sort(key=lambda x: digest("reader", x.annotator, x.item))
    return [{"label": names.get(x.label, x.label), "reason": x.reason, "fields": x.fields} for x in found]


def pictures_of(labels: LabelSet) -> dict[str, Picture]:
    """Return the pictures of all PDF pages with evidence of the sample."""
    papers = labels.texts("papers.json") if (labels.folder / "papers.json").is_file() else {}
    wanted: dict[str, set[int]] = {}
    for item in labels.items:
        for piece in item.shown.evidence:
            if piece.page and piece.document in papers:
                wanted.setdefault(piece.document, set()).add(piece.page)
    found: dict[str, Picture] = {}
    for document, numbers in sorted(wanted.items()):
        file = Path(papers[document])
        if file.is_file():
            found |= {f"{document}:{n}": p for n, p in page_pictures(file, sorted(numbers)).items()}
    return found
