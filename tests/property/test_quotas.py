"""Quotas: whole numbers that sum to the target, a budget that is never exceeded, an order that does not depend on
arrival."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scirgen.core.config import GenerateConfig, QuotaConfig
from scirgen.core.resources import Resources
from scirgen.core.taxonomy import Taxonomies
from scirgen.stages.generate.quotas import (
    Accepted,
    Progress,
    budget,
    keep_sought,
    missing_cells,
    plan_round,
    rest_of,
    select,
    shortfall,
    targets,
)

KINDS = Taxonomies(Resources()).graesser.types
IDS = [k.id for k in KINDS]
POLAR = {k.id for k in KINDS if k.polar}
LEVELS = ("C1", "C2", "C3", "C4", "C5", "C6")

weights = st.floats(0.1, 5.0)
configs = st.builds(
    QuotaConfig,
    total=st.integers(1, 300),
    types=st.one_of(st.just({}), st.dictionaries(st.sampled_from(IDS), weights, min_size=1)),
    bloom=st.one_of(st.just({}), st.dictionaries(st.sampled_from(LEVELS), weights, min_size=1)),
    no_share=st.floats(0, 1),
    max_rounds=st.integers(0, 3),
    candidates=st.one_of(st.none(), st.integers(1, 500)),
)


@st.composite
def accepted(draw):
    made = []
    for n in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from([*IDS, ""]))  # needs for data have no type
        made.append(
            Accepted(
                f"qa-{n:03}",
                draw(st.sampled_from(["d1", "d2", "d3"])),
                kind,
                draw(st.sampled_from(LEVELS)),
                draw(st.sampled_from(["yes", "no"])) if kind in POLAR else "",
                draw(st.sampled_from(["known_item", "seeking", "narrowed"] if kind else ["seeking"])),
            )
        )
    return tuple(made)


@st.composite
def progresses(draw):
    pairs = draw(accepted())
    tried = {k: draw(st.integers(0, 20)) for k in IDS[:6]}
    gone = draw(st.frozensets(st.tuples(st.sampled_from(["d1", "d2", "d3"]), st.sampled_from(IDS)), max_size=8))
    return Progress(pairs, ("d1", "d2", "d3"), tried, gone)


@given(configs)
@settings(deadline=None)
def test_targets_sum_to_the_total(config):
    made = targets(config, KINDS)
    assert sum(made.values()) == config.total
    assert all(n >= 0 for n in made.values())


@given(configs)
@settings(deadline=None)
def test_targets_keep_to_the_types_of_the_mix_and_split_polar_ones(config):
    for cell, count in targets(config, KINDS).items():
        assert not config.types or cell.question_type in config.types or count == 0
        assert bool(cell.polarity) == (cell.question_type in POLAR)
        assert not config.bloom or config.bloom.get(cell.bloom, 0) > 0


@given(configs, progresses(), st.integers(1, 4))
@settings(deadline=None)
def test_a_round_never_exceeds_what_the_candidate_budget_leaves(config, progress, round):
    plan = plan_round(config, KINDS, progress, round)
    asked = sum(cell["count"] for cells in plan.values() for cell in cells)
    assert asked <= max(0, budget(config) - progress.spent)


@given(configs, progresses(), st.integers(1, 4))
@settings(deadline=None)
def test_a_round_asks_only_for_what_is_missing_and_where_evidence_is_left(config, progress, round):
    missing = missing_cells(config, KINDS, progress.accepted)
    wanted = {(c.question_type, c.bloom or None, c.polarity or None) for c, n in missing.items() if n}
    for dataset, cells in plan_round(config, KINDS, progress, round).items():
        for cell in cells:
            assert (cell["question_type"], cell["bloom"], cell["polarity"]) in wanted
            assert (dataset, cell["question_type"]) not in progress.exhausted
            assert cell["count"] > 0


@given(configs, progresses(), st.randoms())
@settings(deadline=None)
def test_plan_and_selection_do_not_depend_on_the_order_of_arrival(config, progress, rng: random.Random):
    shuffled = list(progress.accepted)
    rng.shuffle(shuffled)
    other = Progress(tuple(shuffled), progress.datasets, dict(reversed(progress.tried.items())), progress.exhausted)
    assert plan_round(config, KINDS, progress, 1) == plan_round(config, KINDS, other, 1)
    assert select(config, KINDS, progress.accepted) == select(config, KINDS, shuffled)


@given(configs, progresses())
@settings(deadline=None)
def test_what_is_kept_and_what_fell_short_add_up_to_the_total(config, progress):
    kept = select(config, KINDS, progress.accepted)
    short = shortfall(config, KINDS, progress)
    assert len(kept) + sum(s.wanted - s.got for s in short) == config.total
    assert all(s.reason for s in short)


def test_rows_asked_first_count_by_type_and_known_items_fill_what_they_leave():
    people = tuple(Accepted(f"p{n}", "d1", kind, asked="seeking") for n, kind in enumerate(["definition"] * 3 + ["x"]))
    generate = GenerateConfig.model_validate(
        {"mix": {"seeking": 0.5, "known_item": 0.5}, "quota": {"total": 6, "types": {"definition": 1, "comparison": 1}}}
    )
    reached, kept = keep_sought(generate, KINDS, Progress(people, ("d1",)))
    assert kept == {"p0", "p1", "p2"}, "those that the mix wants come first"
    missing = missing_cells(rest_of(generate, reached, kept), KINDS, reached.accepted)
    assert {str(c): n for c, n in missing.items() if n} == {"comparison": 3}


def test_answers_to_questions_asked_first_leave_known_items_their_rounds():
    people = tuple(Accepted(f"p{n}", "d1", "definition", asked="seeking") for n in range(2))
    generate = GenerateConfig.model_validate({"mix": {"seeking": 0.5, "known_item": 0.5}, "quota": {"total": 4}})
    reached, kept = keep_sought(generate, KINDS, Progress(people, ("d1",), answered=9))
    plan = plan_round(rest_of(generate, reached, kept), KINDS, reached, 1)
    assert plan, "9 of 16 candidates are spent, although 2 rows are missing"


def test_more_rows_of_a_wanted_cell_come_before_rows_that_no_cell_wants():
    origins = {"a": ("x", "seeking"), "b": ("definition", "seeking"), "c": ("definition", "narrowed")}
    people = [Accepted(id, "d1", kind, asked=asked) for id, (kind, asked) in origins.items()]
    mix = {"mix": {"seeking": 0.5, "known_item": 0.5}, "quota": {"total": 4, "types": {"definition": 1, "example": 3}}}
    _, kept = keep_sought(GenerateConfig.model_validate(mix), KINDS, Progress(tuple(people), ("d1",)))
    assert kept == {"b", "c"}, "one definition is wanted; the second still fits better than x"


def test_needs_for_data_count_like_any_row_if_no_mix_of_types_is_set():
    typed = [Accepted(f"b{n}", "d1", "definition", asked="seeking") for n in range(4)]
    needs = [Accepted(f"a{n}", "d1", "", asked="seeking") for n in range(4)]
    for types, kept in ({}, {"a0", "a1", "a2", "a3"}), ({"definition": 1}, {"b0", "b1", "b2", "b3"}):
        generate = GenerateConfig.model_validate({"mix": {"seeking": 1}, "quota": {"total": 4, "types": types}})
        assert keep_sought(generate, KINDS, Progress((*typed, *needs), ("d1",)))[1] == kept


def test_without_a_target_nothing_is_planned_and_everything_is_kept():
    progress = Progress((Accepted("qa-1", "d1", "definition"),), ("d1",), {"definition": 3})
    assert plan_round(QuotaConfig(), KINDS, progress, 1) == {}
    assert select(QuotaConfig(), KINDS, progress.accepted) == {"qa-1"}
    assert shortfall(QuotaConfig(), KINDS, progress) == []


def test_a_type_with_a_low_yield_is_asked_for_more_often():
    config = QuotaConfig(total=2, types={"definition": 1}, candidates=100)
    datasets = ("d1", "d2", "d3", "d4")
    low = plan_round(config, KINDS, Progress((), datasets, {"definition": 50}), 1)
    high = plan_round(config, KINDS, Progress((Accepted("qa-1", "d1", "definition"),), datasets, {"definition": 1}), 1)
    assert sum(c["count"] for cells in low.values() for c in cells) > sum(
        c["count"] for cells in high.values() for c in cells
    )


@pytest.mark.parametrize(
    ("progress", "says"),
    [
        (Progress((), ("d1",), {"definition": 8}), "budget"),
        (Progress((), ("d1",), {}, frozenset({("d1", "definition")})), "no dataset has further evidence"),
        (Progress((), ("d1",), {}), "the rounds ended"),
    ],
)
def test_a_shortfall_says_why(progress, says):
    config = QuotaConfig(total=2, types={"definition": 1}, candidates=8)
    (short,) = shortfall(config, KINDS, progress, {"definition": {"too_long": 5, "faithfulness": 2}})
    assert says in short.reason
    assert "too_long (5)" in short.reason
