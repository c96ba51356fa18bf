"""Tokens of all model calls of a run, from section to tag, by prompt and per released row.

    python -m benchmarks.tokens RUN [--json FILE]

Reads the replies in the run's store, so calls that an earlier invocation made are counted too. Where a backend counts
no tokens, characters / 4 stand for them, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen.llm.cache import CachedReply, ReplyCache
from scirgen.pipeline.views.view import StoreView, open_view

_CHARACTERS_A_TOKEN = 4
_OPENING = 40
"""Characters of a system text that tell which prompt it is from."""


def openings() -> dict[str, str]:
    """The beginning of each prompt's system text, up to its first variable -> the prompt's id."""
    library = PromptLibrary(Resources())
    found = {}
    for id in library.ids():
        system = re.split(r"\{[{%]", library.get(id).file.system or "")[0].strip()
        if system:
            found[" ".join(system.split())[:_OPENING]] = id
    return found


def replies(folder: Path) -> Iterator[CachedReply]:
    """The chat replies in a run's store."""
    database = sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)
    cache = ReplyCache(database, owned=True)
    for (key,) in database.execute("SELECT key FROM replies WHERE kind='chat' ORDER BY key").fetchall():
        if (found := cache.peek(key)) is not None:
            yield found


def measure(view: StoreView, folder: Path) -> dict[str, object]:
    """Calls, prompt and reply tokens of each prompt, and of all per released row."""
    known = openings()
    calls: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    estimated = 0
    for reply in replies(folder):
        messages = json.loads(reply.request)["messages"]
        texts = [m["content"] if isinstance(m, dict) else m[1] for m in messages]
        start = " ".join(texts[0].split())[:_OPENING]
        name = next((id for opening, id in known.items() if start.startswith(opening)), "other")
        counted = reply.usage.prompt_tokens, reply.usage.completion_tokens
        estimated += None in counted
        lengths = sum(len(t) for t in texts) // _CHARACTERS_A_TOKEN, len(reply.text) // _CHARACTERS_A_TOKEN
        for i, number in enumerate((1, *(n if n is not None else e for n, e in zip(counted, lengths, strict=True)))):
            calls[name][i] += number
    rows = sum(view.released_rows().values())
    totals = [sum(entry[i] for entry in calls.values()) for i in range(3)]
    return {
        "rows": rows,
        "calls": {
            name: dict(zip(("calls", "prompt", "reply"), entry, strict=True))
            for name, entry in sorted(calls.items())
        },
        "all": dict(zip(("calls", "prompt", "reply"), totals, strict=True)),
        "per_row": {"prompt": round(totals[1] / rows, 1), "reply": round(totals[2] / rows, 1)} if rows else {},
        "calls_with_estimated_tokens": estimated,
    }  # fmt: skip


def main() -> None:
    """Print the table of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    view = open_view(arguments.run)
    try:
        text = json.dumps(measure(view, arguments.run), indent=2)
    finally:
        view.close()
    if arguments.json:
        arguments.json.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
