"""What a plugin returns is checked: one error that names the plugin's member, its file and line, and the value."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import scirgen
from scirgen.cli.main import cli
from scirgen.core.errors import PluginError
from scirgen.core.registry import Registry, known_needs, load_registry, returned, returned_list
from scirgen.stages.filter.deciding import score_all, select_scorers
from scirgen.stages.filter.stage import select_gates
from scirgen.testing.judges import sample_pairs
from scirgen_tasks.recipes.base import QueryRecipe
from scirgen_tasks.recipes.stage import QueryStage
from tests.support.questioning import make_context


class TrueGate(scirgen.PairGate):
    code = "yes"
    explanation = "returns True"

    def judge(self, pair, material, ctx):
        return True


class FloatScorer(scirgen.Faithfulness):
    name = "floats"
    needs = ()

    async def score(self, pairs, material, ctx):
        return [0.5 for _ in pairs]


class NanScorer(FloatScorer):
    name = "nan"

    async def score(self, pairs, material, ctx):
        return [scirgen.Score(name="nan", value=float("nan")) for _ in pairs]


class ListRecipe(QueryRecipe):
    name = "lists"

    async def write(self, item, ctx):
        return []


class ScorrScorer(FloatScorer):
    name = "scorr"
    needs = ("scorr",)


class ScorrGate(TrueGate):
    code = "scorr"
    needs = "scorer"


def registry_with(kind: str, name: str, target: type) -> Registry:
    """A registry that has one thing of a plugin in this file."""
    registry = Registry()
    own = scirgen.Provided("kind", "query_recipe", "scirgen_tasks.recipes.base:CONTRACT")
    registry.add(scirgen.Plugin("mine", "1", (own, scirgen.Provided(kind, name, f"{__name__}:{target.__name__}"))))
    return registry


def context(registry: Registry, **settings: object):
    from dataclasses import replace

    ctx, _ = make_context(stage="filter", **settings)
    return replace(ctx, registry=registry)


def refused(kind: str, target: type) -> str:
    """The message of the error by which a return value stops the run."""
    name = getattr(target, "code", None) or target.name
    registry = registry_with(kind, name, target)
    pairs, material = sample_pairs()
    with pytest.raises(PluginError) as caught:
        if kind == "gate":
            from scirgen.stages.filter.stage import verdicts_of

            gates = [target()]
            asyncio.run(verdicts_of(gates[0], pairs, material, context(registry)))
        else:
            asyncio.run(score_all(pairs, material, context(registry, filter={"faithfulness": [name]})))
    assert caught.value.fatal
    return caught.value.message


@pytest.mark.parametrize(
    ("kind", "target", "member", "says"),
    [
        ("gate", TrueGate, "TrueGate.judge()", "returned True of type bool, not a scirgen.Verdict"),
        ("faithfulness", FloatScorer, "FloatScorer.score()", "returned 0.5 of type float, not a scirgen.Score"),
        ("faithfulness", NanScorer, "NanScorer.score()", "returned nan of type float, not a finite value"),
    ],
)
def test_a_wrong_value_names_member_and_line(kind: str, target: type, member: str, says: str) -> None:
    said = refused(kind, target)
    assert f"{member} (" in said and "test_returned_values.py, line " in said and says in said


async def test_a_recipe_that_returns_a_list_is_named() -> None:
    ctx = context(registry_with("query_recipe", "lists", ListRecipe))
    item = scirgen.WorkItem("k", (), {"recipe": "lists"})
    with pytest.raises(PluginError, match=r"ListRecipe.write\(\) .*line \d+\) returned \[\] of type list"):
        await QueryStage().process(item, ctx)


def test_values_of_the_right_form_pass_unchanged() -> None:
    assert returned(sample_pairs, 3, int, "a number") == 3
    assert returned_list(sample_pairs, (1, 2), int, "a number", 2) == [1, 2]
    with pytest.raises(PluginError, match="2: one a number for each"):
        returned_list(sample_pairs, [1], int, "a number", 2)
    with pytest.raises(PluginError, match="not a list of a number"):
        returned_list(sample_pairs, None, int, "a number")


def test_an_unknown_need_is_an_error_with_the_near_one() -> None:
    with pytest.raises(PluginError) as caught:
        select_scorers(["scorr"], registry_with("faithfulness", "scorr", ScorrScorer))
    assert "ScorrScorer: needs names 'scorr'" in caught.value.message and "Did you mean 'scorer'?" in caught.value.hint
    with pytest.raises(PluginError, match="needs must be a tuple of names, not 'scorer' of type str"):
        config = context(Registry(), filter={"gates": ["scorr"]}).config
        select_gates(config, registry_with("gate", "scorr", ScorrGate))
    known_needs(FloatScorer(), ("scorer",), ("scorer",))


BROKEN = {
    "syntax": ("def (\n", "broken_plugin:PLUGIN", "SyntaxError"),
    "import": ("import no_such_module\n", "broken_plugin:PLUGIN", "No module named 'no_such_module'"),
    "nothing": ("", "broken_plugin:PLUGIN", "PLUGIN"),
    "entry_point": ("", "no_such_package:PLUGIN", "No module named 'no_such_package'"),
    "form": ("PLUGIN = 7\n", "broken_plugin:PLUGIN", "is a int, not a scirgen.Plugin"),
    "kind": (
        "from scirgen import Plugin, Provided\nPLUGIN = Plugin('broken', '1', (Provided('gatte', 'x', 'a:B'),))\n",
        "broken_plugin:PLUGIN",
        "unknown kind 'gatte'",
    ),
    "reader": (
        "from scirgen import Plugin, Provided\nPLUGIN = Plugin('broken', '1', (Provided('reader', 'x', 'a_b:C'),))\n",
        "broken_plugin:PLUGIN",
        "No module named 'a_b'",
    ),
}


@pytest.fixture(params=sorted(BROKEN))
def broken(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """An installed plugin that breaks: its case, and what is said of it."""
    code, target, says = BROKEN[request.param]
    info = tmp_path / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[scirgen.plugins]\nbroken = {target}\n")
    (info.parent / "broken_plugin.py").write_text(code)
    monkeypatch.syspath_prepend(str(info.parent))
    monkeypatch.delitem(__import__("sys").modules, "broken_plugin", raising=False)
    importlib.metadata.MetadataPathFinder().invalidate_caches()
    load_registry.cache_clear()
    yield request.param, says
    load_registry.cache_clear()


def test_one_broken_plugin_stops_no_command_that_does_not_need_it(broken: tuple[str, str], tmp_path: Path) -> None:
    case, says = broken
    file = tmp_path / "pairs.jsonl"
    file.write_text(json.dumps({"question": "How deep is the lake?", "answer": "12 m"}))
    listed = CliRunner().invoke(cli, ["plugins", "list"])
    audited = CliRunner().invoke(cli, ["audit", str(file)])
    for result in (listed, audited):
        assert result.exit_code == 0, result.output
        if case != "reader" or result is audited:
            (line,) = [x for x in result.stderr.splitlines() if x.startswith("warning: plugin 'broken'")]
            assert says in line
    if case != "reader":
        with pytest.raises(PluginError, match="broken"):
            load_registry().refuse_broken()
