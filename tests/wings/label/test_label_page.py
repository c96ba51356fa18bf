"""The labelling page in Chromium: by keyboard alone, accessible, blind, and never losing a label."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scirgen.core.prompts import PromptLibrary
from scirgen.core.resources import Resources
from scirgen.report.pictures import Picture
from scirgen_bench.labels.labelset import Hidden, LabelSet, Marked, Shown
from scirgen_label.draw import Request, draw
from scirgen_label.merge import merge
from scirgen_label.pages import page as page_of
from scirgen_label.pages import write_pages
from scirgen_label.sources import Candidate, Material
from tests.support.waiting import wait_until

EVIL = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>{{ 7*7 }}"
READY = "html[data-ready]"
PATIENCE_S = 200
"""Longest wait for a browser that shares its processor with other tests."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PIXEL = (
    "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP///////////////////////////////////////////"
    "///////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA="
)


class Made:
    """A dozen candidates with evidence, a context and hostile text; verdicts and scores that must stay hidden."""

    kind = "made"

    def candidates(self) -> Iterator[Candidate]:
        for n in range(24):
            verdict = "kept" if n % 2 else "rejected_by_score"
            hidden = Hidden(verdict=verdict, code="secretcode", dataset_id="d", scores={"secretscore": 0.123456})
            yield Candidate(f"qa-{n}", f"d{n % 3}", {"verdict": verdict, "question_type": "quantification"}, hidden)

    def material(self, records: Any) -> Material:
        evidence = Marked(
            text="was 3 m deep", before="In winter the lake ", after=f" on average. {EVIL}", where="paper P, page 2",
            document="doc-1", page=2, bbox=(100.0, 200.0, 300.0, 220.0),
        )  # fmt: skip
        shown = {
            r: Shown(
                question=f"How deep is lake {r}? {EVIL}", answer=f"{r}: 3 m {EVIL}", question_type="Quantification",
                type_definition="Asks how much.", evidence=(evidence,), title="Lakes", text="All about lakes.",
                aspects=("lakes", "depth"), context="d",
            )
            for r in records
        }  # fmt: skip
        return Material(shown, {"d": f"Title: Lakes\nIn winter the lake was 3 m deep on average. {EVIL}"})


_STARTED: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _no_browser_is_left() -> Iterator[None]:
    """A browser of our own ends with its test, a failing one too."""
    yield
    while _STARTED:
        if (process := _STARTED.pop()).poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def labels(tmp_path: Path) -> LabelSet:
    return _drawn(tmp_path / "L", "faithful")


def _drawn(folder: Path, task: Any) -> LabelSet:
    guideline = PromptLibrary(Resources()).get(f"label/{task}")
    return draw(Made(), "made", Request(task, 9, 3, strata=("verdict",)), guideline, folder)


def _file(labels: LabelSet) -> Path:
    pictures = {"doc-1:2": Picture(PIXEL, 600.0, 800.0)}
    path = labels.folder / "A.html"
    path.write_text(page_of(labels, "A", labels.items, pictures), encoding="utf-8")
    return path


def test_the_file_holds_nothing_that_could_bias_a_reader(labels: LabelSet) -> None:
    for path in write_pages(labels):
        data = _data(path)
        assert {k for i in data["items"] for k in i} == {*Shown.model_fields, "id"}
        assert set(data) == {
            "sample",
            "task",
            "annotator",
            "guideline",
            "reason",
            "required",
            "heading",
            "choices",
            "items",
            "contexts",
            "pictures",
        }
        held = json.dumps({**data, "guideline": ""})
        for word in ("secretcode", "secretscore", "0.123456", "rejected", "kept", "stratum", "weight", '"part"'):
            assert word not in held, word
        assert "http://" not in path.read_text() and "https://" not in path.read_text()
    orders = [[i["id"] for i in _data(labels.folder / f"{a}.html")["items"]] for a in "AB"]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def _data(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text().partition('id="data">')[2].partition("</script>")[0])
    return value


