"""transformers in process as a chat backend: concurrent requests are decoded together, in one worker thread.

`batch_decoder` decodes; `loading` loads the weights.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from scirgen.core.config import LimitsConfig, ModelsConfig
from scirgen.core.errors import ContextTooLongError, ModelError, ScirgenError
from scirgen.llm.base import Capabilities, ChatModel, ChatReply, ChatRequest, ModelIdentity
from scirgen.llm.local.loading import LOADING_OPTIONS, LoadedModel, load_causal_lm
from scirgen.llm.uri import ModelURI

if TYPE_CHECKING:
    from scirgen.llm.local.batch_decoder import BatchDecoder
    from scirgen.llm.local.decoding import Grammar, Row

OPTIONS: Final[Mapping[str, str]] = {
    **LOADING_OPTIONS,
    "batch_rows": "largest number of requests decoded together (default 16)",
    "batch_tokens": "largest number of prompt and reply tokens in one batch (default 32768)",
}
SMALL: Final = 1_500_000_000
_GATHER_S: Final = 0.01
"""Seconds for which the worker waits for further requests after the first."""

_Waiting = tuple["Row", asyncio.AbstractEventLoop, "asyncio.Future[ChatReply]"]


class TransformersChat(ChatModel):
    """A `ChatModel` over a causal language model in this process."""

    OPTIONS: ClassVar[Mapping[str, str]] = OPTIONS

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._loaded: LoadedModel | None = None
        self._loading = asyncio.Lock()
        self._worker: _Worker | None = None

    def load(self) -> LoadedModel:
        """Load the weights; blocks."""
        return load_causal_lm(self.uri.name, self.options)

    async def start(self) -> None:
        """Load the model; its identity and capabilities are known only afterwards."""
        await self._ready()

    async def _ready(self) -> LoadedModel:
        async with self._loading:
            if self._loaded is None:
                self._loaded = await asyncio.to_thread(self.load)
        return self._loaded

    @property
    def identity(self) -> ModelIdentity:
        assert self._loaded is not None, "call start() first"
        return self._loaded.identity

    @property
    def capabilities(self) -> Capabilities:
        """Structured output by constrained decoding."""
        assert self._loaded is not None, "call start() first"
        return Capabilities(
            structured=True,
            context_tokens=self._loaded.context_tokens,
            pack="small" if self._loaded.parameters < SMALL else "standard",
            parameters=self._loaded.parameters,
        )

    async def chat(self, request: ChatRequest) -> ChatReply:
        loaded = await self._ready()
        if self._worker is None:
            self._worker = _Worker(
                loaded, _whole(self.options, "batch_rows", 16), _whole(self.options, "batch_tokens", 32768)
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ChatReply] = loop.create_future()
        row = self._worker.row(request)
        self._worker.submit((row, loop, future))
        return await future

    async def aclose(self) -> None:
        """Stop the worker thread at the next token; its current requests fail."""
        if self._worker is not None:
            self._worker.stop()
            await asyncio.to_thread(self._worker.thread.join)
            self._worker = None


class _Worker:
    """One thread that decodes waiting requests in batches."""

    def __init__(self, loaded: LoadedModel, rows: int, tokens: int) -> None:
        self._model = loaded
        self._max_rows = rows
        self._max_tokens = tokens
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._grammar: Grammar | None = None
        self._decoder: BatchDecoder | None = None
        self._closed = threading.Event()
        self.thread = threading.Thread(target=self._run, name="scirgen-decoder", daemon=True)
        self.thread.start()

    def row(self, request: ChatRequest) -> Row:
        """Render and check a request.

        Raises:
            ContextTooLongError: prompt and reply do not fit the model's window.
        """
        from scirgen.llm.local.decoding import Row
        from scirgen.llm.tokens.encoding import JointEncoder

        tokens = JointEncoder(self._model.tokenizer).encode_chat(request.messages)
        window = self._model.context_tokens
        if window is not None and len(tokens) + request.sampling.max_tokens > window:
            raise ContextTooLongError(
                f"the prompt has {len(tokens)} tokens, and with {request.sampling.max_tokens} for the reply it does not"
                f" fit the model's window of {window}",
                hint="Use a model with a longer window, or less material per request.",
            )
        return Row(request, tokens)

    def submit(self, waiting: _Waiting) -> None:
        self._queue.put(waiting)

    def stop(self) -> None:
        self._closed.set()
        self._queue.put(None)

    def _run(self) -> None:
        backlog: list[_Waiting] = []
        open_ = True
        while open_ or backlog:
            open_ = self._gather(backlog) and open_
            if not open_:
                for _, loop, future in backlog:
                    _settle(loop, future, ModelError("the model was closed"))
                return
            batch = self._take(backlog)
            try:
                self._decode(batch)
            except (
                Exception
            ) as error:  # any exception from torch becomes an error of the requests and never ends the thread
                logging.getLogger("scirgen").debug("decoding failed", exc_info=True)
                ours = error if isinstance(error, ScirgenError) else ModelError(
                    f"decoding failed: {type(error).__name__}: {str(error)[:200]}",
                    hint="If memory ran out, lower models.options.batch_rows.",
                )  # fmt: skip
                for _, loop, future in batch:
                    _settle(loop, future, ours)

    def _gather(self, backlog: list[_Waiting]) -> bool:
        """Move new requests into the backlog; waits if there is nothing to do. Returns False when it is time to
        stop."""
        deadline: float | None = None if not backlog else time.monotonic()
        while True:
            try:
                wait = None if deadline is None else max(0.0, deadline - time.monotonic())
                item = self._queue.get(timeout=wait) if wait is None or wait > 0 else self._queue.get_nowait()
            except queue.Empty:
                return True
            if item is None:
                return False
            backlog.append(item)
            if deadline is None:
                deadline = time.monotonic() + _GATHER_S

    def _take(self, backlog: list[_Waiting]) -> list[_Waiting]:
        """The request that has waited longest, and those nearest to it in size, within the limits on rows and
        tokens."""
        longest = _size(backlog[0][0])
        others = sorted(backlog[1:], key=lambda waiting: abs(_size(waiting[0]) - longest))
        batch = [backlog[0]]
        for waiting in others:
            wide = max(longest, _size(waiting[0]))
            if len(batch) == self._max_rows or wide * (len(batch) + 1) > self._max_tokens:
                break
            batch.append(waiting)
            longest = wide
        taken = {id(waiting[0]) for waiting in batch}
        backlog[:] = [waiting for waiting in backlog if id(waiting[0]) not in taken]
        return batch

    def _decode(self, batch: list[_Waiting]) -> None:
        from scirgen.llm.local.batch_decoder import BatchDecoder
        from scirgen.llm.local.decoding import Grammar

        if self._decoder is None:
            self._decoder = BatchDecoder(self._model)
        tokenizer = self._model.tokenizer
        where = {id(row): (loop, future) for row, loop, future in batch}
        live: list[Row] = []
        for row, loop, future in batch:
            if row.request.schema is not None:
                self._grammar = self._grammar or Grammar(tokenizer, sorted(self._decoder.eos))
                try:
                    row.matcher = self._grammar.matcher(row.request.schema)
                except ScirgenError as error:
                    _settle(loop, future, error)
                    continue
            live.append(row)
        if live:
            with self._model.lock:
                self._decoder.decode(
                    live, lambda row: _settle(*where[id(row)], row.reply(tokenizer)), self._closed.is_set
                )


def _settle(loop: asyncio.AbstractEventLoop, future: asyncio.Future[ChatReply], result: ChatReply | Exception) -> None:
    def settle() -> None:
        if future.done():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)

    if not loop.is_closed():
        loop.call_soon_threadsafe(settle)


def _size(row: Row) -> int:
    return len(row.tokens) + row.request.sampling.max_tokens


def _whole(options: Mapping[str, object], name: str, default: int) -> int:
    value = options.get(name, default)
    return value if isinstance(value, int) and value > 0 else default
