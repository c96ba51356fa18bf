"""Reference tables made from the code: ``{gates}``, ``{error-codes}``, ``{settings}``; and links to files of the
repository."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from scirgen.core import errors
from scirgen.core.config import Config
from scirgen.core.registry import load_registry
from scirgen.report.codes import meanings
from scirgen.stages.filter.stage import describe_gates

REPOSITORY = os.environ.get("SCIRGEN_REPOSITORY", "").rstrip("/")


class _Table(SphinxDirective):
    """A table of Markdown rows, parsed as part of the page."""

    def rows(self) -> list[tuple[str, ...]]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        head, *rows = self.rows()
        lines = [_line(head), _line(tuple("---" for _ in head)), *map(_line, rows)]
        node = nodes.container()
        self.state.nested_parse(StringList(lines, source=type(self).__name__), self.content_offset, node)
        return node.children


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(" ".join(c.replace("|", "\\|").split()) for c in cells) + " |"


class Gates(_Table):
    """All gates in the order they run."""

    def rows(self) -> list[tuple[str, ...]]:
        found = describe_gates(Config(), load_registry())
        rows = [
            (
                f"`{g['code']}`",
                "yes" if g["on"] else "no",
                "" if g["threshold"] is None else f"{g['threshold']:g}",
                str(g["models"]),
                str(g["explanation"]),
            )
            for g in found
        ]
        return [("code", "on", "threshold", "asks", "rejects"), *rows]


class Rejections(_Table):
    """All codes of rejections with their meanings, but for those of gates."""

    def rows(self) -> list[tuple[str, ...]]:
        gates = load_registry().names("gate")
        return [("code", "meaning"), *((f"`{c}`", said) for c, said in meanings().items() if c not in gates)]


class ErrorCodes(_Table):
    """All classes of errors with their codes."""

    def rows(self) -> list[tuple[str, ...]]:
        kinds = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.ScirgenError)]
        rows = [
            (
                f"`{c.code}`",
                f"`{c.__name__}`",
                str(c.exit_status),
                "yes" if c.retryable else "no",
                (inspect.getdoc(c) or "").split("\n\n")[0],
            )
            for c in sorted(kinds, key=lambda c: c.code)
        ]
        return [("code", "class", "exit status", "worth another try", "meaning"), *rows]


class Settings(_Table):
    """All settings below a section of `Config`, with their defaults and descriptions."""

    has_content = False
    optional_arguments = 1

    def rows(self) -> list[tuple[str, ...]]:
        section = self.arguments[0] if self.arguments else ""
        model: type[BaseModel] = Config
        for part in filter(None, section.split(".")):
            annotation: Any = model.model_fields[part].annotation
            model = annotation
        rows = []
        for name, field in model.model_fields.items():
            if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
                continue
            default = field.get_default(call_default_factory=True)  # type: ignore[call-arg]
            kind = (
                re.sub(r"\b(?:typing|scirgen\.[\w.]+)\.", "", str(field.annotation))
                .replace("<class '", "")
                .replace("'>", "")
            )
            rows.append(
                (f"`{section + '.' if section else ''}{name}`", f"`{kind}`", f"`{default!r}`", field.description or "")
            )
        return [("setting", "type", "default", "meaning"), *rows]


def sections(model: type[BaseModel] = Config, above: str = "") -> list[str]:
    """Dotted names of all sections of the settings."""
    found: list[str] = []
    for name, field in model.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            found += [above + name, *sections(field.annotation, f"{above}{name}.")]
    return found


def _all_settings(app: Sphinx, docname: str, source: list[str]) -> None:
    """The page of settings gets a heading and a table for each section there is."""
    if docname == "reference/settings":
        source[0] += "\n## General\n\n```{settings}\n```\n"
        source[0] += "".join(f"\n## {name}\n\n```{{settings}} {name}\n```\n" for name in sections())


def _to_repository(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to files outside of docs/ lead to the repository."""
    up = docname.count("/") + 1
    file = rf"\((?:\.\./){{{up}}}(?!\.\.)([^)#]+)"
    if REPOSITORY:
        source[0] = re.sub(rf"\]{file}", rf"]({REPOSITORY}/blob/main/\1", source[0])
    else:
        source[0] = re.sub(rf"\[([^\]\n]*)\]{file}[^)]*\)", r"\1", source[0])


def _light_and_dark(app: Sphinx, docname: str, source: list[str]) -> None:
    """A picture that has a dark twin is shown in the reader's scheme."""

    def both(found: re.Match[str]) -> str:
        alt, name, ending = found.groups()
        if not (Path(app.srcdir) / f"{name}-dark{ending}").exists():
            return found[0]
        shown = {"only-light": name, "only-dark": f"{name}-dark"}
        return "\n".join(f"```{{image}} {n}{ending}\n:alt: {alt}\n:class: {c}\n```" for c, n in shown.items())

    source[0] = re.sub(r"!\[([^\]]*)\]\((images/[\w-]+)(\.\w+)\)", both, source[0])


def setup(app: Sphinx) -> dict[str, object]:
    """Called by Sphinx."""
    app.add_directive("gates", Gates)
    app.add_directive("rejections", Rejections)
    app.add_directive("error-codes", ErrorCodes)
    app.add_directive("settings", Settings)
    app.connect("source-read", _all_settings)
    app.connect("source-read", _to_repository)
    app.connect("source-read", _light_and_dark)
    return {"version": "1", "parallel_read_safe": True}
