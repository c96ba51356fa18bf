"""Fills a page's template: one file with its style and one script, which the content security policy allows by its
hash."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources.abc import Traversable

import jinja2


def words(name: object) -> str:
    """Return an id as words: ``causal_antecedent`` -> causal antecedent."""
    return str(name).replace("_", " ")


def brief(text: str) -> str:
    """Return the first clause of an explanation, as a sentence."""
    return re.split(r"(?<=[.:;]) | \(", text)[0].rstrip(".:;") + "."


def fill_page(parts: Traversable, name: str, **values: object) -> str:
    """Return the page ``NAME.html.j2`` of a folder, with ``NAME.css`` and ``NAME.js`` in it. All text is escaped.

    Args:
        parts: the folder.
        name: of template, style and script.
        values: for the template, which also gets ``style``, ``script`` and ``script_hash`` (SHA-256 in base64).
    """
    script, style = ((parts / f"{name}.{kind}").read_text("utf-8") for kind in ("js", "css"))
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["n"] = lambda value: f"{value:,}"
    environment.filters["brief"] = brief
    environment.filters["words"] = words
    admitted = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string((parts / f"{name}.html.j2").read_text("utf-8"))
    return template.render(**values, script=script, style=style, script_hash=admitted)
