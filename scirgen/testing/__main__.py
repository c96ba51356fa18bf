"""``python -m scirgen.testing serve --port 0 --latency-ms 30``."""

from __future__ import annotations

import asyncio

import click

try:
    import aiohttp  # noqa: F401
except ImportError as error:
    raise SystemExit("the fake server needs an extra package: pip install 'scirgen[testing]'") from error

from scirgen.testing.batches import Batches
from scirgen.testing.faults import FAULTS, Faults
from scirgen.testing.server import FakeServer


@click.group()
def main() -> None:
    """Tools for tests and plugin authors."""


@main.command()
@click.option("--port", default=0, show_default=True, help="0: any free port; the address is printed.")
@click.option("--latency-ms", default=30.0, show_default=True, help="Delay of each reply.")
@click.option("--model", default="fake", show_default=True, help="Name of the model it serves.")
@click.option("--fault", "faults", multiple=True, metavar="NAME=RATE", help=f"Repeatable. Names: {', '.join(FAULTS)}.")
@click.option("--batch-s", default=1.0, show_default=True, help="Seconds until a batch of the Batch API ends.")
def serve(port: int, latency_ms: float, model: str, faults: tuple[str, ...], batch_s: float) -> None:
    """Serve the fake OpenAI-compatible API until interrupted."""
    try:
        rates = {name: float(rate) for name, _, rate in (fault.partition("=") for fault in faults)}
        wrong = Faults(rates)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--fault") from error

    async def run() -> None:
        latency, batches = latency_ms / 1000, Batches(batch_s)
        async with FakeServer(port=port, latency_s=latency, model=model, faults=wrong, batches=batches) as server:
            click.echo(f"serving on {server.url}  (use it as: --model openai:{model}@{server.url})")
            await asyncio.Event().wait()

    try:
        asyncio.run(run())
    except OSError as error:
        raise click.ClickException(f"cannot listen on 127.0.0.1:{port}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
