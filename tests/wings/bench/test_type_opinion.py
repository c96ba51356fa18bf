"""The second opinion on question types, with a classifier trained on a few made-up questions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from scirgen.core.errors import ConfigError
from scirgen.core.records import QAPair
from scirgen.stages.base import StageContext
from scirgen.stages.filter.stage import FilterStage
from scirgen_bench.question_tagger import Labelled
from scirgen_bench.tagger import Example, fit
from scirgen_bench.type_opinion import TypeOpinionGate
from tests.support.filtering import DATASET, MATERIAL, pair

THINGS = ("snow", "rain", "gauges", "satellites", "rivers", "lakes", "glaciers", "wind", "clouds", "soil")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    examples = [Example(Labelled(f"Why is {x} missed by satellites?"), "causal_antecedent") for x in THINGS]
    examples += [Example(Labelled(f"How many {x} were counted by gauges?"), "quantification") for x in THINGS]
    path = tmp_path_factory.mktemp("types")
    fit(examples, "question_type").save(path)
    return str(path)


@pytest.mark.parametrize(
    ("question", "kind", "accepted"),
    [
        ("Why is hail missed by satellites?", "causal_antecedent", True),
        ("How many storms were counted by gauges?", "quantification", True),
        ("Why is hail missed by satellites?", "quantification", False),
        ("How many storms were counted by gauges?", "causal_antecedent", False),
        ("Why is hail missed by satellites?", "riddle", True),
    ],
)
async def test_the_opinion_counts_only_against_a_type_the_classifier_knows(
    make_ctx: Callable[..., StageContext], folder: str, question: str, kind: str, accepted: bool
) -> None:
    context = make_ctx(type_opinion={"tagger": folder})
    (found,) = await TypeOpinionGate().check([pair(question=question, kind=kind)], MATERIAL, context)
    assert found.accept is accepted
    if not accepted:
        assert found.score is not None and found.score > 1.0
        assert "reads like a question of type" in found.reason


async def test_higher_threshold_lets_more_pass_and_no_classifier_all(
    make_ctx: Callable[..., StageContext], folder: str
) -> None:
    wrong = pair(question="Why is hail missed by satellites?", kind="quantification")
    lenient = make_ctx(type_opinion={"tagger": folder}, gate_options={"type_opinion": {"threshold": 50}})
    for context in (lenient, make_ctx()):
        assert (await TypeOpinionGate().check([wrong], MATERIAL, context))[0].accept


async def test_a_tagger_of_levels_is_refused(make_ctx: Callable[..., StageContext], tmp_path: Path) -> None:
    examples = [Example(Labelled(f"Why {x}?"), "C4") for x in THINGS]
    fit([*examples, *(Example(Labelled(f"How many {x}?"), "C1") for x in THINGS)], "level").save(tmp_path / "levels")
    with pytest.raises(ConfigError, match="tagger of level"):
        await TypeOpinionGate().check([pair()], MATERIAL, make_ctx(type_opinion={"tagger": str(tmp_path / "levels")}))


def test_another_classifier_redoes_the_filter_a_moved_one_does_not(
    make_ctx: Callable[..., StageContext], folder: str, tmp_path: Path
) -> None:
    class Scope:
        dataset, round = DATASET, 0

        def outputs(self, stage: str, kind: type) -> tuple[QAPair, ...]:
            return (pair(),) if stage == "generate" else ()

    def salt(**settings: object) -> str:
        (item,) = FilterStage().items(Scope(), make_ctx(**settings))
        return item.salt

    shutil.copytree(folder, tmp_path / "copy")
    assert salt(type_opinion={"tagger": folder}) == salt(type_opinion={"tagger": str(tmp_path / "copy")})
    assert salt(type_opinion={"tagger": folder}) != salt()
