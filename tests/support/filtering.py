"""A stage context with a scripted scorer, a small taxonomy and the real wording: the basis of the gate tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from scirgen.core.config import load_config
from scirgen.core.errors import ModelError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.records import Dataset, QAPair, Span
from scirgen.core.registry import load_registry
from scirgen.core.resources import Domain, Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.stages.base import StageContext
from scirgen.stages.filter.base import Gate, Material, Verdict

DESCRIPTION = (
    "Daily precipitation at 0.25 degrees from 1979 to 2020, merged from 2,400 gauges because satellites miss snowfall. "
    "Values are in mm per day."
)
DATASET = Dataset(id="ds-1", title="Third Pole daily gridded precipitation product", description=DESCRIPTION)


class ScriptedScorer:
    """Gives log-probabilities by a rule and remembers what it was asked."""

    identity = ModelIdentity("scripted", "scorer", "1")
    capabilities = Capabilities(logprobs=True)

    def __init__(self, rule: Callable[[ScoreRequest], ScoreReply | ModelError]) -> None:
        self.rule = rule
        self.calls: list[Sequence[ScoreRequest]] = []

    async def score(self, requests: Sequence[ScoreRequest]) -> list[ScoreReply | ModelError]:
        self.calls.append(requests)
        return [self.rule(r) for r in requests]


@pytest.fixture(scope="session")
def taxonomy_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("domain")
    (root / "taxonomies").mkdir()
    pair = {"question": "Is a glacier inventory useful for estimating sea level rise?", "answer": "Yes"}
    types = [
        {
            "id": "verification",
            "name": "Verification",
            "definition": "Is a fact true?",
            "answer_form": "short",
            "question": {"any_of": [r"^(?:is|are|does|do|can|did|has|have|was|were)\b"]},
            "answer": {"kind": "yes_no", "max_words": 40},
            "examples": {"general": [pair]},
        },
        {
            "id": "quantification",
            "name": "Quantification",
            "definition": "How much?",
            "answer_form": "short",
            "question": {"any_of": [r"\bhow (?:many|much|often|long)\b", r"\bwhat (?:is|are) the\b"]},
            "answer": {"kind": "number", "max_words": 20},
        },
        {
            "id": "disjunctive",
            "name": "Disjunctive",
            "definition": "One or the other?",
            "answer_form": "short",
            "question": {"any_of": [r"\bor\b"]},
            "answer": {"kind": "option", "max_words": 20},
        },
        {
            "id": "causal_antecedent",
            "name": "Causal antecedent",
            "definition": "Asks what state or event caused or led to another, why or how something came about.",
            "answer_form": "long",
            "question": {"any_of": [r"\bwhy\b", r"\bwhat causes\b"]},
            "answer": {"kind": "text", "min_words": 4, "max_words": 120},
        },
        {
            "id": "request",
            "name": "Request",
            "definition": "Please do.",
            "answer_form": "long",
            "question": {"form": "request", "any_of": [r"\bplease\b"]},
            "answer": {"kind": "text"},
        },
    ]
    text = yaml.safe_dump({"version": 1, "sources": ["test"], "types": types}, sort_keys=False)
    (root / "taxonomies" / "graesser.yaml").write_text(text, encoding="utf-8")
    return root


def make_context(taxonomy_root: Path, folder: Path) -> Callable[..., StageContext]:
    def make(rule: Callable[[ScoreRequest], Any] | None = None, **filter_settings: Any) -> StageContext:
        resources = Resources(Domain("test", "Test", taxonomy_root))
        sections = {name: filter_settings.pop(name) for name in ("semantic",) if name in filter_settings}
        return StageContext(
            config=load_config(flags={"filter": filter_settings, **sections}).config,
            resources=resources,
            prompts=PromptLibrary(resources),
            taxonomies=Taxonomies(resources),
            registry=load_registry(),
            folder=folder,
            score_session=ScriptedScorer(rule) if rule else None,
            stage="filter",
            key="ds-1",
            fingerprint="f",
        )

    return make


@pytest.fixture
def make_ctx(taxonomy_root: Path, tmp_path: Path) -> Callable[..., StageContext]:
    return make_context(taxonomy_root, tmp_path)


@pytest.fixture
def ctx(make_ctx: Callable[..., StageContext]) -> StageContext:
    return make_ctx()


def span(text: str) -> Span:
    """The place of a text in the dataset's metadata."""
    start = DATASET.text.index(text)
    return Span(document_id=DATASET.id, start=start, end=start + len(text), text=text)


def pair(
    question: str = "Why were gauges merged with satellite precipitation estimates over cold mountains?",
    answer: str = "Because satellites miss snowfall.",
    kind: str = "causal_antecedent",
    **fields: Any,
) -> QAPair:
    fields.setdefault("evidence", (span(DESCRIPTION),))
    made = QAPair.make_id("ds-1", kind, question, answer)
    return QAPair(id=made, dataset_id="ds-1", question=question, answer=answer, question_type=kind, **fields)


MATERIAL = Material(DATASET, (), DATASET.text, {DATASET.id: DATASET.text})


async def verdict(gate: type[Gate], one: QAPair, ctx: StageContext, material: Material = MATERIAL) -> Verdict:
    """The verdict of a gate on one pair."""
    return (await gate().check([one], material, ctx))[0]