@pytest.mark.browser
def test_a_sample_is_labelled_by_keyboard_alone(labels: LabelSet, tmp_path: Path) -> None:
    for page, problems in _opened(_file(labels)):
        for n in range(12):
            page.keyboard.press("n" if n % 3 == 0 else "y")
            page.keyboard.type(f"Reason {n}.")
            if n == 4:
                page.keyboard.press("Escape")
                page.keyboard.press("e")
                page.keyboard.press("Control+a")
                page.keyboard.type("How deep is the lake?")
            page.keyboard.press("Escape")
            page.keyboard.press("1")
            page.keyboard.press("4" if n == 5 else "3")
            if n < 11:
                page.wait_for_timeout(300)  # reading again before going on counts too
            page.keyboard.press("j")
        assert page.inner_text("#done") == "12 of 12"
        page.keyboard.press("f")
        _saved(page)
        assert "Done: all items are labelled" in page.inner_text("#status")
        with page.expect_download() as download:
            page.focus("#download")
            page.keyboard.press("Enter")
        file = tmp_path / "A.jsonl"
        download.value.save_as(file)
        assert download.value.suggested_filename == "A.jsonl"
        assert page.evaluate("window.hacked") is None
        assert problems == []
    result = merge(labels, [file])
    assert result.taken == {"A": 12} and result.unfinished == {"A": 0}
    found = LabelSet(labels.folder).labels["A"].values()
    assert sum(x.label == "no" for x in found) == 4 and sum(x.fields["fits_type"] == "no" for x in found) == 1
    assert [x.fields["corrected_question"] for x in found if "corrected_question" in x.fields] == [
        "How deep is the lake?"
    ]
    assert sorted(x.seconds >= 0.3 for x in found)[1:] == [True] * 11 and all(x.seconds < 60 for x in found)


@pytest.mark.browser
def test_undo_takes_back_one_change_at_a_time(labels: LabelSet) -> None:
    for page, _ in _opened(_file(labels)):
        page.keyboard.press("y")
        page.keyboard.type("It says so.")
        page.keyboard.press("Escape")
        page.keyboard.press("1")
        page.keyboard.press("j")
        page.keyboard.press("z")
        assert page.inner_text("#heading") == "Item 1 of 12"
        assert not page.is_checked("[name=stands_alone][value=yes]") and page.input_value("#reason") == "It says so."
        page.keyboard.press("z")
        assert page.input_value("#reason") == "" and page.is_checked("[name=label][value=yes]")
        page.keyboard.press("z")
        assert not page.is_checked("[name=label][value=yes]")
        page.keyboard.press("z")
        _saved(page)
        assert page.inner_text("#status") == "Nothing to undo."


@pytest.mark.browser
def test_context_and_page_open_on_demand_with_the_evidence_marked(labels: LabelSet) -> None:
    for page, problems in _opened(_file(labels)):
        assert page.inner_text("blockquote mark") == "was 3 m deep"
        assert page.locator(".whole").count() == 0 and page.locator(".sheet").count() == 0
        page.keyboard.press("c")
        page.wait_for_selector(".whole")
        assert page.inner_text(".whole mark") == "was 3 m deep"
        page.keyboard.press("p")
        page.wait_for_selector(".sheet img")
        assert page.evaluate("document.querySelector('.sheet span').style.left").startswith("16.6")
        assert page.evaluate("window.hacked") is None and problems == []


@pytest.mark.browser
@pytest.mark.parametrize("task", ["relevance", "query", "level"])
def test_the_other_tasks_are_labelled_by_keyboard(tmp_path: Path, task: str) -> None:
    labels = _drawn(tmp_path / "L", task)
    key = {"relevance": "2", "query": "y", "level": "4"}[task]
    for page, problems in _opened(_file(labels)):
        for n in range(12):
            page.keyboard.press(key)
            if task == "query" and n == 0:
                page.keyboard.press("e")
                page.keyboard.press("Control+a")
                page.keyboard.type("How deep do lakes get?")
                page.keyboard.press("Tab")
                page.keyboard.press("Control+a")
                page.keyboard.type("lakes\ndepth in winter")
                page.keyboard.press("Escape")
            page.keyboard.press("j")
        assert page.inner_text("#done") == "12 of 12" and problems == []
        file = _download(page, tmp_path)
    assert merge(labels, [file]).taken == {"A": 12}
    if task == "query":
        edited = [x.fields for x in LabelSet(labels.folder).labels["A"].values() if x.fields]
        assert edited == [{"query": "How deep do lakes get?", "aspects": "lakes\ndepth in winter"}]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("task", ["faithful", "relevance", "query", "level"])
def test_axe_finds_nothing_that_keeps_people_out_of_labelling(tmp_path: Path, scheme: str, task: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for page, _ in _opened(_file(_drawn(tmp_path / "L", task)), color_scheme=scheme, bypass_csp=True):
        page.keyboard.press("c")
        page.keyboard.press("p")
        page.keyboard.press("y" if task in ("faithful", "query") else "1")
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        for state in ("page", "keys"):
            if state == "keys":
                page.keyboard.press("Escape")
                page.keyboard.press("?")
            found = Axe().run(page).response["violations"]
            assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], state


