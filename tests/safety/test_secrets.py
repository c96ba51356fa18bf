"""Keys go to their own service alone, and leave the process in no text; addresses hold no passwords; a run's files are
private."""

from __future__ import annotations

import asyncio
import base64
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from scirgen.core.config import HttpConfig, load_config
from scirgen.core.errors import ConfigError, PluginError, ScirgenError, SourceError
from scirgen.core.records import Dataset, Paper, Rejection
from scirgen.core.secrets import masked, masked_bytes, may_have_keys, secret_from_environment, shown
from scirgen.core.secrets.addresses import without_passwords
from scirgen.core.text.tame import tame
from scirgen.llm.cache import ReplyCache
from scirgen.pipeline.observer import JsonLog
from scirgen.pipeline.record_codec import pack, unpack
from scirgen.pipeline.store import Store
from scirgen.stages.collect.source import Candidate, Fetched, SourceSetup
from scirgen.stages.collect.validated_source import checked
from scirgen.testing.web import Answer, LoopbackServer
from scirgen_services.web.http import Http, open_http

KEY = "hf_aVerySecretToken12345"
PDF = b"%PDF-1.7\n" + b"x" * 500


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Http]:
    settings = HttpConfig(allow_private_addresses=True, requests_per_second=1e6, retries=0)
    made: list[Http] = []

    def make(service: str) -> Http:
        made.append(
            Http(
                settings,
                tmp_path / "cache",
                headers={"Authorization": f"Bearer {KEY}"},
                secret_params={"api_key": KEY},
                service=service,
            )
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def carried(server: LoopbackServer) -> list[bool]:
    return [KEY in str(a.headers) or KEY in str(a.query) for a in server.asked]


def test_a_key_goes_to_the_services_own_host_and_no_other(client) -> None:
    with LoopbackServer({"/": lambda _: Answer({})}) as own, LoopbackServer({"/": lambda _: Answer({})}) as other:
        http = client(own.url)
        http.json(own.url + "/a")
        http.json(other.url + "/a")
        assert carried(own) == [True] and carried(other) == [False]


def test_a_key_never_goes_with_a_download_or_to_where_a_redirect_points(client) -> None:
    with LoopbackServer({"/": lambda _: Answer(PDF)}) as other:
        there = Answer(b"", 302, {"Location": other.url + "/paper.pdf"})
        with LoopbackServer({"/moved": lambda _: there, "/": lambda _: Answer(PDF)}) as own:
            http = client(own.url)
            assert http.download(own.url + "/paper.pdf").file and http.download(own.url + "/moved").file
            with pytest.raises(SourceError):
                http.json(own.url + "/moved")
            assert carried(own) == [False, False, True] and carried(other) == [False]


@pytest.mark.parametrize(
    ("address", "service", "allowed"),
    [
        ("https://api.example.org/x", "https://api.example.org", True),
        ("http://api.example.org/x", "http://api.example.org", False),
        ("http://api.example.org/x", "https://api.example.org", False),
        ("https://api.example.org.evil.net/x", "https://api.example.org", False),
        ("https://api.example.org@evil.net/x", "https://api.example.org", False),
        ("https://API.example.org:443/x", "https://api.example.org", True),
        ("https://api.example.org:8443/x", "https://api.example.org", False),
        ("http://127.0.0.1:9/x", "http://127.0.0.1:9", True),
        ("http://[::1", "https://api.example.org", False),
    ],
)
def test_keys_go_over_https_to_the_same_host_and_port(address: str, service: str, allowed: bool) -> None:
    assert may_have_keys(address, service) is allowed


def test_keys_without_the_service_they_belong_to_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="no service"):
        open_http(SourceSetup(cache=tmp_path), headers={"x-api-key": KEY})


@pytest.mark.parametrize(
    ("setting", "address"),
    [
        ("collect.options.base_url", "http://bob:PW12345678@catalogue.org"),
        ("parse.grobid_url", "https://bob:PW12345678@grobid.org:8070"),
        ("collect.http.contact", "http://bob:PW12345678@host"),
        ("models.generator", "openai:m@http://bob:PW12345678@host/v1"),
        ("collect.paper_options.openalex", {"base_url": "ftp://PW12345678@host"}),
        ("release.about.contact", "see https://PW12345678:x@host/page"),
        ("collect.options.base_url", "http://bob:p@PW12345678@catalogue.org"),
        ("collect.options.base_url", "http://bob:" + "x" * 600 + "PW12345678@catalogue.org"),
        ("collect.options.base_url", "https://catalogue.org/?api_key=PW12345678"),
    ],
)
def test_a_password_in_any_address_is_refused_without_repeating_it(setting: str, address: object) -> None:
    with pytest.raises(ConfigError, match="user name, password or key") as caught:
        load_config(flags={setting: address})
    assert "PW12345678" not in caught.value.in_full and "environment variable" in caught.value.hint


