"""``scirgen estimate`` against the run it predicts, on a server that writes otherwise than the estimate makes up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from scirgen.api import resolve_config, run_pipeline
from scirgen.cli.main import cli
from scirgen.pipeline.observer import Observer
from scirgen.testing import replies
from scirgen.testing.server import FakeServer
from scirgen_estimate.estimating import estimate_run
from tests.support.small_runs import SETTINGS, run_small, write_records


def wordy(body: dict[str, Any]) -> dict[str, Any]:
    """The fake's reply, pretty-printed; tokens counted as a real tokenizer would, about four characters each."""
    made = replies.chat_completion(body)
    message = made["choices"][0]["message"]
    if message["content"].startswith("{"):
        message["content"] = json.dumps(json.loads(message["content"]), indent=1, ensure_ascii=False)
    asked = sum(len(m["content"]) for m in body["messages"])
    made["usage"] = {"prompt_tokens": asked // 4, "completion_tokens": len(message["content"]) // 4}
    return made


async def test_the_real_run_lies_within_the_estimate_and_nothing_is_asked_for_it(tmp_path: Path) -> None:
    async with FakeServer(reply=wordy) as server:
        flags: dict[str, object] = {
            "models.generator": f"openai:fake@{server.url}",
            "models.prices": {"fake": [1.0, 4.0]},
            "filter.faithfulness": [],
        }
        loaded, domain = resolve_config(domain="geo", flags=flags)
        found = await estimate_run(tmp_path / "run", loaded.config, domain)
        assert not server.answered and not (tmp_path / "run" / "run.db").exists()
        run = await run_pipeline(tmp_path / "run", loaded.config, domain, observer=Observer())
    assert run.outcome is not None and run.outcome.status == "success"
    spent = json.loads((tmp_path / "run" / "manifest.json").read_text())["usage"]["generator"]
    assert found.cost is not None
    for figure, real in (
        (found.calls, spent["calls"]),
        (found.prompt_tokens, spent["prompt_tokens"]),
        (found.reply_tokens, spent["completion_tokens"]),
        (found.cost, spent["cost"]),
    ):
        assert figure.low <= real <= figure.high, (figure, real)
        assert figure.high < 4 * figure.typical, "a range that says nothing"


def test_the_command_prints_a_table_or_json_and_does_without_a_server(tmp_path: Path) -> None:
    records = write_records(tmp_path / "records.jsonl", 12)
    options = ["--input", str(records), "--model", "openai:x-7b@http://127.0.0.1:9/v1", "--out", str(tmp_path / "run")]
    options += ["--sample", "4", "--set", "models.prices={x-7b: [1, 2]}", "--tokens-per-second", "100"]
    shown = CliRunner().invoke(cli, ["estimate", *options], catch_exceptions=False)
    assert shown.exit_code == 0 and shown.output.startswith("12 datasets; tried on 4 of them")
    assert "cost" in shown.output and "did not answer" in shown.output
    assert "\na row     at least 0.0" in shown.output and "candidates are kept" in shown.output
    found = json.loads(CliRunner().invoke(cli, ["estimate", *options, "--json"], catch_exceptions=False).output)
    assert found["datasets"] == 12 and found["sampled"] == 4
    assert 0 < found["calls"]["low"] < found["calls"]["typical"] < found["calls"]["high"]
    assert found["cost"]["typical"] > 0 and found["hours"]["typical"] > 0
    assert {s["stage"] for s in found["shares"]} >= {"generate", "filter"}


def test_a_paper_that_no_dataset_uses_is_asked_about_once_however_many_datasets_are_tried(tmp_path: Path) -> None:
    (tmp_path / "in" / "papers").mkdir(parents=True)
    write_records(tmp_path / "in" / "records.jsonl", 6)
    text = "# Owls\n\n## Methods\n\n" + "We counted the owls of four woods at night; rain kept us from it twice. " * 9
    (tmp_path / "in" / "papers" / "owls.md").write_text(text, encoding="utf-8")
    options = ["--input", str(tmp_path / "in"), "--model", "openai:x-7b@http://127.0.0.1:9/v1"]
    options += ["--set", "models.pack=standard", "--out", str(tmp_path / "run"), "--json"]
    asked = []
    for limit in ("1", "2", "3", "6"):
        told = CliRunner().invoke(cli, ["estimate", *options, "--limit", limit], catch_exceptions=False)
        (ask,) = (s for s in json.loads(told.output)["shares"] if s["stage"] == "ask")
        asked.append(ask["calls"]["typical"])
    record = asked[1] - asked[0]
    assert asked[2] - asked[1] == record < asked[0], "the paper is in each estimate once"
    assert asked[3] - asked[2] == 3 * record, "also where more datasets are searched than tried"


async def test_the_users_own_questions_are_named_and_not_counted(tmp_path: Path) -> None:
    records, own = write_records(tmp_path / "records.jsonl", 4), tmp_path / "own.txt"
    own.write_text("".join(f"How deep is the snow at place {n} in winter?\n" for n in range(8)), "utf-8")
    found = []
    for questions in ("", str(own)):
        flags = {
            "input": str(records),
            "models.generator": "openai:x-7b@http://127.0.0.1:9/v1",
            "models.pack": "standard",
        }
        loaded, domain = resolve_config(domain="geo", flags={**flags, "generate.questions": questions})
        found.append(await estimate_run(tmp_path / "run", loaded.config, domain))
    assert found[0].shares == found[1].shares
    assert any("your 8 questions are not included" in note for note in found[1].notes)


async def test_a_small_run_of_the_same_model_predicts_a_larger_one(tmp_path: Path) -> None:
    async with FakeServer() as server:
        await run_small(server, write_records(tmp_path / "few.jsonl", 4), tmp_path / "few")
        run = await run_small(server, write_records(tmp_path / "many.jsonl", 24), tmp_path / "many")
        flags: dict[str, object] = {
            **SETTINGS, "input": str(tmp_path / "many.jsonl"), "models.generator": f"openai:fake@{server.url}",
        }  # fmt: skip
        loaded, domain = resolve_config(domain="geo", flags=flags)
        found = await estimate_run(tmp_path / "out", loaded.config, domain, history=tmp_path / "few")
    spent = json.loads((run.folder / "manifest.json").read_text())["usage"]["generator"]
    assert found.sampled == 0 and found.calls.low <= spent["calls"] <= found.calls.high
    assert found.reply_tokens.low <= spent["completion_tokens"] <= found.reply_tokens.high and found.hours is not None


async def test_an_answer_of_the_trial_reads_what_a_run_would_show_it(tmp_path: Path) -> None:
    found = {}
    async with FakeServer() as server:
        for count in (4, 120):
            flags: dict[str, object] = {
                "input": str(write_records(tmp_path / f"{count}.jsonl", count)),
                "models.generator": f"openai:fake@{server.url}", "filter.faithfulness": [],
            }  # fmt: skip
            loaded, domain = resolve_config(domain="geo", flags=flags)
            found[count] = await estimate_run(tmp_path / f"out-{count}", loaded.config, domain)
        assert not server.answered
    shares = {count: {s.stage: s for s in found[count].shares if s.role == "generator"} for count in found}
    assert all(shares[count]["ask"].calls.typical == count for count in shares), "others are only searched"
    few, many = (s["answer"].prompt_tokens.typical / s["answer"].calls.typical for s in shares.values())
    assert many > 4 * few
