"""Spans are made where an SDK listens, and carry no text."""

from __future__ import annotations

import pytest

from scirgen.core import tracing
from scirgen.core.errors import RateLimitedError


def test_span_carries_attributes_and_the_error_code(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", lambda: provider.get_tracer("test"))
    with pytest.raises(RateLimitedError), tracing.span("scirgen.tag", key="k"):
        raise RateLimitedError("secret text of the reply")
    (made,) = exporter.get_finished_spans()
    assert made.name == "scirgen.tag" and dict(made.attributes or {}) == {"key": "k", "error.type": "rate_limited"}
    assert not made.events and "secret" not in made.to_json()


def test_without_the_extra_a_span_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_tracer", lambda: None)
    with tracing.span("scirgen.tag"):
        pass
