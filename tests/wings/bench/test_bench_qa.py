from __future__ import annotations

import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from scirgen.cli.main import cli
from scirgen.core.errors import ModelError
from scirgen.core.registry import load_registry
from scirgen.core.text.untrusted import fence, unfenced
from scirgen.llm.encoders.entailment import Entailment, open_entailment
from scirgen.testing.faults import Faults
from scirgen.testing.server import FakeServer
from scirgen_bench.answer_metrics import number_match, question_entails, rouge_l
from scirgen_bench.qa import METRICS, QASettings, Question, run_qa, score
from scirgen_bench.systems import systems_table
from tests.support.content_factory import small_run
from tests.support.release_writing import write


def test_rouge_l_is_the_f1_of_the_longest_common_subsequence():
    assert rouge_l("the cat sat on the mat", "the cat on mat") == pytest.approx(2 * 4 / 10)
    assert rouge_l("a b", "c d") == 0
    assert rouge_l("Same words.", "same WORDS") == 1
    assert rouge_l("", "x") == 0


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("about 1,000 km", "1000", 1),
        ("10 or 12", "10", 0),
        ("ten", "10", 0),
        ("x", "no figure", None),
        ("3.50", "3.5", 1),
    ],
)
def test_numbers_match_by_value_and_extra_ones_do_not_count(answer, reference, value):
    assert number_match(answer, reference) == value


async def test_models_and_baselines_are_measured_on_the_same_questions(tmp_path):
    release = write(small_run(), tmp_path / "release")
    async with FakeServer() as server:

        async def once():
            return await run_qa(
                release,
                QASettings(f"openai:fake@{server.url}", ks=(0, 2), split="train", limit=8),
                load_registry(),
                tmp_path / "out",
            )

        report = await once()
        asked = sum(server.answered.values())
        assert asked == 16
        again = await once()
        assert sum(server.answered.values()) == asked
    assert again == report
    assert [(r.system, r.k, r.questions) for r in report.rows] == [
        ("openai:fake", 0, 8), ("openai:fake", 2, 8), ("always Yes", 0, 8), ("copy the context", 1, 8),
    ]  # fmt: skip
    yes = report.rows[2]
    assert yes.metrics["exact (short)"] == 0
    assert yes.failed == 0
    assert len(report.answers) == 16
    for row in report.rows:
        low, high = row.intervals["entailed"]
        assert low <= row.metrics["entailed"] <= high
    forms = [c for c in report.cells if c.by == "form"]
    for system, k in {(r.system, r.k) for r in report.rows}:
        of_system = [c for c in forms if (c.system, c.k) == (system, k)]
        assert sum(r.questions for r in of_system) == 8
    assert {c.by for c in report.cells} == {"form", "bloom", "question_type"}
    assert systems_table(report.cells, METRICS, "form").count("always Yes") == len({c.value for c in forms})
    table = systems_table(report.rows, METRICS)
    assert table.count("always Yes") == table.count("copy the context") == 1


def test_a_number_of_passages_below_zero_is_refused(tmp_path):
    release = write(small_run(), tmp_path / "release")
    result = CliRunner().invoke(
        cli,
        ["benchmark", "qa", str(release.folder), "--model", "bundled:x", "--k", "-1,0", "--out", str(tmp_path / "o")],
    )
    assert result.exit_code == 2 and "cannot be negative" in result.output


