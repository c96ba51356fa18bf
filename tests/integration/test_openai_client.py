"""The openai client against servers on loopback: Azure's dialect, headers, proxies, certificates, and servers that mean
harm."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import openai
import pytest
from aiohttp import web

from scirgen.core.config import Config, LimitsConfig, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError, ModelError, RateLimitedError, ServerUnavailableError
from scirgen.core.registry import load_registry
from scirgen.llm.base import ChatRequest, Message
from scirgen.llm.open import open_chat
from scirgen.llm.server import openai_client
from scirgen.llm.server.openai_client import Access, OpenAIServer
from scirgen.llm.server.server_errors import SlowServerError
from tests.support.waiting import until

TLS = Path(__file__).parents[1] / "data" / "tls"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
GOOD = {
    "choices": [{"message": {"content": "snow"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1},
}
ASKED = ChatRequest((Message("user", "What fell?"),))


@asynccontextmanager
async def served(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


@pytest.fixture(autouse=True, params=["aiohttp", "httpx2"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both transports of the client behave alike."""
    kind = openai.DefaultAioHttpClient if request.param == "aiohttp" else openai.DefaultAsyncHttpxClient
    monkeypatch.setattr(openai_client, "HTTP_CLIENT", kind)


class Noting:
    """Answers every POST well, lists no models, and notes what it was asked."""

    def __init__(self) -> None:
        self.seen: list[web.Request] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.seen.append(request)
        return web.json_response(GOOD) if request.method == "POST" else web.Response(status=404)


async def chatted(uri: str, **options: Any) -> str:
    chat = await open_chat(uri, Config(models=ModelsConfig(options=options)), load_registry())
    try:
        return (await chat.chat(ASKED)).text
    finally:
        await chat.aclose()


async def asked(answer: Answer, **limits: Any) -> Any:
    """What one POST brings from a server that answers so."""
    async with served(answer) as url:
        server = OpenAIServer(Access(url + "/v1"), LimitsConfig(**limits), where="openai:m")
        try:
            return await server.post("/chat/completions", {"model": "m"})
        finally:
            await server.aclose()


@pytest.mark.parametrize(
    "form", ["azure:{name}@{url}?api-version=2024-10-21", "openai:{name}@{url}?api-version=2024-10-21"]
)
async def test_azure_gets_deployment_version_and_key(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "openai-secret")
    noting = Noting()
    async with served(noting) as url:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
        assert await chatted(form.format(name="my-gpt", url=url)) == "snow"
    request = noting.seen[-1]
    assert request.path == "/openai/deployments/my-gpt/chat/completions"
    assert request.query["api-version"] == "2024-10-21"
    assert request.headers["api-key"] == "azure-secret"
    assert "openai-secret" not in str(request.headers)


async def test_azure_takes_an_entra_token_and_address_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    noting = Noting()
    async with served(noting) as url:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
        monkeypatch.setenv("OPENAI_API_VERSION", "2025-01-01")
        monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "entra-token")
        assert await chatted("azure:my-gpt") == "snow"
    assert noting.seen[-1].headers["Authorization"] == "Bearer entra-token"
    assert noting.seen[-1].query["api-version"] == "2025-01-01"


async def test_azures_newer_api_is_openais_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    noting = Noting()
    async with served(noting) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        await chatted(f"openai:gpt@{url}/openai/v1?api-version=preview")
    assert noting.seen[-1].path_qs == "/openai/v1/chat/completions?api-version=preview"
    assert noting.seen[-1].headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("uri", "message"),
    [("azure:gpt", "address of the Azure resource"), ("azure:gpt@http://127.0.0.1:9", "api-version")],
)
async def test_azure_without_address_or_version_is_refused(
    uri: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError, match=message):
        await chatted(uri)


async def test_organisation_project_and_extra_fields_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("GATEWAY_KEY", "gateway-secret")
    noting = Noting()
    async with served(noting) as url:
        headers = {"X-Team": "snow", "Ocp-Apim-Subscription-Key": "$GATEWAY_KEY"}
        await chatted(f"openai:m@{url}/v1", extra_headers=headers, extra_query={"zone": "eu"})
    seen = noting.seen[-1]
    assert seen.headers["OpenAI-Organization"] == "org-1" and seen.headers["OpenAI-Project"] == "proj-1"
    assert seen.headers["X-Team"] == "snow" and seen.headers["Ocp-Apim-Subscription-Key"] == "gateway-secret"
    assert seen.query["zone"] == "eu"


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer abc"}, {"X-Key": "$SCIRGEN_NO_SUCH_VARIABLE"}, ["a"], {"X": ["a"]}]
)
async def test_extra_headers_that_cannot_be_used_are_refused(headers: Any) -> None:
    with pytest.raises(ConfigError, match="extra_headers") as caught:
        await chatted("openai:m@http://127.0.0.1:9/v1", extra_headers=headers)
    assert "abc" not in caught.value.message


async def test_the_environments_proxy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    noting = Noting()
    async with served(noting) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        assert await chatted("openai:m@http://model.example/v1") == "snow"
    assert noting.seen[-1].host == "model.example"


