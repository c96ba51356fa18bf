"""A model server gets its own key, or the one that the settings name for its address, and never over http to another
machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from scirgen.core.config import Config, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.registry import load_registry
from scirgen.llm.base import ChatRequest, Message
from scirgen.llm.open import open_chat, open_sessions
from scirgen.llm.server.keys import key_for
from scirgen.llm.uri import ModelURI

OWN = "sk-made-up-key-of-the-service"
OTHER = "made-up-key-of-a-gateway"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", OWN)
    monkeypatch.setenv("GATEWAY_KEY", OTHER)


def key(url: str, *, generator: str = "", azure: bool = False, **options: object) -> str:
    """The key that goes to an address, with a scorer on a host of one's own beside it."""
    uri = ModelURI.parse(generator or f"openai:m@{url}")
    models = ModelsConfig(generator=str(uri), scorer="openai:s@http://localhost:8000/v1", options=options)
    return key_for(uri, url, models, azure=azure)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://api.openai.com/v1", OWN),
        ("https://api.openai.com:443/v1", OWN),
        ("https://eu.api.openai.com/v1", ""),
        ("https://api.openai.com.evil.net/v1", ""),
        ("http://api.openai.com/v1", ""),
        ("https://openrouter.example/api/v1", ""),
        ("http://localhost:8000/v1", ""),
        ("http://gpu-host:8000/v1", ""),
    ],
)
def test_openais_key_goes_to_openais_own_host_alone(url: str, sent: str) -> None:
    assert key(url) == sent


def test_openais_key_goes_to_the_address_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    assert key("https://gateway.example/v1") == OWN
    assert key("https://gateway.example:8443/v1") == ""


def test_azures_key_goes_to_azures_hosts_or_the_named_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "made-up-azure-key")
    mine, theirs = "https://mine.openai.azure.com", "https://gateway.example/azure"
    assert key(mine, azure=True) == "made-up-azure-key" and key(theirs, azure=True) == ""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", theirs)
    assert key(mine, azure=True) == "" and key(theirs, azure=True) == "made-up-azure-key"


def test_each_address_of_a_list_gets_the_key_named_for_it() -> None:
    both = "openai:m@https://a.example/v1,https://b.example/v1"
    named = {"https://a.example": "GATEWAY_KEY"}
    assert key("https://a.example/v1", generator=both, api_key_env=named) == OTHER
    assert key("https://b.example/v1", generator=both, api_key_env=named) == ""


def test_one_named_key_for_models_on_several_hosts_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"one key to https://a.example/v1 and http://localhost:8000/v1") as caught:
        key("https://a.example/v1", api_key_env="GATEWAY_KEY")
    assert "api_key_env: {https://a.example/v1: ...}" in caught.value.hint


async def test_a_key_named_for_an_address_without_a_model_is_refused() -> None:
    options = {"api_key_env": {"https://typo.example": "GATEWAY_KEY"}}
    config = Config(models=ModelsConfig(generator="openai:m@https://a.example/v1", options=options))
    with pytest.raises(ConfigError, match=r"no chosen model has the address https://typo\.example"):
        await open_sessions(config, load_registry(), needs_scores=False)


@pytest.mark.parametrize("option", ["api_key_env", "api_key_file"])
def test_a_named_key_that_is_empty_is_an_error(option: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    value = {"api_key_env": "SCIRGEN_NO_SUCH_VARIABLE", "api_key_file": str(tmp_path / "empty")}[option]
    with pytest.raises(ModelAccessError, match=option):
        key("https://a.example/v1", **{option: {"https://a.example": value}})


def test_a_named_key_never_goes_unencrypted_to_another_machine() -> None:
    with pytest.raises(ConfigError, match="unencrypted"):
        key("http://gpu-host:8000/v1", api_key_env={"http://gpu-host:8000": "GATEWAY_KEY"})


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(OTHER + "\n")
    assert key("https://a.example/v1", api_key_file={"https://a.example": str(tmp_path / "key")}) == OTHER
    with pytest.raises(ModelAccessError, match="cannot be read"):
        key("https://a.example/v1", api_key_file={"https://a.example": str(tmp_path / "none")})


async def seen(options: dict[str, object]) -> list[str]:
    """The headers of the requests that a server on this machine got."""
    got: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        got.append(str(dict(request.headers)))
        return web.json_response({"choices": [{"message": {"content": "snow"}, "finish_reason": "stop"}]})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        uri = f"openai:m@http://127.0.0.1:{runner.addresses[0][1]}/v1"
        chat = await open_chat(uri, Config(models=ModelsConfig(generator=uri, options=options)), load_registry())
        await chat.chat(ChatRequest((Message("user", "What falls?"),)))
        await chat.aclose()
    finally:
        await runner.cleanup()
    return got


async def test_a_server_on_this_machine_gets_no_key_but_a_named_one() -> None:
    headers = str(await seen({}))
    assert OWN not in headers and OTHER not in headers
    headers = str(await seen({"api_key_env": "GATEWAY_KEY"}))
    assert OWN not in headers and OTHER in headers


async def test_a_key_in_an_extra_header_is_bound_to_one_host_too() -> None:
    secret = {"X-Key": "$GATEWAY_KEY"}
    assert OTHER in str(await seen({"extra_headers": secret}))
    models = ModelsConfig(
        generator="openai:m@https://a.example/v1",
        judge="openai:j@https://b.example/v1",
        options={"extra_headers": secret},
    )
    with pytest.raises(ConfigError, match="extra_headers would send one key"):
        await open_chat(models.generator, Config(models=models), load_registry())
