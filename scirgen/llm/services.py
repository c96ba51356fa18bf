"""Services and local servers that speak the OpenAI API: addresses, keys, prices. The data are in ``services.yaml``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from scirgen.core.config import ModelsConfig
from scirgen.core.files.yamlfile import load_model
from scirgen.core.records import Frozen
from scirgen.core.secrets import origin

Price = tuple[float, float] | tuple[float, float, float]
"""Per million prompt and reply tokens; the third is for prompt tokens that the server has in its prefix cache."""


class LocalServer(Frozen):
    """The usual address of a model server on this machine, with the page that states it and the day it was read."""

    url: str
    page: str
    read: datetime.date


class Service(LocalServer):
    """A service that speaks the OpenAI API.

    Attributes:
        key: environment variable with its key; "" if it needs none.
        structured: how it is asked for JSON, if not by a schema.
        reasoning: whether it takes ``reasoning_effort``.
    """

    key: str = ""
    structured: Literal["json_schema", "json_object", "prompt"] = "json_schema"
    reasoning: bool = True


class _Prices(Frozen):
    page: str
    models: dict[str, tuple[float, float] | tuple[float, float, float]]


class _File(Frozen):
    version: int
    services: dict[str, Service]
    local: dict[str, LocalServer]
    prices_read: datetime.date
    prices: dict[str, _Prices]


@cache
def service_file() -> _File:
    """Read ``services.yaml``, once."""
    return load_model(Path(__file__).with_name("services.yaml"), _File, shipped=True)


def services() -> Mapping[str, Service]:
    """Return the services by their names, which are schemes of model URIs too."""
    return service_file().services


def local_servers() -> Mapping[str, LocalServer]:
    """Return the usual addresses of model servers on this machine, by name."""
    return service_file().local


def service_at(url: str) -> tuple[str, Service] | None:
    """Return the name and entry of the service at an address, by scheme, host and port; None for any other server."""
    try:
        here = origin(url)
    except ValueError:
        return None
    return next(((name, s) for name, s in services().items() if origin(s.url) == here), None)


def prices_read() -> datetime.date:
    """Return the day on which the list of prices was read."""
    return service_file().prices_read


def price_of(models: ModelsConfig, name: str, url: str, *, paid: bool = True) -> Price | None:
    """Return the price of a model: the user's, or that of the list; None if neither knows it.

    Args:
        models: settings; ``prices`` overrides the list.
        name: the model's name, as the server is asked for it.
        url: the server's address; "" for a model in this process.
        paid: False for a model in this process, which costs nothing.
    """
    if name in models.prices:
        return models.prices[name]
    if not paid:
        return (0.0, 0.0)
    found = service_at(url)
    listed = service_file().prices.get(found[0]) if found else None
    if listed is None:
        return None
    undated = re.sub(r"-(?:\d{4}-\d{2}-\d{2}|20\d{6})$", "", name)
    return listed.models.get(name) or listed.models.get(undated)
