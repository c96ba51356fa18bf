from __future__ import annotations

import email.utils
import gzip
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scirgen import SourceError
from scirgen.core.config import HttpConfig
from scirgen.core.errors import SourceRefusedError
from scirgen.testing.web import Answer, Asked, LoopbackServer
from scirgen_services.web.address_guard import is_public
from scirgen_services.web.http import Http

PDF = b"%PDF-1.7\n" + b"x" * 5000
Make = Callable[..., Http]


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def http(tmp_path: Path, slept: list[float]) -> Iterator[Make]:
    made: list[Http] = []

    def make(**settings: object) -> Http:
        values = {"allow_private_addresses": True, "requests_per_second": 1e6, **settings}
        made.append(Http(HttpConfig.model_validate(values), tmp_path / "cache", sleep=slept.append))
        return made[-1]

    yield make
    for one in made:
        one.close()


def in_turn(*answers: Answer) -> Callable[[Asked], Answer]:
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_a_reply_is_asked_for_once_and_again_only_when_it_is_old(http: Make) -> None:
    with LoopbackServer({"/x": lambda _: Answer({"a": 1})}) as server:
        assert http().json(server.url + "/x", {"q": "1"}) == {"a": 1}
        assert http().json(server.url + "/x", {"q": "1"}) == {"a": 1}
        assert len(server.asked) == 1
        http(cache_days=0).json(server.url + "/x", {"q": "1"})
        assert len(server.asked) == 2