@pytest.mark.browser
def test_the_page_fits_a_tablet_and_a_phone(labels: LabelSet) -> None:
    for page, _ in _opened(_file(labels), has_touch=True, viewport={"width": 800, "height": 1100}):
        page.tap("label.choice:has([value=yes])")
        assert page.is_checked("[name=label][value=yes]")
        for width in (800, 380):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        small = (
            "[...document.querySelectorAll('.choice, button, .button')].filter(e => e.getClientRects().length "
            "&& e.getBoundingClientRect().height < 40).length"
        )
        assert page.evaluate(small) == 0


@pytest.mark.browser
def test_shortcuts_can_be_turned_off(labels: LabelSet) -> None:
    for page, _ in _opened(_file(labels)):
        page.keyboard.press("?")
        page.uncheck("#single")
        page.keyboard.press("Escape")
        page.keyboard.press("y")
        assert not page.is_checked("[name=label][value=yes]")


@pytest.mark.browser
def test_two_tabs_and_two_samples_never_mix(tmp_path: Path) -> None:
    first, other = _drawn(tmp_path / "L1", "faithful"), _drawn(tmp_path / "L2", "level")
    for browser in _browser():
        context = browser.new_context()
        one, two, third = (_goto(context, f) for f in (_file(first), _file(first), _file(other)))
        one.keyboard.press("y")
        _saved(one)
        two.bring_to_front()
        _until(two, "document.querySelector('[name=label][value=yes]').checked")
        two.keyboard.press("r")
        two.keyboard.type("From the second tab.")
        _saved(two)
        one.bring_to_front()
        _until(one, "document.querySelector('#reason').value === 'From the second tab.'")
        one.keyboard.press("Escape")
        one.keyboard.press("1")
        _saved(one)
        third.bring_to_front()
        assert third.inner_text("#done") == "0 of 12"
        one.reload()
        one.wait_for_selector(READY)
        record = _drafts(one)
        assert len(record) == 1
        assert record[0]["label"] == "yes" and record[0]["reason"] == "From the second tab."
        assert record[0]["fields"] == {"stands_alone": "yes"}


@pytest.mark.browser
def test_a_download_is_loaded_into_another_browser_drafts_too(labels: LabelSet, tmp_path: Path) -> None:
    file = _file(labels)
    for page, _ in _opened(file):
        page.keyboard.press("y")
        page.keyboard.type("Half")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("r")
        page.keyboard.type("a reason without a label")
        _saved(page)
        saved = _download(page, tmp_path)
    for page, problems in _opened(file):
        page.set_input_files("#load", saved)
        _until(page, "document.querySelector('#status').textContent.includes('loaded')")
        assert page.input_value("#reason") == "Half"
        page.keyboard.press("Escape")
        page.keyboard.press("n")
        _saved(page)
        page.set_input_files("#load", saved)
        page.wait_for_selector("#conflict[open]")
        page.click("#keepmine")
        _until(page, "!document.querySelector('#conflict').open")
        _until(page, "document.querySelector('#status').textContent.includes('loaded')")
        assert page.is_checked("[name=label][value=no]")
        strange = tmp_path / "strange.jsonl"
        strange.write_text(saved.read_text().replace(labels.sample.id, "0" * 16))
        page.set_input_files("#load", strange)
        page.wait_for_selector("#warning:not([hidden])")
        assert "line 1: a label of another sample" in page.inner_text("#warning")
        assert problems == []
    result = merge(labels, [saved])
    assert result.taken == {"A": 0} and result.unfinished == {"A": 2}


