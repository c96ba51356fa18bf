"""Presets of services reach their address with their key, in the form that each service speaks; stubs stand for the
services."""

from __future__ import annotations

import datetime
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from click.testing import CliRunner

from scirgen.core.config import Config, ModelsConfig
from scirgen.core.errors import ConfigError, ModelAccessError
from scirgen.core.registry import load_registry
from scirgen.llm import services as module
from scirgen.llm.base import ChatReply, ChatRequest, Message, Sampling
from scirgen.llm.open import open_chat, open_sessions, price_of_uri
from scirgen.llm.services import local_servers, prices_read, service_at, services
from scirgen.llm.uri import ModelURI
from scirgen_adapt.models import models as models_command

SCHEMA: dict[str, object] = {
    "type": "object", "title": "snow", "properties": {"kind": {"type": "string"}}, "required": ["kind"],
    "additionalProperties": False,
}  # fmt: skip
ASKED = ChatRequest((Message("user", "Which kind?"),), SCHEMA, Sampling(temperature=0.7, seed=7))
REPLY = '{"kind": "wet"}'


def completion(text: str = REPLY, **usage: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": 12, "completion_tokens": 34, **usage}
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], "usage": counts}


def openai_with_reasoning(body: dict[str, Any]) -> tuple[int, Any]:
    if "temperature" in body:
        said = "Unsupported parameter: 'temperature' is not supported with this model."
        return 400, {"error": {"message": said, "type": "invalid_request_error", "param": "temperature"}}
    return 200, completion(completion_tokens_details={"reasoning_tokens": 30})


def anthropic(body: dict[str, Any]) -> tuple[int, Any]:
    # response_format is ignored: only a prompt that states the schema brings JSON.
    stated = '"additionalProperties"' in body["messages"][-1]["content"]
    return 200, completion(REPLY if stated else "The snow is wet.")


