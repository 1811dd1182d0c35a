"""Rules of the model that the codec becomes: sync and async, early ends, and secrets."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator

from polywire.errors import ModelError
from polywire.models import StreamingChatModel
from polywire.responses import ChatResponse
from polywire.testing.conformance.rules import rule
from polywire.testing.conformance.subject import CANARY, CodecUnderTest
from polywire.testing.recordings import Recording
from polywire.testing.transport import FakeTransport, Reply

__all__: list[str] = []


def _reply(recording: Recording, chunk_size: int | None = None) -> Reply:
    return Reply(status=recording.status, body=recording.body, headers=dict(recording.headers), chunk_size=chunk_size)


def _outcome(result: ChatResponse | BaseException) -> tuple[object, ...]:
    if isinstance(result, BaseException):
        return (type(result), str(result))
    return (result.message.parts, result.finish_reason, result.usage, dict(result.metadata))


def _sync(subject: CodecUnderTest, recording: Recording) -> tuple[object, ...]:
    model = subject.model_over(FakeTransport(_reply(recording, 7)))
    try:
        return _outcome(model.stream("q").collect() if recording.stream else model.chat("q"))
    except ModelError as error:
        return _outcome(error)


def _async(subject: CodecUnderTest, recording: Recording) -> tuple[object, ...]:
    async def main() -> tuple[object, ...]:
        model = subject.model_over(FakeTransport(_reply(recording, 7)))
        try:
            return _outcome(await (model.astream("q").collect() if recording.stream else model.achat("q")))
        except ModelError as error:
            return _outcome(error)

    return asyncio.run(main())


@rule(
    "sync-equals-async",
    "sync and async calls of one recording give the same response or the same error",
    "one codec serves both, and a fix must reach both",
)
def sync_equals_async(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.recordings:
        plain, awaited = _sync(subject, recording), _async(subject, recording)
        if plain != awaited:
            yield f"{recording.name}: sync gives {plain!r}, async {awaited!r}"


@rule(
    "early-end",
    "a stream that is broken off gives its connection back, at once and without a word",
    "connections that leak are found when the pool is empty",
)
def early_end(subject: CodecUnderTest) -> Iterator[str]:
    for recording in subject.of(stream=True):
        transport = FakeTransport(_reply(recording, 16))
        model = subject.model_over(transport)
        stream = model.stream("q")
        next(iter(stream), None)
        stream.close()
        del stream
        gc.collect()
        if transport.open_streams:
            yield f"{recording.name}: after close() {transport.open_streams} stream(s) are still open"
        problem = asyncio.run(_break_off(subject, recording))
        if problem:
            yield problem


async def _break_off(subject: CodecUnderTest, recording: Recording) -> str | None:
    transport = FakeTransport(_reply(recording, 16))
    stream = subject.model_over(transport).astream("q")
    async with stream:
        async for _ in stream:
            break
    if transport.open_streams:
        return f"{recording.name}: after an async break {transport.open_streams} stream(s) are still open"
    return None


@rule(
    "cancellation",
    "a cancelled call passes the cancellation on and leaves nothing open",
    "a task that swallows its cancellation never ends",
)
def cancellation(subject: CodecUnderTest) -> Iterator[str]:
    async def main(recording: Recording) -> str | None:
        transport = FakeTransport(Reply(body=recording.body, chunk_size=8, stall_at=1))
        model = subject.model_over(transport)
        task = asyncio.ensure_future(model.astream("q").collect())
        for _ in range(30):  # turns of the loop, enough for the stream to open and stall
            await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        except Exception as error:
            return f"the cancellation became {type(error).__name__}"
        if transport.open_streams:
            return f"{transport.open_streams} stream(s) are still open"
        return None

    for recording in subject.of(stream=True)[:1]:
        if problem := asyncio.run(main(recording)):
            yield f"{recording.name}: {problem}"


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@rule(
    "no-key-shows",
    "no piece of the key is in a repr, a log line, an error, a URL or a body",
    "keys in logs are keys of everyone who reads logs",
)
def no_key_shows(subject: CodecUnderTest) -> Iterator[str]:
    collected = _Collected()
    root = logging.getLogger()
    level = root.level
    root.addHandler(collected)
    root.setLevel(logging.DEBUG)
    try:
        for recording in (*subject.recordings, Recording(name="HTTP 401", body=b"{}", source="made here", status=401)):
            transport = FakeTransport(_reply(recording))
            model = subject.model_over(transport)
            shown = [repr(model), str(vars(model)) if hasattr(model, "__dict__") else ""]
            shown += _told(model, recording)
            for sent in transport.requests:
                shown += [repr(sent), sent.url, sent.request.body.decode("utf-8", "replace")]
            for text in shown:
                if _leaks(text):
                    yield f"{recording.name}: a piece of the key is in {text[:80]!r}…"
    finally:
        root.removeHandler(collected)
        root.setLevel(level)
    for line in collected.lines:
        if _leaks(line):
            yield f"a log line holds a piece of the key: {line[:80]!r}…"


def _told(model: StreamingChatModel, recording: Recording) -> list[str]:
    try:
        response = model.stream("q").collect() if recording.stream else model.chat("q")
    except ModelError as error:
        chain: list[str] = []
        link: BaseException | None = error
        while link is not None:
            chain += [str(link), repr(link), repr(link.__dict__)]
            link = link.__cause__ or link.__context__
        return chain
    return [repr(response)]


def _leaks(text: str) -> bool:
    return any(CANARY[at : at + 8] in text for at in range(3, len(CANARY) - 7))


@rule(
    "errors-say-whose",
    "an error of a call names the provider and the model",
    "with three fallbacks nobody knows otherwise who failed",
)
def errors_say_whose(subject: CodecUnderTest) -> Iterator[str]:
    if subject.build is not None:
        return
    for status in (401, 429, 500):
        model = subject.model_over(FakeTransport(Reply(status=status, body=b"{}")))
        try:
            model.chat("q")
        except ModelError as error:
            if error.provider != "subject" or error.model != subject.model:
                yield f"HTTP {status}: provider={error.provider!r}, model={error.model!r}"
        else:
            yield f"HTTP {status} was read as a success"
