"""report.html as a person meets it: figures that add up, text from papers that stays text, and search that works."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scirgen.core.records import (
    Aspect,
    AspectCategory,
    Block,
    BlockKind,
    Dataset,
    Document,
    Link,
    QAPair,
    Rejection,
    Score,
)
from scirgen.pipeline.store import Store
from scirgen.report import gather, write_report
from scirgen.stages.base import StageResult

EVIL = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'> {{ 7*7 }} </script>"
TEXT = f"Snow depth was 12 cm in January. {EVIL} It rose to 30 cm in March."


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A small finished run, written through the store as the runner writes it."""
    document = Document(
        id="doc", paper_id="10.1/x", title=f"Snow {EVIL}", text=TEXT,
        blocks=(Block(kind=BlockKind.PARAGRAPH, start=0, end=len(TEXT), page=3),),
    )  # fmt: skip
    dataset = Dataset(id="d1", title=f"Snow depth {EVIL}", description="Depth of snow.")
    span = document.span(0, 33)
    aspect = Aspect(paper_id="10.1/x", category=AspectCategory.FINDINGS, span=span, dataset_id="d1")
    pairs = [
        QAPair(
            id=f"qa-{n}", dataset_id="d1", question=f"How deep was snow in place {n}? {EVIL}", answer="12 cm",
            question_type="quantification" if n % 2 else "definition", evidence=(span,), bloom=f"C{n % 3 + 1}",
            scores=(Score(name="shift", value=0.1 * n, threshold=0.0, passed=True),),
        )
        for n in range(7)
    ]  # fmt: skip
    refused = Rejection(
        stage="filter", code="pointing", reason="says 'this dataset'", record_kind="QAPair", record_id="qa-99",
        dataset_id="d1", question_type="definition", score=0.5, record=pairs[0].model_dump_json(),
    )  # fmt: skip
    results = {
        "collect": StageResult((dataset,)),
        "parse": StageResult((document,)),
        "match": StageResult((Link(dataset_id="d1", paper_id="10.1/x", found_by="doi", used=True),)),
        "verify": StageResult((aspect,)),
        "generate": StageResult((*pairs, pairs[0].model_copy(update={"id": "qa-99"}))),
        "filter": StageResult(tuple(pairs), (refused,)),
        "tag": StageResult(tuple(pairs)),
    }
    with Store(tmp_path / "run.db") as store:
        store.see_datasets(["d1"], 0, 1)
        for stage, result in results.items():
            store.use("d1", stage, "k", store.put(stage, "k", "f", result, 0.1).id)
        store.set_meta(
            "manifest", json.dumps({"domain": "geo", "models": {"generator": "fake:m"}, "usage": {"calls": 3}})
        )
    return tmp_path


def test_figures_add_up(run: Path) -> None:
    data = gather(run)
    assert data.rows == 7 == sum(r.rows for r in data.types) == sum(data.bloom.values())
    generate, filtered = (next(r for r in data.funnel if r.stage == s) for s in ("generate", "filter"))
    assert generate.outputs == filtered.outputs + sum(filtered.rejected.values())
    assert data.aspects[0].groups == 1 and data.aspects[0].words == 7
    assert data.papers_per_dataset == {"1": 1}
    assert {(s.name, s.accepted) for s in data.scores} == {("shift", True), ("shift", False)}


def test_evidence_is_shown_in_its_surroundings_with_its_page(run: Path) -> None:
    shown = next(r for r in gather(run).sample if r.status == "accepted").evidence[0]
    assert shown.text == TEXT[0:33] and shown.after.startswith(TEXT[33:40]) and shown.where.endswith("page 3")


def test_text_from_papers_is_escaped_in_the_file(run: Path) -> None:
    page = write_report(run).read_text()
    assert (
        "<script>window.hacked" not in page and "<img src=x" not in page and "49" not in page.split("{{ 7*7 }}")[0][-3:]
    )
    assert json.loads((run / "report.json").read_text())["rows"] == 7
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


@pytest.mark.browser
def test_page_opens_without_errors_and_its_filters_work(run: Path) -> None:
    page_file = write_report(run)
    problems: list[str] = []
    for page in _browser():
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else problems.append(r.url))
        page.goto(page_file.as_uri())
        assert page.evaluate("window.hacked") is None
        visible = "[...document.querySelectorAll('article')].filter(a => !a.hidden).length"
        assert page.evaluate(visible) == 8
        page.select_option("[data-filter=status]", "rejected")
        assert page.evaluate(visible) == 1
        page.select_option("[data-filter=status]", "")
        page.fill("[data-filter=search]", "place 6")
        assert page.evaluate(visible) == 1
        assert page.inner_text("#count") == "1 of 8 rows shown"
        page.set_viewport_size({"width": 380, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        unnamed = "[...document.querySelectorAll('svg')].filter(s => !s.getAttribute('aria-label')).length"
        assert page.evaluate(unnamed) == 0
        assert problems == []


def _browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    flags = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        yield browser.new_page()
        browser.close()
