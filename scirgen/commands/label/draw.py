"""Drawing a sample: strata, how many items each gets, dev and test apart, weights, and the folder that freezes it all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scirgen.commands.label.sources import STRATA, Candidate, Material, Source
from scirgen.core.errors import InputError
from scirgen.core.fingerprint import content_id, digest
from scirgen.core.prompts import Prompt
from scirgen.core.registry import suggest
from scirgen.qa.labels import (
    ADJUDICATOR,
    TASKS,
    Item,
    LabelSet,
    Part,
    Sample,
    Stratum,
    TaskName,
    sample_id,
    write_lines,
    write_text,
)

_OTHER = "other"


@dataclass(frozen=True)
class Request:
    """What to draw.

    Attributes:
        task: what will be asked.
        test: items of the test part.
        dev: items of the dev part, on top of those.
        strata: keys to stratify by, the most important first.
        annotators: names of the people.
        seed: of the draw.
        power: items of a stratum are proportional to its size raised to this (M. D. Bankier, 1988): 1 proportional, 0 equal.
        margin: of the non-inferiority test that the sample is meant for.
    """

    task: TaskName
    test: int
    dev: int = 0
    strata: tuple[str, ...] = ("verdict", "question_type")
    annotators: tuple[str, ...] = ("A", "B")
    seed: int = 0
    power: float = 0.5
    margin: float = 0.075


def draw(source: Source, name: str, request: Request, guideline: Prompt, folder: Path) -> LabelSet:
    """Draw a sample and freeze it in a folder.

    Args:
        source: the population.
        name: what it is called in ``sample.json``.
        request: how many, stratified by what, for whom.
        guideline: ``label/TASK``.
        folder: made here; must not hold a sample yet.

    Raises:
        InputError: the folder holds a sample already, a stratum key is unknown, the population is too small, or
            annotators' names are not usable.
    """
    _check(request, folder)
    candidates = list(source.candidates())
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
    items.sort(key=lambda i: i.id)
    freeze(folder, items, material, guideline, name, source.kind, request, parts.rows())
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
    reference = f"{guideline.id}@{guideline.file.version}#{guideline.hash[:12]}"
    sample = Sample(
        id=sample_id(request.task, items), task=request.task, source=name, kind=kind, guideline=reference,
        text=guideline.file.system.strip(), choices=guideline.file.choices, annotators=request.annotators,
        strata_by=request.strata, strata=tuple(strata), seed=request.seed, margin=request.margin,
    )  # fmt: skip
    write_lines(folder / "items.jsonl", items)
    write_text(
        folder / "contexts.json", json.dumps(material.contexts, ensure_ascii=False, indent=0, sort_keys=True) + "\n"
    )
    papers = {k: str(v.resolve()) for k, v in sorted(material.papers.items())}
    write_text(folder / "papers.json", json.dumps(papers, ensure_ascii=False, indent=0) + "\n")
    write_text(folder / "sample.json", sample.model_dump_json(indent=2) + "\n")


@dataclass(frozen=True)
class Allocation:
    """Who was drawn: stratum -> part -> candidates; (part, stratum) -> weight; stratum -> size."""

    strata: dict[str, dict[Part, list[Candidate]]]
    weights: dict[tuple[Part, str], float]
    population: dict[str, int]

    def rows(self) -> list[Stratum]:
        """For ``sample.json``."""
        return [
            Stratum(name=s, population=self.population[s], dev=len(d["dev"]), test=len(d["test"]))
            for s, d in sorted(self.strata.items())
        ]


def allocate(candidates: Sequence[Candidate], request: Request) -> Allocation:
    """Decide who is drawn. The same candidates and seed give the same draw, in whatever order they come."""
    groups = _strata(candidates, request)
    sizes = {name: len(group) for name, group in groups.items()}
    test = shares(sizes, request.test, request.power)
    dev = shares({n: sizes[n] - test[n] for n in sizes}, request.dev, request.power)
    drawn: dict[str, dict[Part, list[Candidate]]] = {}
    for name, group in groups.items():
        ordered = sorted(group, key=lambda c: digest("draw", request.seed, c.record))
        drawn[name] = {"test": ordered[: test[name]], "dev": ordered[test[name] : test[name] + dev[name]]}
    weights: dict[tuple[Part, str], float] = {}
    both: tuple[Part, Part] = ("test", "dev")
    for part in both:
        covered: dict[str, int] = {}
        total: dict[str, int] = {}
        for name, size in sizes.items():
            first = name.split(" | ")[0]
            total[first] = total.get(first, 0) + size
            covered[first] = covered.get(first, 0) + (size if drawn[name][part] else 0)
        for name, size in sizes.items():
            if count := len(drawn[name][part]):
                # A stratum without an item in this part is represented by the others of the same first key.
                first = name.split(" | ")[0]
                weights[part, name] = size / count * total[first] / covered[first]
    return Allocation(drawn, weights, sizes)


def shares(sizes: Mapping[str, int], wanted: int, power: float) -> dict[str, int]:
    """How many items each stratum gives: proportional to size ** power, at most its size, the sum as wanted."""
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
    """Candidates by stratum; strata too small for an item of the test part are pooled within their first key."""

    def grouped(keys: Sequence[tuple[Candidate, str]]) -> dict[str, list[Candidate]]:
        table: dict[str, list[Candidate]] = {}
        for candidate, name in sorted(keys, key=lambda k: (k[1], k[0].record)):
            table.setdefault(name, []).append(candidate)
        return table

    full = [(c, " | ".join(c.keys.get(k) or "none" for k in request.strata) or "all") for c in candidates]
    groups = grouped(full)
    counts = shares({n: len(g) for n, g in groups.items()}, request.test, request.power)
    small = {n for n, count in counts.items() if count == 0}
    if not small or len(request.strata) < 2:
        return groups
    return grouped([(c, f"{name.split(' | ')[0]} | {_OTHER}" if name in small else name) for c, name in full])


def _check(request: Request, folder: Path) -> None:
    if (folder / "sample.json").exists():
        raise InputError(
            f"{folder} holds a sample already", hint="Choose another folder with --out; labels belong to one sample."
        )
    if request.task not in TASKS:
        raise InputError(f"unknown task {request.task!r}", hint=f"Known: {', '.join(TASKS)}.")
    for key in request.strata:
        if key not in STRATA:
            raise InputError(f"cannot stratify by {key!r}", hint=suggest(key, STRATA) or f"Known: {', '.join(STRATA)}.")
    names = [a.casefold() for a in request.annotators]
    if not names or len(set(names)) < len(names) or ADJUDICATOR in names:
        raise InputError(
            "annotators need different names, and none may be called adjudicator", hint="For example: --annotators A,B."
        )
