"""Applies people's labels to needs: those they kept, in their wording, and the judges that passed the test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from scirgen import ConfigError, InputError
from scirgen.plugin import digest
from scirgen_bench.labels.labelset import ADJUDICATOR, Item, LabelSet
from scirgen_bench.labels.reviews import agreement_of
from scirgen_bench.tasks.records import Query

_KEEP = "keep"
Q = TypeVar("Q", bound=Query)


@dataclass(frozen=True)
class Need:
    """A drafted need that people kept, in their wording; ``aspects`` are texts in order."""

    text: str
    aspects: tuple[str, ...]


def reviewed_drafts(folders: Sequence[Path]) -> dict[str, Need | None]:
    """Return a mapping: id -> the need in people's wording, or None if they dropped it, from folders of labels of the
    task ``query``.

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
    """Return the different wordings that people gave for a field; only the adjudicator's, if there is one."""
    last = labels.labels.get(ADJUDICATOR, {}).get(item.id)
    given = [last] if last else [labels.labels[a][item.id] for a in labels.annotators if item.id in labels.labels[a]]
    return {text for x in given if (text := x.fields.get(name, "").strip())}


def reviewed_needs(queries: Iterable[Q], reviewed: Mapping[str, Need | None], *, drafts: bool) -> list[Q]:
    """Return the queries, with each need in people's wording; a need that they dropped is removed with all its parts.

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
        parent = aspects.get(query.parent or "")
        owner = (parent.parent if parent else query.parent) or query.id  # its need, or itself
        if owner in passed:
            kept += _after_review(query, needs[owner], passed[owner], parts[owner])
        elif owner not in needs or (drafts and owner not in reviewed):
            kept.append(query)
    return kept


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
    """Return the identities of the judges that passed the test on these folders' labels as they are now.

    Raises:
        ConfigError: a folder's agreement.json is missing, damaged or older than its labels.
    """
    passed: set[str] = set()
    for folder in folders:
        hint = f"Run: scirgen label agree {folder} --judge grades:POOL --test"
        try:
            found = agreement_of(LabelSet(folder), hint)
            passed |= {j["identity"] for j in found["judges"] if j["validated"]}
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{folder / 'agreement.json'} is damaged: {error}", hint=hint) from error
    return passed
