"""The runner: what is done again and what is not, how failures and stops end, on a small plan of counting stages."""

from __future__ import annotations

import sqlite3
import traceback
from pathlib import Path

import pytest

from scirgen.core.config import Config
from scirgen.core.errors import ModelAccessError, ReplyInvalidError, StoreError
from scirgen.core.records import Rejection
from scirgen.core.registry import load_registry
from scirgen.pipeline.runner import stage_fingerprint
from scirgen.pipeline.views.view import open_view
from scirgen.stages.answer.stage import AnswerStage
from scirgen.stages.base import made_stage
from tests.support.counting_runs import World
from tests.support.questioning import make_context


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_first_run_does_every_item_once_and_shared_ones_once_in_all(world: World) -> None:
    assert world.run().status == "success"
    assert set(world.calls.values()) == {1}
    assert world.calls["parse 10.1/x"] == 1
    assert world.pairs() == [f"qa-d{n}" for n in range(5)]


def test_second_run_does_nothing(world: World) -> None:
    world.run()
    assert world.run().status == "success" and not world.calls


def test_changed_tag_stage_redoes_tag_and_release_alone(world: World) -> None:
    world.run()
    world.versions["tag"] = 2
    world.run()
    assert world.stages_called() == {"tag", "release"}


def test_changed_generate_stage_redoes_what_depends_on_it(world: World) -> None:
    world.run()
    world.versions["generate"] = 2
    world.run()
    assert world.stages_called() == {"generate", "filter", "tag", "release"}


def test_one_more_dataset_leaves_the_others_alone(world: World) -> None:
    world.run()
    world.count = 6
    world.run()
    assert {k.split()[1] for k in world.calls} == {"d5", "release"}


def test_lower_limit_leaves_the_rest_out_of_the_view_and_redoes_no_item(world: World) -> None:
    world.run()
    world.run(**{"collect.limit": 2})
    assert world.stages_called() == {"release"}
    assert world.pairs() == ["qa-d0", "qa-d1"]


def test_failed_item_makes_the_run_partial_and_is_tried_again(world: World) -> None:
    world.errors["tag d3"] = ReplyInvalidError("not JSON")
    outcome = world.run()
    assert outcome.status == "partial" and outcome.failed_items == 1
    assert world.pairs() == ["qa-d0", "qa-d1", "qa-d2", "qa-d4"]
    world.errors.clear()
    assert world.run().status == "success"
    assert set(world.calls) == {"tag d3", "release release"}
    assert len(world.pairs()) == 5


def test_failed_item_that_datasets_share_is_tried_once_a_run(world: World) -> None:
    world.errors["parse 10.1/x"] = ReplyInvalidError("not JSON")
    assert world.run(**{"limits.datasets_in_flight": 1}).failed_items == 1
    assert world.calls["parse 10.1/x"] == 1


def test_what_was_made_from_a_partial_result_is_made_again_when_it_is_whole(world: World) -> None:
    world.partial.add("d2")
    assert world.run().status == "partial"
    assert world.run().status == "partial" and set(world.calls) == {"generate d2"}, "the same half gives the same rest"
    world.partial.clear()
    assert world.run().status == "success"
    assert set(world.calls) == {"generate d2", "filter d2", "tag d2", "release release"}


@pytest.mark.parametrize(
    ("code", "reason", "again"),
    [
        ("damaged", "the parser crashed on it (status -2). The file crashes the parser; fetch it again.", True),
        ("killed", "the process that parses it was killed", True),
        ("damaged", "the file is empty", False),
    ],
)
def test_paper_whose_parser_died_is_tried_again(world: World, code: str, reason: str, again: bool) -> None:
    world.rejections["parse 10.1/x"] = Rejection.of("parse", code, reason, ("Paper", "10.1/x"))
    assert world.run().status == "success"
    world.rejections.clear()
    assert world.run().status == "success"
    assert world.calls["parse 10.1/x"] == again
    assert not world.run().failed_items and not world.calls


def test_unexpected_exception_is_recorded_and_the_others_go_on(world: World) -> None:
    world.errors["extract d0"] = ZeroDivisionError("oops")
    assert world.run().status == "partial"
    view = open_view(world.folder)
    assert view.funnel()["extract"]["failed:internal_error"] == 1
    [failure] = [f for r in view.results("extract") for f in r.failures()]
    assert failure.message.startswith("ZeroDivisionError: oops (") and ", line " in failure.message
    view.close()


def test_a_damaged_store_that_a_stage_meets_stops_the_run(world: World) -> None:
    world.errors["generate d2"] = sqlite3.DatabaseError("database disk image is malformed")
    with pytest.raises(StoreError, match="damaged") as caught:
        world.run()
    assert caught.value.fatal and "--repair" in caught.value.hint


def test_functions_between_the_loop_and_a_stage_are_six(world: World) -> None:
    """Functions of scirgen/pipeline on the traceback of a stage's error, each once; what only awaits is left out."""
    world.errors["generate d0"] = StoreError("disk full")
    with pytest.raises(StoreError) as caught:
        world.run()
    frames = [frame.name for frame in traceback.extract_tb(caught.tb) if "scirgen/pipeline" in frame.filename]
    way = list(dict.fromkeys(name for name in frames if name not in ("_together", "work", "run", "_failure")))
    assert way == ["_run", "_each", "_dataset", "_item", "_make", "execute"]


def test_fatal_error_stops_the_run_and_keeps_what_was_done(world: World) -> None:
    world.errors["generate d4"] = ModelAccessError("wrong key")
    with pytest.raises(ModelAccessError):
        world.run()
    done = set(world.calls)
    world.errors.clear()
    assert world.run().status == "success"
    assert not {k for k in world.calls if k.startswith("parse")} & done


def test_stop_drains_and_the_next_run_goes_on(world: World) -> None:
    world.count = 60
    world.stop_at.add("d2")
    assert world.run(**{"limits.datasets_in_flight": 2}).status == "stopped"
    first = set(world.calls)
    world.stop_at.clear()
    assert world.run(**{"limits.datasets_in_flight": 2}).status == "success"
    assert len(world.pairs()) == 60
    assert not first & set(world.calls)


def test_every_stage_depends_on_settings_that_exist() -> None:
    registry = load_registry()
    for name in registry.names("stage"):
        for key in made_stage(registry, name).uses(Config()).config:
            if key.split(".")[0] in Config.model_fields:
                assert Config().section_of(key) is not None, (name, key)


def test_answers_are_made_again_for_another_mix_other_types_and_another_share_of_second_readers() -> None:
    mixed: dict[str, object] = {"generate.mix": {"seeking": 0.5, "known_item": 0.5}}
    changed: list[dict[str, object]] = [
        mixed,
        {"generate.mix": {"seeking": 1.0}},
        {**mixed, "generate.types": ["verification"]},
        {**mixed, "filter.second_reader": 0.5},
    ]
    assert len({stage_fingerprint(AnswerStage(), make_context(**settings)[0]) for settings in changed}) == len(changed)
