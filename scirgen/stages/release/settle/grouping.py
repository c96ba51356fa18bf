"""Finds connected groups, assigns them to splits, and counts what two splits still share.

A unit goes to one split: a dataset with the questions that were written from it, or a question that somebody asked.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from scirgen.core.fingerprint import digest
from scirgen.core.grouped import grouped
from scirgen.core.records import QAPair, users_of
from scirgen.core.text.words import letters
from scirgen.release_files.release import SPLITS, LeakageRow
from scirgen.stages.release.content import ReleaseContent

_SENTENCE = 40
"""Fewest letters and digits of evidence that joins datasets. Less (a format, a period) stands in many records by
chance; of the 3,354 records of ScIRGen-Geo, all sentences of this length join at most 386."""
_MOST = 1 / 3
"""Largest share of the rows that one group may have through documents that answer what somebody asked."""
_DOCUMENTS, _PASSAGES, _COPIES = "documents of grade 2", "passages of grade 2", "near-copies"
_ANSWERING = (_DOCUMENTS, _PASSAGES)


@dataclass(frozen=True)
class Component:
    """Units that must be in one split, with their number of questions (``rows``). Every split gets the same share of
    each ``stratum``."""

    name: str
    units: tuple[str, ...]
    rows: int
    stratum: str = ""


def assign(components: Sequence[Component], ratios: Sequence[float], seed: int) -> dict[str, str]:
    """Return a mapping: component name -> split.

    Within a stratum, the seed decides the order of components. Each goes to the split that lacks most of its share,
    among those that have room for it, or if none has, to the split that lacks most rows. Then, if a split with a share
    got no rows and another can spare a component, it gets the smallest one.
    """
    total = sum(ratios)
    shares = [r / total for r in ratios]
    result: dict[str, str] = {}
    for stratum in sorted({c.stratum for c in components}):
        members = sorted((c for c in components if c.stratum == stratum), key=lambda c: digest("split", seed, c.name))
        _assign_stratum(members, shares, result)
    _fill_empty(components, shares, result)
    return result


def _assign_stratum(members: Sequence[Component], shares: Sequence[float], result: dict[str, str]) -> None:
    rows = sum(c.rows for c in members)
    counted = [c for c in members if c.rows]
    target = [rows * share for share in shares]
    given = [0.0] * len(SPLITS)
    for component in counted:
        open_ = [i for i, share in enumerate(shares) if share > 0]
        fits = [i for i in open_ if given[i] + component.rows <= target[i]]
        if fits:
            chosen = max(fits, key=lambda i: ((target[i] - given[i]) / target[i], -i))
        else:
            chosen = max(open_, key=lambda i: (target[i] - given[i], -i))
        given[chosen] += component.rows
        result[component.name] = SPLITS[chosen]
    # Datasets without an accepted question are only documents, so their split does not matter.
    result.update((c.name, SPLITS[0]) for c in members if not c.rows)


def _fill_empty(components: Sequence[Component], shares: Sequence[float], result: dict[str, str]) -> None:
    with_rows = sorted((c for c in components if c.rows), key=lambda c: (c.rows, c.name))
    for split, share in reversed(list(zip(SPLITS, shares, strict=True))):
        if share <= 0 or any(result[c.name] == split for c in with_rows):
            continue
        for component in with_rows:
            holder = result[component.name]
            if sum(result[c.name] == holder for c in with_rows) > 1:
                result[component.name] = split
                break


@dataclass(frozen=True)
class Grouping:
    """The split of every unit. ``group_of`` names its component, ``datasets_of`` the datasets of its rows; ``held`` has
    the sets of units that hold one thing, by kind: papers, records, evidence sentences, repeated questions, and what
    answers a question that somebody asked, which joins them by ``asked_by``."""

    split_of: dict[str, str]
    group_of: dict[str, str]
    rows_of: Mapping[str, int]
    datasets_of: Mapping[str, set[str]]
    held: Mapping[str, Sequence[Iterable[str]]] = field(default_factory=dict)
    asked_by: str = ""
    notes: tuple[str, ...] = ()


def unit_of(pair: QAPair) -> str:
    """Return the unit of a row: the id of its dataset, or its own if it was asked first and something that was read
    answers it."""
    return pair.id if any(grade.grade == 2 for grade in pair.grades) else pair.dataset_id


def group(content: ReleaseContent, repeated: Sequence[set[str]], ratios: Sequence[float], seed: int) -> Grouping:
    """Return the components over datasets, papers, texts and near-duplicate questions, and their splits.

    A record or paper under two ids is one, by its DOI, its text, or its id without case and Unicode form. Questions
    that somebody asked are joined by the documents of grade 2, with the rows written from them; if a group then has
    over a third of the rows, by the passages of grade 2; if it does not fit into a split, by near-copies alone.
    Published splits (``content.splits``) are not changed; the leakage table shows what they share.

    Args:
        content: the content of the release.
        repeated: sets of units that share a near-duplicate question.
        ratios: shares of rows of train, dev and test.
        seed: decides the order of the components.
    """
    rows = Counter[str]()
    datasets_of: dict[str, set[str]] = {}
    strata = {d: "paper" if d in content.uses else "no paper" for d in content.datasets}
    for pair in content.pairs():
        unit = unit_of(pair)
        rows[unit] += 1
        datasets_of.setdefault(unit, set()).add(pair.dataset_id)
        strata.setdefault(unit, f"asked about a {pair.about}")
    asked = rows.keys() - content.datasets.keys()
    weights = rows
    if not rows.keys() - asked:
        weights = sum((part.weights(content.uses) for part in content.parts), Counter(rows))
    held = _held(content, repeated, rows)
    total, by, first = rows.total(), "", 0.0
    for by, most in ((_DOCUMENTS, _MOST), (_PASSAGES, max(ratios) / sum(ratios)), (_COPIES, 1.0)):
        group_of = connected(list(strata), _joining(held, by, asked))
        components = _components(group_of, weights, strata)
        several = (c for c in components if sum(unit in asked for unit in c.units) > 1)
        share = max((sum(rows[unit] for unit in c.units) for c in several), default=0) / max(1, total)
        first = first or share
        if share <= most or content.splits is not None:
            break
    if content.splits is not None:
        split_of = {**content.splits, **{unit: content.splits[min(datasets_of[unit])] for unit in asked}}
        return Grouping(split_of, group_of, rows, datasets_of, held, by, ("The splits are kept as published.",))
    chosen = assign(components, ratios, seed)
    split_of = {unit: chosen[c.name] for c in components for unit in c.units}
    notes = [*_notes(components, split_of, weights, ratios)]
    if asked and by != _DOCUMENTS:
        notes.append(
            f"Questions that somebody asked are joined by {by}: joined by {_DOCUMENTS}, one group would have "
            f"{first:.0%} of the rows. The table of what splits share counts what crosses."
        )
    return Grouping(split_of, group_of, rows, datasets_of, held, by if asked else "", tuple(notes))


def _held(
    content: ReleaseContent, repeated: Sequence[set[str]], rows: Mapping[str, int]
) -> dict[str, Sequence[Iterable[str]]]:
    """Return the sets of units that hold one thing, by kind."""
    titles = {k: letters(p.title) for k, p in content.papers.items()}
    keyed = ((k, p.doi, titles[k] if len(titles[k]) >= _SENTENCE else "") for k, p in content.papers.items())
    of_paper = users_of(content.uses)
    copies = connected([*{**content.papers, **of_paper}], _alike(keyed))
    users = grouped((name, user) for paper_id, name in copies.items() for user in of_paper.get(paper_id, ()))
    records = _same_records(content)
    same = {dataset_id: ids for ids in records for dataset_id in ids}
    found: dict[str, dict[str, set[str]]] = {"evidence sentences": {}, _DOCUMENTS: {}, _PASSAGES: {}}

    def hold(what: str, key: str, units: Iterable[str]) -> None:
        found[what].setdefault(key, set()).update(units)

    for pair in content.pairs():
        unit = unit_of(pair)
        for text in {letters(span.text) for span in pair.evidence}:
            if len(text) >= _SENTENCE:
                hold("evidence sentences", digest(text), [unit])
        for grade in pair.grades:
            if grade.grade == 2:
                paper = copies.get(content.document_papers.get(grade.document_id, ""), "")
                by = users.get(paper, []) if paper else same.get(grade.document_id, [])
                key = paper or min(by, default=grade.document_id)
                hold(_DOCUMENTS, key, [unit, *(d for d in by if rows.get(d))])
                hold(_PASSAGES, grade.passage_id, [unit])
    held: dict[str, Sequence[Iterable[str]]] = {
        "papers": list(users.values()),
        "records": records,
        "evidence sentences": list(found["evidence sentences"].values()),
        "repeated questions": list(repeated),
    }
    return held | {what: list(found[what].values()) for what in _ANSWERING if found[what]}


def _joining(held: Mapping[str, Sequence[Iterable[str]]], by: str, asked: Container[str]) -> Iterator[Iterable[str]]:
    """Yield the sets whose units are joined; by near-copies alone, no text joins a question that somebody asked."""
    for what, sets in held.items():
        if what == "evidence sentences" and by == _COPIES:
            yield from ([unit for unit in units if unit not in asked] for units in sets)
        elif what not in _ANSWERING or what == by:
            yield from sets


def _components(group_of: Mapping[str, str], weights: Mapping[str, int], strata: Mapping[str, str]) -> list[Component]:
    members = grouped((name, unit) for unit, name in group_of.items())
    return [
        Component(name, tuple(sorted(units)), sum(weights[u] for u in units), max(strata[u] for u in units))
        for name, units in sorted(members.items())
    ]


def _same_records(content: ReleaseContent) -> list[list[str]]:
    """Return the datasets that are one record under several ids; each dataset is in one list."""
    texts = (
        (d.id, d.doi, letters(f"{d.title} {d.description}" if d.description else d.text))
        for d in content.datasets.values()
    )
    same = [*_alike(texts), *({k, v} for k, v in content.same_as.items() if v in content.datasets)]
    names = connected(list(content.datasets), same)
    return list(grouped((name, dataset_id) for dataset_id, name in names.items()).values())


def _alike(keyed: Iterable[Sequence[str | None]]) -> list[set[str]]:
    """Return the sets of ids with an equal key; the first key is the id; case and Unicode form do not count."""
    found: dict[tuple[int, str], set[str]] = {}
    for identity, *keys in keyed:
        assert identity is not None
        for number, key in enumerate((unicodedata.normalize("NFKC", identity), *keys)):
            if key:
                found.setdefault((number, key.casefold()), set()).add(identity)
    return [ids for ids in found.values() if len(ids) > 1]


def leakage(content: ReleaseContent, grouping: Grouping) -> list[LeakageRow]:
    """Count what each pair of splits has in common: papers, records, evidence and questions by their texts, and
    components."""
    counted = {d: s for d, s in grouping.split_of.items() if grouping.rows_of[d] or content.splits is not None}
    components = grouped((grouping.group_of[dataset_id], dataset_id) for dataset_id in counted)
    held = {**grouping.held, "components": list(components.values())}
    splits = {what: [{counted[d] for d in ids if d in counted} for ids in sets] for what, sets in held.items()}
    found: list[LeakageRow] = []
    for left, right in combinations(SPLITS, 2):
        papers = [{d for d in ids if counted.get(d) == right} for ids in grouping.held["papers"]]
        both = [ids for ids, of in zip(papers, splits["papers"], strict=True) if left in of]
        rows = [
            ("datasets with a paper the other split has too", len(set().union(*both)), len(set().union(*papers))),
            *((what, sum({left, right} <= s for s in of), sum(right in s for s in of)) for what, of in splits.items()),
        ]
        found += [
            LeakageRow.model_validate({"what": what, "left": left, "right": right, "shared": shared, "of": of})
            for what, shared, of in rows
        ]
    return found


def _notes(
    components: Sequence[Component], split_of: Mapping[str, str], rows: Mapping[str, int], ratios: Sequence[float]
) -> Iterator[str]:
    total = sum(c.rows for c in components)
    counted = [c for c in components if c.rows]
    for split, ratio in zip(SPLITS, ratios, strict=True):
        size = sum(rows[d] for d, s in split_of.items() if s == split)
        if ratio > 0 and total and not size:
            yield (
                f"The split {split} is empty: the questions fall into {len(counted)} group(s) that share papers, "
                "texts or questions, too few to give every split one."
            )
    largest = max(counted, key=lambda c: c.rows, default=None)
    if largest is not None and len(counted) > 1 and largest.rows > 0.5 * total:
        yield (
            f"One group of {len(largest.units)} datasets or questions that share papers or texts holds "
            f"{largest.rows / total:.0%} of the rows; it cannot be divided without leaking."
        )


def connected(members: Sequence[str], groups: Iterable[Iterable[str]]) -> dict[str, str]:
    """Return a mapping: member -> the name of its connected component, which is the smallest id in it.

    It is written here, since scipy, which has it, would make the base install half as large again.

    Args:
        members: all dataset ids.
        groups: sets of dataset ids that belong together (the datasets of one paper, of one near-duplicate question).
    """
    component = {member: {member} for member in members}
    for group in groups:
        joined = {id(found): found for member in group if (found := component.setdefault(member, {member}))}
        whole = max(joined.values(), key=len, default=set())
        for part in joined.values():
            if part is not whole:
                whole |= part
                component.update(dict.fromkeys(part, whole))
    names = {id(found): min(found) for found in component.values()}
    return {member: names[id(component[member])] for member in members}
