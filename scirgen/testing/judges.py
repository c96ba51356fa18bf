"""The conformance suites of gates and faithfulness scorers, for tests of plugins."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from scirgen.core.records import Dataset, QAPair, Score, Span
from scirgen.core.registry import load_registry, shape_problems
from scirgen.core.resources import resolve_config
from scirgen.core.runtime import blocking
from scirgen.pipeline.run import opened_context
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Faithfulness, Gate, Material, Verdict
from scirgen.testing.serving import serving
from scirgen.testing.sources import ContractError

_CODE = re.compile(r"[a-z][a-z0-9_]*")
_TEXT = (
    "Title: Lake ice of the north\nDescription: Ice thickness was drilled at 24 holes every week from 1988 to 2019. "
    "The holes were drilled because satellites cannot see thin ice."
)
_ASKED = (
    ("quantification", "At how many holes was ice thickness drilled?", "24 holes"),
    ("causal_antecedent", "Why were the holes drilled?", "Because satellites cannot see thin ice."),
    ("verification", "Was ice thickness drilled every day?", "No"),
)


def sample_pairs() -> tuple[list[QAPair], Material]:
    """Return three pairs about one invented dataset, with the material that they were made from."""
    dataset = Dataset(id="lake", title="Lake ice of the north", description=_TEXT.partition("Description: ")[2])
    span = Span(document_id="lake", start=0, end=len(dataset.text), text=dataset.text)
    pairs = [
        QAPair(id=f"p{n}", dataset_id="lake", question=q, answer=a, question_type=kind, evidence=(span,))
        for n, (kind, q, a) in enumerate(_ASKED)
    ]
    return pairs, Material(dataset, (), dataset.text, {"lake": dataset.text})


def check_gate(gate: type[Gate], pairs: Sequence[QAPair] = (), material: Material | None = None) -> list[Verdict]:
    """Check a gate against its contract: its members, one verdict per pair in order, the same verdicts each time.

    Args:
        gate: the class.
        pairs: pairs to judge; none: three about an invented dataset. A fake server answers a gate that asks a model.
        material: what the pairs are judged against; None: that of the invented dataset.

    Returns:
        The verdicts, so a test can also assert what it rejects.

    Raises:
        ContractError: the contract is broken; every breach is listed.
    """
    return blocking(_gate(gate, pairs, material))


def check_scorer(
    scorer: type[Faithfulness], pairs: Sequence[QAPair] = (), material: Material | None = None
) -> list[Score]:
    """Check a faithfulness scorer against its contract: its members, one finite score per pair under its own name, the
    same each time.

    Args:
        scorer: the class.
        pairs: pairs to score; none: three about an invented dataset. A fake server stands for its models.
        material: what the pairs are scored against; None: that of the invented dataset.

    Returns:
        The scores.

    Raises:
        ContractError: the contract is broken, or a score could not be measured; every breach is listed.
    """
    return blocking(_scorer(scorer, pairs, material))


async def _gate(kind: type[Gate], given: Sequence[QAPair], material: Material | None) -> list[Verdict]:
    problems = _lacks("gate", getattr(kind, "code", ""), kind)
    if not problems and not _CODE.fullmatch(kind.code):
        problems.append(f"its code {kind.code!r} must be lower-case letters, digits and _")
    _refuse(kind, problems)
    pairs, known = _sample(given, material)
    async with _context() as ctx:
        first, second = await kind().check(pairs, known, ctx), await kind().check(pairs, known, ctx)
        nothing = await kind().check([], known, ctx)
    if len(first) != len(pairs) or len(nothing) != 0:
        problems.append(f"check() must give one verdict a pair: {len(first)} for {len(pairs)}, {len(nothing)} for none")
    if not all(isinstance(v, Verdict) for v in first):
        problems.append("check() must give scirgen.Verdict objects")
    elif [(v.accept, v.reason) for v in first] != [(v.accept, v.reason) for v in second]:
        problems.append("check() gives other verdicts the second time; a gate has no state")
    elif any(not v.accept and not v.reason and v.error is None for v in first):
        problems.append("a verdict that rejects needs a reason")
    _refuse(kind, problems)
    return first


async def _scorer(kind: type[Faithfulness], given: Sequence[QAPair], material: Material | None) -> list[Score]:
    problems = _lacks("faithfulness", getattr(kind, "name", ""), kind)
    _refuse(kind, problems)
    pairs, known = _sample(given, material)
    async with _context() as ctx:
        first, second = await kind().score(pairs, known, ctx), await kind().score(pairs, known, ctx)
    if len(first) != len(pairs):
        problems.append(f"score() must give one score a pair: {len(first)} for {len(pairs)}")
    for found in first:
        if isinstance(found, Exception):
            problems.append(f"a score could not be measured: {type(found).__name__}: {found}")
        elif not isinstance(found, Score):
            problems.append(f"score() returned a {type(found).__name__}, not a scirgen.Score")
        elif found.name != kind.name or not math.isfinite(found.value):
            problems.append(f"a score has the name {found.name!r} and the value {found.value}; it must be finite")
    scores = [s for s in first if isinstance(s, Score)]
    if [s.value for s in scores] != [s.value for s in second if isinstance(s, Score)]:
        problems.append("score() gives other values the second time")
    _refuse(kind, problems)
    return scores


@asynccontextmanager
async def _context() -> AsyncIterator[StageContext]:
    """Open a filter's context whose models are the fake server."""
    with serving() as model:
        flags = {"models.generator": model, "models.scorer": model}
        loaded, pack = resolve_config(flags=flags)
        async with opened_context(loaded.config, pack, "filter", needs_scores=True) as ctx:
            yield ctx


def _sample(given: Sequence[QAPair], material: Material | None) -> tuple[list[QAPair], Material]:
    pairs, known = sample_pairs()
    return list(given) or pairs, material or known


def _lacks(kind: str, name: str, found: type) -> list[str]:
    return shape_problems(kind, name, found, load_registry().contract(kind))


def _refuse(kind: type, problems: Sequence[str]) -> None:
    if problems:
        raise ContractError(f"{kind.__name__}:\n- " + "\n- ".join(dict.fromkeys(problems)))
