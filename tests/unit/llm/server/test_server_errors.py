"""Which of our errors an OpenAI-compatible server's answer becomes."""

from __future__ import annotations

import json

import pytest
from aiohttp import web

from scirgen.core.config import LimitsConfig
from scirgen.core.errors import (
    ContextTooLongError,
    ModelAccessError,
    ModelError,
    RateLimitedError,
    ServerUnavailableError,
)
from scirgen.llm.server.openai_client import Access, OpenAIServer
from scirgen.llm.server.server_errors import RefusedRequestError, status_error


def said(message: str, code: str = "") -> bytes:
    return json.dumps({"error": {"message": message, "code": code}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind", "fatal"),
    [
        (401, said("no"), ModelAccessError, True),
        (403, b"forbidden", ModelAccessError, True),
        (404, said("The model `m` does not exist"), ModelAccessError, True),
        (400, said("The model `m` does not exist"), ModelAccessError, True),
        (429, said("You exceeded your current quota", "insufficient_quota"), ModelAccessError, True),
        (429, said("slow down"), RateLimitedError, False),
        (500, b"<html>", ServerUnavailableError, False),
        (503, b"", ServerUnavailableError, False),
        (408, b"", ServerUnavailableError, False),
        (400, said("This model's maximum context length is 4096 tokens"), ContextTooLongError, False),
        (400, b'{"detail": "response_format is unknown"}', RefusedRequestError, False),
        (422, b"[1, 2]", RefusedRequestError, False),
    ],
)
def test_a_status_becomes_the_error_that_says_what_to_do(
    status: int, body: bytes, kind: type[ModelError], fatal: bool
) -> None:
    error = status_error(status, body, None, "openai:m")
    assert isinstance(error, kind) and error.fatal is fatal
    assert error.hint and error.message.startswith("openai:m: ")


def test_retry_after_is_passed_on() -> None:
    error = status_error(429, said("slow down"), "1.5", "openai:m")
    assert isinstance(error, RateLimitedError) and error.retry_after == 1.5


def test_the_servers_own_words_are_in_the_message_and_a_key_is_not() -> None:
    assert "max_tokens is too small" in status_error(400, said("max_tokens is too small"), None, "m").message
    assert "verysecret" not in status_error(401, said("Incorrect key sk-verysecret123456"), None, "m").message


@pytest.mark.parametrize("status", [404, 405, 500])
async def test_a_server_without_a_list_of_models_lists_none(status: int) -> None:
    app = web.Application()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status)

    app.router.add_get("/v1/models", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server = OpenAIServer(Access(f"http://127.0.0.1:{runner.addresses[0][1]}/v1/"), LimitsConfig(), where="openai:m")
    assert await server.list_models() == {}
    await server.aclose()
    await runner.cleanup()
