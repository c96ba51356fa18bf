"""``scirgen prompts diff``: two real runs, one of them with an edited prompt and a further type, side by side."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scirgen.cli.main import cli
from scirgen.core.resources import builtin_root

pytestmark = pytest.mark.timeout(300)
PROMPT = "generate/joint"


def scirgen(*args: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in args])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("diff")
    mine = root / "mine" / "prompts" / f"{PROMPT}.yaml"
    mine.parent.mkdir(parents=True)
    text = (builtin_root() / "prompts" / f"{PROMPT}.yaml").read_text()
    mine.write_text(re.sub(r"version: \d+", "version: 99", text, count=1).replace("Decline a pair", "Leave out a pair"))
    serve = [sys.executable, "-m", "scirgen.testing", "serve", "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        common = ["--model", f"openai:fake@{server.stdout.readline().split()[2]}", "--limit", 2, "--quiet"]
        kinds = '"definition","quantification"'
        for name, types, more in (
            ("a", f"[{kinds}]", []),
            ("b", f'[{kinds},"verification"]', ["--set", f"overrides={root / 'mine'}"]),
        ):
            done = scirgen("generate", "--out", root / name, *common, "--set", f"generate.types={types}", *more)
            assert done.exit_code == 0, done.output
        server.terminate()
    return root / "a", root / "b"


def test_diff_names_the_changed_prompt_alone_with_both_versions(runs: tuple[Path, Path]) -> None:
    found = json.loads(scirgen("prompts", "diff", *runs, "--json").output)
    assert set(found["prompts_changed"]) == {PROMPT}
    old, new = found["prompts_changed"][PROMPT]
    assert old != new


def test_diff_shows_each_run_s_own_funnel(runs: tuple[Path, Path]) -> None:
    found = json.loads(scirgen("prompts", "diff", *runs, "--json").output)
    for side, run in (("a", runs[0]), ("b", runs[1])):
        status = json.loads(scirgen("status", run, "--json").output)["stages"]
        for stage in ("generate", "filter", "tag"):
            assert found[side]["outputs"][stage] == status[stage]["outputs"]
            assert sum(found[side]["rejected"][stage].values()) == status[stage]["rejected"]
        assert sum(found[side]["by_type"].values()) == status["tag"]["outputs"]
    assert "verification" not in found["a"]["by_type"]
    assert found["a"]["no_share"] is None


def test_diff_of_a_run_with_itself_changes_nothing(runs: tuple[Path, Path]) -> None:
    found = json.loads(scirgen("prompts", "diff", runs[0], runs[0], "--json").output)
    assert found["prompts_changed"] == {}
    assert found["a"] == found["b"]
    assert all(sample["a"] == sample["b"] for sample in found["samples"])


def test_diff_prints_columns_and_samples_of_both(runs: tuple[Path, Path]) -> None:
    shown = scirgen("prompts", "diff", *runs, "--samples", 2)
    assert shown.exit_code == 0
    assert f"prompt {PROMPT}: " in shown.output
    rows = {
        line.rsplit(None, 3)[0].strip(): line.split()[-3:] for line in shown.output.splitlines() if line[-1:].isdigit()
    }
    a, b, difference = (int(n) for n in rows["generate"])
    assert b - a == difference
    assert sum(line.startswith("  A  ") for line in shown.output.splitlines()) == 2
    assert sum(line.startswith("  B  ") for line in shown.output.splitlines()) == 2


def test_diff_of_a_folder_without_a_run_says_so(runs: tuple[Path, Path], tmp_path: Path) -> None:
    assert scirgen("prompts", "diff", runs[0], tmp_path).exit_code != 0
