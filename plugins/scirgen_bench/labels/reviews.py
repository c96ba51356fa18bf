"""Reads the part of folders of labels that a release uses (``release.labels``), and their agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scirgen import ConfigError, InputError
from scirgen.plugin import digest, read_json
from scirgen.release_files.release import LabelNote, RevisionRow
from scirgen.release_files.reviews import Reviewed
from scirgen_bench.labels.labelset import Item, LabelSet, Settled

_NO = "no"


class LabelFolders:
    """Kind ``labels``: the folders that `scirgen label` makes."""

    def read(self, folders: Sequence[Path]) -> Reviewed:
        """See `scirgen.release_files.reviews.LabelReader`."""
        settled: dict[str, Settled] = {}
        history: dict[str, tuple[RevisionRow, ...]] = {}
        wording: dict[str, dict[str, str]] = {}
        notes = []
        for folder in folders:
            labels = LabelSet(folder)
            notes.append(_note(labels))
            if labels.sample.task != "faithful":
                continue
            for item in labels.items:
                found = labels.settled(item.id)
                if found.how == "none":
                    continue
                known = settled.get(item.record)
                if known is not None and known.label != found.label:
                    raise InputError(
                        f"{folder}: {item.record} is labelled {found.label}, and {known.label} in another folder",
                        hint="Leave one of the folders out of release.labels.",
                    )
                settled[item.record] = found
                if found.label is not None and (changes := _changes(item, found, labels.sample.guideline)):
                    history[item.record] = changes
                    wording[item.record] = {c.field: found.corrected[f"corrected_{c.field}"] for c in changes}
        no = {id: s for id, s in settled.items() if s.label == _NO}
        why = {id: f"labelled unfaithful by {s.annotators} annotator(s) ({s.how})" for id, s in no.items()}
        checked = {id: s.people for id, s in settled.items() if s.label is not None}
        return Reviewed(why, checked, wording, history, tuple(notes))

    def fingerprint(self, folders: Sequence[Path]) -> str:
        """Return the hash of the folders' content; their paths do not count."""
        parts = []
        for folder in folders:
            labels = LabelSet(folder)
            path = folder / "agreement.json"
            parts.append((labels.content_hash(), path.read_text(encoding="utf-8") if path.is_file() else ""))
        return digest("labels", parts)


def _changes(item: Item, found: Settled, guideline: str) -> tuple[RevisionRow, ...]:
    drafts = {"question": item.shown.question, "answer": item.shown.answer}
    return tuple(
        RevisionRow(field=name, before=draft, by=guideline)
        for name, draft in drafts.items()
        if found.corrected.get(f"corrected_{name}", draft) != draft
    )


def _note(labels: LabelSet) -> LabelNote:
    hint = f"Run: scirgen label agree {labels.folder}"
    sample, people = labels.sample, labels.annotators
    note = LabelNote(
        task=sample.task, annotators=len(people), language_models=sum(a in sample.language_models for a in people),
        items=sum(labels.settled(i.id).how != "none" for i in labels.items), guideline=sample.guideline,
        margin=sample.margin, labels=labels.content_hash(),
    )  # fmt: skip
    if len(people) < 2:
        return note
    try:
        found = agreement_of(labels, hint)
        everything = found["agreement"].get("all", {})
        kappa, alpha = (everything.get(k, {"value": None, "interval": None}) for k in ("kappa", "alpha_nominal"))
        return LabelNote.model_validate({
            **dict(note), "kappa": kappa["value"], "kappa_interval": tuple(kappa["interval"] or ()),
            "alpha": alpha["value"], "alpha_interval": tuple(alpha["interval"] or ()), "margin": found["margin"],
            "judges": tuple(_judge(j) for j in found["judges"]),
        })  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{labels.folder / 'agreement.json'} is damaged: {error}", hint=hint) from error


def agreement_of(labels: LabelSet, hint: str) -> dict[str, Any]:
    """Return the content of a folder's agreement.json."""
    path = labels.folder / "agreement.json"
    try:
        found: dict[str, Any] = read_json(path, hint=hint)
        current = found["labels"] == labels.content_hash()
    except (InputError, KeyError, TypeError) as error:
        problem = "has no agreement.json" if not path.is_file() else f"has a damaged agreement.json: {error}"
        raise ConfigError(f"{labels.folder} {problem}", hint=hint) from error
    if not current:
        raise ConfigError(f"{path} was made before the labels in {labels.folder} changed", hint=hint)
    return found


def _judge(found: Mapping[str, object]) -> str:
    result = found["result"]
    assert isinstance(result, Mapping)
    verdict = "validated" if found["validated"] else "unvalidated"
    return (
        f"{found['identity']}: {verdict} on {found['part']} ({result['items']} items, gap {result['gap']:+.3f}, "
        "one-sided 95 % bound "
        f"{result['bound']:+.3f}, margin {result['margin']:g})"
    )
