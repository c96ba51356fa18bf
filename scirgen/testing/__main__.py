"""``python -m scirgen.testing serve --port 0 --latency-ms 30``."""

from __future__ import annotations

import asyncio
import contextlib

import click

from scirgen.testing.server import FakeServer


@click.group()
def main() -> None:
    """Tools for tests and plugin authors."""


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=0, show_default=True, help="0: any free port; the address is printed.")
@click.option("--latency-ms", default=30.0, show_default=True, help="Time until each reply.")
@click.option("--model", default="fake", show_default=True, help="Name of the model it serves.")
def serve(host: str, port: int, latency_ms: float, model: str) -> None:
    """Serve the fake OpenAI-compatible API until interrupted."""

    async def run() -> None:
        async with FakeServer(host=host, port=port, latency_s=latency_ms / 1000, model=model) as server:
            click.echo(f"serving on {server.url}  (use it as: --model openai:{model}@{server.url})")
            await asyncio.Event().wait()

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())


if __name__ == "__main__":
    main()
