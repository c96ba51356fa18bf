"""OpenTelemetry spans, where the API is installed (extra ``otel``) and an SDK is configured; otherwise nothing happens.

Start a run as ``opentelemetry-instrument scirgen generate ...`` with the usual ``OTEL_*`` variables. Spans carry stages, keys,
models and token counts, never the text of prompts, papers or replies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("scirgen")


@contextmanager
def span(name: str, **attributes: str | int | float | bool) -> Iterator[None]:
    """A span around a block; an exception that leaves it is recorded by its type."""
    tracer = _tracer()
    if tracer is None:
        yield
        return
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except BaseException as error:
            current.set_attribute("error.type", getattr(error, "error_code", type(error).__name__))
            raise
