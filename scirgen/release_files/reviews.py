"""Applies people's labels to a release: pairs they found unfaithful, pairs they checked, and corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scirgen.core.errors import ConfigError, InputError
from scirgen.core.files.jsonl import read_json
from scirgen.core.fingerprint import digest
from scirgen.core.records import QAPair
from scirgen.release_files.labels import Item, LabelSet, Settled
from scirgen.release_files.release import LabelNote, RevisionRow

_NO = "no"


@dataclass(frozen=True)
class Reviewed:
    """The labels that a release uses.

    Attributes:
        settled: pair id -> its final faithfulness label.
        history: pair id -> its corrected fields as they were before.
        notes: one for each folder of labels, for card and datasheet.
    """

    settled: Mapping[str, Settled] = field(default_factory=dict)
    history: Mapping[str, tuple[RevisionRow, ...]] = field(default_factory=dict)
    notes: tuple[LabelNote, ...] = ()

    def unfaithful(self, pair_id: str) -> str:
        """Why people's labels exclude a pair from the release; "" if they do not."""
        found = self.settled.get(pair_id)
        if found is None or found.label != _NO:
            return ""
        return f"labelled unfaithful by {found.annotators} annotator(s) ({found.how})"

    def checked(self, pair_id: str) -> int:
        """Number of people who checked a pair that stays in the release."""
        found = self.settled.get(pair_id)
        return found.people if found is not None and found.label is not None else 0

    def corrected(self, pair: QAPair) -> QAPair:
        """The pair with the corrected wording; its id stays."""
        if pair.id not in self.history:
            return pair
        texts = self.settled[pair.id].corrected
        return pair.model_copy(update={r.field: texts[f"corrected_{r.field}"] for r in self.history[pair.id]})


def read_reviews(folders: Sequence[Path]) -> Reviewed:
    """Read the folders of labels that a release uses.

    Raises:
        InputError: a folder holds no labels, or two folders settle a pair differently.
        ConfigError: a folder's agreement.json is missing or older than its labels.
    """
    settled: dict[str, Settled] = {}
    history: dict[str, tuple[RevisionRow, ...]] = {}
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
    return Reviewed(settled, history, tuple(notes))


def _changes(item: Item, found: Settled, guideline: str) -> tuple[RevisionRow, ...]:
    drafts = {"question": item.shown.question, "answer": item.shown.answer}
    return tuple(
        RevisionRow(field=name, before=draft, by=guideline)
        for name, draft in drafts.items()
        if found.corrected.get(f"corrected_{name}", draft) != draft
    )


def reviews_fingerprint(folders: Sequence[Path]) -> str:
    """Hash of what the folders hold; "" without any. Their paths do not matter."""
    if not folders:
        return ""
    parts = []
    for folder in folders:
        labels = LabelSet(folder)
        path = folder / "agreement.json"
        parts.append((labels.content_hash(), path.read_text(encoding="utf-8") if path.is_file() else ""))
    return digest("labels", parts)


def _language_models(labels: LabelSet) -> int:
    return sum(a in labels.sample.language_models for a in labels.annotators)


def _note(labels: LabelSet) -> LabelNote:
    hint = f"Run: scirgen label agree {labels.folder}"
    people = len(labels.annotators)
    if people < 2:
        return LabelNote(
            task=labels.sample.task, annotators=people, language_models=_language_models(labels),
            items=_labelled(labels), guideline=labels.sample.guideline,
            margin=labels.sample.margin, labels=labels.content_hash(),
        )  # fmt: skip
    try:
        found = agreement_of(labels, hint)
        everything = found["agreement"].get("all", {})
        kappa, alpha = (everything.get(k, {"value": None, "interval": None}) for k in ("kappa", "alpha_nominal"))
        return LabelNote(
            task=labels.sample.task, annotators=people, language_models=_language_models(labels),
            items=_labelled(labels), guideline=labels.sample.guideline,
            kappa=kappa["value"], kappa_interval=tuple(kappa["interval"] or ()), alpha=alpha["value"],
            alpha_interval=tuple(alpha["interval"] or ()), margin=found["margin"], labels=found["labels"],
            judges=tuple(_judge(j) for j in found["judges"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{labels.folder / 'agreement.json'} is damaged: {error}", hint=hint) from error


def agreement_of(labels: LabelSet, hint: str) -> dict[str, Any]:
    """The content of a folder's agreement.json."""
    path = labels.folder / "agreement.json"
    try:
        found: dict[str, Any] = read_json(path, hint=hint)
        current = found["labels"] == labels.content_hash()
    except (InputError, KeyError, TypeError) as error:
        problem = "has no agreement.json" if not path.is_file() else f"has a damaged agreement.json: {error}"
        raise ConfigError(f"{labels.folder} {problem}", hint=hint) from error
    if not current:
        raise ConfigError(f"{path} is older than the labels in {labels.folder}", hint=hint)
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


def _labelled(labels: LabelSet) -> int:
    return sum(labels.settled(i.id).how != "none" for i in labels.items)
