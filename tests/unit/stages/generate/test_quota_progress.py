from __future__ import annotations

from dataclasses import replace

from scirgen.core.config import QuotaConfig
from scirgen.core.records import Provenance, QAPair, Rejection
from scirgen.stages.generate.quotas import Accepted, plan_round, progress, rejection_codes
from tests.support.questioning import DATASET, make_context, pair


def rejection(code, key, kind="quantification", stage="generate"):
    return Rejection(
        stage=stage,
        code=code,
        reason="r",
        record_kind="QAPair",
        record_id=f"{code}{key}",
        dataset_id="ds-1",
        question_type=kind,
        provenance=Provenance(stage=stage, key=key, fingerprint="fp"),
    )


class Run:
    """First round: one Yes accepted and one rejected candidate; second round: a No, and no more evidence."""

    yes = pair("Is it wet?", "verification", "Yes", bloom="C1")
    no = pair("Is it dry?", "verification", "No", bloom="C1", round=1)

    def subjects(self):
        return (DATASET.id,)

    def records(self, stage, kind):
        return [self.yes, self.no] if (stage, kind) == ("generate", QAPair) else []

    def rejections(self, stage=None):
        made = [
            rejection("not_verbatim", "ds-1|verification", "verification"),
            rejection("no_evidence", "ds-1|verification#1", "verification"),
            rejection("too_long", "ds-1", "verification", "filter"),
        ]
        return [r for r in made if stage in (None, r.stage)]

    def pairs(self):
        return [self.yes, self.no]


def test_progress_reads_polarity_from_the_answer_and_counts_what_was_tried():
    ctx, _ = make_context()
    found = progress(Run(), ctx.taxonomies)
    assert found.accepted == (
        Accepted(Run.yes.id, "ds-1", "verification", "C1", "yes"),
        Accepted(Run.no.id, "ds-1", "verification", "C1", "no"),
    )
    assert found.tried == {"verification": 3}
    assert found.exhausted == {("ds-1", "verification")}


def test_progress_before_a_round_is_blind_to_that_round():
    ctx, _ = make_context()
    found = progress(Run(), ctx.taxonomies, before=1)
    assert [a.polarity for a in found.accepted] == ["yes"]
    assert found.tried == {"verification": 2}
    assert not found.exhausted


def test_a_round_planned_again_after_it_ran_is_the_same_plan():
    ctx, _ = make_context()
    config = QuotaConfig(total=4, types={"verification": 1}, candidates=20)
    plan = plan_round(config, ctx.taxonomies.graesser.types, progress(Run(), ctx.taxonomies, before=1), 1)
    assert {(c["polarity"], c["count"] > 0) for c in plan["ds-1"]} == {("yes", True), ("no", True)}


def test_rejection_codes_are_counted_by_type_over_generate_and_filter():
    assert rejection_codes(Run()) == {"verification": {"not_verbatim": 1, "no_evidence": 1, "too_long": 1}}


def test_a_round_makes_up_for_near_duplicates_of_earlier_rounds_only():
    class Repeating(Run):
        yes = pair("Is the snow deep?", "verification", "Yes", bloom="C1").model_copy(update={"id": "qa-1"})
        no = pair("is  the SNOW deep", "verification", "Yes", bloom="C1", round=1).model_copy(update={"id": "qa-2"})

    ctx, _ = make_context()

    def accepted(before, distinct):
        return [a.id for a in progress(Repeating(), ctx.taxonomies, before, distinct=distinct).accepted]

    assert accepted(2, distinct=False) == ["qa-1", "qa-2"]
    assert accepted(2, distinct=True) == ["qa-1"]
    assert accepted(1, distinct=True) == ["qa-1"]
    config = QuotaConfig(total=2, types={"verification": 1}, no_share=0, candidates=20, max_rounds=3)

    def planned(distinct):
        reached = progress(Repeating(), ctx.taxonomies, 2, distinct=distinct)
        reached = replace(reached, exhausted=frozenset())
        return plan_round(config, ctx.taxonomies.graesser.types, reached, 2)

    assert planned(distinct=False) == {}
    assert [c["question_type"] for c in planned(distinct=True)["ds-1"]] == ["verification"]
