"""Draws a sample: strata, items per stratum, dev and test parts, weights, and the folder that freezes the sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scirgen import InputError
from scirgen.core.prompts import Prompt
from scirgen.plugin import content_id, digest, grouped, suggest
from scirgen_bench.labels.labelset import (
    ADJUDICATOR,
    TASKS,
    Item,
    LabelSet,
    Part,
    Sample,
    Stratum,
    TaskName,
    sample_id,
)
from scirgen_label.files import write_lines, write_text
from scirgen_label.sources import STRATA, Candidate, Material, Source

_OTHER = "other"


@dataclass(frozen=True)
class Request:
    """A request for a sample.

    Attributes:
        task: the labelling task.
        test: number of items in the test part.
        dev: number of items in the dev part, in addition.
        strata: keys to stratify by, most important first.
        annotators: names of the annotators.
        language_models: those of them that are language models.
        seed: random seed.
        power: the number of items of a stratum is proportional to its size raised to this (M. D. Bankier, 1988): 1
            proportional, 0 equal.
        margin: margin of the planned non-inferiority test.
        follow: an earlier folder of labels: all its items become the dev part, with their labels, and the test part is
            new.
    """

    task: TaskName
    test: int
    dev: int = 0
    strata: tuple[str, ...] = ("verdict", "question_type")
    annotators: tuple[str, ...] = ("A", "B")
    seed: int = 0
    power: float = 0.5
    margin: float = 0.075
    follow: LabelSet | None = None
    language_models: tuple[str, ...] = ()


def draw(source: Source, name: str, request: Request, guideline: Prompt, folder: Path) -> LabelSet:
    """Draw a sample and freeze it in a folder.

    Args:
        source: the population.
        name: its name in ``sample.json``.
        request: sizes, strata and annotators.
        guideline: ``label/TASK``.
        folder: the folder to make; it must not contain a sample.

    Raises:
        InputError: the folder already has a sample, a stratum key is unknown, the population is too small, or
            annotators' names are not usable.
    """
    _check(request, folder)
    earlier = request.follow
    known = {i.record for i in earlier.items} if earlier else set()
    candidates = [c for c in source.candidates() if c.record not in known]
    if len(candidates) < request.test + request.dev:
        raise InputError(
            f"{name} has {len(candidates):,} candidates; {request.test} + {request.dev} items cannot be drawn",
            hint=f"Lower --n and --dev to {len(candidates)} together, or make a larger run.",
        )
    parts = allocate(candidates, request)
    both: tuple[Part, Part] = ("test", "dev")
    chosen = [(c, part, stratum) for stratum, drawn in parts.strata.items() for part in both for c in drawn[part]]
    material = source.material([c.record for c, _, _ in chosen])
    items = [
        Item(
            id=content_id("i", request.seed, c.record),
            record=c.record,
            part=part,
            stratum=stratum,
            weight=round(parts.weights[part, stratum], 6),
            cluster=c.cluster,
            shown=material.shown[c.record],
            hidden=c.hidden,
        )
        for c, part, stratum in chosen
    ]
    if earlier:
        items += _as_dev(earlier)
        material.contexts = {**earlier.contexts(), **material.contexts}
    items.sort(key=lambda i: i.id)
    freeze(folder, items, material, guideline, name, source.kind, request, parts.rows())
    if earlier:
        _carry_over(earlier, LabelSet(folder))
    return LabelSet(folder)


def freeze(
    folder: Path,
    items: Sequence[Item],
    material: Material,
    guideline: Prompt,
    name: str,
    kind: str,
    request: Request,
    strata: Sequence[Stratum],
) -> None:
    """Write the files of a sample."""
    reference = guideline.reference
    sample = Sample(
        id=sample_id(request.task, items), task=request.task, source=name, kind=kind, guideline=reference,
        text=guideline.file.system.strip(), choices=guideline.file.choices, annotators=request.annotators,
        language_models=request.language_models,
        strata_by=request.strata, strata=tuple(strata), seed=request.seed, margin=request.margin,
    )  # fmt: skip
    write_lines(folder / "items.jsonl", items)
    write_text(
        folder / "contexts.json", json.dumps(material.contexts, ensure_ascii=False, indent=0, sort_keys=True) + "\n"
    )
    papers = {k: str(v.resolve()) for k, v in sorted(material.papers.items())}
    write_text(folder / "papers.json", json.dumps(papers, ensure_ascii=False, indent=0) + "\n")
    write_text(folder / "sample.json", sample.model_dump_json(indent=2) + "\n")


def _as_dev(earlier: LabelSet) -> list[Item]:
    """Return all items of an earlier sample as dev items, weighted by their strata."""
    counts = Counter(item.stratum for item in earlier.items)
    sizes = {s.name: s.population for s in earlier.sample.strata}
    return [
        i.model_copy(update={"part": "dev", "weight": round(sizes[i.stratum] / counts[i.stratum], 6)})
        for i in earlier.items
    ]


def _carry_over(earlier: LabelSet, made: LabelSet) -> None:
    """Copy labels of an earlier sample to the new one, except those made with another guideline."""
    if earlier.sample.guideline != made.sample.guideline:
        return
    for annotator, mine in earlier.labels.items():
        moved = [mine[i.id].model_copy(update={"sample": made.sample.id}) for i in made.items if i.id in mine]
        write_lines(made.folder / "labels" / f"{annotator}.jsonl", moved)


@dataclass(frozen=True)
class Allocation:
    """The drawn candidates: stratum -> part -> candidates; (part, stratum) -> weight; stratum -> size."""

    strata: dict[str, dict[Part, list[Candidate]]]
    weights: dict[tuple[Part, str], float]
    population: dict[str, int]

    def rows(self) -> list[Stratum]:
        """Return the strata as ``sample.json`` lists them."""
        return [
            Stratum(name=s, population=self.population[s], dev=len(d["dev"]), test=len(d["test"]))
            for s, d in sorted(self.strata.items())
        ]


def allocate(candidates: Sequence[Candidate], request: Request) -> Allocation:
    """Draw the candidates. The same candidates and seed give the same draw, in any order of arrival."""
    groups = _strata(candidates, request)
    sizes = {name: len(group) for name, group in groups.items()}
    test = _two_levels(sizes, request.test, request.power)
    dev = _two_levels({n: sizes[n] - test[n] for n in sizes}, request.dev, request.power)
    drawn: dict[str, dict[Part, list[Candidate]]] = {}
    for name, group in groups.items():
        ordered = sorted(group, key=lambda c: digest("draw", request.seed, c.record))
        drawn[name] = {"test": ordered[: test[name]], "dev": ordered[test[name] : test[name] + dev[name]]}
    weights: dict[tuple[Part, str], float] = {}
    both: tuple[Part, Part] = ("test", "dev")
    for part in both:
        covered: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for name, size in sizes.items():
            total[_first(name)] += size
            covered[_first(name)] += size if drawn[name][part] else 0
        for name, size in sizes.items():
            if count := len(drawn[name][part]):
                # A stratum without an item in this part is represented by others with the same first key.
                first = _first(name)
                weights[part, name] = size / count * total[first] / covered[first]
    return Allocation(drawn, weights, sizes)


def shares(sizes: Mapping[str, int], wanted: int, power: float) -> dict[str, int]:
    """Return the number of items per stratum: proportional to size ** power, at most its size, with the wanted sum."""
    given = dict.fromkeys(sizes, 0)
    wanted = min(wanted, sum(sizes.values()))
    while (left := wanted - sum(given.values())) > 0:
        open_ = {n: size**power for n, size in sizes.items() if given[n] < size}
        total = sum(open_.values())
        ideal = {n: left * w / total for n, w in open_.items()}
        step = {n: min(int(share), sizes[n] - given[n]) for n, share in ideal.items()}
        if not any(step.values()):
            for n in sorted(ideal, key=lambda n: (-ideal[n], n))[:left]:
                given[n] += 1
            continue
        for n, count in step.items():
            given[n] += count
    return given


def _strata(candidates: Sequence[Candidate], request: Request) -> dict[str, list[Candidate]]:
    """Return the candidates by stratum; strata that are too small for a test item are pooled within their first key."""

    def by_name(keys: Sequence[tuple[Candidate, str]]) -> dict[str, list[Candidate]]:
        return grouped((name, candidate) for candidate, name in sorted(keys, key=lambda k: (k[1], k[0].record)))

    named = [(c, " | ".join(c.keys.get(k) or "none" for k in request.strata) or "all") for c in candidates]
    groups = by_name(named)
    # Pooled strata are larger, so others may now get nothing; repeat until nothing changes.
    for _ in range(len(groups)):
        counts = _two_levels({n: len(g) for n, g in groups.items()}, request.test, request.power)
        pooled = [(c, f"{_first(name)} | {_OTHER}" if counts[name] == 0 else name) for c, name in named]
        if pooled == named or len(request.strata) < 2:
            break
        named, groups = pooled, by_name(pooled)
    return groups


def _two_levels(sizes: Mapping[str, int], wanted: int, power: float) -> dict[str, int]:
    """Divide by `shares` among the values of the first key, at least one item each; then within each."""
    first = grouped((_first(name), size) for name, size in sizes.items())
    filled = {name: total for name, parts in first.items() if (total := sum(parts))}
    given = shares(filled, wanted, power)
    for name in sorted(filled):
        if given[name] == 0 and (most := max(given, key=lambda n: (given[n], n))) and given[most] > 1:
            given[most] -= 1
            given[name] = 1
    result: dict[str, int] = dict.fromkeys(sizes, 0)
    for name, count in given.items():
        result |= shares({n: s for n, s in sizes.items() if _first(n) == name}, count, power)
    return result


def _first(stratum: str) -> str:
    """Return the first key's value of a stratum."""
    return stratum.split(" | ")[0]


def _check(request: Request, folder: Path) -> None:
    if (folder / "sample.json").exists():
        raise InputError(
            f"{folder} already has a sample", hint="Choose another folder with --out; labels belong to one sample."
        )
    if request.follow is not None and (request.follow.sample.task != request.task or request.dev):
        raise InputError(
            "a sample that follows another has the same task and uses its items as the dev part",
            hint=f"Use --task {request.follow.sample.task}, and leave --dev out.",
        )
    if request.task not in TASKS:
        raise InputError(f"unknown task {request.task!r}", hint=f"Known: {', '.join(TASKS)}.")
    for key in request.strata:
        if key not in STRATA:
            raise InputError(f"cannot stratify by {key!r}", hint=suggest(key, STRATA) or f"Known: {', '.join(STRATA)}.")
    if strange := set(request.language_models) - set(request.annotators):
        raise InputError(f"{', '.join(sorted(strange))} is not an annotator", hint="Name it in --annotators too.")
    names = [a.casefold() for a in request.annotators]
    if not names or len(set(names)) < len(names) or ADJUDICATOR in names:
        raise InputError(
            "annotators need different names, and no annotator may be named adjudicator",
            hint="For example: --annotators A,B.",
        )
