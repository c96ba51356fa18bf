"""From a run to labels of two scripted annotators, through adjudication and a judge, to calibration and a release."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.release_files.release import Release
from scirgen.testing.server import FakeServer
from scirgen_bench.labels.labelset import LabelSet
from tests.support.label_making import labels_file
from tests.support.small_runs import release_bytes, run_small

PLACES = """
Arvel Brisk Corvan Delmar Evast Furlo Gantry Hesper Iskra Jorun Kelda Lomen Mirova Nestor Orvak Pelim Quorra Rusk Selvo
Tarn Ulmet Vesko Wilmot Xantu Yarrow Zelin Abrok Bexley Cindor Dravic Elmsk Fornal Grett Holvik Imber Jaspin
""".split()  # noqa: SIM905


def write_places(path: Path) -> Path:
    """Records that differ in their place, so that the fake model's questions about them differ."""
    text = (
        "{0} daily snow depth from 2001 to {1}. Depth at {0} was measured by {2} sensors above the ground every hour. "
        "The sensors of {0} failed when the soil froze in the winter of {3}. Values of {0} were averaged over each day."
    )
    rows = [
        {"id": f"d{n:05}", "title": f"{p} snow depth", "description": text.format(p, 2004 + n, n + 3, 2002 + n % 7)}
        for n, p in enumerate(PLACES)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


async def _done(*command: object) -> str:
    """What a command printed; in a thread, since the model server runs on this test's loop."""
    result = await asyncio.to_thread(CliRunner().invoke, cli, [str(c) for c in command], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


async def test_labels_of_two_people_reach_calibration_and_the_release(tmp_path: Path) -> None:
    records, out, folder = write_places(tmp_path / "records.jsonl"), tmp_path / "run", tmp_path / "L"
    async with FakeServer() as server:
        before = await run_small(server, records, out, generate__types_without_paper=2)
        accepted = {p.id: p for p in before.rows()}
        released = {r.id for r in Release(out).rows()}
        assert len(released) > 12
        await _done(
            "label", "draw", out, "--task", "faithful", "--n", 10, "--dev", 4, "--strata", "verdict", "--out", folder
        )
        assert "A.html" in await _done("label", "page", folder)
        labels = LabelSet(folder)
        kept = [i for i in labels.items if i.record in accepted]
        wrong, argued, better = (
            (i for i in kept if i.record in released)
            if len(kept) == 3
            else [i for i in kept if i.record in released][:3]
        )
        correction = {better.id: {"corrected_answer": "Every hour."}}

        def says(*no: object):
            return lambda n, item: "no" if item in no else "yes"

        files = [
            labels_file(labels, "A", tmp_path / "A.jsonl", says(wrong, argued), correction),
            labels_file(labels, "B", tmp_path / "B.jsonl", says(wrong)),
        ]
        assert "1 items are disputed" in await _done("label", "merge", folder, *files)
        third = labels_file(labels, "adjudicator", tmp_path / "C.jsonl", says(), items=[argued])
        assert "No item is disputed" in await _done("label", "merge", folder, third)
        said = await _done("label", "agree", folder, "--judge", f"openai:fake@{server.url}", "--test")
        assert "Judge openai:fake@" in said and "prompt label/faithful@2#" in said
        assert json.loads((folder / "agreement.json").read_text())["judges"][0]["result"]["items"] == 10
        calibrated = await _done(
            "calibrate", "--labels", folder, "--scorer", f"openai:fake@{server.url}", "--scorers", "shift"
        )
        assert f"{len(labels.items)} labels" in calibrated and "all figures are of the 10 test labels" in calibrated
        asked = sum(server.answered.values())
        after = await run_small(server, records, out, generate__types_without_paper=2, release__labels=[str(folder)])
        first = release_bytes(out)
        await run_small(
            server, records, tmp_path / "again", generate__types_without_paper=2, release__labels=[str(folder)]
        )
        assert release_bytes(tmp_path / "again") == first
    rows = {r.id: r for r in Release(out).rows()}
    assert wrong.record not in rows and rows[argued.record].checked == 3
    assert rows[better.record].answer == "Every hour."
    assert rows[better.record].history[0].before == accepted[better.record].answer
    assert after.outcome is not None and asked > 0
    card = (out / "release" / "README.md").read_text()
    assert "read by 2 people, guideline label/faithful@2#" in card and "expert_rejected" in card
    assert "unvalidated on test" in card or "validated on test" in card
