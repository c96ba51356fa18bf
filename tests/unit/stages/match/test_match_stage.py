"""The match stage, and what it lets a model decide."""

from __future__ import annotations

import json
import re

import pytest

from scirgen.core.config import Config
from scirgen.core.errors import PluginError
from scirgen.core.prompts import RenderedPrompt
from scirgen.core.records import Criteria, Dataset, Document, Link, SectionClass, SectionLabel
from scirgen.stages.base import StageResult, WorkItem
from scirgen.stages.match.base import Pair
from scirgen.stages.match.stage import MatchStage, strategy
from tests.support.papers import make_paper
from tests.support.questioning import make_context

DATASET = Dataset(
    id="ice",
    title="Ice phenology and ice thickness of Lake Issvar from satellite images",
    keywords=("lake ice",),
    fields=(("Places", "Lake Issvar"),),
)
SENTENCE = "Freeze-up dates and ice thickness were derived from satellite images of the lake for 38 winters."
PLACE = "Lake Issvar lies at 412 m above sea level and is visited by many people of the Issvar valley."


CAMERA = "Images of the lake were obtained from a camera and derived products show its boats."


async def run(
    reply: object, strategy: str = "model", by: str = "folder", pack: str = "standard", **settings: object
) -> StageResult:
    document, labels = make_paper([("Data", SectionClass.METHOD, [SENTENCE, PLACE, CAMERA])])
    link = Link(dataset_id="ice", paper_id=document.paper_id, found_by=by)

    def rule(prompt: RenderedPrompt, number: int) -> str:
        return reply if isinstance(reply, str) else json.dumps(cited(reply, prompt))

    ctx, _ = make_context(rule, pack=pack, stage="match", key=link.id, match={"strategy": strategy, **settings})
    return await MatchStage().process(WorkItem(link.id, (DATASET, document, link, *labels)), ctx)


def cited(reply: object, prompt: RenderedPrompt) -> object:
    """A reply with the numbers that its sentences have in a prompt."""
    assert isinstance(reply, dict)
    shown = {text: int(n) for n, text in re.findall(r"^\[(\d+)\] (.*)$", prompt.messages[-1][1], re.M)}
    return {**reply, "evidence": [n if isinstance(n, int) else shown[n] for n in reply["evidence"]]}


def said(verdict: str, *evidence: str | int) -> dict[str, object]:
    criteria = dict.fromkeys(("methodology", "terminology", "results"), "yes" if verdict == "used" else "unclear")
    return {"evidence": list(evidence), **criteria, "explanation": "Because.", "verdict": verdict}


async def test_a_use_is_a_link_with_the_sentences_cited_and_the_three_criteria() -> None:
    result = await run(said("used", SENTENCE), by="text_search")
    [link] = result.outputs
    assert isinstance(link, Link) and link.used and link.strategy == "model"
    assert [s.text for s in link.evidence] == [SENTENCE]
    assert link.evidence[0].page == 1 and link.evidence[0].section is SectionClass.METHOD
    assert link.criteria == Criteria(methodology="yes", terminology="yes", results="yes")
    assert link.found_by == "text_search"
    assert link.provenance and link.provenance.prompt and link.provenance.replies == ("reply-1",)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (said("mentioned", SENTENCE), "not_used"),
        (said("unclear", SENTENCE), "unclear"),
        (said("used"), "no_evidence"),
        (said("used", 99), "no_evidence"),
        (said("used", CAMERA), "place_only"),
    ],
)
async def test_a_reply_that_does_not_hold_is_a_rejection_with_the_judged_link(
    reply: dict[str, object], code: str
) -> None:
    result = await run(reply)
    assert result.outputs == ()
    [rejection] = result.rejections
    assert rejection.code == code and rejection.record_id == "ice|10.1/p"
    assert Link.model_validate_json(rejection.record).used is False


async def test_the_settings_say_what_unclear_means() -> None:
    result = await run(said("unclear", SENTENCE), when_unsure="keep")
    assert [link.used for link in result.outputs if isinstance(link, Link)] == [True]


@pytest.mark.parametrize(
    ("reply", "used"),
    [(said("mentioned", SENTENCE), False), (said("unclear"), True), (said("used", CAMERA), True)],
)
async def test_a_stated_relation_counts_unless_the_text_contradicts_it(reply: dict[str, object], used: bool) -> None:
    result = await run(reply, strategy="auto", by="related_identifier")
    assert bool(result.outputs) is used


