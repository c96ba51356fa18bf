"""Sixty injections in papers and metadata: none is in a prompt, none in a released row, and the verdicts stay as they
were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scirgen.core.records import BlockKind, Dataset, Rejection
from scirgen.core.text.untrusted import fence, inert, talks_to_machine, without_orders
from scirgen.stages.collect.source import Cursor
from scirgen.stages.collect.validated_source import checked
from scirgen.stages.parse.base import ParsedBlock, ParsedPaper
from scirgen.stages.parse.process.worker import presentable
from scirgen.testing.server import FakeServer
from tests.support.injections import INJECTIONS, PAYLOAD
from tests.support.small_runs import run_small

BEFORE = "Rain was measured at 24 stations of the plateau in 2004."
AFTER = "Snow was measured at 12 stations of the plateau in 2005."


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injection_is_taken_out_of_a_text(text: str) -> None:
    assert talks_to_machine(text)
    assert PAYLOAD not in without_orders(f"{BEFORE} {text} {AFTER}")[0]
    assert without_orders(text)[0] == ""
    kept, taken = without_orders(f"{BEFORE}\n{text}\n{AFTER}")
    assert PAYLOAD not in kept and taken


@pytest.mark.parametrize("text", INJECTIONS)
def test_an_injection_leaves_nothing_in_a_parsed_paper(text: str) -> None:
    def block(kind: BlockKind, text: str) -> ParsedBlock:
        return ParsedBlock(kind=kind, text=text, level=1 if kind is BlockKind.HEADING else None)

    clean = [block(BlockKind.HEADING, "Methods"), block(BlockKind.PARAGRAPH, BEFORE), block(BlockKind.PARAGRAPH, AFTER)]
    hostile = [
        block(kind, text) for kind in (BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.CAPTION, BlockKind.LIST_ITEM)
    ]
    paper = ParsedPaper(
        title=text, abstract=f"{BEFORE} {text}", authors=("Ana Sá", text), parser="x",
        blocks=(*clean[:2], *hostile, *clean[2:]),
    )  # fmt: skip
    found = presentable(paper)
    assert found.authors == ("Ana Sá",)
    assert PAYLOAD not in found.model_dump_json(exclude={"orders"}) and found.orders
    assert [b.text for b in found.blocks if b.text] == ["Methods", BEFORE, AFTER]


class Catalogue:
    """One record with an injection in each of its texts."""

    name = "hostile"

    def __init__(self, text: str) -> None:
        self._text = text

    def revision(self, cursor: str | None) -> None:
        return None

    def datasets(self, cursor: str | None = None) -> list[Dataset | Cursor]:
        text = self._text
        return [
            Dataset(
                id="a", title=f"Rain. {text}", description=f"{BEFORE}\n{text}\n{AFTER}", keywords=("rain", text),
                authors=(text,),
                fields=((text, "a value"), ("Format", text), ("Place", "Tibet")),
            )
        ]  # fmt: skip

    def papers(self, dataset: Dataset) -> list[object]:
        return []

    def fetch(self, paper: object) -> None:
        return None


@pytest.mark.parametrize("text", INJECTIONS)
async def test_an_injection_leaves_nothing_in_a_record(text: str) -> None:
    dataset, aside = [entry async for entry in checked(Catalogue(text)).datasets()]
    assert isinstance(dataset, Dataset) and isinstance(aside, Rejection)
    assert PAYLOAD not in dataset.model_dump_json() and "Tibet" in dataset.text
    assert aside.code == "instructions" and PAYLOAD in aside.record


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_control_token_is_live_in_no_prompt(text: str) -> None:
    for token in (
        "<|im_",
        "<｜",
        "[INST]",
        "[TOOL_CALLS]",
        "<<SYS>>",
        "<bos>",
        "<tool_call>",
        "<think>",
        "</s>",
        "<extra_id_0>",
    ):
        assert token not in fence(text) and token not in inert(text)


def write_input(folder: Path, injections: tuple[str, ...]) -> Path:
    """Three datasets with a paper each; every injection stands in a paragraph of a paper and in a line of a record."""
    (folder / "papers").mkdir(parents=True)
    rows = []
    for n in range(3):
        mine = injections[n::3]
        said = "\n\n".join(mine)
        facts = (
            f"Daily snow depth at station {n} was measured by {n + 3} sensors above the ground every hour since 2001. "
            f"The sensors failed when the soil froze in the winter of {2002 + n}."
        )
        rows.append(
            {
                "id": f"d{n}",
                "title": f"Snow depth at the stations of valley {n}",
                "description": "\n".join([facts, *mine]),
                "papers": f"p{n}.md",
            }
        )
        (folder / "papers" / f"p{n}.md").write_text(
            f"# Snow in valley {n}\n\n## Introduction\n\nSnow feeds the rivers of valley {n} in spring.\n\n"
            f"{said}\n\n## Methods\n\n"
            f"We used the dataset Snow depth at the stations of valley {n} for the years after 2001.\n\n{said}\n\n"
            f"Snow depth was averaged over each day because hourly values were noisy.\n\n## Results\n\n"
            f"Snow depth fell by {n + 4} cm a decade in valley {n}, which is more than models say.\n\n{said}\n\n"
            f"## Conclusion\n\nStations above {n + 3},000 m are needed to explain the loss of snow.\n",
            encoding="utf-8",
        )
    (folder / "records.jsonl").write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows), encoding="utf-8")
    return folder


def released(out: Path) -> list[dict[str, object]]:
    files = [out / "release" / f"{split}.jsonl" for split in ("train", "dev", "test")]
    return [json.loads(line) for f in files if f.is_file() for line in f.read_text("utf-8").splitlines()]


async def attacked_run(tmp_path: Path, injections: tuple[str, ...]) -> None:
    settings = {"generate__pairs_per_type": 1, "release__formats": ["jsonl"]}
    async with FakeServer() as server:
        clean = await run_small(server, write_input(tmp_path / "clean", ()), tmp_path / "run-clean", **settings)
        hostile = await run_small(
            server, write_input(tmp_path / "hostile", injections), tmp_path / "run-hostile", **settings
        )
    assert clean.outcome is not None and hostile.outcome is not None
    before, after = released(tmp_path / "run-clean"), released(tmp_path / "run-hostile")
    assert before and PAYLOAD not in json.dumps(after)
    for file in (tmp_path / "run-hostile" / "release").rglob("*"):
        assert not file.is_file() or PAYLOAD not in file.read_text("utf-8", errors="replace")
    # The fake model quotes what it is shown, so the same rows mean that it was shown the same.
    assert [(r["question"], r["answer"]) for r in after] == [(r["question"], r["answer"]) for r in before]


async def test_six_injections_change_no_row_of_a_release(tmp_path: Path) -> None:
    await attacked_run(tmp_path, INJECTIONS[::10])


@pytest.mark.nightly
async def test_sixty_injections_change_no_row_of_a_release(tmp_path: Path) -> None:
    await attacked_run(tmp_path, INJECTIONS)
