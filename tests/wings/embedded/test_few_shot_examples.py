"""What prompts show as good pairs is held to the same gates as what models write."""

from __future__ import annotations

import pytest

from scirgen.core.records import Dataset, QAPair, Span
from scirgen.core.resources import Resources, find_domain
from scirgen.core.taxonomy import ExamplePair, QuestionType, Taxonomies
from scirgen.stages.filter.base import Material
from scirgen.stages.filter.stage import select_gates
from tests.support.questioning import make_context

TAXONOMIES = {"general": Taxonomies(Resources()), "geo": Taxonomies(Resources(find_domain("geo")))}
EXAMPLES = [
    pytest.param(kind, example, id=f"{domain}-{kind.id}-{number}")
    for domain, taxonomies in TAXONOMIES.items()
    for kind in taxonomies.graesser.types
    for number, example in enumerate(kind.examples.get(domain, ()), 1)
]


def test_every_type_has_examples_in_both_domains():
    assert len(EXAMPLES) >= 4 * 18


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
async def test_a_few_shot_example_passes_the_gates(kind: QuestionType, example: ExamplePair):
    dataset = Dataset(id="d", title="An example", description=example.evidence)
    start = dataset.text.index(example.evidence)
    span = Span(document_id="d", start=start, end=start + len(example.evidence), text=example.evidence)
    pair = QAPair(
        id="qa-1",
        dataset_id="d",
        question=example.question,
        answer=example.answer,
        question_type=kind.id,
        evidence=(span,),
    )
    ctx, _ = make_context(stage="filter")
    material = Material(dataset, (), dataset.text, {"d": dataset.text})
    for gate in select_gates(ctx.config, ctx.registry):
        if not gate.models() and gate.code != "example_leak":
            (verdict,) = await gate.check([pair], material, ctx)
            assert verdict.accept, f"{gate.code}: {verdict.reason}"
