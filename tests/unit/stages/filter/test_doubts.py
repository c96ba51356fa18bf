"""Doubts and the judge: rules and scores doubt, the judge looks again, and a second reader answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scirgen.core.corpus import Passage
from scirgen.core.corpus.questions import Pool, Pooled
from scirgen.core.errors import ModelError
from scirgen.core.records import QAPair, Span
from scirgen.llm.base import Capabilities, ModelIdentity, ScoreReply, ScoreRequest
from scirgen.llm.session import Answer
from scirgen.stages.base import StageContext, StageResult, WorkItem
from scirgen.stages.filter.stage import FilterStage, gates_of
from tests.support.filtering import DATASET, pair, span

Make = Callable[..., StageContext]
POINTS = pair(question="Why were gauges merged in this dataset?")
CITED = (span("merged from 2,400 gauges because satellites miss snowfall."),)


class Judge:
    """Finds what it is told to find in the first reading, and does as it is told in the second look."""

    identity, pack, capabilities = ModelIdentity("scripted", "judge", "1"), "standard", Capabilities()

    def __init__(self, first: str = "supported", look: dict[str, Any] | None = None, **more: Any) -> None:
        self.first, self.look, self.more = first, look or {"v1": "keep"}, more
        self.looked: list[str] = []

    async def ask(self, prompt: Any, reply: type, **_: object) -> object:
        fields, text = reply.model_fields, prompt.messages[-1][1]
        said: dict[str, Any] = {name: self.first for name in fields if name[0] == "p"}
        if "v1" in fields:
            self.looked.append(text)
            said = self.look(text) if callable(self.look) else self.look
        elif "a1" in fields:
            said = dict.fromkeys(fields, "volcanoes")
        elif reply.__name__ == "Agreement":
            said = {name: self.more.get("agrees", "same") for name in fields}
        else:
            said |= self.more.get("extra", {})
        return Answer(reply.model_validate(said), "", "key")


def helps(more: float) -> Callable[[ScoreRequest], ScoreReply]:
    return lambda r: ScoreReply(("a", "b"), (-2.0 + more, -4.0 + more) if "Context:" in str(r.prompt) else (-2.0, -4.0))


async def run(ctx: StageContext, judge: Judge | None, *pairs: QAPair) -> StageResult:
    ctx = replace(ctx, judge_session=judge) if judge else ctx
    return await FilterStage().process(WorkItem("ds-1", (DATASET, *pairs), {"round": 0}), ctx)


def kept(result: StageResult) -> QAPair:
    (one,) = result.outputs
    assert isinstance(one, QAPair) and not result.rejections and not result.failures
    return one


async def test_a_rule_doubts_where_a_judge_reads_and_rejects_where_none_does(make_ctx: Make) -> None:
    judge = Judge()
    one = kept(await run(make_ctx(helps(0.5), gate_options={"pointing": {"enabled": True}}), judge, POINTS))
    assert [d.code for d in one.doubts] == ["pointing"] and not one.mended and not one.unsure
    assert "Doubt: the question points at " in judge.looked[0]
    assert [r.code for r in (await run(make_ctx(helps(0.5)), None, POINTS)).rejections] == ["pointing"]


async def test_what_a_model_would_ask_back_is_a_doubt_for_the_judge_and_rejects_without_one(make_ctx: Make) -> None:
    judge, unclear = Judge(), pair(asked="seeking", asks_back="Which gauges?")
    one = kept(await run(make_ctx(helps(0.5)), judge, unclear))
    assert [d.code for d in one.doubts] == ["asks_back"] and "asks: Which gauges?" in judge.looked[0]
    assert [r.code for r in (await run(make_ctx(helps(0.5)), None, unclear)).rejections] == ["asks_back"]


@pytest.mark.parametrize(("first", "shift", "codes"), [
    ("supported", -0.5, ["shift"]), ("contradicted", 0.5, ["llm_judge"]), ("not_stated", -0.5, ["shift", "llm_judge"]),
])  # fmt: skip
async def test_a_low_score_and_a_first_reading_are_doubts_too(
    make_ctx: Make, first: str, shift: float, codes: list[str]
) -> None:
    one = kept(await run(make_ctx(helps(shift)), Judge(first), pair()))
    assert [d.code for d in one.doubts] == codes


async def test_a_pair_without_doubts_is_looked_at_once(make_ctx: Make) -> None:
    judge = Judge()
    assert not kept(await run(make_ctx(helps(0.5)), judge, pair())).doubts and not judge.looked
    assert kept(await run(make_ctx(helps(0.5)), Judge("minor"), pair())).doubts == ()


async def test_the_judge_rejects_with_its_reason_and_the_doubt(make_ctx: Make) -> None:
    look = {"v1": "reject", "faults": [{"number": 1, "fault": "no sentence names volcanoes"}]}
    (rejection,) = (await run(make_ctx(helps(-0.5)), Judge(look=look), pair(answer="Because of volcanoes."))).rejections
    assert rejection.code == "shift" and rejection.reason.startswith("no sentence names volcanoes (doubt: ")


async def test_an_order_is_rejected_at_once_and_not_shown_again(make_ctx: Make) -> None:
    judge = Judge("order")
    (rejection,) = (await run(make_ctx(helps(0.5)), judge, pair())).rejections
    assert rejection.code == "llm_judge" and "tells its reader" in rejection.reason and not judge.looked


def number_of(text: str, sentence: str) -> int:
    found = re.search(rf"^\[(\d+)\] .*{re.escape(sentence)}", text, re.M)
    assert found, text
    return int(found[1])


async def test_a_mended_pair_gains_and_loses_evidence_word_for_word_and_is_measured_again(make_ctx: Make) -> None:
    def look(text: str) -> dict[str, Any]:
        return {"v1": "mend", "add1": [number_of(text, "Values are in mm")], "drop1": [number_of(text, "Title:")]}

    ctx = make_ctx(helps(-0.5))
    title = span(DATASET.title)
    one = kept(await run(ctx, Judge(look=look), pair(evidence=(title, *CITED))))
    assert one.mended and [s.text for s in one.evidence] == [CITED[0].text, "Values are in mm per day."]
    assert [s.role for s in one.evidence] == ["answer", "context"]
    assert all(DATASET.text[s.start : s.end] == s.text for s in one.evidence)
    assert [s.name for s in one.scores] == ["llm_judge", "shift"]
    assert len(ctx.scorer.calls) == 2, "measured again, once"


async def test_no_mending_takes_the_last_span_or_a_sentence_that_was_not_shown(make_ctx: Make) -> None:
    look = {"v1": "mend", "add1": [99, 0, -1], "drop1": [1, 2, 3, 4, 5]}
    one = kept(await run(make_ctx(helps(-0.5)), Judge(look=look), pair(evidence=CITED)))
    assert one.evidence == CITED and not one.mended


async def test_a_second_look_without_a_verdict_fails_the_pair_alone(make_ctx: Make) -> None:
    result = await run(make_ctx(helps(-0.5)), Judge(look={"faults": []}), pair())
    assert [f.code for f in result.failures] == ["no_verdict"] and not result.outputs and not result.rejections


async def test_the_judge_corrects_the_roles_of_spans(make_ctx: Make) -> None:
    judge = Judge(extra={"c1": [1]})
    spans: tuple[Span, ...] = (
        span("Daily precipitation at 0.25 degrees from 1979 to 2020"),
        span("Values are in mm per day."),
    )
    one = kept(await run(make_ctx(helps(0.5)), judge, pair(evidence=spans)))
    assert [s.role for s in one.evidence] == ["context", "answer"] and one.answer_evidence == spans[1:]


@pytest.mark.parametrize("said", [[], [1], [2]])
async def test_the_judge_makes_no_answer_of_context_and_leaves_one_answer(make_ctx: Make, said: list[int]) -> None:
    head = span("Values are in mm per day.").model_copy(update={"role": "context"})
    given = pair(evidence=(*CITED, head))
    assert kept(await run(make_ctx(helps(0.5)), Judge(extra={"c1": said}), given)).evidence == given.evidence


@pytest.mark.parametrize(
    ("share", "agrees", "measured"), [(0.0, "same", None), (0.999, "differs", 0.0), (1.0, "same", 1.0)]
)
async def test_a_second_reader_is_measured_on_its_share(
    make_ctx: Make, share: float, agrees: str, measured: float | None
) -> None:
    one = kept(await run(make_ctx(helps(0.5), second_reader=share), Judge(agrees=agrees), pair()))
    found = [s for s in one.scores if s.name == "second_reader"]
    assert [s.value for s in found] == ([] if measured is None else [measured])
    assert all(s.passed is None for s in found)


async def test_a_second_reader_of_all_pairs_rejects_those_it_answers_otherwise(make_ctx: Make) -> None:
    (rejection,) = (await run(make_ctx(helps(0.5), second_reader=1), Judge(agrees="differs"), pair())).rejections
    assert (rejection.code, rejection.reason) == ("second_reader", "a second reader answers: volcanoes")


@pytest.mark.parametrize(("share", "failed"), [(0.999, 0), (1.0, 1)])
async def test_a_second_reader_that_fails_costs_a_pair_only_where_it_decides(
    make_ctx: Make, share: float, failed: int
) -> None:
    class Silent(Judge):
        async def ask(self, prompt: Any, reply: type, **more: object) -> object:
            if "a1" in reply.model_fields:
                raise ModelError("no reply", code="timeout")
            return await super().ask(prompt, reply, **more)

    result = await run(make_ctx(helps(0.5), second_reader=share), Silent(), pair())
    assert (len(result.failures), len(result.outputs)) == (failed, 1 - failed)


async def test_gates_that_find_nothing_beside_a_judge_leave_its_default_only(make_ctx: Make) -> None:
    alone, judged = make_ctx(helps(0.5)), replace(make_ctx(helps(0.5)), judge_session=Judge())
    codes = {g.code for g in gates_of(judged)}
    assert codes < {g.code for g in gates_of(alone)}
    left = {g.code for g in gates_of(alone)} - codes
    named = make_ctx(helps(0.5), gate_options={code: {"enabled": True} for code in left})
    assert left <= {g.code for g in gates_of(replace(named, judge_session=Judge()))}


async def test_the_second_look_shows_what_a_search_found_of_other_records(make_ctx: Make) -> None:
    text = "Snow was measured daily. It has forty stations."
    other = Passage(id="psg", document_id="other", start=10, end=10 + len(text), text=text, title="Snow of Lapland")
    asked = pair(
        question="daily snow depth", answer="Snow of Lapland has daily values of forty stations.", asked="seeking",
        evidence=(Span(document_id="other", start=10, end=34, text="Snow was measured daily."),),
    )  # fmt: skip
    pool = Pool(id="q", dataset_id="ds-1", entries=(Pooled(passage=other),))
    judge = Judge("not_stated", lambda shown: {"v1": "mend", "add1": [number_of(shown, "It has forty stations.")]})
    ctx = replace(make_ctx(helps(0.5)), judge_session=judge)
    one = kept(await FilterStage().process(WorkItem("ds-1", (DATASET, pool, asked), {"round": 0}), ctx))
    assert "From: Snow of Lapland" in judge.looked[0]
    assert [(s.text, s.start, s.role) for s in one.evidence][-1] == ("It has forty stations.", 35, "context")
