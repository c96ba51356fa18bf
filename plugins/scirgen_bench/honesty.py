"""Abstention on questions without an answer, and nugget recall, for releases of `scirgen_probe`.

Nuggets are scored as in TREC 2024 RAG (Pradeep et al. 2024, "Initial Nugget Evaluation Results for the TREC 2024 RAG
Track with the AutoNuggetizer Framework", arXiv:2411.09607): a judge says of each nugget whether the answer supports it
(1), supports it in part (.5) or not (0). Strict is V_strict: the share of the vital nuggets that are supported; lenient
is A: the mean over all nuggets. Contradicted nuggets, which the track does not count, are reported separately.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import create_model

from scirgen import ModelError, ReleaseRow
from scirgen.plugin import ChatSession, PromptLibrary, derived_seed
from scirgen_bench.metrics import Figures

REFUSAL: Final = "UNANSWERABLE"
"""The word with which a model refuses, where the release has questions without an answer."""
_AT_THE_START = 40
_SUPPORT: Final = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0, "contradicted": 0.0}
Label = Literal["support", "partial_support", "not_support", "contradicted"]


class NuggetScore(Figures):
    """One answer's nuggets; ``strict`` is None if none of them is vital."""

    strict: float | None
    lenient: float
    contradicted: float


def refused(answer: str | None) -> bool:
    """Return whether an answer is a refusal."""
    return answer is not None and REFUSAL in answer[:_AT_THE_START].upper()


def rate(values: Sequence[bool]) -> float | None:
    """Return the share of true values; None without values."""
    return round(sum(values) / len(values), 6) if values else None


def nuggets_of(row: ReleaseRow) -> list[Mapping[str, Any]]:
    """Return the nuggets of a row."""
    found = row.added().get("nuggets")
    return found if isinstance(found, list) else []


async def nugget_scores(
    answered: Sequence[tuple[ReleaseRow, str]], judge: ChatSession, prompts: PromptLibrary
) -> dict[str, NuggetScore]:
    """Return a mapping: row id -> score, for the answers whose row has nuggets; an answer that the judge cannot read is
    left out."""
    told = [(row, answer, nuggets) for row, answer in answered if (nuggets := nuggets_of(row))]

    async def one(row: ReleaseRow, answer: str, nuggets: Sequence[Mapping[str, Any]]) -> NuggetScore | None:
        fields: dict[str, Any] = {f"n{n}": (Label, ...) for n in range(1, len(nuggets) + 1)}
        prompt = prompts.get("benchmark/nuggets", judge.pack).render(
            question=row.question, answer=answer, nuggets=[str(n["fact"]) for n in nuggets]
        )
        try:
            reply = await judge.ask(
                prompt, create_model("NuggetLabels", **fields), seed=derived_seed(0, row.id, answer)
            )
        except ModelError as error:
            if error.fatal:
                raise
            return None
        return score_labels(list(reply.value.model_dump().values()), [bool(n["vital"]) for n in nuggets])

    scores = await asyncio.gather(*(one(*task) for task in told))
    return {row.id: score for (row, _, _), score in zip(told, scores, strict=True) if score is not None}


def score_labels(labels: Sequence[str], vital: Sequence[bool]) -> NuggetScore:
    """Score one answer by its nuggets' labels."""
    strict = [label == "support" for label, needed in zip(labels, vital, strict=True) if needed]
    return NuggetScore(
        strict=rate(strict),
        lenient=round(sum(_SUPPORT[label] for label in labels) / len(labels), 6),
        contradicted=round(sum(label == "contradicted" for label in labels) / len(labels), 6),
    )
