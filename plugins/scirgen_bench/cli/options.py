"""Options that the commands of this wing and of labelling share."""

from __future__ import annotations

from pathlib import Path

import click

from scirgen.cli.options import config_option, counted, names_in
from scirgen.plugin import PATH, as_json_flag

__all__ = [
    "PATH", "SPLIT", "as_json_flag", "config_option", "counted", "json_file_option", "names_in", "write_json",
]  # fmt: skip

SPLIT = click.Choice(["train", "dev", "test"])
json_file_option = click.option("--json", "json_file", type=PATH, help="Write the whole result to this file, as JSON.")


def write_json(file: Path | None, text: str) -> None:
    """Write the figures to the file of ``--json``, if one was given; its folder is made."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
