"""OpenTelemetry spans, where the API is installed (extra ``otel``) and an SDK is configured; otherwise nothing happens.

Start a run as ``opentelemetry-instrument scirgen generate ...`` with the usual ``OTEL_*`` variables. Spans carry stages, keys,
models and token counts, never the text of prompts, papers or replies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

_NOTHING = nullcontext()


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[None]:
    """A span around a block; an exception that leaves it is recorded by its type."""
    tracer = _tracer()
    return _NOTHING if tracer is None else _recorded(tracer, name, attributes)


def _tracer() -> Any:
    """None without an SDK: the API's own spans, which do nothing, would cost as much as a database access."""
    api = _api()
    if api is None or isinstance(api.get_tracer_provider(), api.ProxyTracerProvider):
        return None
    return api.get_tracer("scirgen")


@cache
def _api() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


@contextmanager
def _recorded(tracer: Any, name: str, attributes: dict[str, str | int | float | bool]) -> Iterator[None]:
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except BaseException as error:
            current.set_attribute("error.type", getattr(error, "error_code", type(error).__name__))
            raise