def test_the_command_needs_no_folder_and_shows_both_baselines(tmp_path):
    """In a process of its own: the fake server answers while the command runs."""
    release = write(small_run(), tmp_path / "release")
    server = subprocess.Popen(
        [sys.executable, "-m", "scirgen.testing", "serve", "--latency-ms", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        url = re.search(r"http://\S+", server.stdout.readline())[0]
        result = CliRunner().invoke(
            cli, f"benchmark qa {release.folder} --model openai:fake@{url} --k 0,1 --split train --limit 3"
        )
    finally:
        server.terminate()
        server.wait(10)
        server.stdout.close()
    assert result.exit_code == 0, result.output
    assert [line.split("|")[1].strip() for line in result.output.splitlines() if line.startswith("|")][2:] == [
        "openai:fake", "openai:fake", "always Yes", "copy the context",
    ]  # fmt: skip
    assert (tmp_path / "release-qa" / "replies.db").is_file()


@pytest.mark.parametrize(("given", "seconds"), [((), 600.0), (("--set", "limits.timeout_s=1200"), 1200.0)])
def test_a_slow_model_is_waited_for_as_long_as_in_a_run_or_as_is_asked(tmp_path, monkeypatch, given, seconds):
    release = write(small_run(), tmp_path / "release")
    waits = []

    async def opened(config, *args, **named):
        waits.append(config.limits.timeout_s)
        raise ModelError("seen enough")

    monkeypatch.setattr("scirgen_bench.qa.open_sessions", opened)
    asked = ["benchmark", "qa", str(release.folder), "--model", "openai:x@http://127.0.0.1:9/v1", "--split", "train"]
    CliRunner().invoke(cli, [*asked, *given, "--out", str(tmp_path / "o")])
    assert waits == [seconds]
    refused = CliRunner().invoke(cli, [*asked, "--set", "filter.gates=[]"])
    assert "does not use the setting" in refused.output + str(refused.exception) and len(waits) == 1


async def test_shared_words_of_the_question_make_no_answer_right():
    judge = open_entailment("lexical:words", load_registry(), {})
    question = "At how many stations of the valley was snow depth measured?"
    asked = [
        (question, "Yes", "40 stations"),
        (question, "At 40 stations", "40 stations"),
        (question, question, "in 1999"),
    ]
    judged = await question_entails(asked, judge)
    assert [round(e.entailment, 2) for e in judged] == [0, 1, 0]


async def test_both_sides_carry_the_question_for_a_model_that_reads():
    class Reader:
        counts_words = False

        async def entail(self, pairs):
            self.pairs = pairs
            return [Entailment(0.9, 0.1) for _ in pairs]

    reader = Reader()
    await question_entails([("Is it?", "Yes", "It is")], reader)
    assert reader.pairs == [("Is it? Yes", "Is it? It is")]


def test_a_reply_loses_the_prompts_fence_and_nothing_else():
    assert unfenced(fence("About 40 stations")) == "About 40 stations"
    assert unfenced("<data-fc43c76b> A method") == "A method"
    assert unfenced("a < b and <data> stay") == "a < b and <data> stay"
    assert unfenced("<data-fc43c76b>") == "<data-fc43c76b>"


async def test_answer_too_long_to_judge_is_counted_outside_the_accuracy(tmp_path):
    release = write(small_run(), tmp_path / "release")

    class Narrow:
        counts_words = False

        async def entail(self, pairs):
            return [
                ModelError("too long", code="context_too_long") if "endless" in answer else Entailment(0.9, 0.1)
                for answer, _ in pairs
            ]

    questions = [Question(r, True, ()) for r in list(release.rows("train"))[:3]]
    row, found = await score("s", 1, questions, ["Yes", "endless " * 900, "No"], Narrow())
    assert (row.questions, row.failed, row.unjudged, row.metrics["entailed"]) == (3, 0, 1, 1.0)
    assert [a.entailment is None for a in found] == [False, True, False]
    assert found[0].question_type == questions[0].row.question_type


async def test_a_reply_that_fails_is_counted_and_not_scored(tmp_path):
    release = write(small_run(), tmp_path / "release")
    judge = open_entailment("lexical:words", load_registry(), {})
    questions = [Question(r, True, ()) for r in list(release.rows("train"))[:2]]
    row, found = await score("s", 0, questions, ["By stations", None], judge)
    assert (row.questions, row.failed, row.metrics["exact (short)"]) == (2, 1, 1.0)
    assert len(found) == 1


async def test_what_was_answered_before_a_server_died_is_not_asked_for_again(tmp_path):
    release = write(small_run(), tmp_path / "release")

    async def ask(server):
        return await run_qa(
            release,
            QASettings(f"openai:fake@{server.url}", ks=(0, 2), split="train", limit=20),
            load_registry(),
            tmp_path / "out",
        )

    async with FakeServer(faults=Faults(die_after=12)) as server:
        with pytest.raises(ModelError):
            await ask(server)
        before = sum(server.answered.values())
        port = int(server.url.rsplit(":", 1)[1].split("/")[0])
    assert 0 < before < 40
    async with FakeServer(port=port) as server:
        report = await ask(server)
        assert sum(server.answered.values()) == 40 - before
    assert [r.failed for r in report.rows] == [0, 0, 0, 0]
