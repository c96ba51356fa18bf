"""Exports and imports labels: calibration rows, Label Studio's JSON, CSV, and files that already have labels."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from scirgen.core.errors import InputError
from scirgen.core.files.jsonl import read_json, read_objects, write_rows
from scirgen.core.fingerprint import content_id
from scirgen.core.prompts import Prompt
from scirgen.release_files.labels import UNSURE, Hidden, Item, Label, LabelSet, Marked, Shown, Stratum
from scirgen.release_files.qafiles import type_key
from scirgen_label.draw import Request, freeze
from scirgen_label.files import write_text
from scirgen_label.merge import Merged, merge_collected, take
from scirgen_label.sources import Material

Form = Literal["calibrate", "labelstudio", "csv"]
FILES: Final[Mapping[Form, str]] = {
    "calibrate": "calibrate.jsonl",
    "labelstudio": "labelstudio.json",
    "csv": "labels.csv",
}
_FAITHFUL: Final = {
    "faithful": "yes",
    "yes": "yes",
    "true": "yes",
    "1": "yes",
    "unfaithful": "no",
    "no": "no",
    "false": "no",
    "0": "no",
    "unsure": UNSURE,
}


def export(labels: LabelSet, form: Form, out: Path | None = None) -> tuple[Path, int]:
    """Write the labels in another format.

    Args:
        labels: the folder.
        form: ``calibrate`` (settled faithfulness labels, one line an item), ``labelstudio`` (tasks with everyone's
            annotations), ``csv`` (one row per label).
        out: the file; by default one in the folder.

    Returns:
        The file, and its number of items or labels.

    Raises:
        InputError: the task does not fit the format, or no item is settled yet.
    """
    path = out or labels.folder / FILES[form]
    if form == "calibrate":
        rows = list(calibration_rows(labels))
        made = io.StringIO()
        write_rows(made, rows)
        text = made.getvalue()
    elif form == "labelstudio":
        rows = [_studio_task(labels, item) for item in labels.items]
        text = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    else:
        rows = list(_csv_rows(labels))
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(rows[0]) if rows else ["item"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        text = buffer.getvalue()
    write_text(path, text)
    return path, len(rows)


def calibration_rows(labels: LabelSet) -> Iterator[dict[str, Any]]:
    """Settled items as `scirgen calibrate` reads them, with the weights of the strata and the parts.

    Raises:
        InputError: another task than faithfulness, or no item is settled.
    """
    if labels.sample.task != "faithful":
        raise InputError(f"labels of task {labels.sample.task} are not about faithfulness", hint="Export them as csv.")
    contexts, count = labels.contexts(), 0
    for item in labels.items:
        label = labels.settled(item.id).label
        if label is None:
            continue
        count += 1
        yield {
            "id": item.record,
            "question": item.shown.question,
            "answer": item.shown.answer,
            "context": contexts.get(item.shown.context, ""),
            "label": "faithful" if label == "yes" else "unfaithful",
            "question_type": item.hidden.question_type,
            "dataset": item.cluster,
            "evidence": [e.text for e in item.shown.evidence],
            "weight": item.weight,
            "part": item.part,
        }
    if not count:
        raise InputError(
            f"{labels.folder} has no settled label", hint="Merge labels first: scirgen label merge L/ A.jsonl"
        )


def _csv_rows(labels: LabelSet) -> Iterator[dict[str, Any]]:
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


# --- Label Studio -----------------------------------------------------------------------------------------------------


def _studio_task(labels: LabelSet, item: Item) -> dict[str, Any]:
    data = {
        "item": item.id,
        "sample": labels.sample.id,
        "guideline": labels.sample.guideline,
        "question": item.shown.question,
        "answer": item.shown.answer,
        "evidence": "\n\n".join(e.text for e in item.shown.evidence),
        "title": item.shown.title,
        "text": item.shown.text,
        "aspects": "\n".join(item.shown.aspects),
        "question_type": item.shown.question_type,
    }
    annotations = [
        {"completed_by": {"email": annotator}, "lead_time": x.seconds, "result": list(_studio_results(x))}
        for annotator in sorted(labels.labels)
        if (x := labels.labels[annotator].get(item.id))
    ]
    return {"data": data, "annotations": annotations}


def _studio_results(label: Label) -> Iterator[dict[str, Any]]:
    def choice(name: str, value: str) -> dict[str, Any]:
        return {"from_name": name, "to_name": "question", "type": "choices", "value": {"choices": [value]}}

    def text(name: str, value: str) -> dict[str, Any]:
        return {"from_name": name, "to_name": "question", "type": "textarea", "value": {"text": [value]}}

    yield choice("label", label.label)
    if label.reason:
        yield text("reason", label.reason)
    for name, value in sorted(label.fields.items()):
        yield choice(name, value) if value in ("yes", "no") else text(name, value)


def import_studio(labels: LabelSet, file: Path, annotator: str | None = None) -> Merged:
    """Import annotations from Label Studio's JSON export, made on tasks that `export` wrote.

    Args:
        labels: the folder.
        file: the export.
        annotator: name of the annotator; by default the part of each annotator's e-mail before the @.

    Raises:
        InputError: the file is not such an export, or a label is refused (the message names task and annotation).
    """
    hint = "Give Label Studio's export in the format JSON, of the project that the exported tasks were imported into."
    tasks = read_json(file, hint=hint)
    if not isinstance(tasks, list):
        raise InputError(f"{file} has no list of tasks", hint=hint)
    lines: list[tuple[str, Label]] = []
    for number, task in enumerate(tasks, 1):
        where = f"{file}, task {number}"
        try:
            data = task["data"]
            made = [a for a in task.get("annotations") or () if not a.get("was_cancelled")]
            lines += [(where, _studio_label(labels, data, a, annotator)) for a in made]
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise InputError(f"{where}: not an exported task: {error}", hint=hint) from error
    if not lines:
        raise InputError(f"{file} has no annotations", hint=hint)
    return merge_collected(labels, lines)


def _studio_label(labels: LabelSet, data: Any, annotation: Any, annotator: str | None) -> Label:
    values: dict[str, str] = {}
    for result in annotation["result"]:
        value = result["value"]
        values[result["from_name"]] = str((value.get("choices") or value.get("text"))[0])
    by = annotation.get("completed_by")
    email = str(by.get("email", "")) if isinstance(by, dict) else str(by or "")
    return Label(
        sample=str(data["sample"]),
        item=str(data["item"]),
        task=labels.sample.task,
        annotator=annotator or email.partition("@")[0],
        label=values.pop("label", ""),
        reason=values.pop("reason", ""),
        fields=values,
        seconds=float(annotation.get("lead_time") or 0),
        guideline=str(data["guideline"]),
    )


# --- files that already have labels ----------------------------------------------------------------------------------


def import_labelled(
    folder: Path,
    file: Path,
    annotator: str,
    guideline: Prompt,
    contexts: Path | None = None,
    *,
    language_model: bool = False,
) -> LabelSet:
    """Make a folder from a labelled file: its rows become the sample, and its labels those of one annotator.

    Args:
        folder: the folder to make.
        file: JSON Lines with ``question``, ``answer`` and ``label`` (faithful, unfaithful or unsure); ``context`` or
            ``context_id``, ``evidence`` (a list of quotes), ``question_type``, ``dataset``, ``reason`` or
            ``reader_note``,
            ``stands_alone`` and ``fits_type`` (true, false) are read if they are there.
        annotator: name of the annotator.
        guideline: ``label/faithful``; the labels count as made with it.
        contexts: JSON object ``context_id`` -> text.
        language_model: whether the annotator is a language model, not a person.

    Raises:
        InputError: the folder already has a sample, or a line is wrong (the message names it).
    """
    if (folder / "sample.json").exists():
        raise InputError(f"{folder} already has a sample", hint="Choose another folder, or give Label Studio's export.")
    rows = list(_labelled_rows(file))
    texts = _contexts(contexts)
    material, items, given = Material(), [], []
    for where, row in rows:
        item, label = _labelled(row, where, annotator, guideline, material, texts)
        items.append(item)
        given.append(label)
    if len({i.id for i in items}) < len(items):
        raise InputError(
            f"{file}: an id, or a question with its answer, occurs twice", hint="Give every line a unique id."
        )
    items.sort(key=lambda i: i.id)
    models = (annotator,) if language_model else ()
    request = Request("faithful", len(items), 0, ("verdict",), (annotator,), language_models=models)
    freeze(
        folder,
        items,
        material,
        guideline,
        file.name,
        "labelled file",
        request,
        [Stratum(name="labelled", population=len(items), dev=0, test=len(items))],
    )
    made = LabelSet(folder)
    mine = {x.item: x.model_copy(update={"sample": made.sample.id}) for x in given}
    take(made, {annotator: mine}, {})
    return LabelSet(folder)


def _labelled_rows(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    hint = 'Each line is a JSON object with "question", "answer" and "label" (faithful, unfaithful or unsure).'
    empty = True
    for number, value in read_objects(file, hint=hint):
        if missing := [k for k in ("question", "answer", "label") if k not in value]:
            raise InputError(f"{file}:{number}: {', '.join(missing)} missing", hint=hint)
        empty = False
        yield f"{file}:{number}", value
    if empty:
        raise InputError(f"{file} contains no labels", hint=hint)


def _contexts(file: Path | None) -> dict[str, str]:
    if file is None:
        return {}
    hint = "Give a JSON object that maps context_id to text."
    found = read_json(file, hint=hint, most=2**30)
    if not isinstance(found, dict):
        raise InputError(f"{file} is not a JSON object", hint=hint)
    return {str(key): str(text) for key, text in found.items()}


def _labelled(
    row: Mapping[str, Any], where: str, annotator: str, guideline: Prompt, material: Material, texts: Mapping[str, str]
) -> tuple[Item, Label]:
    label = _FAITHFUL.get(str(row["label"]).strip().lower())
    if label is None:
        raise InputError(f"{where}: label {row['label']!r} must be faithful, unfaithful or unsure")
    key = str(row.get("context_id") or "")
    context = str(row.get("context") or texts.get(key) or "")
    if key and not context:
        raise InputError(f"{where}: no context {key!r}", hint="Give the file of contexts with --contexts.")
    key = key or content_id("ctx", context)
    if context:
        material.contexts[key] = context
    question, answer, dataset = (
        str(row["question"]),
        str(row["answer"]),
        str(row.get("dataset") or row.get("dataset_id") or ""),
    )
    kind = type_key(str(row.get("question_type") or ""))
    record = str(row.get("id") or content_id("row", question, answer))
    quotes = row.get("evidence") or ()
    item = Item(
        id=content_id("i", 0, record),
        record=record,
        part="test",
        stratum="labelled",
        weight=1.0,
        cluster=dataset or record,
        shown=Shown(
            question=question,
            answer=answer,
            question_type=str(row.get("question_type") or ""),
            evidence=tuple(Marked(text=str(q)) for q in quotes),
            title=dataset,
            context=key if context else "",
        ),
        hidden=Hidden(verdict="labelled", question_type=kind, dataset_id=dataset),
    )
    fields = {k: "yes" if row[k] else "no" for k in ("stands_alone", "fits_type") if isinstance(row.get(k), bool)}
    reason = str(row.get("reason") or row.get("reader_note") or "")
    reference = guideline.reference
    return item, Label(
        sample="",
        item=item.id,
        task="faithful",
        annotator=annotator,
        label=label,
        reason=reason,
        fields=fields,
        guideline=reference,
    )
