"""The labelling server: one token a person, nobody else's labels, nothing from another host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from scirgen.core.errors import InputError
from scirgen.release_files.labels import LabelSet
from scirgen_label.merge import merge_collected
from scirgen_label.serve import Desk, app, collected
from tests.support.label_making import drawn, labels_file


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(drawn(tmp_path / "L", 6, 2))
    yield made
    made.close()


@pytest.fixture
def client(desk: Desk) -> TestClient:
    return TestClient(app(desk), base_url="http://127.0.0.1")


def _lines(desk: Desk, annotator: str, tmp_path: Path) -> list[str]:
    return labels_file(desk.labels, annotator, tmp_path / f"{annotator}.jsonl").read_text().splitlines()


def test_each_person_has_an_address_that_stays(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    tokens = desk.tokens()
    assert set(tokens) == {"A", "B", "adjudicator"} and len(set(tokens.values())) == 3
    assert Desk(LabelSet(desk.labels.folder)).tokens() == tokens
    page = client.get(f"/label/{tokens['A']}")
    assert page.status_code == 200 and f'"server": "/labels/{tokens["A"]}"' in page.text
    assert "connect-src 'self'" in page.text and page.headers["referrer-policy"] == "no-referrer"
    assert tokens["B"] not in page.text


@pytest.mark.parametrize("path", ["/label/guess", "/labels/guess", "/", "/label/", "/docs"])
def test_without_a_token_there_is_nothing(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
    assert client.post("/labels/guess", content="{}").status_code == 404


def test_labels_are_kept_for_their_person_only(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    tokens = desk.tokens()
    lines = _lines(desk, "A", tmp_path)
    for line in lines:
        reply = client.post(f"/labels/{tokens['A']}", content=line, headers={"Content-Type": "application/json"})
        assert reply.status_code == 200, reply.text
    assert len(client.get(f"/labels/{tokens['A']}").text.splitlines()) == 8
    assert client.get(f"/labels/{tokens['B']}").text == ""
    stolen = client.post(f"/labels/{tokens['B']}", content=lines[0], headers={"Content-Type": "application/json"})
    assert stolen.status_code == 422 and "a label of A, sent by B" in stolen.text
    result = merge_collected(desk.labels, collected(desk.labels))
    assert result.taken == {"A": 8}


def test_the_last_version_of_a_label_counts_and_drafts_do_not(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    token, line = desk.tokens()["A"], json.loads(_lines(desk, "A", tmp_path)[0])
    for change in ({"label": ""}, {"label": "no"}, {"label": "yes"}):
        reply = client.post(f"/labels/{token}", json={**line, **change})
        assert reply.status_code == 200
    draft = json.loads(_lines(desk, "A", tmp_path)[1]) | {"reason": ""}
    assert client.post(f"/labels/{token}", json=draft).status_code == 200
    result = merge_collected(desk.labels, collected(desk.labels))
    assert result.taken == {"A": 1} and result.unfinished == {"A": 1}
    (label,) = LabelSet(desk.labels.folder).labels["A"].values()
    assert label.label == "yes"


def test_what_is_not_a_label_of_this_sample_is_refused(desk: Desk, client: TestClient, tmp_path: Path) -> None:
    token, line = desk.tokens()["A"], json.loads(_lines(desk, "A", tmp_path)[0])
    assert client.post(f"/labels/{token}", json={**line, "sample": "0" * 16}).status_code == 422
    assert client.post(f"/labels/{token}", json=[1]).status_code == 422
    assert client.post(f"/labels/{token}", json={**line, "reason": "x" * 300_000}).status_code == 413
    form = client.post(f"/labels/{token}", content=json.dumps(line), headers={"Content-Type": "text/plain"})
    assert form.status_code == 415
    foreign = client.get(f"/label/{token}", headers={"Host": "evil.example"})
    assert foreign.status_code == 400
    with pytest.raises(InputError, match=r"no labels\.db"):
        list(collected(drawn(tmp_path / "L2", 3, 1)))