@pytest.mark.browser
@pytest.mark.timeout(1800)
def test_no_label_is_lost_in_fifty_kills_and_reloads(labels: LabelSet, tmp_path: Path) -> None:
    """At random moments the page is reloaded, its tab is closed, or the whole browser is killed (SIGKILL)."""
    from playwright.sync_api import sync_playwright

    generator, file = random.Random(18), _file(labels)
    sure: dict[str, tuple[str, str]] = {}
    tried: dict[str, list[tuple[str, str]]] = {}
    labelled = 0
    with sync_playwright() as started:
        process, page = _launch(started, tmp_path / "profile", file)
        for trial in range(50):
            for _ in range(generator.randint(1, 3)):
                page.keyboard.press("Escape")
                page.keyboard.press(generator.choice("jjjk"))
                item = _current(page)
                page.keyboard.press("Escape")
                key, word = generator.choice("ynu"), f"r{generator.randrange(10**6)} "
                value = {"y": "yes", "n": "no", "u": "unsure"}[key]
                attempts = tried.setdefault(item, [])
                attempts.append((value, "*"))
                page.keyboard.press(key)
                page.keyboard.type(word)
                _saved(page)
                reason = page.input_value("#reason")
                sure[item], tried[item] = (value, reason), []
                labelled += 1
            page.keyboard.press("Escape")
            item, key = _current(page), generator.choice("ynu")
            tried.setdefault(item, []).append(({"y": "yes", "n": "no", "u": "unsure"}[key], "*"))
            page.keyboard.press(key)  # and at once:
            for _ in range(generator.randrange(8)):
                page.evaluate("0")
            how = ("kill", "reload", "close")[trial % 3]
            if how == "kill":
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                process, page = _launch(started, tmp_path / "profile", file)
            elif how == "reload":
                page.reload()
                page.wait_for_selector(READY)
            else:
                context = page.context
                page.close()
                page = _goto(context, file)
            found = {r["item"]: (r["label"], r["reason"]) for r in _drafts(page)}
            for name, (label, reason) in sure.items():
                allowed = {label, *(t[0] for t in tried.get(name, ()))}
                got = found.get(name, ("lost", ""))
                assert got[0] in allowed and got[1] == reason, (trial, how, name, page.inner_text("#warning"))
            sure = {k: found[k] for k in sure}
            tried = {}
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert labelled >= 75


@pytest.mark.browser
def test_labels_survive_a_browser_that_loses_its_database(labels: LabelSet, tmp_path: Path) -> None:
    """Chromium deletes a database whose log was torn by a kill, at the start after the next kill."""
    from playwright.sync_api import sync_playwright

    file, profile = _file(labels), tmp_path / "profile"
    with sync_playwright() as started:
        process, page = _launch(started, profile, file)
        for key in "yn":
            page.keyboard.press(key)
            page.keyboard.type(f"Reason {key}.")
            page.keyboard.press("Escape")
            page.keyboard.press("j")
        _saved(page)
        before = _drafts(page)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (database,) = profile.glob("Default/IndexedDB/file*")
        shutil.rmtree(database)
        process, page = _launch(started, profile, file)
        assert page.inner_text("#done") == "0 of 12" and page.inner_text("#status") == "Your earlier labels are here."
        assert _drafts(page) == before and sorted(r["label"] for r in before) == ["no", "yes"]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _launch(started: Any, profile: Path, file: Path) -> tuple[subprocess.Popen[bytes], Any]:
    """A Chromium of our own, whose process we may kill, and the page in it."""
    port = profile / "DevToolsActivePort"
    port.unlink(missing_ok=True)
    command = [
        str(shutil.which("chromium")),
        "--headless=new",
        *FLAGS,
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "--no-first-run",
        "about:blank",
    ]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _STARTED.append(process)
    wait_until(lambda: process.poll() is not None or (port.is_file() and port.read_text().strip()), PATIENCE_S)
    number = port.read_text().split()[0]
    browser = started.chromium.connect_over_cdp(f"http://127.0.0.1:{number}", timeout=1000 * PATIENCE_S)
    return process, _goto(browser.contexts[0], file)


def _goto(context: Any, file: Path) -> Any:
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE_S)
    page.goto(file.as_uri())
    page.wait_for_selector(READY)
    return page


def _until(page: Any, expression: str) -> None:
    """Wait until it holds. Playwright's own wait needs eval, which the page's policy forbids."""
    wait_until(lambda: page.evaluate(expression), PATIENCE_S)


def _saved(page: Any) -> None:
    _until(page, "document.querySelector('#saved').textContent === 'Saved in this browser.'")


def _current(page: Any) -> str:
    return str(
        page.evaluate(
            "JSON.parse(document.querySelector('#data').textContent)"
            ".items[document.querySelector('#jump').value - 1].id"
        )
    )


def _drafts(page: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(
        """() => new Promise((resolve, reject) => {
          const data = JSON.parse(document.querySelector('#data').textContent);
          const request = indexedDB.open("scirgen-label", 1);
          request.onerror = () => reject(request.error);
          request.onsuccess = () => {
            const all = request.result.transaction("drafts").objectStore("drafts").getAll();
            all.onsuccess = () => resolve(all.result.filter(d => d.key[0] === data.sample).map(d => d.record));
          };
        })"""
    )
    return found


def _download(page: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click("#download")
    file = folder / "A.jsonl"
    download.value.save_as(file)
    return file


def _opened(file: Path, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    problems: list[str] = []
    for browser in _browser():
        page = browser.new_context(**context).new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else problems.append(r.url))
        page.goto(file.as_uri())
        page.wait_for_selector(READY)
        yield page, problems


def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=chromium, args=FLAGS, timeout=1000 * PATIENCE_S)
        yield browser
        browser.close()
