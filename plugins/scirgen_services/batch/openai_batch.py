"""``batch:NAME[@URL]``: the OpenAI-style Batch API, at half the price and up to a day's delay. Requests are collected
into files.

A batch continues at the server even if this process ends: it is recorded in the run's file before it is created, and
the next run collects it. `openai_compat` builds requests and reads replies.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final

import openai

from scirgen import ChatReply, ChatRequest, ConfigError, ModelError, ModelURI
from scirgen.core.errors import RateLimitedError, ServerUnavailableError
from scirgen.core.files.writer import Writer
from scirgen.llm.server.endpoints import ServerGoneError
from scirgen.llm.server.limits import RETRYABLE
from scirgen.llm.server.openai_client import OpenAIServer
from scirgen.llm.server.openai_compat import OPTIONS, OpenAIChat
from scirgen.llm.server.server_errors import NotFoundError, RefusedRequestError, status_error
from scirgen.plugin import LimitsConfig, ModelsConfig, digest
from scirgen_services.batch.batch_file import CANCELLED, ENDPOINT, PASSING, fault_of, read_answers, request_line
from scirgen_services.batch.batch_journal import Arrived, BatchJournal, OpenBatch

GIVE_UP_S: Final = 600.0
"""If the server does not report on a batch for this long, the run stops; the next run collects the batch."""

_MAX_BYTES: Final = 150_000_000  # size of a file; OpenAI accepts 200 MB
_LULLS: Final = 15  # number of lulls after its first request when a batch is sent, even if more requests keep coming


class BatchChat(OpenAIChat):
    """A `ChatModel` whose replies come in batches. It answers as ``openai:NAME`` does, so both share replies and
    fingerprints.

    Attributes:
        IN_FLIGHT: number of requests that may wait at a time; a batch fills only if many do.
        DATASETS: datasets in flight, unless ``limits.datasets_in_flight`` is set.
        OUTLIVES: calls in flight continue without this process, so a stop does not wait for them.
        LOCAL_ONLY: the journal is in the run's folder; actors on other machines have none.
    """

    IN_FLIGHT: ClassVar[int | None] = 200_000
    DATASETS: ClassVar[int | None] = 2_000
    OUTLIVES: ClassVar[bool] = True
    LOCAL_ONLY: ClassVar[bool] = True
    OPTIONS: ClassVar[Mapping[str, str]] = {
        **OPTIONS,
        "batch_requests": "largest number of requests in a batch (default 20000; OpenAI accepts 50000)",
        "batch_lull_s": "a batch is sent after this time without a further request (default 20)",
        "batch_poll_s": "seconds between checks of a batch's status (default 30)",
        "batch_window": "completion_window to request (default 24h)",
    }

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        if len(uri.urls) > 1:
            raise ConfigError(f"{uri}: a batch can use only one server", hint="Name one address after the @.")
        self._journal_in: Writer | None = None
        self._tell: Callable[[str], None] = logging.getLogger("scirgen").info
        self._queue: BatchQueue | None = None

    def keep_journal_in(self, writer: Writer) -> None:
        """Set where batches are recorded; called once, before `start`."""
        self._journal_in = writer

    def tell(self, to: Callable[[str], None]) -> None:
        """Set the callback for messages about batches and the server."""
        super().tell(to)
        self._tell = to
        if self._queue is not None:
            self._queue.tell = to
            if open_ := self._queue.journal.open_batches():
                to(f"waiting for {len(open_)} earlier batches")

    async def start(self) -> None:
        """Check key and address, and continue earlier batches."""
        await super().start()
        in_memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        server = self._servers[0]
        journal = BatchJournal(self._journal_in or Writer(in_memory), f"{self.uri.name}@{server.base_url}")
        self._queue = BatchQueue(
            server, journal, _settings(self.models.options), self.limits.retries, str(self.uri), self._tell
        )
        await self._queue.start()

    async def check(self) -> None:
        """Do nothing: a deployment for batches need not chat."""

    @property
    def retried(self) -> int:
        """Number of requests that went into another batch after an error."""
        return self._queue.retried if self._queue else 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.chat`; may take a day."""
        assert self._queue is not None, "call start() first"
        return await self._chat_in_some_form(self._queue, request)  # type: ignore[arg-type]

    async def aclose(self) -> None:
        """Stop watching; the batches continue."""
        if self._queue is not None:
            await self._queue.aclose()
        await super().aclose()


@dataclass(frozen=True)
class BatchSettings:
    """See `BatchChat.OPTIONS`."""

    requests: int = 20_000
    lull_s: float = 20.0
    poll_s: float = 30.0
    window: str = "24h"


@dataclass
class _Waiting:
    """A request in flight. Equal requests share one."""

    body: dict[str, Any]
    future: asyncio.Future[Any]
    size: int
    attempts: int = 0


