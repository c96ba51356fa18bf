"""Plugins' code is hashed, so that results of an edited plugin are made again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from scirgen.core.config import Config, ParseConfig
from scirgen.core.errors import PluginError
from scirgen.core.registry import Plugin, Provided, Registry, load_registry
from scirgen.core.registry.plugincode import made_of, plugin_code, provided_code
from scirgen.stages.filter.base import PairGate
from scirgen.stages.parse.stage import ParseStage, choose_parser

GATE = "from scirgen import PairGate\n\n\nclass {name}(PairGate):\n    code = 'mine'\n    explanation = '{text}'\n"
PARSER = "class Notes:\n    reads = ('text',)\n\n    def parse(self, path, options): ...\n"


def test_an_edited_gate_has_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own_gate_module.py"
    file.write_text(GATE.format(name="Mine", text="one"))
    monkeypatch.syspath_prepend(str(tmp_path))
    gate = importlib.import_module("own_gate_module").Mine
    before = plugin_code(gate)
    file.write_text(GATE.format(name="Mine", text="two"))
    assert before and plugin_code(gate) != before


def test_scirgen_s_own_classes_have_versions_instead() -> None:
    assert plugin_code(PairGate) == "" and provided_code(load_registry(), "parser", "text") == ()


def test_a_version_counts_beside_the_code() -> None:
    class Mine(PairGate):
        code, explanation = "mine", "one"

        def judge(self, pair: object, material: object, ctx: object) -> object: ...  # type: ignore[override]

    first, second = Mine(), Mine()
    assert made_of(first) == made_of(second)
    second.version = 2  # type: ignore[misc]
    assert made_of(first) != made_of(second)


def test_a_parser_reads_what_it_declares_and_others_read_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_parser_module.py").write_text(PARSER)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = Plugin("own", "1", (Provided("parser", "notes", "own_parser_module:Notes", "notes"),))
    builtin = [Provided("parser", name, f"x:{name}", name) for name in ("text", "html", "pdf", "grobid")]
    registry = Registry()
    registry.add(Plugin("scirgen", "1", tuple(builtin)))
    registry.add(own)
    assert choose_parser(registry, "notes", "text").name == "notes"
    assert choose_parser(registry, "notes", "pdf").name == "pdf"
    assert choose_parser(registry, "notes", "html").name == "html"
    assert len(provided_code(registry, "parser", "notes")) == 1


@pytest.mark.parametrize("reads", ["('labx',)", "('.labx',)", "'text'"])
def test_a_parser_that_declares_an_unknown_kind_is_refused_by_a_dry_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    (tmp_path / "odd_reads.py").write_text(
        f"class Odd:\n    reads = {reads}\n    def parse(self, path, options): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "odd_reads", raising=False)
    registry = Registry()
    registry.add(Plugin("own", "1", (Provided("parser", "odd", "odd_reads:Odd"),)))
    with pytest.raises(PluginError, match="parser 'odd': reads has ") as caught:
        ParseStage().check_settings(Config(parse=ParseConfig(parser="odd")), registry)
    assert "Known: html, jats, latex, pdf, tei, text." in caught.value.hint
