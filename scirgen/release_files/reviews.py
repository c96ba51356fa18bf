"""Applies people's labels to a release: pairs they found unfaithful, pairs they checked, and corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from scirgen.core.errors import ConfigError, InputError
from scirgen.core.files.jsonl import read_json
from scirgen.core.fingerprint import digest
from scirgen.core.records import QAPair, Query
from scirgen.release_files.labels import ADJUDICATOR, Item, LabelSet, Settled
from scirgen.release_files.release import LabelNote, RevisionRow

_NO = "no"
_KEEP = "keep"
Q = TypeVar("Q", bound=Query)


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
        found = _agreement(labels, hint)
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


def _agreement(labels: LabelSet, hint: str) -> dict[str, Any]:
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


@dataclass(frozen=True)
class Need:
    """A drafted need that people kept, in their wording; ``aspects`` are texts in order."""

    text: str
    aspects: tuple[str, ...]


def reviewed_drafts(folders: Sequence[Path]) -> dict[str, Need | None]:
    """Id -> the need in people's wording, or None if they dropped it, from folders of labels of the task ``query``.

    Drafts that are not settled are left out. If annotators edited a draft differently, the adjudicator's wording
    counts.

    Raises:
        InputError: a folder holds labels of another task.
    """
    reviewed: dict[str, Need | None] = {}
    for folder in folders:
        labels = LabelSet(folder)
        if labels.sample.task != "query":
            raise InputError(
                f"{folder} holds labels of the task {labels.sample.task}", hint="Label drafts: --task query"
            )
        for item in labels.items:
            label = labels.settled(item.id).label
            text, aspects = (_edited(labels, item, name) for name in ("query", "aspects"))
            if label == _KEEP and len(text) < 2 and len(aspects) < 2:
                lines = next(iter(aspects), "").splitlines() or item.shown.aspects
                reviewed[item.record] = Need(
                    " ".join((next(iter(text), "") or item.shown.question).split()),
                    tuple(dict.fromkeys(" ".join(line.split()) for line in lines if line.strip())),
                )
            elif label not in (_KEEP, None):
                reviewed[item.record] = None
    return reviewed


def _edited(labels: LabelSet, item: Item, name: str) -> set[str]:
    """The different wordings that people gave for a field; only the adjudicator's, if there is one."""
    last = labels.labels.get(ADJUDICATOR, {}).get(item.id)
    given = [last] if last else [labels.labels[a][item.id] for a in labels.annotators if item.id in labels.labels[a]]
    return {text for x in given if (text := x.fields.get(name, "").strip())}


def reviewed_needs(queries: Iterable[Q], reviewed: Mapping[str, Need | None], *, drafts: bool) -> list[Q]:
    """The queries, with each need in people's wording; a need that they dropped is removed with all its parts.

    An aspect with its old text keeps its id, its sub-aspects and so its grades; a new text is a new aspect, without
    sentences and sub-aspects. A sub-query stays if its aspects and sentences do.

    Args:
        queries: needs with their parts, and any others, which stay as they are.
        reviewed: see `reviewed_drafts`.
        drafts: whether to keep needs that people have not settled.
    """
    found = list(queries)
    needs = {q.id: q for q in found if q.form == "complex"}
    aspects = {q.id: q for q in found if q.form == "aspect"}
    passed = {k: need for k, need in reviewed.items() if need is not None and k in needs}
    parts = {k: _parts(needs[k], need, aspects) for k, need in passed.items()}
    kept: list[Q] = []
    for query in found:
        owner = _need_of(query, aspects)
        if owner in passed:
            kept += _after_review(query, needs[owner], passed[owner], parts[owner])
        elif owner not in needs or (drafts and owner not in reviewed):
            kept.append(query)
    return kept


def _need_of(query: Query, aspects: Mapping[str, Query]) -> str:
    """Id of the need that a query is or belongs to; for other queries, their own id."""
    parent = aspects.get(query.parent or "")
    return (parent.parent if parent else query.parent) or query.id


def _parts(need: Query, review: Need, aspects: Mapping[str, Query]) -> dict[str, str]:
    """Aspect id -> text, in the review's order; a new text gets an id of its own."""
    old = {aspects[p].text: p for p in need.parts if p in aspects}
    return {old.get(text) or f"{need.id}/{digest('aspect', text)[:8]}": text for text in review.aspects}


def _after_review(query: Q, need: Q, review: Need, parts: Mapping[str, str]) -> list[Q]:
    """Give what becomes of one query of a need that people kept; for the need itself, the need and its new aspects."""
    if query.form == "complex":
        whole = query.model_copy(update={"text": review.text, "parts": tuple(parts)})
        fresh = {"form": "aspect", "parent": need.id, "parts": (), "gold": (), "fields": (), "spans": ()}
        new = (k for k in parts if k not in need.parts)
        return [whole, *(need.model_copy(update={**fresh, "id": k, "text": parts[k]}) for k in new)]
    held = query.parts if query.form == "sub_query" else (query.id if query.form == "aspect" else query.parent,)
    if any(part not in parts for part in held):
        return []
    places = [(s, review.text.find(s.text)) for s in query.spans]
    if query.form == "sub_query" and any(at < 0 for _, at in places):
        return []
    spans = tuple(s.model_copy(update={"start": at, "end": at + len(s.text)}) for s, at in places if at >= 0)
    return [query.model_copy(update={"spans": spans})]


def validated_judges(folders: Sequence[Path]) -> set[str]:
    """Identities of the judges that passed the test on these folders' labels as they are now.

    Raises:
        ConfigError: a folder's agreement.json is missing, damaged or older than its labels.
    """
    passed: set[str] = set()
    for folder in folders:
        hint = f"Run: scirgen label agree {folder} --judge grades:POOL --test"
        try:
            found = _agreement(LabelSet(folder), hint)
            passed |= {j["identity"] for j in found["judges"] if j["validated"]}
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{folder / 'agreement.json'} is damaged: {error}", hint=hint) from error
    return passed
