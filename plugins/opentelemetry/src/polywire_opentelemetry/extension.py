"""The extension: an observer that opens a span for each call and fills it as the call goes on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from polywire.config.extensions import Extension
from polywire.policy.observers import (
    AttemptEnded,
    CallEnded,
    CallEvent,
    CallStarted,
    FallbackTaken,
    Observer,
    StoreUnavailable,
    Waiting,
)
from polywire_opentelemetry.attributes import (
    OPERATION,
    PROVIDER,
    REQUEST_MODEL,
    error_type,
    request_attributes,
    response_attributes,
)

__all__ = ["OpenTelemetry"]

_SCOPE = "polywire"
# As the conventions advise, so that dashboards for other libraries fit.
_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]


class OpenTelemetry(Extension):
    """
    Makes spans and metrics of calls.

    Args:
        capture_content: put the conversation itself into the spans; off, because spans are read by many.
        tracer_provider, meter_provider: in place of the global ones.
    """

    def __init__(
        self,
        *,
        capture_content: bool = False,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._content = capture_content
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._spans: dict[str, Span] = {}
        self._lock = threading.Lock()

    def observers(self) -> Sequence[Observer]:
        return (self,)

    def observe(self, event: CallEvent) -> None:
        """Take in one event of a call."""
        if isinstance(event, CallStarted):
            self._begin(event)
            return
        with self._lock:
            span = self._spans.get(event.call.record.id)
        if span is None:
            return
        match event:
            case AttemptEnded(error=error) if error is not None:
                span.add_event("polywire.attempt_failed", {"number": event.number, "error.type": error_type(error)})
            case Waiting():
                told: dict[str, Any] = {"reason": event.reason}
                if event.seconds is not None:
                    told["seconds"] = event.seconds
                span.add_event("polywire.waiting", told)
            case FallbackTaken():
                span.add_event("polywire.fallback", {"failed": event.failed, "next": event.next})
            case StoreUnavailable():
                span.add_event("polywire.limit_store_unavailable")
            case CallEnded():
                self._end(event, span)
            case _:
                pass

    def _begin(self, event: CallStarted) -> None:
        call = event.call
        information = call.model.information
        model = call.request.parameters.model or information.model
        attributes: dict[str, Any] = {OPERATION: "chat", PROVIDER: information.provider or "unknown"}
        if model:
            attributes[REQUEST_MODEL] = model
        attributes |= request_attributes(call.request, content=self._content)
        for key, value in call.request.options.tags.items():
            attributes[f"polywire.tag.{key}"] = value if isinstance(value, (str, bool, int, float)) else str(value)
        span = self._tracer.start_span(
            f"chat {model}" if model else "chat", kind=SpanKind.CLIENT, attributes=attributes
        )
        with self._lock:
            self._spans[call.record.id] = span

    def _end(self, event: CallEnded, span: Span) -> None:
        with self._lock:
            self._spans.pop(event.call.record.id, None)
        information = event.call.model.information
        common: dict[str, Any] = {OPERATION: "chat", PROVIDER: event.provider or information.provider or "unknown"}
        model = event.call.request.parameters.model or information.model
        if model:
            common[REQUEST_MODEL] = model
        span.set_attribute(PROVIDER, common[PROVIDER])
        span.set_attribute("polywire.attempts", event.attempts)
        if event.first_event is not None:
            span.set_attribute("gen_ai.response.time_to_first_chunk", event.first_event)
        if event.response is not None:
            span.set_attributes(response_attributes(event.response, content=self._content))
        measured = dict(common)
        if event.error is not None:
            measured["error.type"] = error_type(event.error)
            span.set_attribute("error.type", measured["error.type"])
            span.set_status(Status(StatusCode.ERROR, str(event.error)))
        self._duration.record(event.duration, measured)
        self._count_tokens(event, span, common)
        span.end()

    def _count_tokens(self, event: CallEnded, span: Span, common: dict[str, Any]) -> None:
        usage = event.usage
        if usage is None:
            return
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if count is not None:
                span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
                self._tokens.record(count, {**common, "gen_ai.token.type": kind})
        for name, count in (
            ("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens),
            ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens),
        ):
            if count is not None:
                span.set_attribute(name, count)

    def close(self) -> None:
        """End the spans of calls that never told their end."""
        with self._lock:
            spans, self._spans = list(self._spans.values()), {}
        for span in spans:
            span.end()