def gemini(body: dict[str, Any]) -> tuple[int, Any]:
    if "seed" in body:
        return 400, [
            {"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "seed"', "status": "X"}}
        ]
    return 200, completion()


def mistral(body: dict[str, Any]) -> tuple[int, Any]:
    if "seed" in body:
        return 422, {
            "detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]
        }
    return 200, completion()


def without_schemas(body: dict[str, Any]) -> tuple[int, Any]:
    if body.get("response_format", {}).get("type") == "json_schema":
        return 400, {
            "error": {"message": "This response_format type is unavailable now", "type": "invalid_request_error"}
        }
    return 200, completion()


def openrouter(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, {
        "id": "gen-1",
        "provider": "X",
        **completion(cost=0.0001, cost_details={"upstream_inference_cost": None}),
    }


def plain(body: dict[str, Any]) -> tuple[int, Any]:
    return 200, completion()


STUBS = {
    "openai": openai_with_reasoning, "anthropic": anthropic, "gemini": gemini, "openrouter": openrouter,
    "mistral": mistral, "groq": without_schemas, "deepseek": without_schemas, "ollama": plain,
}  # fmt: skip


NO_COMPLETIONS: dict[str, Any] = {
    "openai": {"error": {"message": "This is a chat model and not supported in the v1/completions endpoint."}},
    "anthropic": {"type": "error", "error": {"type": "not_found_error", "message": "Not Found"}},
    "gemini": [{"error": {"code": 404, "message": "Requested entity was not found.", "status": "NOT_FOUND"}}],
    "mistral": {"detail": "Not Found"},
}


@asynccontextmanager
async def stub(
    name: str, answer: Callable[[dict[str, Any]], tuple[int, Any]], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[web.Request]]:
    """The service at a port of this machine, with its own path; yields the requests that it got."""
    got: list[web.Request] = []

    async def handle(request: web.Request) -> web.Response:
        got.append(request)
        if request.method == "GET":
            return web.json_response({"data": [{"id": "models/m"}]})
        if not request.path.endswith("/chat/completions"):
            return web.json_response(NO_COMPLETIONS.get(name, {"message": "no Route matched"}), status=404)
        status, said = answer(await request.json())
        return web.json_response(said, status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    service = services()[name]
    here = service.model_copy(update={"url": f"http://127.0.0.1:{runner.addresses[0][1]}{urlsplit(service.url).path}"})
    changed = module.service_file().model_copy(update={"services": {**services(), name: here}})
    monkeypatch.setattr(module, "service_file", lambda: changed)
    try:
        yield got
    finally:
        await runner.cleanup()


async def chatted(uri: str, **settings: Any) -> ChatReply:
    config = Config(models=ModelsConfig(generator=uri, **settings))
    chat = await open_chat(uri, config, load_registry())
    try:
        return await chat.chat(ASKED)
    finally:
        await chat.aclose()


@pytest.mark.parametrize("name", STUBS)
async def test_a_preset_reaches_its_service_with_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in services().values():
        if other.key:
            monkeypatch.setenv(other.key, f"made-up-{other.key}")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    async with stub(name, STUBS[name], monkeypatch) as got:
        service = services()[name]
        uri = f"openai:m@{service.url}" if name == "openai" else f"{name}:m"
        reply = await chatted(uri)
    assert json.loads(reply.text) == {"kind": "wet"} and reply.usage.completion_tokens == 34
    wanted = f"Bearer made-up-{service.key}" if service.key else "Bearer none"
    assert {request.headers["Authorization"] for request in got} == {wanted}
    assert got[-1].url.path == urlsplit(service.url).path + "/chat/completions"


@pytest.mark.parametrize("name", STUBS)
async def test_a_preset_that_only_chats_is_scored_by_the_bundled_model(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in services().values():
        if other.key:
            monkeypatch.setenv(other.key, "made-up")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setattr("scirgen_embedded.model.bundled_file", lambda: Path())
    async with stub(name, STUBS[name], monkeypatch):
        uri = f"openai:m@{services()[name].url}" if name == "openai" else f"{name}:m"
        sessions = await open_sessions(Config(models=ModelsConfig(generator=uri)), load_registry())
        assert sessions.identities()["scorer"].startswith("bundled:smollm2-135m")
        told: list[str] = []
        sessions.tell(told.append)
        assert uri in told[0] and "bundled:smollm2-135m" in told[0] and "--scorer" in told[0] and len(told) == 1
        await sessions.aclose()


async def test_a_preset_without_its_key_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    with pytest.raises(ModelAccessError, match="MISTRAL_API_KEY"):
        await chatted("mistral:m")


async def test_reasoning_has_room_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        return openai_with_reasoning(body)

    monkeypatch.setenv("OPENAI_API_KEY", "made-up-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    async with stub("openai", answer, monkeypatch):
        uri = f"openai:m@{services()['openai'].url}"
        reply = await chatted(uri, reasoning="low")
    assert [body["reasoning_effort"] for body in bodies] == ["low", "low"] and "temperature" not in bodies[-1]
    assert bodies[-1]["max_tokens"] == ASKED.sampling.max_tokens + 2048
    assert reply.usage.reasoning_tokens == 30


async def test_reasoning_changes_the_models_identity() -> None:
    models = ModelsConfig(generator="openai:m@http://127.0.0.1:9/v1", reasoning="high")
    from scirgen.llm.server.openai_compat import OpenAIChat

    chat = OpenAIChat(ModelURI.parse(models.generator), models, Config().limits)
    assert str(chat.identity) == "openai:m@reasoning-high"


@pytest.mark.parametrize("uri", ["anthropic:m", "bundled:smollm2-135m"])
async def test_reasoning_that_a_model_ignores_is_refused(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up-key")
    with pytest.raises(ConfigError, match=r"models\.reasoning"):
        await chatted(uri, reasoning="low")


def test_every_entry_names_its_page_and_day() -> None:
    entries = [*services().values(), *local_servers().values()]
    assert all(entry.page and datetime.date(2026, 1, 1) < entry.read for entry in entries) and prices_read()
    assert all(entry.url.startswith(("https://", "http://localhost:")) for entry in entries)
    assert {name for name, s in services().items() if service_at(s.url) == (name, s)} == set(services())


@pytest.mark.parametrize(
    ("uri", "prices", "price"),
    [
        ("openai:gpt-5-mini", {}, (0.25, 2, 0.025)),
        ("openai:gpt-5-mini-2025-08-07", {}, (0.25, 2, 0.025)),
        ("openai:gpt-5-mini", {"gpt-5-mini": (1, 1)}, (1, 1)),
        ("openai:gpt-5-mini@https://gateway.example/v1", {}, None),
        ("openrouter:openai/gpt-5-mini", {}, None),
        ("openai:no-such-model", {}, None),
        ("bundled:smollm2-135m", {}, (0, 0)),
    ],
)
def test_a_price_is_the_users_or_the_lists_or_unknown(
    uri: str, prices: dict[str, Any], price: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert price_of_uri(uri, Config(models=ModelsConfig(generator=uri, prices=prices)), load_registry()) == price


async def test_a_cap_on_the_cost_needs_no_typed_price_for_a_listed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "made-up-key")
    async with stub("mistral", mistral, monkeypatch):
        config = Config(models=ModelsConfig(generator="mistral:mistral-large-4"))
        capped = config.model_copy(update={"limits": config.limits.model_copy(update={"max_cost": 1.0})})
        sessions = await open_sessions(capped, load_registry(), needs_scores=False)
        assert sessions.meter.role("generator").price == (0.7, 2.1, 0.07)
        await sessions.aclose()


async def test_models_shows_keys_servers_and_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    monkeypatch.setenv("GROQ_API_KEY", "made-up-key")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    async with stub("ollama", plain, monkeypatch):
        here = services()["ollama"].url
        silent = local_servers()["vLLM"].model_copy(update={"url": "http://localhost:1/v1"})
        servers = {"Ollama": services()["ollama"], "vLLM": silent}
        monkeypatch.setattr("scirgen_adapt.models.local_servers", lambda: servers)
        told = await asyncio.to_thread(CliRunner().invoke, models_command, ["--json"])
    found = {row["name"]: row for row in json.loads(told.output)}
    assert found["Ollama"]["option"] == f"--model openai:models/m@{here}" and found["Ollama"]["models"] == ["models/m"]
    assert "does not answer" in found["vLLM"]["state"] and found["embedded"]["option"] == "--model bundled:smollm2-135m"
    assert found["groq"]["state"] == "GROQ_API_KEY is set" and "not set" in found["mistral"]["state"]
    assert "made-up-key" not in told.output
