"""The Batch API of the fake server: files, batches and their results, in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from scirgen.testing.faults import error

Answer = Callable[[dict[str, Any]], Awaitable[tuple[int, Any]]]
"""Answers one request's body: HTTP status and JSON."""


@dataclass
class Batches:
    """Batches that end after ``seconds``.

    Attributes:
        seconds: from creation to the end.
        ends: how the first batches end ("expired", "cancelled": after half of their requests; "failed": before any);
            those after them are completed.
        lose_answers: number of answers to ``POST /batches`` that are lost, although the batch is made.
    """

    seconds: float = 0.05
    ends: list[str] = field(default_factory=list)
    lose_answers: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def add_routes(self, app: web.Application, answer: Answer) -> None:
        """Serve below /v1."""
        self._answer = answer
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._content)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._retrieve)

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert form["purpose"] == "batch" and isinstance(file, web.FileField)
        return web.json_response({"id": self._keep(file.file.read()), "object": "file", "purpose": "batch"})

    def _keep(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    async def _content(self, request: web.Request) -> web.Response:
        content = self.files.get(request.match_info["id"])
        return web.Response(body=content) if content is not None else error(404, "No such object")

    async def _create(self, request: web.Request) -> web.StreamResponse:
        wanted = await request.json()
        if wanted["input_file_id"] not in self.files:
            return error(404, "No such object")
        batch = {
            "id": f"batch_{len(self.made) + 1}",
            "object": "batch",
            "status": "in_progress",
            "input_file_id": wanted["input_file_id"],
            "endpoint": wanted["endpoint"],
            "completion_window": wanted["completion_window"],
            "metadata": wanted.get("metadata"),
            "output_file_id": None,
            "error_file_id": None,
            "errors": None,
        }
        end = self.ends.pop(0) if self.ends else "completed"
        self.made[batch["id"]] = batch
        task = asyncio.create_task(self._work(batch, end))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if self.lose_answers > 0:
            self.lose_answers -= 1
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError
        return web.json_response(batch)

    async def _work(self, batch: dict[str, Any], end: str) -> None:
        await asyncio.sleep(self.seconds)
        lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
        if end == "failed":
            said = {"code": "invalid_request", "message": "Invalid input file", "line": 1, "param": None}
            batch |= {"status": end, "errors": {"object": "list", "data": [said]}}
            return
        done = lines if end == "completed" else lines[: len(lines) // 2]
        good: list[dict[str, Any]] = []
        bad: list[dict[str, Any]] = []
        for line in done:
            status, body = await self._answer(line["body"])
            row = {
                "id": "r",
                "custom_id": line["custom_id"],
                "response": {"status_code": status, "body": body},
                "error": None,
            }
            (good if status < 400 else bad).append(row)
        for line in lines[len(done) :]:
            fault = {"code": f"batch_{end}", "message": f"This request was {end}."}
            bad.append({"id": "r", "custom_id": line["custom_id"], "response": None, "error": fault})
        batch["status"] = end
        for key, rows in (("output_file_id", good), ("error_file_id", bad)):
            # Results come in no particular order.
            batch[key] = self._keep("".join(json.dumps(r) + "\n" for r in reversed(rows)).encode()) if rows else None

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": list(self.made.values())[::-1], "has_more": False})

    async def _retrieve(self, request: web.Request) -> web.Response:
        batch = self.made.get(request.match_info["id"])
        return web.json_response(batch) if batch else error(404, "No such object")
