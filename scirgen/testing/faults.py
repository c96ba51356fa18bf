"""Faults for the fake server. A seed decides which request fails and how, so failures are reproducible."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

Body = dict[str, Any]
Fault = Callable[["Faults", web.Request, Body], Awaitable[web.StreamResponse | None]]
"""Makes the faulty answer from a good one; None breaks the connection."""


def error(status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an answer with an error, in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return web.json_response(body, status=status, headers=headers)


def _status(status: int, message: str, headers: Mapping[str, str] | None = None) -> Fault:
    async def answer(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
        extra = {k: v.format(retry_after=faults.retry_after_s) for k, v in (headers or {}).items()}
        return error(status, message, headers=extra)

    return answer


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


async def _reset_before(faults: Faults, request: web.Request, good: Body) -> None:
    _abort(request)


async def _partial(request: web.Request, data: bytes, sent: int) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
    await response.prepare(request)
    await response.write(data[:sent])
    return response


async def _reset_in_body(faults: Faults, request: web.Request, good: Body) -> None:
    data = json.dumps(good).encode()
    await _partial(request, data, len(data) // 2)
    await asyncio.sleep(0)
    _abort(request)


async def _reset_after_body(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
    data = json.dumps(good).encode()
    response = await _partial(request, data, len(data))
    await response.write_eof()
    # The connection is closed after the whole reply is sent, so the client may believe that it can be used again.
    if request.transport is not None:
        request.transport.close()
    return response


async def _slow_first_byte(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
    await asyncio.sleep(faults.slow_s)
    return web.json_response(good)


async def _slow_body(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
    data = json.dumps(good).encode()
    response = await _partial(request, data, 1)
    for start in range(1, len(data), max(1, len(data) // 8)):
        await asyncio.sleep(faults.slow_s / 8)
        await response.write(data[start : start + max(1, len(data) // 8)])
    await response.write_eof()
    return response


async def _broken_json(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
    return web.Response(body=json.dumps(good).encode()[:-20], content_type="application/json")


def _message(**changes: Any) -> Fault:
    """Return a well-formed answer with a useless message; values are given, or made from the good text."""

    async def answer(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
        bad = json.loads(json.dumps(good))
        choice = bad["choices"][0]
        if "message" not in choice:  # log-probabilities: there is no message to spoil
            return web.json_response(bad)
        for key, value in changes.items():
            target = choice if key == "finish_reason" else choice["message"]
            target[key] = value(target.get(key)) if callable(value) else value
        return web.json_response(bad)

    return answer


async def _wrong_id(faults: Faults, request: web.Request, good: Body) -> web.StreamResponse:
    return web.json_response({**good, "id": "chatcmpl-of-somebody-else"})


async def _duplicated(faults: Faults, request: web.Request | None, good: Body) -> web.StreamResponse:
    return web.json_response(faults.last_good.get(request.path, good) if request is not None else good)


FAULTS: Final[Mapping[str, Fault]] = {
    "429": _status(429, "Rate limit reached", {"Retry-After": "{retry_after}"}),
    "429_bare": _status(429, "Rate limit reached"),
    "500": _status(500, "Internal server error"),
    "502": _status(502, "Bad gateway"),
    "503": _status(503, "Overloaded"),
    "reset_before": _reset_before,
    "reset_in_body": _reset_in_body,
    "reset_after_body": _reset_after_body,
    "slow_first_byte": _slow_first_byte,
    "slow_body": _slow_body,
    "broken_json": _broken_json,
    "truncated_reply": _message(content=lambda text: text[: len(text) // 2]),
    "wrong_schema": _message(content='{"something": "else"}'),
    "prose": _message(content="I am sorry, but here is some prose instead."),
    "empty": _message(content=""),
    "refusal": _message(content=None, refusal="I cannot help with that."),
    "length": _message(content=lambda text: text[: len(text) // 2], finish_reason="length"),
    "wrong_id": _wrong_id,
    "duplicated": _duplicated,
}
"""Name -> fault. The last three quarters come with status 200."""

BATCH_FAULTS: Final = frozenset(FAULTS) - {
    "reset_before", "reset_in_body", "reset_after_body", "slow_first_byte", "slow_body", "broken_json",
}  # fmt: skip
"""The faults that can occur inside a batch, since they need no connection."""


@dataclass
class Faults:
    """The requests that fail, and the way they do.

    Attributes:
        rates: fault -> share of attempts; they add up to at most 1.
        seed: decides, with the request and the number of its attempt, which one fails.
        retry_after_s: in the Retry-After header of "429".
        slow_s: how long the slow faults take.
        die_after: after this many answers, every request gets ``die_with`` (401: the key was revoked, 404: the model
            was unloaded, 503: the server is going down).
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    retry_after_s: float = 0.2
    slow_s: float = 1.0
    die_after: int | None = None
    die_with: int = 401
    injected: Counter[str] = field(default_factory=Counter)
    last_good: dict[str, Body] = field(default_factory=dict)
    _attempts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        unknown = set(self.rates) - set(FAULTS)
        if unknown or sum(self.rates.values()) > 1:
            raise ValueError(f"unknown faults {sorted(unknown)}; known: {', '.join(FAULTS)}; rates add up to at most 1")

    def dead(self, answered: int) -> web.Response | None:
        """Return the answer to every request after the server has died."""
        if self.die_after is None or answered < self.die_after:
            return None
        self.injected["dead"] += 1
        message = {401: "Incorrect API key provided", 404: "The model was unloaded: model not found"}
        return error(self.die_with, message.get(self.die_with, "going down"))

    def draw(self, request_hash: str) -> str | None:
        """Return the fault of this attempt, None for a good answer."""
        if not self.rates:
            return None
        attempt = self._attempts[request_hash]
        self._attempts[request_hash] += 1
        key = f"{self.seed}/{request_hash}/{attempt}".encode()
        at = int.from_bytes(hashlib.sha256(key).digest()[:8], "big") / 2**64
        for name, rate in self.rates.items():
            if at < rate:
                self.injected[name] += 1
                return name
            at -= rate
        return None
