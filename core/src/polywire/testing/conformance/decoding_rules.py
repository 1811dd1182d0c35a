"""Rules of the answer, whole: what a plain body says, and how errors are told."""

from __future__ import annotations

from collections.abc import Iterator

from polywire.codec import Headers, HttpResponse
from polywire.errors import (
    AuthenticationFailed,
    EmptyResponse,
    ModelError,
    NotFound,
    Overloaded,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
)
from polywire.responses import ChatResponse
from polywire.testing.conformance.rules import rule
from polywire.testing.conformance.subject import CodecUnderTest
from polywire.testing.recordings import Expected, Recording

__all__ = ["differences"]


def differences(response: ChatResponse, expected: Expected) -> Iterator[str]:
    """What a response says other than it should."""
    pairs: list[tuple[str, object, object]] = []
    if expected.no_text:
        pairs.append(("text", response.text, None))
    elif expected.text is not None:
        pairs.append(("text", response.text, expected.text))
    if expected.thinking is not None:
        pairs.append(("thinking", response.thinking, expected.thinking))
    if expected.finish_reason is not None:
        pairs.append(("finish_reason", str(response.finish_reason), expected.finish_reason))
    if expected.tool_calls is not None:
        calls = [
            {key: getattr(call, key) for key in want}
            for call, want in zip(response.tool_calls, expected.tool_calls, strict=False)
        ]
        pairs.append(("number of tool calls", len(response.tool_calls), len(expected.tool_calls)))
        pairs.append(("tool_calls", calls, [dict(want) for want in expected.tool_calls]))
    for key, value in (expected.usage or {}).items():
        pairs.append((f"usage.{key}", getattr(response.usage, key), value))
    for key, value in expected.metadata.items():
        pairs.append((f"metadata[{key!r}]", response.metadata.get(key), value))
    for name, got, wanted in pairs:
        if got != wanted:
            yield f"{name} is {got!r}, and the recording says {wanted!r}"


def error_differences(error: ModelError, expected: Expected) -> Iterator[str]:
    """What an error says other than it should."""
    if error.kind != expected.error:
        yield f"the error is of kind {error.kind!r}, and the recording is a {expected.error!r} ({error})"
    if expected.retry_after is not None and error.retry_after != expected.retry_after:
        yield f"retry_after is {error.retry_after!r}, and the recording asks for {expected.retry_after!r}"


@rule(
    "plain-recordings",
    "every recorded plain answer is read to the values that it holds",
    "a field read wrongly is wrong for every caller",
)
def plain_recordings(subject: CodecUnderTest) -> Iterator[str]:
    recordings = subject.of(stream=False)
    if not recordings:
        yield "there is no recording of a plain answer to hold this against"
    for recording in recordings:
        for problem in differences(subject.decode(recording), recording.expected):
            yield f"{recording.name}: {problem}"


@rule(
    "error-recordings",
    "every recorded failure becomes the right kind of error, plain or in a stream",
    "retries, fallbacks and callers act on the kind alone",
)
def error_recordings(subject: CodecUnderTest) -> Iterator[str]:
    for recording in (*subject.of(stream=False, failed=True), *subject.of(stream=True, failed=True)):
        try:
            if recording.stream and recording.status < 300:
                subject.decode_stream([recording.body])
            else:
                subject.decode(recording)
        except ModelError as error:
            for problem in error_differences(error, recording.expected):
                yield f"{recording.name}: {problem}"
        else:
            yield f"{recording.name}: was read as a success"


_STATUSES: tuple[tuple[int, type[ModelError], bool], ...] = (
    (401, AuthenticationFailed, False),
    (402, QuotaExceeded, False),
    (403, PermissionDenied, False),
    (404, NotFound, False),
    (429, RateLimited, True),
    (529, Overloaded, True),
)


@rule(
    "error-status",
    "an error answer without a body that helps is classed by its status; 408, 409, 429 and 5xx are retryable, other 4xx are not",
    "gateways answer in the vendor's place, and with their own pages",
)
def error_status(subject: CodecUnderTest) -> Iterator[str]:
    for status, kind, retryable in _STATUSES:
        error = subject.codec.decode_error(HttpResponse(status, Headers(), b"", 0.0))
        if not isinstance(error, kind) or error.retryable is not retryable:
            yield f"HTTP {status} became {type(error).__name__}, retryable={error.retryable}; it must be {kind.__name__}"
    for status in (400, 413, 422):
        if subject.codec.decode_error(HttpResponse(status, Headers(), b"{}", 0.0)).retryable:
            yield f"HTTP {status} is retryable: the same request would fail again"
    for status in (408, 409, 500, 502, 503, 504, 520, 524):
        if not subject.codec.decode_error(HttpResponse(status, Headers(), b"{}", 0.0)).retryable:
            yield f"HTTP {status} is not retryable"