@dataclass
class BatchQueue:
    """Collects requests into batches, watches them, and returns each reply. It has a server's interface; see `post`."""

    server: OpenAIServer
    journal: BatchJournal
    settings: BatchSettings
    retries: int
    where: str
    tell: Callable[[str], None] = logging.getLogger("scirgen").info
    retried: int = 0
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _unsent: dict[str, _Waiting] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)
    _unsent_bytes: int = 0
    _first_came: float = 0.0
    _last_came: float = 0.0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _flusher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Watch the batches that an earlier process left behind."""
        for left in self.journal.open_batches():
            found = left if left.remote else await self._adopted(left)
            if found is None:
                self.journal.drop(left.name)
                continue
            self._noted |= found.requests
            self._spawn(self._watch(found))

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the JSON of the completion of ``body``, when its batch has finished; requested only once, in this
        process and all later ones.

        Raises:
            ModelError: the server's error for this request (see `status_error`) or for its batch.
        """
        custom_id = f"scirgen-{digest(body)}"
        arrived = self.journal.reply(custom_id)
        if arrived is None:
            waiting = self._waiting.get(custom_id)
            if waiting is None:
                line = request_line(custom_id, body)
                future = asyncio.get_running_loop().create_future()
                waiting = self._waiting[custom_id] = _Waiting(body, future, len(line))
                if custom_id not in self._noted:
                    self._enqueue(custom_id, waiting)
            return await asyncio.shield(waiting.future)
        # The caller puts the reply into its cache before the loop continues; only then is it released here.
        asyncio.get_running_loop().call_soon(self.journal.taken, custom_id)
        if arrived.status >= 400:
            raise status_error(arrived.status, json.dumps(arrived.body).encode(), None, self.where)
        return arrived.body

    def _enqueue(self, custom_id: str, waiting: _Waiting) -> None:
        now = time.monotonic()
        self._first_came = self._first_came if self._unsent else now
        self._last_came = now
        self._unsent[custom_id] = waiting
        self._unsent_bytes += waiting.size
        if len(self._unsent) >= self.settings.requests or self._unsent_bytes >= _MAX_BYTES:
            self._send()
        elif self._flusher is None or self._flusher.done():
            self._flusher = self._spawn(self._send_after_a_lull())

    async def _send_after_a_lull(self) -> None:
        lull = self.settings.lull_s
        while self._unsent:
            due = min(self._last_came + lull, self._first_came + _LULLS * lull)
            if (left := due - time.monotonic()) <= 0:
                self._send()
            else:
                await asyncio.sleep(left)

    def _send(self) -> None:
        requests, self._unsent, self._unsent_bytes = self._unsent, {}, 0
        if requests:
            self._spawn(self._submit(requests))

    # -- one batch -------------------------------------------------------------------------------------------------

    async def _submit(self, requests: dict[str, _Waiting]) -> None:
        name = uuid.uuid4().hex
        self.journal.intend(name, requests)
        self._noted |= requests.keys()
        try:
            lines = b"".join(request_line(custom_id, w.body) for custom_id, w in requests.items())
            file_id = await self._patiently(lambda: self._upload(name, lines))
            remote = await self._patiently(lambda: self._create(file_id, name))
        except ModelError as error:
            self.journal.drop(name)
            self._noted -= requests.keys()
            self._fail(requests, error)
            return
        self.journal.created(name, remote)
        self.tell(f"batch {remote}: {len(requests):,} requests sent")
        await self._watch(OpenBatch(name, remote, frozenset(requests)))

    async def _upload(self, name: str, lines: bytes) -> str:
        file = (f"scirgen-{name}.jsonl", lines, "application/jsonl")
        return self._id(await self.server.ask(lambda c: c.files.with_raw_response.create(file=file, purpose="batch")))

    async def _create(self, file_id: str, name: str) -> str:
        """Create a batch. If the answer to an earlier attempt was lost, use the batch that it made, since a second one
        would also cost."""
        if (made := await self._named(name)) is not None:
            return made
        wanted: dict[str, Any] = {
            "input_file_id": file_id, "endpoint": ENDPOINT, "completion_window": self.settings.window,
            "metadata": {"scirgen": name},
        }  # fmt: skip
        return self._id(await self.server.ask(lambda client: client.batches.with_raw_response.create(**wanted)))

    async def _named(self, name: str) -> str | None:
        """Return the id of the batch that was created under this name, among the latest 2,000."""
        after: Any = openai.omit
        for _ in range(20):
            try:
                page = await self.server.ask(partial(_page, after=after))
            except (NotFoundError, RefusedRequestError):
                return None  # a server without a list of batches
            listed = page.get("data")
            rows = [row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, dict)]
            for row in rows:
                if isinstance(noted := row.get("metadata"), dict) and noted.get("scirgen") == name:
                    return self._id(row)
            if not rows or not page.get("has_more"):
                return None
            after = self._id(rows[-1])
        return None

    def _id(self, made: Mapping[str, Any]) -> str:
        if not isinstance(name := made.get("id"), str) or not name:
            raise ServerUnavailableError(f"{self.where}: the server's answer has no id", hint="Run again to retry it.")
        return name

    async def _adopted(self, left: OpenBatch) -> OpenBatch | None:
        """Resolve a batch whose creation was interrupted: the server knows whether it exists."""
        found = await self._patiently(lambda: self._named(left.name))
        if found is None:
            return None
        self.journal.created(left.name, found)
        return OpenBatch(left.name, found, left.requests)

    async def _watch(self, batch: OpenBatch) -> None:
        """Wait until the batch has ended, then distribute its results."""
        remote = str(batch.remote)
        try:
            while True:
                state = await self._patiently(
                    lambda: self.server.ask(lambda client: client.batches.with_raw_response.retrieve(remote))
                )
                if state.get("status") in ("completed", "expired", "cancelled", "failed"):
                    break
                await asyncio.sleep(self.settings.poll_s)
            arrived: dict[str, Arrived] = {}
            for key in ("output_file_id", "error_file_id"):
                if file_id := state.get(key):
                    lines = await self._patiently(lambda i=str(file_id): self.server.content(i))
                    arrived |= read_answers(lines)
        except NotFoundError:
            state, arrived = {"status": "forgotten by the server"}, {}
        except ModelError as error:
            self._fail({i: w for i in batch.requests if (w := self._waiting.get(i))}, error)
            return
        # After a temporary error the request may be sent again. Everything else is kept until it is taken.
        kept = {i: a for i, a in arrived.items() if i in batch.requests and a.status not in PASSING}
        self.journal.collected(batch.name, kept)
        self._noted -= batch.requests
        good = sum(0 < a.status < 400 for a in arrived.values())
        self.tell(f"batch {batch.remote}: {state.get('status')}, {good:,} of {len(batch.requests):,} answered")
        for custom_id in batch.requests:
            self._give(custom_id, arrived.get(custom_id), state)

    def _give(self, custom_id: str, arrived: Arrived | None, state: dict[str, Any]) -> None:
        waiting = self._waiting.get(custom_id)
        if waiting is None or waiting.future.done():
            return
        error = fault_of(arrived, state, self.where)
        if error is None:
            assert arrived is not None
            del self._waiting[custom_id]
            asyncio.get_running_loop().call_soon(self._let_go, custom_id, waiting.future)
            waiting.future.set_result(arrived.body)
        elif isinstance(error, RETRYABLE) and error.error_code != CANCELLED and waiting.attempts < self.retries:
            waiting.attempts += 1
            self.retried += 1
            self._enqueue(custom_id, waiting)
        else:
            if arrived is not None and arrived.status not in PASSING:
                self.journal.taken(custom_id)
            self._fail({custom_id: waiting}, error)

    def _let_go(self, custom_id: str, future: asyncio.Future[Any]) -> None:
        # Three turns of the loop: the shield, the waiting task, and its handling of the reply.
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: loop.call_soon(lambda: loop.call_soon(self.journal.taken, custom_id)))

    def _fail(self, requests: Mapping[str, _Waiting], error: Exception) -> None:
        for custom_id, waiting in requests.items():
            self._waiting.pop(custom_id, None)
            if not waiting.future.done():
                waiting.future.set_exception(error)
                waiting.future.exception()  # retrieved, since possibly no caller is waiting any more

    async def _patiently(self, call: Any) -> Any:
        """Await ``call()`` until it answers; a server that is temporarily down does not end a batch."""
        began, wait = time.monotonic(), 0.5
        while True:
            try:
                return await call()
            except RETRYABLE as error:
                if time.monotonic() - began > GIVE_UP_S:
                    raise ServerGoneError(
                        f"{self.where}: {error.message}; its batches continue",
                        hint="Run the same command again later; it collects them.",
                    ) from error
                after = error.retry_after if isinstance(error, RateLimitedError) else None
                await asyncio.sleep(min(after or wait, self.settings.poll_s))
                wait = min(60.0, 2 * wait)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # the journal cannot be written, or a bug: no more results would arrive
            self._fail(dict(self._waiting), error if isinstance(error, Exception) else RuntimeError(str(error)))

    async def aclose(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if open_ := self.journal.open_batches():
            logging.getLogger("scirgen").info("%d batches continue at %s", len(open_), self.where)


def _page(client: openai.AsyncOpenAI, after: Any) -> Any:
    return client.batches.with_raw_response.list(limit=100, after=after)


def _settings(options: Mapping[str, object]) -> BatchSettings:
    usual = BatchSettings()
    try:
        return BatchSettings(
            requests=max(1, int(str(options.get("batch_requests", usual.requests)))),
            lull_s=float(str(options.get("batch_lull_s", usual.lull_s))),
            poll_s=float(str(options.get("batch_poll_s", usual.poll_s))),
            window=str(options.get("batch_window", usual.window)),
        )
    except ValueError as error:
        raise ConfigError(
            f"models.options: {error}", hint="batch_requests, batch_lull_s and batch_poll_s must be numbers."
        ) from error
