"""A question that needs two documents is one that the judge cannot answer without each of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scirgen.claims.needed import documents_needed, needed_evidence
from scirgen.core.errors import ModelError
from scirgen.core.records import QAPair, Span
from scirgen.llm.base import Capabilities, ModelIdentity
from scirgen.llm.session import Answer
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.filter.stage import FilterStage
from tests.support.filtering import DATASET, pair, span

Make = Callable[..., StageContext]
TEXTS = {
    "north": "Values are in mm per day.",
    "south": "Southern gauges give daily values that are in mm, too.",
}


class Reader:
    """A judge that answers only from texts with one of its words; it may fail where a text is shown."""

    identity, pack, capabilities = ModelIdentity("scripted", "judge", "1"), "standard", Capabilities()

    def __init__(self, enough: tuple[str, ...], fails: str = "never", real: bool = True) -> None:
        self.enough, self.fails, self.real = enough, fails, real
        self.read: list[str] = []

    async def ask(self, prompt: Any, reply: type, **_: object) -> object:
        fields, text = reply.model_fields, prompt.messages[-1][1]
        if "a1" in fields:
            self.read.append(text)
            if self.fails in text:
                raise ModelError("no reply", code="timeout")
            numbers = {n for n, line in re.findall(r"^\[(\d+)\] (.*)$", text, re.M) for e in self.enough if e in line}
            cited = re.findall(r"^ *q(\d+) \(passages ([\d, ]+)\)", text, re.M)
            said = {f"a{n}": "right" if numbers & {*of.split(", ")} else "not stated" for n, of in cited}
        elif reply.__name__ == "Agreement":
            others = re.findall(r"Other: (.*)", text)
            said = {f"p{n}": "same" if o == "right" else "differs" for n, o in enumerate(others, 1)}
        else:
            each = {"w": "agreement", "r": self.real, "p": "supported"}
            said = {name: each[name[0]] for name in fields if name[0] in each}
        return Answer(reply.model_validate(said), "", "key")


def linked(**more: Any) -> QAPair:
    south = Span(document_id="other", start=0, end=len(TEXTS["south"]), text=TEXTS["south"])
    told = {"question": "Do gauges of north and south agree on the unit of daily precipitation?", "strategy": "linked"}
    return pair(answer="Both have values in mm.", evidence=(span(TEXTS["north"]), south), **{**told, **more})


async def run(make_ctx: Make, judge: Reader, *pairs: QAPair) -> StageResult:
    options = {code: {"enabled": False} for code in ("not_verbatim", "other_question", "schema")}
    ctx = replace(make_ctx(faithfulness=("llm_judge",), gate_options=options, second_reader=0), judge_session=judge)
    return await FilterStage().process(WorkItem("ds-1", (DATASET, *pairs), {"round": 0}), ctx)


async def test_a_pair_that_neither_document_answers_is_linked_and_both_are_gold(make_ctx: Make) -> None:
    judge = Reader(enough=())
    (one,) = (await run(make_ctx, judge, linked())).outputs
    assert isinstance(one, QAPair)
    assert (one.link, one.needs, documents_needed(one)) == ("agreement", ("ds-1", "other"), 2)
    assert [s.document_id for s in needed_evidence(one)] == ["ds-1", "other"], "the words of one repeat the other's"
    assert len(judge.read) == 2 and all((TEXTS["north"] in t) != (TEXTS["south"] in t) for t in judge.read)


@pytest.mark.parametrize(("strategy", "codes"), [("linked", ["unasked"]), ("asked", [])])
async def test_a_pair_that_nobody_would_ask_is_kept_only_if_somebody_did(
    make_ctx: Make, strategy: str, codes: list[str]
) -> None:
    result = await run(make_ctx, Reader(enough=(), real=False), linked(strategy=strategy))
    assert [r.code for r in result.rejections] == codes and len(result.outputs) == (not codes)


@pytest.mark.parametrize("enough", [("Southern",), ("Values are",), ("Southern", "Values are")])
async def test_a_pair_that_one_document_answers_is_not_linked(make_ctx: Make, enough: tuple[str, ...]) -> None:
    (rejection,) = (await run(make_ctx, Reader(enough), linked())).rejections
    assert rejection.code == "one_document"
    (kept,) = (await run(make_ctx, Reader(enough), linked(strategy="joint"))).outputs
    assert isinstance(kept, QAPair)
    assert (kept.link, documents_needed(kept)) == ("", 1)


async def test_a_pair_that_could_not_be_asked_is_tried_again_if_it_was_written_for_two(make_ctx: Make) -> None:
    result = await run(make_ctx, Reader((), fails="Southern"), linked())
    assert [f.code for f in result.failures] == ["timeout"] and not result.outputs
    (kept,) = (await run(make_ctx, Reader((), fails="Southern"), linked(strategy="joint"))).outputs
    assert isinstance(kept, QAPair) and kept.needs is None and not kept.link


async def test_a_pair_with_one_document_is_not_asked_again(make_ctx: Make) -> None:
    judge = Reader(())
    (one,) = (await run(make_ctx, judge, pair(evidence=(span(TEXTS["north"]),)))).outputs
    assert isinstance(one, QAPair) and not judge.read and one.needs is None
