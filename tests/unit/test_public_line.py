"""The line between what plugins may import and what is scirgen's own; pyproject.toml has the contract of the wings."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import scirgen
import scirgen_estimate

ROOT = Path(__file__).parents[2]
PUBLIC = ("scirgen", "scirgen.plugin", "scirgen.testing")
BEHIND = {
    "examples/release/build.py": {"scirgen.pipeline.store", "scirgen.pipeline.views.view"},
}


def _imported(file: Path) -> set[str]:
    found = [n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)]
    return {str(n.module) for n in found if str(n.module).partition(".")[0] == "scirgen"}


def test_public_names_are_few_and_each_stands_in_one_place():
    names = [name for package in PUBLIC for name in import_module(package).__all__]
    assert len(names) == len(set(names))
    assert len(names) <= 150


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_documented(package):
    module = import_module(package)
    found = {name: getattr(module, name) for name in module.__all__}
    bare = [
        n for n, value in found.items() if (inspect.isclass(value) or callable(value)) and not inspect.getdoc(value)
    ]
    assert not bare


def test_examples_and_the_template_import_public_names_only():
    files = [*(ROOT / "examples").rglob("*.py"), *(ROOT / "plugins" / "template").rglob("*.py")]
    behind = {str(f.relative_to(ROOT)): _imported(f) - {*PUBLIC, "scirgen.testing.web"} for f in files}
    assert {name: modules for name, modules in behind.items() if modules} == BEHIND


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        import_module("scirgen.plugin").Nothing  # noqa: B018


def test_functions_that_take_the_options_of_generate_show_them_and_refuse_others():
    for function in (scirgen.generate, scirgen.agenerate, scirgen.astream, scirgen_estimate.estimate):
        assert {"model", "limit", "settings"} <= set(inspect.signature(function).parameters)
    with pytest.raises(TypeError, match="Did you mean 'model'"):
        scirgen.generate("run", modell="openai:x")
