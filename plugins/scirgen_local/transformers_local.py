"""transformers in process as a chat backend: concurrent requests are decoded together, in one thread.

`batch_decoder` decodes; `loading` loads the weights.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar, Final

from scirgen import Capabilities, ChatReply, ChatRequest, ModelError, ModelIdentity, ModelURI, ScirgenError
from scirgen.plugin import ChatModel, ContextTooLongError, LimitsConfig, ModelsConfig
from scirgen_local.loading import LOADING_OPTIONS, LoadedModel, load_causal_lm

if TYPE_CHECKING:
    from scirgen_local.decoding import Grammar, Row

OPTIONS: Final[Mapping[str, str]] = {
    **LOADING_OPTIONS,
    "batch_rows": "largest number of requests decoded together (default 16)",
    "batch_tokens": "largest number of prompt and reply tokens in one batch (default 32768)",
}
SMALL: Final = 1_500_000_000
_GATHER_S: Final = 0.01
"""Seconds to wait for further requests after the first."""

_Waiting = tuple["Row", "asyncio.Future[ChatReply]"]


class TransformersChat(ChatModel):
    """A `ChatModel` over a causal language model in this process."""

    OPTIONS: ClassVar[Mapping[str, str]] = OPTIONS

    def __init__(self, uri: ModelURI, models: ModelsConfig, limits: LimitsConfig) -> None:
        super().__init__(uri, models, limits)
        self._loaded: LoadedModel | None = None
        self._loading = asyncio.Lock()
        self._waiting: list[_Waiting] = []
        self._decoding: asyncio.Task[None] | None = None
        self._closed = threading.Event()
        # A thread of our own, since torch keeps a pool of threads for each thread that calls it.
        self._thread = ThreadPoolExecutor(1, "scirgen-decoder")
        self._grammar: Grammar | None = None

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
        row = _row(loaded, request)
        future: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        self._waiting.append((row, future))
        if self._decoding is None or self._decoding.done():
            self._decoding = asyncio.create_task(self._decode_waiting(loaded))
        return await future

    async def aclose(self) -> None:
        """Stop decoding at the next token; the current requests fail."""
        self._closed.set()
        if self._decoding is not None:
            await self._decoding
        self._thread.shutdown()

    async def _decode_waiting(self, loaded: LoadedModel) -> None:
        """Decode the waiting requests in batches until there are none."""
        await asyncio.sleep(_GATHER_S)
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._take()
            try:
                await loop.run_in_executor(self._thread, self._decode, loaded, batch, loop)
            except asyncio.CancelledError:
                self._closed.set()
                raise
            except Exception as error:  # whatever torch raises becomes an error of the requests
                logging.getLogger("scirgen").debug("decoding failed", exc_info=True)
                ours = error if isinstance(error, ScirgenError) else ModelError(
                    f"decoding failed: {type(error).__name__}: {str(error)[:200]}",
                    hint="If memory ran out, lower models.options.batch_rows.",
                )  # fmt: skip
                for _, future in batch:
                    _settle(future, ours)

    def _take(self) -> list[_Waiting]:
        """Return the request that has waited longest, and those nearest to it in size, within the limits on rows and
        tokens."""
        most_rows = _whole(self.options, "batch_rows", 16)
        most_tokens = _whole(self.options, "batch_tokens", 32768)
        first, *others = self._waiting
        longest = _size(first[0])
        others.sort(key=lambda waiting: abs(_size(waiting[0]) - longest))
        batch = [first]
        for waiting in others:
            wide = max(longest, _size(waiting[0]))
            if len(batch) == most_rows or wide * (len(batch) + 1) > most_tokens:
                break
            batch.append(waiting)
            longest = wide
        taken = {id(waiting[0]) for waiting in batch}
        self._waiting = [waiting for waiting in self._waiting if id(waiting[0]) not in taken]
        return batch

    def _decode(self, loaded: LoadedModel, batch: Sequence[_Waiting], loop: asyncio.AbstractEventLoop) -> None:
        """Decode a batch; runs in the thread."""
        from scirgen_local.batch_decoder import BatchDecoder
        from scirgen_local.decoding import Grammar

        if self._closed.is_set():
            raise ModelError("the model was used after close()")
        decoder, tokenizer = BatchDecoder(loaded), loaded.tokenizer
        futures = {id(row): future for row, future in batch}

        def settle(row: Row, result: ChatReply | Exception) -> None:
            loop.call_soon_threadsafe(_settle, futures[id(row)], result)

        live: list[Row] = []
        for row, _ in batch:
            if row.request.schema is not None:
                self._grammar = self._grammar or Grammar(tokenizer, sorted(decoder.eos))
                try:
                    row.matcher = self._grammar.matcher(row.request.schema)
                except ScirgenError as error:
                    settle(row, error)
                    continue
            live.append(row)
        if live:
            with loaded.lock:
                decoder.decode(live, lambda row: settle(row, row.reply(tokenizer)), self._closed.is_set)


def _row(loaded: LoadedModel, request: ChatRequest) -> Row:
    """Render and check a request.

    Raises:
        ContextTooLongError: prompt and reply do not fit the model's window.
    """
    from scirgen_local.decoding import Row
    from scirgen_local.encoding import JointEncoder

    tokens = JointEncoder(loaded.tokenizer).encode_chat(request.messages)
    window = loaded.context_tokens
    if window is not None and len(tokens) + request.sampling.max_tokens > window:
        raise ContextTooLongError(
            f"the prompt has {len(tokens)} tokens, and with {request.sampling.max_tokens} for the reply it does not"
            f" fit the model's window of {window}",
            hint="Use a model with a longer window, or less material per request.",
        )
    return Row(request, tokens)


def _settle(future: asyncio.Future[ChatReply], result: ChatReply | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


def _size(row: Row) -> int:
    return len(row.tokens) + row.request.sampling.max_tokens


def _whole(options: Mapping[str, object], name: str, default: int) -> int:
    value = options.get(name, default)
    return value if isinstance(value, int) and value > 0 else default
