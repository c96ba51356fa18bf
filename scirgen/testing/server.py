"""A fake OpenAI-compatible server on loopback. `replies` makes the replies; this module serves them over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

from aiohttp import web

from scirgen.testing import replies
from scirgen.testing.batches import Batches
from scirgen.testing.faults import BATCH_FAULTS, FAULTS, Faults, error


class FakeServer:
    """Use as an async context manager; `url` is the base URL to give to a client.

    ``GET /stats`` (beside ``/v1``) counts the answers to each request, by the SHA-256 of its canonical JSON.

    Args:
        port: where to listen; 0 takes any free one.
        latency_s: time until each reply.
        model: the only model it knows; others get 404.
        json_schema: False refuses ``response_format`` of that type, as some servers do.
        logprobs: False refuses ``echo``.
        completions: the status with which ``/completions`` is refused, as by hosted services that only chat.
        faults: which requests fail; None for no faults.
        reply: makes the answer to a chat request from its body.
        batches: how its Batch API behaves.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        latency_s: float = 0.0,
        model: str = "fake",
        json_schema: bool = True,
        logprobs: bool = True,
        completions: int | None = None,
        faults: Faults | None = None,
        reply: Callable[[dict[str, Any]], dict[str, Any]] = replies.chat_completion,
        batches: Batches | None = None,
    ) -> None:
        self.port, self.model = port, model
        self.latency_s = latency_s
        self.json_schema = json_schema
        self.logprobs = logprobs
        self.completions = completions
        self.faults = faults or Faults()
        self._reply = reply
        self.batches = batches or Batches()
        self.answered: Counter[str] = Counter()
        self.in_flight = 0
        self.max_in_flight = 0
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The base URL, ending in /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> FakeServer:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        self.batches.add_routes(app, self._batched)
        self._runner = web.AppRunner(app, access_log=None, logger=_LOG, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        for task in list(self.batches.tasks):
            task.cancel()
        await self._runner.cleanup()

    async def _models(self, request: web.Request) -> web.Response:
        card = {"id": self.model, "object": "model", "created": 0, "owned_by": "scirgen", "max_model_len": 131072}
        return web.json_response({"object": "list", "data": [card]})

    async def _stats(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "answered": sum(self.answered.values()),
                "distinct": len(self.answered),
                "most_for_one_request": max(self.answered.values(), default=0),
                "max_in_flight": self.max_in_flight,
                "faults": self.faults.injected,
                "requests": self.answered,
            }
        )

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, self._reply)

    async def _batched(self, body: dict[str, Any]) -> tuple[int, Any]:
        """Return the answer to a request of a batch; faults of a connection do not occur in one."""
        answer: web.StreamResponse | None = self._refusal(body)
        name, good = request_hash(body), self._reply(body)
        fault = self.faults.draw(name) if answer is None else None
        if fault is not None and fault in BATCH_FAULTS:
            answer = await FAULTS[fault](self.faults, cast(web.Request, None), good)
        elif answer is None:
            self.answered[name] += 1
            return 200, good
        assert isinstance(answer, web.Response) and answer.text is not None
        return answer.status, json.loads(answer.text)

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        if self.completions is not None:
            return error(self.completions, "This is a chat model and not supported in the v1/completions endpoint.")
        return await self._answer(request, replies.completion)

    def _refusal(self, body: dict[str, Any]) -> web.Response | None:
        if body.get("model") != self.model:
            return error(404, f"The model {body.get('model')!r} does not exist", code="model_not_found")
        if (body.get("response_format") or {}).get("type") == "json_schema" and not self.json_schema:
            return error(400, "response_format of type json_schema is not supported")
        if not self.logprobs and body.get("echo"):
            return error(400, "echo is not supported")
        return None

    async def _answer(
        self, request: web.Request, make: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> web.StreamResponse:
        body = await request.json()
        if (refusal := self._refusal(body)) is not None:
            return refusal
        dead = self.faults.dead(sum(self.answered.values())) if self.faults.die_after is not None else None
        if dead is not None:
            return dead
        name = request_hash(body)
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            fault = self.faults.draw(name)
            if self.latency_s:
                await asyncio.sleep(self.latency_s)
            if request.transport is None:  # the client has gone and will not get this answer, so do not count it
                raise ConnectionResetError
            good = make(body)
            if fault is not None:
                answer = await FAULTS[fault](self.faults, request, good)
                if answer is None:
                    raise ConnectionResetError
                return answer
            response = web.json_response(good)
        finally:
            self.in_flight -= 1
        self.faults.last_good[request.path] = good
        self.answered[name] += 1
        return response


_LOG = logging.getLogger("scirgen.testing")
_LOG.addFilter(
    lambda record: not (record.exc_info and record.exc_info[0] is ConnectionResetError)
)  # faults injected on purpose


def request_hash(body: dict[str, Any]) -> str:
    """Return the name of a request in ``/stats``; equal requests have equal hashes."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