_ODD_BODIES: tuple[bytes, ...] = (
    b"", b" ", b"null", b"[]", b"42", b'"text"', b"true", b"{", b"\xff\xfe", b"<html><head><title>502 Bad Gateway</title></head></html>",
    b'{"error":null}', b'{"error":"overloaded"}', b'{"error":[]}', b'{"error":{}}', b'{"error":{"message":null,"code":null}}',
    b'{"error":{"message":{"a":1},"code":[1]}}', b'[{"error":{"code":400,"message":"bad"}}]', b'{"message":1}', b'{"detail":[{"msg":"x"}]}',
    b"[" * 2000, b'{"error":{"message":"' + b"x" * 20_000 + b'"}}',
)  # fmt: skip


@rule(
    "odd-error-bodies",
    "decode_error returns an error for any body at all, with a short message",
    "an error page must not become a crash of the error handling",
)
def odd_error_bodies(subject: CodecUnderTest) -> Iterator[str]:
    for status in (400, 429, 500):
        for body in _ODD_BODIES:
            try:
                error = subject.codec.decode_error(HttpResponse(status, Headers({"retry-after": "soon"}), body, 0.0))
            except Exception as problem:
                yield f"HTTP {status} with body {body[:40]!r}: decode_error raised {type(problem).__name__}"
                continue
            if not isinstance(error, ModelError):
                yield f"HTTP {status} with body {body[:40]!r}: decode_error returned {type(error).__name__}"
            elif len(str(error)) > 4000:
                yield f"HTTP {status} with a body of {len(body)} bytes: the message has {len(str(error))} characters"
            elif "JSONDecodeError" in str(error) or "Expecting value" in str(error):
                yield f"HTTP {status} with body {body[:40]!r}: the message is the JSON parser's, not the failure's"


@rule(
    "odd-success-bodies",
    "a 2xx body that is no answer is a ModelError, never a crash and never an empty success",
    "proxies and overloaded vendors answer 200 with nothing, with a page, or with an error object",
)
def odd_success_bodies(subject: CodecUnderTest) -> Iterator[str]:
    encoded = subject.plain_encoded(stream=False)
    for body in _ODD_BODIES:
        try:
            subject.codec.decode(HttpResponse(200, Headers(), body, 0.0), encoded)
        except ModelError as error:
            if body.strip() == b"" and not isinstance(error, EmptyResponse):
                yield f"an empty body is {type(error).__name__}; it must be EmptyResponse, which is retried"
        except Exception as problem:
            yield f"body {body[:40]!r}: {type(problem).__name__}: {problem}"
        else:
            yield f"body {body[:40]!r} was read as a success"


def same_answer(first: ChatResponse, second: ChatResponse) -> Iterator[str]:
    """Where two readings of one answer differ in what a caller acts on."""
    for name in ("text", "thinking", "tool_calls", "finish_reason", "usage"):
        mine, theirs = getattr(first, name), getattr(second, name)
        if mine != theirs:
            yield f"{name}: {mine!r} in one, {theirs!r} in the other"
    if first.message.parts != second.message.parts:
        yield f"the parts differ: {first.message.parts!r} and {second.message.parts!r}"


@rule(
    "stream-equals-plain",
    "recordings of the same answer, plain and streamed, give the same response",
    "a caller who switches streaming on must not get another answer",
)
def stream_equals_plain(subject: CodecUnderTest) -> Iterator[str]:
    by_answer: dict[str, list[Recording]] = {}
    for recording in subject.recordings:
        if recording.answer is not None and recording.expected.error is None:
            by_answer.setdefault(recording.answer, []).append(recording)
    for answer, recordings in by_answer.items():
        read = [subject.decode_stream([each.body]) if each.stream else subject.decode(each) for each in recordings]
        for other, response in zip(recordings[1:], read[1:], strict=True):
            for problem in same_answer(read[0], response):
                yield f"answer {answer!r}, {recordings[0].name} and {other.name}: {problem}"
