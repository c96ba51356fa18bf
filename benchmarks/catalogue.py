"""Walking a large catalogue: records a processor second (other work on the machine does not count), and memory against
the catalogue's size.

    python -m benchmarks.catalogue [--records 10000,100000] [--json FILE]

Each walk runs in a process of its own, through the code that a run uses (`pages`), with every page dropped once it was
counted. ``local`` reads one JSON Lines file, ``local+papers`` the same with ten papers that no record names and that
are candidates for each, ``local+own papers`` with a small paper for each record;
``datacite`` reads a DataCite service on loopback, made by the parent process, 100 records a page; ``datacite again``
the same from the cache of replies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks._memory import peak_mb
from scirgen import SourceSetup
from scirgen.core.config import CollectConfig, HttpConfig
from scirgen.stages.collect.files.folder import FolderSource
from scirgen.stages.collect.pages import pages
from scirgen.stages.collect.source import Source
from scirgen.testing.web import Answer, Asked, LoopbackServer
from scirgen_services.datacite import DataCiteSource

_TEXT = (
    "Hourly soil moisture at five depths, measured with capacitance probes and checked against gravimetric samples. "
    * 6
)


def record(number: int) -> dict[str, object]:
    """A record of about a kilobyte, as catalogues have them."""
    return {
        "id": f"10.5555/data.{number}",
        "title": f"Soil moisture of station {number}",
        "description": f"{number}: {_TEXT}",
    }


def datacite_page(asked: Asked, total: int) -> Answer:
    """One page of a DataCite service that holds ``total`` records."""
    size, start = int(asked.query["page[size]"]), int(asked.query["page[cursor]"]) - 1
    data = [_datacite(record(n)) for n in range(start, min(start + size, total))]
    links = {"next": f"https://x/dois?page%5Bcursor%5D={start + size + 1}"} if start + size < total else {}
    return Answer({"data": data, "meta": {"total": total}, "links": links})


def _datacite(raw: Mapping[str, object]) -> dict[str, object]:
    attributes = {
        "doi": raw["id"],
        "titles": [{"title": raw["title"]}],
        "descriptions": [{"description": raw["description"], "descriptionType": "Abstract"}],
        "rightsList": [{"rightsIdentifier": "cc-by-4.0"}],
    }
    return {"id": raw["id"], "type": "dois", "attributes": attributes}


async def _walk(source: Source) -> dict[str, float]:
    began, before, datasets, papers, count = time.monotonic(), sum(os.times()[:4]), 0, 0, 0
    async for page in pages(source, CollectConfig()):
        datasets += len(page.items)
        papers += sum(len(item.papers) for item in page.items)
        count += 1
    peak = peak_mb()
    seconds, cpu = time.monotonic() - began, sum(os.times()[:4]) - before
    counts = {"datasets": datasets, "papers": papers, "pages": count}
    return {**counts, "seconds": round(seconds, 2), "cpu": round(cpu, 2), "peak_mb": round(peak, 1)}


def walk(kind: str, place: str, cache: str) -> dict[str, float]:
    """Walk one catalogue in this process."""
    http = HttpConfig(allow_private_addresses=True, requests_per_second=1e6)
    if kind.startswith("local"):
        papers = {"local": None, "local+papers": Path(cache) / "papers"}.get(kind, Path(cache) / "own")
        return asyncio.run(_walk(FolderSource(SourceSetup(input=Path(place), papers=papers))))
    setup = SourceSetup(cache=Path(cache), options={"base_url": place}, http=http)
    return asyncio.run(_walk(DataCiteSource(setup)))


def measure(records: int, folder: Path) -> list[dict[str, object]]:
    """All walks of one size, each in a child process."""
    file = folder / f"{records}.jsonl"
    with file.open("w") as out:
        out.writelines(json.dumps(record(n)) + "\n" for n in range(records))
    papers = folder / str(records) / "papers"
    papers.mkdir(parents=True)
    for n in range(10):
        (papers / f"paper-{n}.md").write_text(f"# Paper {n}\n\n" + f"We looked at something else, {_TEXT}" * 40)
    own = papers.parent / "own"
    own.mkdir()
    for n in range(records):
        (own / f"10.5555_data.{n}.md").write_text(f"# Paper {n}\n\n" + f"We looked at something else, {_TEXT}" * 4)
    rows: list[dict[str, object]] = []
    with LoopbackServer({"/dois": lambda asked: datacite_page(asked, records)}) as server:
        runs = [
            ("local", str(file)),
            ("local+papers", str(file)),
            ("local+own papers", str(file)),
            ("datacite", server.url),
            ("datacite again", server.url),
        ]
        for kind, place in runs:
            command = [sys.executable, "-m", "benchmarks.catalogue", "--walk", kind, place, str(folder / str(records))]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append({"walk": kind, "records": records, **json.loads(done.stdout)})
            server.asked.clear()
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """The rows as Markdown."""
    lines = ["| walk | records | papers | seconds | processor seconds | records/processor second | peak memory, MB |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for r in rows:
        rate = float(str(r["datasets"])) / max(float(str(r["cpu"])), 0.1)
        cells = (r["walk"], r["datasets"], r["papers"], r["seconds"], r["cpu"], f"{rate:.0f}", r["peak_mb"])
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, or walk one catalogue for a measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", default="10000,100000")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--walk", nargs=3, metavar=("KIND", "PLACE", "CACHE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.walk:
        print(json.dumps(walk(*given.walk)))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for n in given.records.split(",") for row in measure(int(n), Path(folder))]
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2))
    print(table(rows))


if __name__ == "__main__":
    main()