def test_an_old_reply_is_asked_for_conditionally_and_kept_when_unchanged(http: Make) -> None:
    def route(asked: Asked) -> Answer:
        if asked.headers.get("If-None-Match") == '"v1"':
            return Answer(status=304)
        return Answer({"a": 1}, headers={"ETag": '"v1"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})

    with LoopbackServer({"/": route}) as server:
        client = http(cache_days=0)
        assert client.json(server.url) == client.json(server.url) == {"a": 1}
        assert server.asked[1].headers["If-Modified-Since"] == "Mon, 01 Jan 2024 00:00:00 GMT"


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_429_waits_as_long_as_the_service_says(http: Make, slept: list[float], form: str) -> None:
    later = "7" if form == "seconds" else email.utils.formatdate(time.time() + 60, usegmt=True)
    with LoopbackServer({"/": in_turn(Answer({}, 429, {"Retry-After": later}), Answer({"ok": True}))}) as server:
        assert http().json(server.url) == {"ok": True}
    waited = [s for s in slept if s > 1]
    assert waited == [7.0] if form == "seconds" else 50 < waited[0] <= 60


def test_wait_longer_than_allowed_is_a_retryable_error_at_once(http: Make) -> None:
    with LoopbackServer({"/": lambda _: Answer({}, 429, {"Retry-After": "9999"})}) as server:
        with pytest.raises(SourceError) as raised:
            http().json(server.url)
        assert (raised.value.error_code, raised.value.retryable, len(server.asked)) == ("rate_limited", True, 1)


def test_503_is_tried_again_a_limited_number_of_times(http: Make) -> None:
    with LoopbackServer({"/": lambda _: Answer("busy", 503)}) as server:
        with pytest.raises(SourceError) as raised:
            http(retries=2).json(server.url)
        assert (raised.value.error_code, len(server.asked)) == ("http_503", 3)


def test_a_reply_cut_short_is_asked_for_again(http: Make) -> None:
    answers = in_turn(Answer({"a": list(range(99))}, cut=True), Answer('{"a": [1, 2'), Answer({"a": 1}))
    with LoopbackServer({"/": answers}) as server:
        assert http().json(server.url) == {"a": 1}
        assert len(server.asked) == 3


def test_a_slow_server_is_a_timeout(http: Make) -> None:
    over = threading.Event()
    with LoopbackServer({"/": lambda _: Answer({"late": over.wait(5)})}) as server:
        with pytest.raises(SourceError) as raised:
            http(timeout_s=0.05, retries=0).json(server.url)
        over.set()
    assert raised.value.error_code == "timeout"


def test_an_unreachable_server_is_a_retryable_error_that_names_the_host(http: Make) -> None:
    with LoopbackServer({}) as server:
        url = server.url
    with pytest.raises(SourceError, match=r"127\.0\.0\.1") as raised:
        http(retries=0).json(url)
    assert raised.value.error_code == "unreachable"


def test_400_and_404_are_not_tried_again(http: Make) -> None:
    with LoopbackServer({"/bad": lambda _: Answer({}, 400)}) as server:
        for path, code in (("/bad", "http_400"), ("/nothing", "http_404")):
            with pytest.raises(SourceRefusedError) as raised:
                http().json(server.url + path)
            assert (raised.value.error_code, raised.value.retryable) == (code, False)
        assert len(server.asked) == 2


def test_the_contact_address_is_sent_and_secrets_are_not_shown_in_errors(http: Make) -> None:
    with LoopbackServer({"/": lambda _: Answer({}, 400)}) as server:
        with pytest.raises(SourceError) as raised:
            http(contact="me@example.org").json(server.url, {"api_key": "hush"})
        assert "mailto:me@example.org" in server.asked[0].headers["User-Agent"]
    assert "hush" not in raised.value.message


def test_requests_to_a_host_keep_their_distance(tmp_path: Path, slept: list[float]) -> None:
    settings = HttpConfig(allow_private_addresses=True, cache_days=0)
    client = Http(settings, tmp_path, per_second=1 / 3, sleep=slept.append)
    with LoopbackServer({"/": lambda _: Answer({})}) as server:
        client.json(server.url)
        client.json(server.url)
    client.close()
    assert [round(s) for s in slept] == [3]


def test_a_download_is_kept_under_its_content_hash_and_not_fetched_twice(http: Make, tmp_path: Path) -> None:
    with LoopbackServer(
        {"/": lambda _: Answer(PDF, headers={"Content-Disposition": "filename=../../evil.pdf"})}
    ) as server:
        url = server.url + "/../../etc/paper.pdf"
        first, again = http().download(url), http().download(url)
        assert len(server.asked) == 1
    assert first == again
    assert first.file == tmp_path / "cache" / "files" / (hashlib.sha256(PDF).hexdigest() + ".pdf")
    assert first.file.read_bytes() == PDF
    assert first.media_type == "application/pdf"


@pytest.mark.parametrize(
    ("answer", "settings", "code"),
    [
        (Answer("<!DOCTYPE html><html><body>Please log in"), {}, "not_a_pdf"), (Answer(b""), {}, "damaged"),
        (Answer(PDF * 500), {"max_file_mb": 1}, "too_large"),
        (Answer(gzip.compress(b"%PDF-" + b"0" * 5_000_000), headers={"Content-Encoding": "gzip"}), {"max_file_mb": 1},
         "too_large"),
        (Answer("gone", 404), {}, "not_found"), (Answer("pay", 403), {}, "no_access"),
    ],
)  # fmt: skip
def test_a_download_that_is_no_paper_says_why_and_leaves_nothing_behind(
    http: Make, tmp_path: Path, answer: Answer, settings: dict[str, object], code: str
) -> None:
    with LoopbackServer({"/": lambda _: answer}) as server:
        fetched = http(**settings).download(server.url + "/p.pdf")
        assert (fetched.code, fetched.file) == (code, None)
        assert http(**settings).download(server.url + "/p.pdf").code == code
        assert len(server.asked) == 1
    assert list((tmp_path / "cache").glob("files/*")) == []


def test_a_download_cut_short_is_tried_again_and_leaves_no_half_file(http: Make, tmp_path: Path) -> None:
    with LoopbackServer({"/": in_turn(Answer(PDF, cut=True), Answer(PDF))}) as server:
        fetched = http().download(server.url + "/p.pdf")
    assert fetched.file is not None and fetched.file.read_bytes() == PDF
    assert len(list((tmp_path / "cache").glob("files/*"))) == 1


def test_redirects_are_followed_a_few_times_only(http: Make) -> None:
    def route(asked: Asked) -> Answer:
        number = int(asked.path.rpartition("/")[2])
        return Answer(PDF) if number == 5 else Answer(status=302, headers={"Location": f"/r/{number + 1}"})

    with LoopbackServer({"/r/": route}) as server:
        assert http().download(server.url + "/r/0").file is not None
        assert http().download(server.url + "/r/-1").code == "too_many_redirects"


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.org/x", "gopher://127.0.0.1/"])
def test_a_redirect_to_another_scheme_is_not_followed(http: Make, location: str) -> None:
    with LoopbackServer({"/": lambda _: Answer(status=302, headers={"Location": location})}) as server:
        assert http().download(server.url).code == "blocked_address"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.8", "192.168.1.1", "[::ffff:127.0.0.1]", "0.0.0.0"]
)  # fmt: skip
def test_private_addresses_are_refused_unless_a_setting_allows_them(http: Make, host: str) -> None:
    with LoopbackServer({"/": lambda _: Answer(PDF)}) as server:
        port = server.url.rpartition(":")[2]
        client = http(allow_private_addresses=False, retries=0)
        assert client.download(f"http://{host}:{port}/p.pdf").code == "blocked_address"
        with pytest.raises(SourceRefusedError) as raised:
            client.json(f"http://{host}:{port}/p.json")
        assert raised.value.error_code == "blocked_address" and "allow_private" in raised.value.hint
        assert server.asked == []


def test_a_name_that_resolves_to_a_private_address_is_refused(http: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("10.1.2.3", 80))])
    assert http(allow_private_addresses=False).download("http://papers.example.org/p.pdf").code == "blocked_address"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("2606:4700::1111", True), ("100.64.0.1", False), ("224.0.0.1", False),
        ("64:ff9b::7f00:1", False), ("64:ff9b::808:808", True), ("2002:7f00:1::", False), ("fe80::1%eth0", False),
        ("fd00::1", False),
    ],
)  # fmt: skip
def test_what_counts_as_a_public_address(address: str, public: bool) -> None:
    assert is_public(address) is public