def test_an_e_mail_address_is_no_password(tmp_path: Path) -> None:
    assert (
        load_config(flags={"collect.http.contact": "bob@example.org"}).config.collect.http.contact == "bob@example.org"
    )


def test_an_address_is_shown_without_user_info_and_keys() -> None:
    text = shown("https://bob:pw@host/x?api_key=abc123&q=lake&token=zzz")
    assert text == "https://host/x?api_key=...&q=lake&token=..."


_A, _0, _F = "Qr7sT2uVw9xYz4Ab" * 5, "4821905763" * 8, "0f3a9c7e5b1d2846" * 5
TOKENS = {
    "GitHub, classic": f"ghp_{_A[:36]}",
    "GitHub, application": f"ghs_{_A[:36]}",
    "GitHub, fine-grained": f"github_pat_{_A[:22]}_{_A[:59]}",
    "GitLab": f"glpat-{_A[:20]}",
    "OpenAI, project": f"sk-proj-{_A[:48]}",
    "OpenAI, of old": f"sk-{_A[:48]}",
    "Anthropic": f"sk-ant-api03-{_A[:80]}",
    "OpenRouter": f"sk-or-v1-{_F[:64]}",
    "Stripe": f"sk_live_{_A[:24]}",
    "Hugging Face": "hf_" + "QrsTuVwxYzAbCdEfGhIjKlMnOpQrStUvWx",
    "Slack": f"xoxb-{_0[:12]}-{_0[:12]}-{_A[:24]}",
    "Google": f"AIza{_A[:35]}",
    "AWS": "AKIA" + "QRSTUVWXYZ234567",
    "npm": f"npm_{_A[:36]}",
    "PyPI": f"pypi-AgEI{_A[:60]}",
    "SendGrid": f"SG.{_A[:22]}.{_A[:43]}",
    "DigitalOcean": f"dop_v1_{_F[:64]}",
    "Shopify": f"shpat_{_F[:32]}",
    "Databricks": f"dapi{_F[:32]}",
    "Groq": f"gsk_{_A[:52]}",
    "JSON web token": f"eyJ{_A[:33]}.eyJ{_A[:40]}.{_A[:43]}",
}
"""Made-up values in the forms of well-known services."""


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "address",
    [
        "https://{}@host/x",
        "https://bob:{}@host/x",
        "https://bob:a@{}@host/x",
        "https://x-access-token:{}@github.com/a/b.git",
        "https://host/x?api_key={}",
        "https://host/x?id=7&access_token={}&page=2",
        "https://host/x?k={}",
        "https://host/x#access_token={}",
        "https://host/hooks/{}/run",
        "https://host/to?url=https%3A%2F%2Fbob%3A{}%40inner%2Fx",
        "postgresql://bob:{}@host:5432/db",
    ],
)
def test_a_token_in_an_address_leaves_with_no_text(address: str, token: str) -> None:
    text = f"Data at {address.format(token)} and https://doi.org/10.1234/abc."
    for left in (without_passwords(text), masked(text), tame(text)):
        assert token not in left and "https://doi.org/10.1234/abc." in left
    for written in (json.dumps(text), json.dumps(text).replace("/", "\\/"), json.dumps({"a": json.dumps(text)})):
        assert token.encode() not in masked_bytes(written.encode())


@pytest.mark.parametrize(
    "text",
    [
        "https://medium.com/@name/a-post, mail me@example.org",
        "https://docs.example.org/sheet?key=0AqBcDeFg&token=a",
        "see https://example.org\nme@example.org",
        '{"url": "https://example.org", "mail": "me@example.org"}',
        '{"text": "see https://example.org\\nme@example.org"}',
        "git@github.com:a/b.git",
        "https://scikit-learn.org/stable/sk-learn-a-very-long-name-of-a-page",
        "a ratio of 3:1 @ 20 C",
    ],
)
def test_an_address_without_a_password_stays(text: str) -> None:
    assert without_passwords(text) == text and masked_bytes(text.encode()) == text.encode()


