"""The plan as data: its order, its phases, and what plugins may add to it."""

from __future__ import annotations

import pytest

from scirgen.core.errors import PluginError
from scirgen.pipeline.plan import PLAN, Step, completed, phases, repeated


def step(name: str, after: str = "", by: str = "") -> Step:
    return Step(name, "records", "records", "a dataset", after=after, by=by)


def names(steps: tuple[Step, ...]) -> list[str]:
    return [one.stage for one in steps]


def test_phases_end_at_the_barrier_and_leave_out_intake_and_release() -> None:
    first, second, third = phases(PLAN)
    assert names(first) == ["parse", "section", "match"] and second[-1].stage == "ask" and third[-1].stage == "tag"
    assert [PLAN[0].stage, *names(first), *names(second), *names(third), PLAN[-1].stage] == names(PLAN)
    assert names(repeated(PLAN, "quota")) == ["ask", "search", "answer", "generate", "filter", "tag"]


def test_added_steps_follow_the_step_they_name_in_any_order() -> None:
    added = [step("b", after="a"), step("z", after="verify"), step("a", after="verify")]
    found = names(completed(PLAN, added))
    at = found.index("verify")
    assert found[at : at + 4] == ["verify", "a", "b", "z"]
    assert found == names(completed(PLAN, reversed(added)))


def test_replacement_keeps_the_place_and_the_duties_of_its_step() -> None:
    found = completed(PLAN, [step("tag", by="my_tagger"), step("match", by="my_matcher")])
    assert names(found) == names(PLAN)
    assert [(s.stage, s.barrier, s.repeat) for s in found if s.by] == [("match", True, ""), ("tag", False, "quota")]


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ([step("x", after="nothing")], "follows 'nothing'"),
        ([step("x", after="release")], "follows 'release'"),
        ([step("tag", by="a"), step("tag", by="b")], "several plugins provide the step tag"),
        ([step("x", after="tag"), step("x", after="verify")], "several plugins provide the step x"),
    ],
)
def test_step_without_a_place_or_given_twice_is_refused(added: list[Step], said: str) -> None:
    with pytest.raises(PluginError, match=said):
        completed(PLAN, added)
