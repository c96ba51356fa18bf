"""Every code of a rejection has a meaning, which reports show and docs/reference/codes.md lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from scirgen.pipeline.plan import PLAN
from scirgen.report.codes import meanings
from scirgen_probe.proving import Answerable

ROOT = Path(__file__).parents[3]
MAKES = {
    "Discard", "Drop", "Fault", "Fetched", "Judgement", "PaperError", "Picked", "Rejection", "Ruling", "Verdict", "of",
    "_discard", "_ended", "_rejection", "reject", "rejected",
}  # fmt: skip
OTHER_WORDS = {*(step.stage for step in PLAN), "keep", "reject", "paper", "need"}
NOT_KEPT = {"not_asked_for"}
"""Codes of records that are passed over without a rejection in the store."""


def codes_in(source: str) -> Iterator[str]:
    """Yield the constants with which rejections, what becomes one, and counts of rows left out are made."""
    yield from re.findall(r'"release: ([a-z_]+)"', source)
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in MAKES:
            for value in (*call.args, *(k.value for k in call.keywords if k.arg == "code")):
                if isinstance(value, ast.Constant) and re.fullmatch("[a-z]+(_[a-z]+)*", str(value.value)):
                    yield str(value.value)


def test_every_code_is_explained_in_the_reference() -> None:
    files = [p for folder in ("scirgen", "plugins") for p in (ROOT / folder).rglob("*.py")]
    made = {code for file in files for code in codes_in(file.read_text(encoding="utf-8"))}
    assert len(made) > 60
    made |= {*get_args(Answerable)} - {"unanswered"}
    assert not sorted(made - OTHER_WORDS - NOT_KEPT - {*meanings()})
    assert "```{rejections}" in (ROOT / "docs/reference/codes.md").read_text(encoding="utf-8")
