"""OpenTelemetry spans. They are recorded only if the API is installed (extra ``otel``) and an SDK is configured.

Start a run as ``opentelemetry-instrument scirgen generate ...`` with the usual ``OTEL_*`` variables. Spans carry
stages, keys, models and token counts; the text of prompts and replies only with
OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, as in OpenTelemetry's conventions for generative AI, whose
attribute names are used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

_NOTHING = nullcontext()
_WITH_TEXT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[None]:
    """Return a span around a block; it records the type of an exception that leaves the block."""
    tracer = _tracer()
    return _NOTHING if tracer is None else _recorded(tracer, name, attributes)


def annotate(*, text: Mapping[str, Callable[[], str]] | None = None, **attributes: str | int | None) -> None:
    """Add attributes to the current span; ``__`` stands for a dot, and None is left out.

    ``text`` is recorded only if the user enabled it.
    """
    if _tracer() is None:
        return
    current = _api().get_current_span()
    for name, value in attributes.items():
        if value is not None:
            current.set_attribute(name.replace("__", "."), value)
    if text and os.environ.get(_WITH_TEXT, "").lower() == "true":
        for name, made in text.items():
            current.set_attribute(name, made())


def _tracer() -> Any:
    """Return the tracer, or None without an SDK, since even the API's no-op spans cost as much as a database access."""
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
            kind = getattr(error, "error_code", type(error).__name__)
            current.set_attribute("error.type", kind)
            current.set_status(_api().Status(_api().StatusCode.ERROR, kind))
            raise