NAMED = Dataset(id="snow", title="Snow depth on Norwegian fjords (SNOFJ): a gridded dataset")
CERTAIN = "Snow depth was taken from the gridded SNOFJ dataset of the fjords."


@pytest.mark.parametrize(
    ("sentence", "section", "calls"),
    [
        (CERTAIN, SectionClass.METHOD, 0),
        (CERTAIN, SectionClass.CONCLUSION, 1),
        ("Gridded snow depth on fjords, such as the dataset SNOFJ, is rare.", SectionClass.METHOD, 1),
    ],
)
async def test_auto_asks_only_about_a_name_that_is_not_certain(
    sentence: str, section: SectionClass, calls: int
) -> None:
    document, labels = make_paper([("Part", section, [sentence])])
    link = Link(dataset_id="snow", paper_id=document.paper_id, found_by="folder")
    reply = json.dumps({**said("mentioned", 1)})
    ctx, model = make_context(lambda p, n: reply, stage="match", key=link.id)
    result = await MatchStage().process(WorkItem(link.id, (NAMED, document, link, *labels)), ctx)
    assert (len(model.prompts), bool(result.outputs)) == (calls, not calls)


@pytest.mark.parametrize(
    ("title", "sentence", "calls"),
    [
        ("Global Fire Emissions Database Version 4.1 (GFEDv4)", "Burned area is from GFED4s for all months.", 1),
        ("Global Fire Emissions Database Version 4.1 (GFEDv4)", "The Global Fire Emissions Database has it.", 1),
        ("Chesapeake Bay Program Water Quality Database 1984-present",
         "Nitrate is from the Chesapeake Bay Program Water Quality Database.", 1),
        ("World Ocean Database 2018", "Profiles are from the World Ocean Database.", 1),
        ("Global Lakes and Wetlands Database", "Lakes were cut with the Global Lakes and Wetlands Database.", 1),
        ("World Ocean Database 2018", "Profiles are from the database of the world ocean.", 0),
        ("Lake water quality", "Lake water quality was good.", 0),
    ],
)  # fmt: skip
async def test_auto_asks_about_a_near_name_and_shows_it(title: str, sentence: str, calls: int) -> None:
    document, labels = make_paper([("Part", SectionClass.METHOD, [sentence])])
    ctx, model = make_context(lambda p, n: json.dumps(said("used", 1)), stage="match")
    pair = Pair(Dataset(id="x", title=title), document, labels, ("folder",))
    judgement = await strategy("auto", ctx.registry).judge(pair, ctx)
    assert (len(model.prompts), judgement.used) == (calls, bool(calls))
    assert all(sentence in prompt.messages[-1][1] for prompt in model.prompts)


async def test_process_when_strategy_unknown_then_did_you_mean() -> None:
    with pytest.raises(PluginError) as caught:
        await run(said("used"), strategy="mentions")
    assert "mention" in caught.value.hint


class _Scope:
    dataset = DATASET

    def __init__(self, **outputs: tuple[object, ...]) -> None:
        self._outputs = outputs

    def outputs(self, stage: str, kind: type) -> tuple[object, ...]:
        return tuple(r for r in self._outputs.get(stage, ()) if isinstance(r, kind))


def test_match_items_need_a_document_and_two_finds_are_one_item() -> None:
    document, labels = make_paper([("Data", SectionClass.METHOD, [SENTENCE])])
    links = tuple(
        Link(dataset_id="ice", paper_id=p, found_by=by)
        for p, by in [("10.1/p", "column"), ("10.1/p", "doi"), ("10.1/unread", "doi")]
    )
    scope = _Scope(collect=links, parse=(document,), section=labels)
    [item] = MatchStage().items(scope, make_context()[0])
    assert item.key == "ice|10.1/p" and len(item.of(Link)) == 2
    assert item.one(Document) is document and item.of(SectionLabel) == labels


def test_uses_when_strategy_is_a_rule_then_the_model_is_no_part_of_it() -> None:
    assert MatchStage().uses(Config.model_validate({"match": {"strategy": "mention"}})).roles == ()
    assert MatchStage().uses(Config()).roles == ("generator",)
