"""A plugin's own code breaks while it is loaded: one error that names plugin, target and place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scirgen.core.errors import MissingExtraError, PluginError
from scirgen.core.registry import Plugin, Provided, Registry, described, suggest


def load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, attribute: str = "Mine", extra: str | None = None
) -> object:
    (tmp_path / "broken_adapter.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "broken_adapter", raising=False)
    registry = Registry()
    registry.add(Plugin("mine", "1", (Provided("source", "mine", f"broken_adapter:{attribute}", "", extra),)))
    return registry.get("source", "mine")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def (\n", "SyntaxError: invalid syntax (broken_adapter.py, line 1)"),
        (
            "import no_such_module\n",
            "ModuleNotFoundError: No module named 'no_such_module' (broken_adapter.py, line 1)",
        ),
        ("x = {}\nx['a']\n", "KeyError: 'a' (broken_adapter.py, line 2)"),
        (
            "import json\njson.nothing\n",
            "AttributeError: module 'json' has no attribute 'nothing' (broken_adapter.py, line 2)",
        ),
    ],
)
def test_module_when_it_breaks_off_then_the_error_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    with pytest.raises(PluginError) as caught:
        load(tmp_path, monkeypatch, code)
    assert "plugin 'mine' failed to load 'broken_adapter:Mine'" in caught.value.message and says in caught.value.message


class Bugged:
    def check(self) -> None:
        Path("/nowhere").read_text()  # the innermost frame is pathlib's


def test_exception_in_a_plugin_names_its_own_innermost_line_on_one_line() -> None:
    registry = Registry()
    registry.add(Plugin("mine", "1", (Provided("gate", "bugged", f"{__name__}:Bugged"),)))
    with pytest.raises(OSError) as caught:
        Bugged().check()
    line = Bugged.check.__code__.co_firstlineno + 1
    said = described(ValueError("two\n  lines"), registry.place_of(caught.value))
    assert said == f"ValueError: two lines (plugin 'mine': Bugged.check() in test_broken_plugins.py, line {line})"
    registry.shipped.add("mine")
    assert registry.place_of(caught.value) == "", "scirgen's own wings keep their traceback"


def test_target_when_misspelt_then_a_near_name_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PluginError) as caught:
        load(tmp_path, monkeypatch, "class Mine: ...\n", "Mime")
    assert "which does not exist" in caught.value.message and "'Mine'" in caught.value.hint


def test_only_a_word_that_is_close_is_suggested() -> None:
    assert suggest("temprature", ["structured", "timeout_s"]) == "Known: structured, timeout_s."
    assert suggest("structred", ["structured", "timeout_s"]).startswith("Did you mean 'structured'?")


def test_module_when_its_extra_is_missing_then_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingExtraError) as caught:
        load(tmp_path, monkeypatch, "import no_such_module\n", extra="pdf")
    assert "scirgen[pdf]" in caught.value.hint
