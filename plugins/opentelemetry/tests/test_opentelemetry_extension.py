"""Spans and metrics, read back from the SDK's in-memory exporters."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from polywire import LlmFactory
from polywire.errors import AuthenticationFailed, SettingsError
from polywire.events import ResponseEnd, ResponseStart, TextDelta, UsageUpdate
from polywire.models import ChatModel
from polywire.policy import PolicyEmbeddingModel, PolicyModel, RetryPolicy
from polywire.responses import FinishReason, TokenUsage
from polywire.testing import FakeTransport, Reply, ScriptedChatModel
from polywire_opentelemetry import OpenTelemetry

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
    },
}


class Telemetry:
    def __init__(self, **settings: Any) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.extension = OpenTelemetry(tracer_provider=tracers, meter_provider=MeterProvider([self.reader]), **settings)

    @property
    def span(self) -> Any:
        [span] = self.exporter.get_finished_spans()
        return span

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        return [
            point
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


def model(telemetry: Telemetry, *replies: Any, **settings: Any) -> Any:
    config = {
        "providers": {"openai": {"api_key": "sk-not-a-key-1234567890"}},
        "models": {"a": {"provider": "openai", "model": "m", "temperature": 0.5, **settings}},
    }
    factory = LlmFactory.from_config(
        config, transport=FakeTransport(*replies), sleep=lambda _: None, random=lambda: 0.5
    )
    inner = factory.chat_model("a")
    return PolicyModel(inner.model, inner.policies, observers=[telemetry.extension], runtime=inner.runtime)


def test_a_plain_call_is_a_span_with_request_answer_and_cost() -> None:
    telemetry = Telemetry()

    model(telemetry, ANSWER).chat("q", max_tokens=7, tags={"team": "search"})

    span = telemetry.span
    assert span.name == "chat m"
    assert {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 7,
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "polywire.attempts": 1,
        "polywire.tag.team": "search",
    }.items() <= dict(span.attributes).items()
    assert not any("messages" in key for key in span.attributes)
    [duration] = telemetry.points("gen_ai.client.operation.duration")
    assert duration.count == 1
    assert {
        point.attributes["gen_ai.token.type"]: point.sum for point in telemetry.points("gen_ai.client.token.usage")
    } == {
        "input": 10,
        "output": 5,
    }


def test_the_conversation_is_told_only_when_asked_for() -> None:
    telemetry = Telemetry(capture_content=True)

    model(telemetry, ANSWER).chat("what is it?")

    assert "what is it?" in telemetry.span.attributes["gen_ai.input.messages"]
    assert "Hi" in telemetry.span.attributes["gen_ai.output.messages"]


def test_a_retry_is_an_event_and_the_span_ends_well() -> None:
    telemetry = Telemetry()

    model(telemetry, Reply(status=500, body=b"{}"), ANSWER, retry={"attempts": 2}).chat("q")

    span = telemetry.span
    assert [event.name for event in span.events] == ["polywire.attempt_failed", "polywire.waiting"]
    assert span.events[0].attributes["error.type"] == "server"
    assert span.attributes["polywire.attempts"] == 2
    assert span.status.status_code is StatusCode.UNSET


def test_a_failure_is_told_by_its_kind_and_never_with_the_key() -> None:
    telemetry = Telemetry()

    with pytest.raises(AuthenticationFailed):
        model(telemetry, Reply(status=401, body=b'{"error":{"message":"bad key sk-not-a-key-1234567890"}}')).chat("q")

    span = telemetry.span
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "authentication"
    assert "sk-not-a-key" not in span.to_json()
    assert telemetry.points("gen_ai.client.operation.duration")[0].attributes["error.type"] == "authentication"


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_stream_is_one_span_that_ends_with_it(way: str) -> None:
    telemetry = Telemetry()
    streamed = PolicyModel(ScriptedChatModel("Hello there"), [RetryPolicy(attempts=2)], observers=[telemetry.extension])

    if way == "sync":
        stream = streamed.stream("q")  # type: ignore[attr-defined]
        next(iter(stream))
        assert telemetry.exporter.get_finished_spans() == ()
        stream.collect()
    else:
        asyncio.run(streamed.astream("q").collect())  # type: ignore[attr-defined]

    assert telemetry.span.attributes["polywire.attempts"] == 1
    assert "gen_ai.response.time_to_first_chunk" in telemetry.span.attributes


def test_the_settings_file_switches_it_on() -> None:
    config = {"providers": {"openai": {"api_key": "k"}}, "extensions": ["opentelemetry"]}

    with LlmFactory.from_config(
        {**config, "extension_settings": {"opentelemetry": {"capture_content": True}}}
    ) as factory:
        assert factory.chat_model("openai:m") is not None
    with pytest.raises(SettingsError, match="capture_contents"):
        LlmFactory.from_config({**config, "extension_settings": {"opentelemetry": {"capture_contents": True}}})


@pytest.mark.parametrize("way", ["sync", "async"])
def test_the_span_is_current_while_a_request_is_sent_and_never_while_events_are_read(way: str) -> None:
    telemetry = Telemetry()
    inside: list[Any] = []

    def answer(_: Any) -> Any:
        inside.append(trace.get_current_span())
        yield from ("a", "b")

    streamed: Any = PolicyModel(ChatModel.from_function(answer), observers=[telemetry.extension])

    def outside() -> None:
        assert trace.get_current_span() is trace.INVALID_SPAN

    async def read() -> None:
        async for _ in streamed.astream("q"):
            outside()

    if way == "sync":
        for _ in streamed.stream("q"):
            outside()
    else:
        asyncio.run(read())
    outside()

    assert inside[0].get_span_context() == telemetry.span.context


def test_a_stream_tells_its_end_its_cost_and_its_first_content() -> None:
    telemetry = Telemetry()
    events = [
        ResponseStart({"id": "r-1", "model": "m-2026"}),
        TextDelta("Hi"),
        UsageUpdate(TokenUsage(input_tokens=10, output_tokens=5, reasoning_tokens=2)),
        ResponseEnd(FinishReason.LENGTH),
    ]
    model = PolicyModel(ChatModel.from_function(lambda _: iter(events)), observers=[telemetry.extension])

    model.stream("q").collect()  # type: ignore[attr-defined]

    assert {
        "gen_ai.request.stream": True,
        "gen_ai.response.id": "r-1",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ("length",),
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 2,
    }.items() <= dict(telemetry.span.attributes).items()
    [point] = telemetry.points("gen_ai.client.operation.time_to_first_chunk")
    assert point.count == 1
    assert point.attributes["gen_ai.response.model"] == "m-2026"


def test_vectors_are_an_operation_of_their_own() -> None:
    telemetry = Telemetry()
    reply = {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}],
        "model": "e-1",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
    config = {
        "providers": {"openai": {"api_key": "k"}},
        "models": {"vectors": {"kind": "embedding", "provider": "openai", "model": "e-1"}},
    }
    inner: Any = LlmFactory.from_config(config, transport=FakeTransport(reply)).embedding_model("vectors")
    model = PolicyEmbeddingModel(inner.model, inner.policies, observers=[telemetry.extension])

    model.embed("word")

    assert telemetry.span.name == "embeddings e-1"
    assert telemetry.span.attributes["gen_ai.operation.name"] == "embeddings"
    assert telemetry.span.attributes["gen_ai.usage.input_tokens"] == 3


def test_a_call_that_is_cancelled_ends_its_span() -> None:
    telemetry = Telemetry()

    async def slow(_: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    async def main() -> None:
        task = asyncio.ensure_future(
            PolicyModel(ChatModel.from_function(slow), observers=[telemetry.extension]).achat("q")
        )
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())

    assert telemetry.span.attributes["error.type"] == "CancelledError"