def test_records_and_papers_lose_passwords_in_every_text() -> None:
    secret = "https://bob:p@PW12345678@host/x"
    dataset = Dataset(
        id=secret, title=f"t {secret}", description=f"at {secret}", url=secret, licence=secret,
        fields=(("Access", secret),), related=(secret,), keywords=(secret,),
    )  # fmt: skip
    paper = Paper(id=secret, title=secret, url=secret, authors=(secret,))

    class Mine:
        name = "mine"

        def revision(self, cursor: str | None) -> None:
            return None

        def datasets(self, cursor: str | None = None) -> Iterator[Dataset]:
            yield dataset

        def papers(self, of: Dataset) -> Iterator[Candidate]:
            yield Candidate(paper, "column")

        def fetch(self, of: Paper) -> Fetched:
            return Fetched()

    async def read() -> list[object]:
        source = checked(Mine())
        found = [one async for one in source.datasets()]
        return [*found, *[one async for one in source.papers(dataset)]]

    found = asyncio.run(read())
    assert len(found) == 2 and "PW12345678" not in str(found) and "https://host/x" in str(found)


ODD_KEY = 'sk/odd+"key\\of-1234567890é'


@pytest.mark.parametrize("around", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "x", ":more"])
def test_a_key_inside_base64_is_masked(around: str, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    plain = f"{around}{KEY}{after}".encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(plain).decode()
        left = masked(f"Basic {encoded}")
        # At most the two characters at each end that the key shares with its neighbours stay.
        assert "[key]" in left and len(left) - len("Basic [key]") <= len(encoded) - len(KEY) * 4 // 3 + 4


def test_a_key_quoted_in_json_or_an_address_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", ODD_KEY)
    once, plain = json.dumps({"key": ODD_KEY}), json.dumps({"key": ODD_KEY}, ensure_ascii=False)
    forms = [
        ODD_KEY, once, plain, json.dumps(once), json.dumps(plain), once.replace("/", "\\/"), quote(ODD_KEY),
        quote(ODD_KEY, safe=""), quote_plus(ODD_KEY), quote(ODD_KEY, safe="").lower(),
    ]  # fmt: skip
    for form in forms:
        for left in (masked(form), masked_bytes(form.encode()).decode()):
            assert "1234567890" not in left, form


def test_a_key_that_a_server_echoes_is_replaced_wherever_text_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_VARIABLE", KEY)
    assert secret_from_environment("MY_VARIABLE") == KEY
    echoed = f"you sent Bearer {KEY} (again: {KEY})"
    error = ScirgenError(echoed, hint=echoed)
    assert KEY not in f"{error} {error.message} {error.hint} {error.in_full}"
    rejection = Rejection(stage="x", code="y", reason=echoed, record_kind="Paper", record_id="p")
    blob = pack([rejection, Dataset(id="d", title="t", description=echoed * 50)])
    assert KEY not in str(unpack(blob))
    cache = ReplyCache.open(tmp_path / "replies.db")
    cache.put("k", {"messages": echoed}, echoed)
    found = cache.get("k")
    assert found is not None and KEY not in found.text + found.request and "[key]" in found.text
    log = JsonLog(tmp_path / "log.jsonl")
    log.note(echoed)
    log.close()
    assert KEY not in (tmp_path / "log.jsonl").read_text()


def test_variables_whose_names_say_so_are_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_PASSWORD", "correct horse battery")
    monkeypatch.setenv("SHORT_TOKEN", "none")
    assert masked("it is correct horse battery, none, correct%20horse%20battery") == "it is [key], none, [key]"


def test_a_reply_of_a_catalogue_that_echoes_the_key_is_kept_without_it(client, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", KEY)
    with LoopbackServer({"/": lambda asked: Answer({"you": str(asked.headers)})}) as server:
        assert KEY not in str(client(server.url).json(server.url + "/a"))
    assert all(KEY.encode() not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_a_runs_folder_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    with Store(folder / "run.db") as store:
        ReplyCache(store.writer).put("k", {}, "text")
        JsonLog(folder / "log.jsonl").close()
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes and set(modes.values()) == {0o600}


def test_a_run_that_is_shared_keeps_the_systems_rights(tmp_path: Path) -> None:
    with Store(tmp_path / "one" / "run.db", shared=True):
        assert stat.S_IMODE((tmp_path / "one").stat().st_mode) & 0o044 == 0o044
