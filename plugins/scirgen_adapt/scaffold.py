"""Makes a new plugin package from scirgen's template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from scirgen import InputError
from scirgen.core.resources import builtin_root
from scirgen.plugin import Registry, Resources

OVERRIDES: Final = ("taxonomies/graesser", "prompts/generate/joint")
"""Built-in files that are copied into a new plugin; domain experts edit these first."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LEFT_OUT = {"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"}


def template_folder() -> Path:
    """Return the template: packaged in a wheel, ``plugins/template`` in a checkout."""
    packaged = builtin_root() / "template"
    return packaged if packaged.is_dir() else builtin_root() / "plugins" / "template"


PARTS: Final[Mapping[str, str]] = {
    "gate": 'Provided("gate", "template_gate", "scirgen_template.gate:TemplateGate", "its gate")',
    "scorer": 'Provided("faithfulness", "template_scorer", "scirgen_template.scorer:TemplateScorer", "its scorer")',
    "recipe": 'Provided("query_recipe", "template_recipe", "scirgen_template.recipe:TemplateRecipe", "its recipe")',
}
"""Parts that a new plugin may have in addition to its source -> their lines in its manifest."""

_INTO_YOURS: Final = (
    "To give your package a gate, make a new one of another name with --gate and copy gate.py, its test and its line "
    "of __init__.py; likewise a scorer or recipe."
)


def scaffold(
    name: str,
    parent: Path,
    registry: Registry,
    overrides: Sequence[str] = OVERRIDES,
    parts: Sequence[str] = (),
) -> Path:
    """Write a plugin package ``scirgen-NAME`` for a new domain.

    Args:
        name: the domain's name: lower-case letters, digits and single hyphens.
        parent: the folder to write it into.
        registry: the installed plugins, whose names are refused.
        overrides: built-in files to copy into it: ids as ``scirgen prompts list`` prints them.
        parts: of `PARTS`.

    Returns:
        The package's folder.

    Raises:
        InputError: the name is not usable or taken, or the folder exists and is not empty.
        ResourceError: there is no built-in file of an override's id.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a domain's name", hint="Use lower-case letters, digits and hyphens.")
    for kind in ("domain", "source"):
        if name in registry.names(kind):
            owner = registry.entries()[(kind, name)][0]
            raise InputError(
                f"the {kind} {name!r} is already provided by plugin {owner!r}",
                hint=f"Choose another name. {_INTO_YOURS}",
            )
    target = parent / f"scirgen-{name}"
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not empty", hint=f"Choose another folder with --into. {_INTO_YOURS}")
    copies = [(place(o), Resources().get(*place(o)).path.read_text(encoding="utf-8")) for o in overrides]
    source = template_folder()
    for path in sorted(source.rglob("*")):
        relative = path.relative_to(source)
        part = path.stem.removeprefix("test_")
        wanted = part in parts or part not in PARTS
        if path.is_file() and wanted and not _LEFT_OUT & set(relative.parts):
            text = path.read_text(encoding="utf-8")
            if relative.as_posix() == "scirgen_template/__init__.py":
                more = "".join(f"        {PARTS[p]},\n" for p in dict.fromkeys(parts))
                text = text.replace("    ),\n)", f"{more}    ),\n)")
            if relative.name == "config.yaml" and "gate" in parts:
                text += "filter:\n  gate_options:\n    template_gate: {enabled: true}\n"
            _write(target / _renamed(relative.as_posix(), name), _renamed(text, name))
    for (folder, identity), text in copies:
        _write(target / _renamed("scirgen_template", name) / folder / f"{identity}.yaml", text)
    return target


def _renamed(text: str, name: str) -> str:
    """Return the template's names in a text or path, replaced by the new domain's."""
    words = name.split("-")
    text = text.replace("scirgen_template", "scirgen_" + "_".join(words)).replace(
        "test_template", "test_" + "_".join(words)
    )
    text = re.sub(r"Template(?=Source|Gate|Scorer|Recipe)", "".join(w.capitalize() for w in words), text)
    text = re.sub(r"\btemplate_(?=gate|scorer|recipe)", "_".join(words) + "_", text)
    text = re.sub(r"\bTemplate\b", " ".join(words).capitalize(), text)
    return re.sub(r"\btemplate\b", name, text)


def copy_override(resources: Resources, folder: str, identity: str, into: Path) -> Path:
    """Copy a prompt or taxonomy file into a folder of overrides for editing.

    Args:
        resources: source of the file: scirgen's own resources, or those of a domain.
        folder: "prompts" or "taxonomies".
        identity: the file's id, such as ``generate/joint``.
        into: the folder of overrides.

    Raises:
        ResourceError: there is no file of that id.
        InputError: the folder has one already, or nothing may override the file.
    """
    if (folder, identity) == ("taxonomies", "untrusted"):
        raise InputError("untrusted cannot be overridden", hint="It guards every run. scirgen prompts show prints it.")
    found = resources.get(folder, identity)
    target = into / folder / f"{identity}.yaml"
    if target.exists():
        raise InputError(f"{target} exists already", hint="Edit it, or remove it first.")
    _write(target, found.path.read_text(encoding="utf-8"))
    return target


def place(override: str) -> tuple[str, str]:
    """Return (folder, id) of a built-in file: ``generate/joint`` and ``prompts/generate/joint`` are the same,
    ``graesser`` is a taxonomy."""
    folder, _, identity = override.partition("/")
    if folder in ("prompts", "taxonomies"):
        return folder, identity
    return ("prompts" if identity else "taxonomies"), override


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
