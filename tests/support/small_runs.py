"""Shared by the tests of whole runs: records without papers, settings for few calls per record, and the hashes of a
release."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

from scirgen.api import Run, resolve_config, run_pipeline
from scirgen.pipeline.observer import Observer
from scirgen.testing.server import FakeServer, request_hash

RECORDS = """Daily snow depth at station {n} from 2001 to {year}. Depth was measured by {sensors} sensors \
above the ground every hour. \
The sensors failed when the soil froze in the winter of {winter}. Values were averaged over each day."""


def write_records(path: Path, count: int) -> Path:
    """A file of records; each gives three model calls under `SETTINGS`."""
    rows = []
    for n in range(count):
        text = RECORDS.format(n=n, year=2004 + n % 9, sensors=n + 3, winter=2002 + n % 7)
        rows.append(json.dumps({"id": f"d{n:05}", "title": f"Snow depth at station {n}", "description": text}))
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


KNOWN_ITEMS: dict[str, object] = {"generate.mix": {"known_item": 1.0}}
"""No questions of people who ask first, for tests of all else."""

SETTINGS: dict[str, object] = {
    **KNOWN_ITEMS,
    "filter.faithfulness": [],
    "generate.types_without_paper": 1,
    "limits.retries": 3,
}


async def run_small(server: FakeServer, records: Path, out: Path, **settings: object) -> Run:
    """One run over the records against the server; ``settings`` with ``__`` for the dots."""
    given = {key.replace("__", "."): value for key, value in settings.items()}
    flags = {**SETTINGS, "input": str(records), "models.generator": f"openai:fake@{server.url}", **given}
    loaded, domain = resolve_config(domain="geo", flags=flags)
    return await run_pipeline(out, loaded.config, domain, observer=Observer())


def answered(server: FakeServer) -> Counter[str]:
    """Request -> how often it was answered; without the probe by which each start sees that the server scores."""
    probe = {
        "model": "fake",
        "prompt": "The sky is blue",
        "max_tokens": 1,
        "temperature": 0.0,
        "echo": True,
        "logprobs": 1,
    }
    return Counter({name: n for name, n in server.answered.items() if name != request_hash(probe)})


def release_bytes(out: Path) -> dict[str, str]:
    """File of the release -> SHA-256."""
    folder = out / "release"
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
