"""``scirgen context``: all that a program needs, in one read."""

from __future__ import annotations

import json
import re

from click.testing import CliRunner

from scirgen.cli.main import COMMANDS, cli
from scirgen.core.config import Config
from scirgen.core.registry import load_registry


def test_context_has_every_command_setting_and_kind() -> None:
    found = json.loads(CliRunner().invoke(cli, ["context", "--json"]).output)
    assert {name.split()[0] for name in found["commands"]} >= set(COMMANDS)
    assert "--limit" in found["commands"]["generate"] and found["plugins"].keys() == {
        k for k, _ in load_registry().entries()
    }
    assert {key.split(".")[0] for key in found["settings"]} == set(Config.model_fields)


def test_the_skill_file_names_only_commands_and_options_that_exist() -> None:
    skill = CliRunner().invoke(cli, ["context", "--skill"]).output
    commands = json.loads(CliRunner().invoke(cli, ["context", "--json"]).output)["commands"]
    lines = re.findall(r"(?m)(?:^|`)scirgen ([a-z][^`\n]*)", skill)
    assert skill.startswith("---\nname: scirgen\ndescription: ") and len(lines) > 12
    for line in lines:
        name, *words = line.split()
        assert {w for w in words if w.startswith("--")} <= set(commands[name].split()), line
    codes = json.loads(CliRunner().invoke(cli, ["context", "--json"]).output)["exit_codes"]
    assert codes["3"].startswith("partial") and codes["4"].startswith("stopped")


def test_context_as_text_is_short_enough_for_one_read() -> None:
    output = CliRunner().invoke(cli, ["context"]).output
    assert output.startswith("# scirgen") and len(output) < 40_000
    assert "\ncollect.most_datasets: 100000  a catalogue ends" in output


def test_config_show_lists_a_plugins_section_that_is_not_set() -> None:
    found = CliRunner().invoke(cli, ["config", "show"])
    assert found.exit_code == 0 and "\ncollect.most_datasets = 100000\n" in found.output
