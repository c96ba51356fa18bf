"""The two strategies of ScIRGen's published procedure: the types a call chooses, and a yes that no rule overrules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scirgen.core.records import Aspect, Dataset, Link, QAPair, SectionClass
from scirgen.stages.base import WorkItem
from scirgen.stages.generate.stage import GenerateStage
from scirgen.stages.match.stage import MatchStage
from tests.support.papers import make_paper
from tests.support.questioning import ASPECTS, DATASET, FakeScope, make_context

ASKED = r"^(\w+): at most \d+"
CHOSEN = ["comparison", "definition", "quantification", "example", "verification", "goal_orientation"]


async def _written(chosen: list[str], **settings: object) -> tuple[list[str], list[QAPair], str]:
    """The types that calls asked for, the pairs, and the prompt that chose the types."""

    def rule(prompt, number):
        if prompt.id == "generate/name":
            return {"name": ""}
        if prompt.id == "generate/published_types":
            return {"types": [*chosen, "riddle"]}
        (asked,) = re.findall(ASKED, prompt.messages[-1][1], re.M)
        pair = {"type": asked, "evidence": [1], "question": f"What {asked} is that of {DATASET.id}?", "answer": "Snow."}
        return {"pairs": [pair]}

    settings = {
        "strategy": "scirgen-paper",
        "types": ["all"],
        "types_per_call": 1,
        "types_without_paper": 6,
        **settings,
    }
    ctx, chat = make_context(rule, generate=settings)
    stage = GenerateStage()
    (item,) = stage.items(FakeScope({"verify": ()}, 0, (), None), ctx)
    result = await stage.process(item, ctx)
    first, *rest = [p for p in chat.prompts if p.id != "generate/name"]
    assert first.id == "generate/published_types"
    asked = [t for p in rest for t in re.findall(ASKED, p.messages[-1][1], re.M)]
    return asked, [r for r in result.outputs if isinstance(r, QAPair)], first.messages[-1][1]


async def test_without_a_paper_a_call_chooses_the_types_and_each_is_asked_once() -> None:
    asked, pairs, prompt = await _written(CHOSEN)
    assert sorted(asked) == sorted(CHOSEN) == sorted(p.question_type for p in pairs)
    assert "Choose the 6 types" in prompt and DATASET.title in prompt


async def test_a_call_that_chooses_too_few_types_is_filled_up_in_the_order_of_the_taxonomy() -> None:
    asked, _, _ = await _written(CHOSEN[:2])
    assert len(set(asked)) == 6 and set(CHOSEN[:2]) <= set(asked)


@pytest.mark.parametrize(("strategy", "papers"), [("joint", set()), ("scirgen-paper", {"10.1/p"})])
def test_a_shared_paper_is_in_the_tasks_of_each_dataset(strategy: str, papers: set[str]) -> None:
    ctx, _ = make_context(generate={"strategy": strategy})
    scope = FakeScope({"verify": ASPECTS}, shared={"10.1/p": (Dataset(id="ds-0", title="Snow"), DATASET)})
    made = list(GenerateStage().items(scope, ctx))
    assert {a.paper_id for item in made for a in item.of(Aspect)} == papers


async def test_a_yes_of_the_model_counts_though_its_sentences_share_only_a_place() -> None:
    camera = "Images of the lake were obtained from a camera and derived products show its boats."
    dataset = Dataset(
        id="ice", title="Ice phenology of Lake Issvar from satellite images", fields=(("Places", "Lake Issvar"),)
    )
    document, labels = make_paper([("Data", SectionClass.METHOD, [camera])])
    link = Link(dataset_id="ice", paper_id=document.paper_id, found_by="folder")
    reply = {"evidence": [1], "methodology": "yes", "terminology": "yes", "results": "yes", "explanation": "So."}
    used = {}
    for strategy in ("model", "scirgen-paper"):
        for verdict in ("used", "mentioned"):
            said = json.dumps({**reply, "verdict": verdict})
            ctx, _ = make_context(
                lambda p, n, said=said: said, stage="match", key=link.id, match={"strategy": strategy}
            )
            result = await MatchStage().process(WorkItem(link.id, (dataset, document, link, *labels)), ctx)
            used[strategy, verdict] = [x.used for x in result.outputs if isinstance(x, Link)]
    assert used == {
        ("model", "used"): [], ("model", "mentioned"): [],
        ("scirgen-paper", "used"): [True], ("scirgen-paper", "mentioned"): [],
    }  # fmt: skip


def test_the_packs_prompts_say_what_tables_9_11_and_12_say() -> None:
    prompts = Path(__file__).parents[3] / "examples" / "scirgen-paper" / "prompts"
    said = {file: (prompts / f"{file}.yaml").read_text() for file in ("match/judge", "extract/aspects", "verify/keep")}
    assert "err on the side of relevant" in said["match/judge"]
    assert "as many sentences of each kind as you can" in said["extract/aspects"]
    assert "at least one sentence of each kind" in said["verify/keep"]
