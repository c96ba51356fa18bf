"""The fake server for synchronous code and notebooks: it runs in its own thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(model: str = "fake", *, completions: int | None = None) -> Iterator[str]:
    """Serve the fake model while the block runs.

    Args:
        model: the name of the model that is served.
        completions: the status with which ``/completions`` is refused, as by hosted services that only chat.

    Yields:
        The model's URI for ``scirgen.generate(model=...)``.
    """
    from scirgen.testing.server import FakeServer  # needs the extra "testing"

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake model", daemon=True)
    thread.start()
    server = FakeServer(model=model, completions=completions)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    try:
        yield f"openai:{model}@{server.url}"
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
