"""
The extension: an observer that opens a span for each call and fills it as the call goes on.

While a request is being sent, its call's span is the current one, so that what instruments the HTTP client hangs its spans
below it. It never stays current while events are handed out: what the reader does meanwhile is not part of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Token
from typing import Any

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from polywire.config.extensions import Extension
from polywire.policy.logs import describe_error
from polywire.policy.observers import (
    AttemptEnded,
    AttemptStarted,
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
    answer_attributes,
    content_of_answer,
    error_type,
    operation_of,
    request_attributes,
    usage_attributes,
)

__all__ = ["OpenTelemetry"]

_SCOPE = "polywire"
# As the conventions advise, so that dashboards for other libraries fit.
_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]


class _Open:
    """One call under way: its span, what all its measurements say, and the context that its attempt runs in."""

    __slots__ = ("common", "span", "token")

    def __init__(self, span: Span, common: dict[str, Any]) -> None:
        self.span = span
        self.common = common
        self.token: Token[context.Context] | None = None

    def leave(self) -> None:
        """Make the span no longer the current one."""
        token, self.token = self.token, None
        if token is not None:
            context.detach(token)


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
        self._first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            unit="s",
            description="Time to receive the first chunk, measured from when the client issues the generation request.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._open: dict[str, _Open] = {}

    def observers(self) -> Sequence[Observer]:
        return (self,)

    def observe(self, event: CallEvent) -> None:
        """Take in one event of a call."""
        # Single steps of a dict are atomic; a lock might be asked for in a finaliser.
        if isinstance(event, CallStarted):
            self._begin(event)
            return
        opened = self._open.get(event.call.record.id)
        if opened is None:
            return
        span = opened.span
        match event:
            case AttemptStarted():
                opened.token = context.attach(trace.set_span_in_context(span))
            case AttemptEnded():
                opened.leave()
                if event.error is not None:
                    failure: dict[str, Any] = {"number": event.number, "error.type": error_type(event.error)}
                    span.add_event("polywire.attempt_failed", failure)
            case Waiting():
                told: dict[str, Any] = {"reason": event.reason}
                if event.seconds is not None:
                    told["seconds"] = event.seconds
                if event.limit is not None:
                    told["limit"] = event.limit
                span.add_event("polywire.waiting", told)
            case FallbackTaken():
                span.add_event("polywire.fallback", {"failed": event.failed, "next": event.next})
            case StoreUnavailable():
                span.add_event("polywire.limit_store_unavailable")
            case CallEnded():
                self._end(event, opened)
            case _:
                pass

    def _begin(self, event: CallStarted) -> None:
        call = event.call
        provider = call.model.information.provider or "unknown"
        common: dict[str, Any] = {OPERATION: operation_of(call.request), PROVIDER: provider}
        model = call.model_id
        if model:
            common[REQUEST_MODEL] = model
        attributes = common | request_attributes(call.request, streaming=call.streaming, content=self._content)
        for key, value in call.request.options.tags.items():
            attributes[f"polywire.tag.{key}"] = value if isinstance(value, (str, bool, int, float)) else str(value)
        name = " ".join(word for word in (common[OPERATION], model) if word)
        span = self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes)
        self._open[call.record.id] = _Open(span, common)

    def _end(self, event: CallEnded, opened: _Open) -> None:
        self._open.pop(event.call.record.id, None)
        opened.leave()
        span = opened.span
        common = opened.common | {PROVIDER: event.provider or opened.common[PROVIDER]}
        told = answer_attributes(event)
        measured = dict(common)
        if "gen_ai.response.model" in told:
            measured["gen_ai.response.model"] = told["gen_ai.response.model"]
        span.set_attributes({PROVIDER: common[PROVIDER], "polywire.attempts": event.attempts, **told})
        span.set_attributes(usage_attributes(event.usage))
        if self._content:
            span.set_attributes(content_of_answer(event))
        for kind, count in (("input", event.usage.input_tokens), ("output", event.usage.output_tokens)):
            if count is not None:
                self._tokens.record(count, {**measured, "gen_ai.token.type": kind})
        if event.first_event is not None:
            span.set_attribute("gen_ai.response.time_to_first_chunk", event.first_event)
            self._first_chunk.record(event.first_event, measured)
        if event.error is not None:
            measured["error.type"] = error_type(event.error)
            span.set_attribute("error.type", measured["error.type"])
            span.set_status(Status(StatusCode.ERROR, describe_error(event.error)))
        self._duration.record(event.duration, measured)
        span.end()

    def close(self) -> None:
        """End the spans of calls that never told their end."""
        opened, self._open = list(self._open.values()), {}
        for each in opened:
            each.span.end()
