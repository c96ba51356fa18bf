"""DataCite and OpenAlex, both on loopback, to a release: in one go, and killed in the middle and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scirgen.testing.web import Answer, Asked, LoopbackServer
from tests.support import catalogue_shapes as shapes

PAPER = """Soil moisture and the carbon of alpine meadows

Abstract
We asked how soil moisture controls the carbon that alpine meadows take up, with the record of site {n} from 2012 to \
2018.

1 Introduction
Alpine meadows store much carbon in their soil. Few studies cover more than two years, so the effect of dry summers is \
not
well known. The aim of this study is to measure it.

2 Data and methods
We used the data set Soil record {n} (https://doi.org/10.5555/data.{n}). Soil moisture was averaged over each day and \
compared with
the flux of carbon by linear regression. Days with rain above 20 mm were left out.

3 Results
Uptake fell by {n} percent for each percent of moisture lost. The effect was strongest in July and vanished in winter.

4 Conclusion
Dry summers lower the uptake of alpine meadows. The main challenge was that sensors failed when the soil froze.
"""


def pdf(number: int) -> bytes:
    pymupdf = pytest.importorskip("pymupdf")
    document = pymupdf.open()
    page = document.new_page()
    y = 72.0
    for line in PAPER.format(n=number).splitlines():
        heading = bool(re.match(r"(\d |Abstract|Soil moisture and)", line))
        page.insert_text((60, y), line, fontsize=12 if heading else 9, fontname="hebo" if heading else "helv")
        y += 18 if heading else 12
    data: bytes = document.tobytes(no_new_id=True)
    return data


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "scirgen.testing", "serve", "--latency-ms", "1"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    found = re.search(r"http://\S+", server.stdout.readline())
    assert found is not None
    yield f"openai:fake@{found.group()}"
    server.terminate()
    server.wait()
    server.stdout.close()


@pytest.fixture(scope="module")
def services() -> Iterator[LoopbackServer]:
    """Four datasets on two pages; each is cited by one paper, whose open copy is here, and mentioned by one without."""
    numbers = range(1, 5)
    files = {f"/pdf/{n}": pdf(n) for n in numbers}
    with LoopbackServer({"/pdf/": lambda asked: Answer(files[asked.path])}) as server:
        works = {f"10.5555/data.{n}": {"id": f"https://openalex.org/W{100 + n}"} for n in numbers}
        lists = {f"cites:W{100 + n},": [shapes.openalex_work(n, f"{server.url}/pdf/{n}")] for n in numbers}
        cited = {f"10.5555/paper.{n}": shapes.openalex_work(n, f"{server.url}/pdf/{n}") for n in numbers}
        server.routes["/dois"] = shapes.datacite([shapes.datacite_record(n) for n in numbers])
        server.routes["/works"] = shapes.openalex({**works, **cited}, lists)
        yield server


def generate(services: LoopbackServer, model: str, out: Path, config: Path) -> subprocess.Popen[str]:
    settings = {
        "domain": "geo",
        "generate": {"pairs_per_type": 1, "types": ["verification", "concept_completion", "quantification"]},
        "collect": {
            "source": "datacite",
            "options": {"base_url": services.url, "page_size": 2},
            "paper_options": {"openalex": {"base_url": services.url}},
            "http": {"allow_private_addresses": True, "requests_per_second": 1e6, "retries": 0},
        },
    }
    config.write_text(json.dumps(settings))
    command = [
        sys.executable,
        "-m",
        "scirgen",
        "generate",
        "--config",
        str(config),
        "--model",
        model,
        "--out",
        str(out),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def release(out: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((out / "release").glob("*.jsonl"))}


SECOND_PAGE = ("data.3", "data.4", "cites:W103", "cites:W104", "/pdf/3", "/pdf/4")
"""What names the second page's datasets in a request: their DOIs, the ids OpenAlex has for them, their papers'
files."""


def test_a_catalogue_and_a_paper_service_become_a_release_killed_or_not(
    services: LoopbackServer, model: str, tmp_path: Path
) -> None:
    whole = generate(services, model, tmp_path / "whole", tmp_path / "c.json")
    printed, _ = whole.communicate(timeout=240)
    assert whole.returncode == 0, printed
    asked_once = Counter((a.path, *sorted(a.query.items())) for a in services.asked)
    assert asked_once and set(asked_once.values()) == {1}
    assert {a.query["prefix"] for a in services.asked if a.path == "/dois"} == {"10.11888"}, (
        "the geo domain's default holds"
    )
    expected = release(tmp_path / "whole")
    rows = [json.loads(line) for name in ("train", "dev", "test") for line in expected[f"{name}.jsonl"].splitlines()]
    assert rows

    services.asked.clear()
    victim: list[subprocess.Popen[str]] = []
    inner = services.routes["/works"]

    def deadly(asked: Asked) -> Answer:
        # The third dataset is on the second page: the first page is stored, the second is half read.
        if victim and "10.5555/data.3" in asked.path:
            os.kill(victim.pop().pid, signal.SIGKILL)
        return inner(asked)

    services.routes["/works"] = deadly
    first = generate(services, model, tmp_path / "killed", tmp_path / "c.json")
    victim.append(first)
    first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "release").exists()
    second = generate(services, model, tmp_path / "killed", tmp_path / "c.json")
    printed, _ = second.communicate(timeout=240)
    services.routes["/works"] = inner
    assert second.returncode == 0, printed
    assert release(tmp_path / "killed") == expected
    again = Counter((a.path, *sorted(a.query.items())) for a in services.asked)
    repeated = {key for key, times in again.items() if times > 1}
    # Only what was in flight when the process died may be asked for again: look-ups and files of the second page's
    # datasets.
    assert all(any(part in str(k) for part in SECOND_PAGE) for k in repeated), repeated
    assert set(again) == set(asked_once)
