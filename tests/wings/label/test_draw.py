"""Drawing a sample: allocation over strata, weights, dev and test apart, a folder that nobody can change unseen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import InputError
from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen_bench.labels.labelset import Hidden, LabelSet, Shown
from scirgen_label.draw import Request, allocate, draw, shares
from scirgen_label.sources import Candidate, Material
from tests.support.content_factory import small_run
from tests.support.release_writing import write


class Made:
    """A population: so many candidates a (verdict, type)."""

    kind = "made"

    def __init__(self, sizes: dict[tuple[str, str], int]) -> None:
        self.sizes = sizes

    def candidates(self) -> Iterator[Candidate]:
        for (verdict, kind), size in self.sizes.items():
            for n in range(size):
                hidden = Hidden(verdict=verdict, question_type=kind, scores={"shift": n / size})
                yield Candidate(
                    f"{verdict}-{kind}-{n}", f"d{n % 7}", {"verdict": verdict, "question_type": kind}, hidden
                )

    def material(self, records: Collection[str]) -> Material:
        return Material(
            {r: Shown(question=f"What is {r}?", answer="It is.", context="d") for r in records}, {"d": "All."}
        )


SIZES = {
    ("kept", "a"): 900,
    ("kept", "b"): 90,
    ("rejected_by_score", "a"): 60,
    ("rejected_by_score", "b"): 3,
    ("rejected_by_gate", "a"): 300,
}
GUIDELINE = PromptLibrary(Resources()).get("label/faithful")


def test_weights_bring_each_part_back_to_the_population(tmp_path: Path) -> None:
    made = draw(Made(SIZES), "made", Request("faithful", 120, 40), GUIDELINE, tmp_path / "L")
    for part, items in (("test", 120), ("dev", 40)):
        drawn = made.part(part)
        assert len(drawn) == items
        totals: Counter[str] = Counter()
        for item in drawn:
            totals[item.hidden.verdict] += item.weight
        assert {k: round(v) for k, v in totals.items()} == {
            "kept": 990,
            "rejected_by_score": 63,
            "rejected_by_gate": 300,
        }
    assert not {i.record for i in made.part("dev")} & {i.record for i in made.part("test")}


def test_small_strata_get_more_than_their_share_and_large_ones_most() -> None:
    sizes = {"large": 10_000, "middle": 100, "small": 4}
    assert shares(sizes, 110, 1.0) == {"large": 109, "middle": 1, "small": 0}
    given = shares(sizes, 110, 0.5)
    assert given["large"] > 90 and given["middle"] >= 8 and given["small"] >= 1 and sum(given.values()) == 110
    assert shares(sizes, 110, 0.0) == {"large": 53, "middle": 53, "small": 4}
    assert shares({"a": 3, "b": 2}, 99, 0.5) == {"a": 3, "b": 2}


def test_the_order_of_candidates_changes_nothing() -> None:
    candidates = list(Made(SIZES).candidates())
    first, again = (allocate(c, Request("faithful", 50, 10)) for c in (candidates, candidates[::-1]))
    assert [(k, [c.record for c in v["test"]]) for k, v in first.strata.items()] == [
        (k, [c.record for c in v["test"]]) for k, v in again.strata.items()
    ]
    other = allocate(candidates, Request("faithful", 50, 10, seed=1))
    assert {c.record for v in first.strata.values() for c in v["test"]} != {
        c.record for v in other.strata.values() for c in v["test"]
    }


def test_the_same_draw_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("L1", "L2"):
        draw(Made(SIZES), "made", Request("faithful", 30, 10), GUIDELINE, tmp_path / name)
    for file in ("sample.json", "items.jsonl", "contexts.json"):
        assert (tmp_path / "L1" / file).read_bytes() == (tmp_path / "L2" / file).read_bytes()


def test_an_item_changed_after_the_draw_is_noticed(tmp_path: Path) -> None:
    draw(Made(SIZES), "made", Request("faithful", 10), GUIDELINE, tmp_path / "L")
    items = tmp_path / "L" / "items.jsonl"
    items.write_text(items.read_text().replace("It is.", "It was.", 1))
    with pytest.raises(InputError, match="was changed after the draw"):
        LabelSet(tmp_path / "L")


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("faithful", 2000), "1,353 candidates"),
        (Request("faithful", 5, strata=("verdct",)), "cannot stratify"),
        (Request("faithful", 5, annotators=("A", "a")), "different names"),
        (Request("faithful", 5, annotators=("adjudicator",)), "different names"),
    ],
)
def test_a_draw_that_cannot_be_is_refused(tmp_path: Path, request_: Request, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draw(Made(SIZES), "made", request_, GUIDELINE, tmp_path / "L")
    assert not (tmp_path / "L").exists()


def _lines(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_any_question_answer_file_can_be_planned_and_drawn(tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": f"How deep is lake {n}?", "answer": f"{n} m", "dataset_id": f"d{n % 3}",
         "context": f"Lake {n} is {n} m deep."}
        for n in range(12)
    ]  # fmt: skip
    file = _lines(tmp_path / "qa.jsonl", rows)
    result = CliRunner().invoke(cli, ["label", "plan", str(file), "--task", "faithful"])
    assert result.exit_code == 0 and "12 candidates" in result.output and "183  above 0.90" in result.output
    out = tmp_path / "L"
    result = CliRunner().invoke(
        cli, ["label", "draw", str(file), "--task", "faithful", "--n", "6", "--dev", "3", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    made = LabelSet(out)
    assert len(made.items) == 9 and made.contexts()[made.items[0].shown.context].startswith("Lake ")
    again = CliRunner().invoke(cli, ["label", "draw", str(file), "--task", "faithful", "--n", "6", "--out", str(out)])
    assert "already has a sample" in str(again.exception)


def test_relevance_pairs_are_pooled_with_gold_among_them(tmp_path: Path) -> None:
    release = write(small_run(), tmp_path / "release")
    split = max(release.info.splits, key=lambda s: release.info.splits[s].rows)
    command = [
        "label", "draw", str(release.folder), "--task", "relevance", "--n", "4", "--strata", "verdict", "--depth", "3",
        "--split", split, "--out", str(tmp_path / "L"),
    ]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    made = LabelSet(tmp_path / "L")
    assert {i.stratum for i in made.items} == {"gold", "pooled"}
    assert all(i.record == f"{i.cluster}|{i.hidden.dataset_id}" and i.shown.text for i in made.items)
    assert "verdict" not in made.items[0].shown.model_dump_json()


def test_drafted_queries_keep_their_aspects(tmp_path: Path) -> None:
    file = _lines(tmp_path / "q.jsonl", [{"id": "1", "query": "Snow on ice?", "aspects": ["snow", {"text": "ice"}]}])
    command = [
        "label", "draw", str(file), "--task", "query", "--n", "1", "--strata", "verdict",
        "--out", str(tmp_path / "L"),
    ]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert LabelSet(tmp_path / "L").items[0].shown.aspects == ("snow", "ice")
    _lines(file, [{"aspects": []}])
    result = CliRunner().invoke(cli, [*command[:-1], str(tmp_path / "L2")])
    assert "q.jsonl:1: not a drafted query" in str(result.exception)