async def test_a_certificate_of_ones_own_is_refused_then_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(TLS / "localhost.pem", TLS / "localhost.key")
    async with served(Noting(), context) as url:
        with pytest.raises(ModelAccessError, match=r"TLS.*certificate") as caught:
            await chatted(f"openai:m@{url}/v1")
        assert "SSL_CERT_FILE" in caught.value.hint and caught.value.error_code == "tls"
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "localhost.pem"))
        assert await chatted(f"openai:m@{url}/v1") == "snow"


async def test_a_server_that_is_not_there_is_not_called_slow() -> None:
    server = OpenAIServer(Access("http://127.0.0.1:1/v1"), LimitsConfig(), where="openai:m")
    with pytest.raises(ServerUnavailableError, match=r"no connection: .*[Cc]onnect"):
        await server.get("/models")
    await server.aclose()


async def test_a_server_that_accepts_no_connection_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_client, "_CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        server = OpenAIServer(Access(f"http://127.0.0.1:{full.getsockname()[1]}/v1"), LimitsConfig(), where="openai:m")
        with pytest.raises(ServerUnavailableError, match="no connection") as caught:
            await server.get("/models")
        assert not isinstance(caught.value, SlowServerError)
        await server.aclose()
        for client in waiting:
            client.close()


async def test_a_silent_server_is_slow_and_its_list_of_models_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openai_client, "_LIST_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = OpenAIServer(Access(f"http://127.0.0.1:{silent.getsockname()[1]}/v1"), LimitsConfig(), where="m")
        assert await server.windows() == {}
        with pytest.raises(SlowServerError, match=r"waited 0.2 s for /models"):
            await server.list_models()
        await server.aclose()


async def test_https_asked_of_a_plain_server_is_called_a_tls_failure() -> None:
    async with served(Noting()) as url:
        server = OpenAIServer(Access(url.replace("http:", "https:")), LimitsConfig(), where="openai:m")
        with pytest.raises(ServerUnavailableError, match="TLS"):
            await server.get("/models")
        await server.aclose()


async def test_an_error_holds_the_request_id_and_no_key() -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        said = {"error": {"message": "Incorrect API key sk-verysecret123"}}
        return web.json_response(said, status=401, headers={"x-request-id": "req_42"})

    with pytest.raises(ModelAccessError, match="req_42") as caught:
        await asked(refuse)
    assert "verysecret" not in caught.value.message


async def test_a_redirect_is_refused_and_its_target_never_asked() -> None:
    noting = Noting()
    async with served(noting) as elsewhere:

        async def redirect(request: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(elsewhere + "/v1/chat/completions")

        with pytest.raises(ModelAccessError, match="redirects"):
            await asked(redirect)
    assert not noting.seen


def _plain(size: int) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b'"' + b"a" * size + b'"', content_type="application/json")

    return answer


def _chunked(size: int, status: int = 200) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        for _ in range(size // 50_000):
            await response.write(b" " * 50_000)
        return response

    return answer


def _bomb(size: int, coding: str = "gzip") -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        packed = gzip.compress(b" " * size + b'"snow"')
        return web.Response(body=packed, headers={"Content-Encoding": coding})

    return answer


@pytest.mark.parametrize(
    "answer", [_plain(2_000_000), _chunked(2_000_000), _chunked(2_000_000, status=500), _bomb(200_000_000)],
    ids=["with a length", "chunked", "in an error", "compressed"],
)  # fmt: skip
async def test_an_answer_past_the_cap_is_cut_off(answer: Answer) -> None:
    with pytest.raises(ModelError) as caught:
        await asked(answer, max_reply_mb=1)
    assert caught.value.error_code == "reply_too_large" and not caught.value.retryable


async def test_a_compressed_answer_below_the_cap_is_read() -> None:
    assert await asked(_bomb(500_000), max_reply_mb=1) == "snow"


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"\xff", b"1" * 5_000])
async def test_an_answer_that_is_not_json_is_a_servers_fault(body: bytes) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=body)

    with pytest.raises(ServerUnavailableError, match="not valid JSON"):
        await asked(answer)


async def test_an_unasked_for_compression_is_a_servers_fault() -> None:
    with pytest.raises(ServerUnavailableError, match="compressed"):
        await asked(_bomb(10, coding="br"))


async def test_the_time_limit_holds_while_bytes_trickle_in() -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            with suppress(TimeoutError):
                await until(lambda: request.transport is None or request.transport.is_closing(), 0.05)

    began = time.monotonic()
    with pytest.raises(ServerUnavailableError, match="no answer in time"):
        await asked(drip, timeout_s=0.5)
    assert time.monotonic() - began < 10


async def test_a_wait_of_a_thousand_years_is_cut() -> None:
    refusals = 0

    async def refuse_once(request: web.Request) -> web.StreamResponse:
        nonlocal refusals
        if request.method == "POST" and not refusals:
            refusals += 1
            return web.Response(status=429, headers={"Retry-After": "1000000000"})
        return await Noting()(request)

    async with served(refuse_once) as url:
        config = Config(limits=LimitsConfig(timeout_s=2))
        chat = await open_chat(f"openai:m@{url}/v1", config, load_registry())
        async with asyncio.timeout(20):
            assert (await chat.chat(ASKED)).text == "snow"
        await chat.aclose()


async def test_retry_after_reaches_the_error() -> None:
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "1.5"})

    with pytest.raises(RateLimitedError) as caught:
        await asked(refuse)
    assert caught.value.retry_after == 1.5
