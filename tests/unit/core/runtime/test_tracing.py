"""Spans are made where an SDK listens, and carry no text."""

from __future__ import annotations

import pytest

from scirgen.core.errors import RateLimitedError
from scirgen.core.runtime import tracing
from scirgen.llm.chat_session import CachedChatSession
from tests.support.models import LIBRARY, Scripted, prompt


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
    assert not made.events and "secret" not in made.to_json() and made.status.status_code.name == "ERROR"


@pytest.mark.parametrize("asked", [False, True])
async def test_a_model_call_carries_its_tokens_and_its_text_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "_tracer", lambda: provider.get_tracer("test"))
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true" if asked else "false")
    session = CachedChatSession(Scripted("a secret reply"), prompts=LIBRARY)
    with tracing.span("scirgen.tag", key="k"):
        await session.ask_text(prompt("a secret prompt"), seed=1)
    call, item = exporter.get_finished_spans()
    found = dict(call.attributes or {})
    assert (call.name, found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (
        "scirgen.chat",
        10,
        5,
    )
    assert call.parent is not None and call.parent.span_id == item.context.span_id
    assert ("secret" in call.to_json()) is asked and "secret" not in item.to_json()
    assert not asked or found["gen_ai.output.messages"] == "a secret reply"


def test_an_sdk_that_is_configured_is_found_and_none_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from types import SimpleNamespace

    from opentelemetry import trace

    provider = sdk.TracerProvider()
    made: list[str] = []
    monkeypatch.setattr(provider, "get_tracer", lambda name: made.append(name) or trace.NoOpTracer())
    for current, expected in ((provider, ["scirgen"]), (trace.ProxyTracerProvider(), [])):
        made.clear()
        api = SimpleNamespace(
            get_tracer_provider=lambda current=current: current,
            ProxyTracerProvider=trace.ProxyTracerProvider,
            get_tracer=provider.get_tracer,
        )
        monkeypatch.setattr(tracing, "_api", lambda api=api: api)
        with tracing.span("scirgen.tag", key="k"):
            pass
        assert made == expected


def test_without_the_extra_a_span_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_tracer", lambda: None)
    with tracing.span("scirgen.tag"):
        pass
