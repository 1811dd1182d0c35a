"""2,000 calls, sync and async mixed, plain and streamed, through a server that does everything wrong; seen from its side."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from polywire.codec import Encoded, Frame, HttpRequest, HttpResponse
from polywire.errors import EmptyResponse, ModelError, ModelTimeout, StreamInterrupted
from polywire.events import ResponseEnd, ResponseStart, StreamEvent, TextDelta, UsageUpdate
from polywire.http_errors import error_from_payload, error_from_response
from polywire.http_model import HttpChatModel
from polywire.messages import AiMessage
from polywire.policy import DeadlinePolicy, LimitPolicy, PolicyModel, RetryPolicy
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.transport import HttpxTransport, Timeouts
from polywire.transport.streams import HttpStream

CALLS = 2000
PATIENCE = 2.0
"""Seconds to the first content, and to more. A busy machine takes a second to make a connection, and that is no fault."""
REQUESTS_PER_MINUTE, REQUEST_BURST = 30_000, 60
TOKENS_PER_MINUTE, TOKEN_BURST, ESTIMATE = 1_500_000, 4_000, 60
CONCURRENCY = 48
ON_THE_WAY = 0.25
"""Seconds that a request may take from its permit to the socket, on a busy machine."""


class Decoder:
    def __init__(self) -> None:
        self.ended = False
        self.finished = False
        self.content = False

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        if frame.data == b"[DONE]":
            self.ended = True
            return ()
        payload = json.loads(frame.data)
        if "error" in payload:
            raise error_from_payload(payload)
        if "start" in payload:
            return (ResponseStart({"id": payload["start"]}),)
        if "finish" in payload:
            self.finished = True
            return (UsageUpdate(TokenUsage(input_tokens=0, output_tokens=payload["tokens"])),)
        self.content = True
        return (TextDelta(payload["text"]),)

    def finish(self) -> Sequence[StreamEvent]:
        if self.finished:
            return (ResponseEnd(FinishReason.STOP),)
        msg = "the stream stopped"
        raise StreamInterrupted(msg) if self.content else EmptyResponse(msg)


class Codec:
    wire = "test"

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        body = {"id": request.messages[0].text, "stream": stream, "sent": time.monotonic()}  # type: ignore[union-attr]
        return Encoded(HttpRequest("chat", json.dumps(body).encode(), {"content-type": "application/json"}))

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        payload = json.loads(response.body)
        if "error" in payload:
            raise error_from_payload(payload)
        return ChatResponse(AiMessage(payload["text"]), TokenUsage(input_tokens=0, output_tokens=payload["tokens"]))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)

    def stream_decoder(self, encoded: Encoded) -> Decoder:
        return Decoder()


@pytest.fixture
def server() -> Iterator[str]:
    program = Path(__file__).with_name("misbehaving_server.py")
    process = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdin is not None
    yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    process.stdin.close()
    process.wait(10)
    process.stdout.close()


def report(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}/report") as answer:
        return json.load(answer)  # type: ignore[no-any-return]


class RecordingTransport:
    """
    Keeps what each attempt of each call really brought to this side: every byte that was handed to the library.

    What the server sent is another matter: a reset throws away what the kernel had not delivered, and a call whose time
    ran out on a busy machine never looked at it.
    """

    def __init__(self, inner: HttpxTransport) -> None:
        self.inner = inner
        self.attempts: dict[str, list[bytearray]] = {}

    def begin(self, request: HttpRequest) -> bytearray:
        delivered = bytearray()
        self.attempts.setdefault(json.loads(request.body)["id"], []).append(delivered)
        return delivered

    def send(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        delivered = self.begin(request)
        answer = self.inner.send(request, stream=stream, timeouts=timeouts)
        if isinstance(answer, HttpStream):
            answer.chunks = self.record(answer.chunks, delivered)
        return answer

    async def asend(self, request: HttpRequest, *, stream: bool, timeouts: Timeouts) -> HttpResponse | HttpStream:
        delivered = self.begin(request)
        answer = await self.inner.asend(request, stream=stream, timeouts=timeouts)
        if isinstance(answer, HttpStream) and answer.achunks is not None:
            answer.achunks = self.arecord(answer.achunks, delivered)
        return answer

    def record(self, chunks: Iterator[bytes], delivered: bytearray) -> Iterator[bytes]:
        for chunk in chunks:
            delivered += chunk
            yield chunk

    async def arecord(self, chunks: AsyncIterator[bytes], delivered: bytearray) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            delivered += chunk
            yield chunk

    def close(self) -> None:
        self.inner.close()

    async def aclose(self) -> None:
        await self.inner.aclose()


def content(delivered: bytearray) -> str:
    """The content among the bytes of a stream, as far as its frames are whole."""
    frames = delivered.split(b"\n\n")[:-1]
    return "".join(json.loads(frame[6:])["text"] for frame in frames if frame.startswith(b'data: {"text"'))


class Caller:
    """Makes the calls and keeps what each came to."""

    def __init__(self, model: PolicyModel, transport: RecordingTransport) -> None:
        self.model: Any = model
        self.transport = transport
        self.outcomes: dict[str, tuple[str, Any]] = {}
        self.attempts_at_first_content: dict[str, int] = {}

    def saw(self, number: str) -> None:
        self.attempts_at_first_content.setdefault(number, len(self.transport.attempts[number]))

    def thread(self, numbers: list[str]) -> None:
        for number in numbers:
            seen = ""
            try:
                if streams(number):
                    for event in self.model.stream(number):
                        if type(event) is TextDelta:
                            self.saw(number)
                            seen += event.text
                else:
                    seen = self.model.chat(number).text
            except ModelError as error:
                self.outcomes[number] = seen, error
            else:
                self.outcomes[number] = seen, None

    async def task(self, number: str) -> None:
        seen = ""
        try:
            if streams(number):
                async for event in self.model.astream(number):
                    if type(event) is TextDelta:
                        self.saw(number)
                        seen += event.text
            else:
                seen = (await self.model.achat(number)).text
        except ModelError as error:
            self.outcomes[number] = seen, error
        else:
            self.outcomes[number] = seen, None

    async def tasks(self, numbers: list[str]) -> None:
        await asyncio.gather(*(self.task(number) for number in numbers))
        await self.model.aclose()


def streams(number: str) -> bool:
    return random.Random(f"way {number}").random() < 0.5


def words(number: str) -> str:
    return f"answer to {number} and no other"


def most_over(events: list[tuple[float, int]], per_second: float) -> float:
    """By how much the amount in any window exceeds rate x time: what the burst must cover."""
    worst = least = 0.0
    level = 0.0
    first = events[0][0]
    for at, amount in events:
        # The largest sum over windows is a difference of two values of one running level.
        before = level - per_second * (at - first)
        least = min(least, before)
        level += amount
        worst = max(worst, level - per_second * (at - first) - least)
    return worst


def test_nothing_is_lost_doubled_leaked_or_overspent(server: str) -> None:
    policy = LimitPolicy(
        requests_per_minute=REQUESTS_PER_MINUTE,
        request_burst=REQUEST_BURST,
        tokens_per_minute=TOKENS_PER_MINUTE,
        token_burst=TOKEN_BURST,
        concurrency=CONCURRENCY,
        estimate=ESTIMATE,
    )
    transport = RecordingTransport(HttpxTransport(max_connections=200))
    inner = HttpChatModel(
        Codec(),
        base_url=server,
        transport=transport,
        provider="office",
        defaults=ChatRequestParameters(model="m"),
        timeouts=Timeouts(connect=5, read=PATIENCE + 0.3, write=5, pool=5),
    )
    policies = [
        DeadlinePolicy(total=100, first_event=PATIENCE, between_events=PATIENCE),
        RetryPolicy(attempts=10, initial_wait=0.01, max_wait=1),
        policy,
    ]
    caller = Caller(PolicyModel(inner, policies), transport)
    numbers = [f"call-{number}" for number in range(CALLS)]
    threads = [threading.Thread(target=caller.thread, args=(numbers[start:1000:12],)) for start in range(12)]
    threads += [
        threading.Thread(target=lambda part=part: asyncio.run(caller.tasks(part)))
        for part in (numbers[1000:1500], numbers[1500:])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    seen = report(server)
    behaviours: dict[str, list[str]] = {}
    for _, _, number, behaviour in seen["arrivals"]:
        behaviours.setdefault(number, []).append(behaviour)

    # No lost call, no doubled text.
    assert sorted(caller.outcomes) == sorted(numbers)
    for number, (text, error) in caller.outcomes.items():
        story = (number, behaviours[number], transport.attempts[number], error)
        if error is None:
            assert text == words(number), story
        else:  # only what breaks after content was read is the caller's to see; and then all that was read
            assert isinstance(error, (StreamInterrupted, ModelTimeout)), story
            assert error.partial is not None, story
            assert text == error.partial.text == content(transport.attempts[number][-1]) != "", story
            assert behaviours[number][-1].endswith("-content"), story

    # No retry after content: not of which any had been read here, and not of which any had been handed out.
    for number in filter(streams, numbers):
        *earlier, last = transport.attempts[number]
        assert not any(map(content, earlier)), (number, behaviours[number], earlier)
        assert content(last), number
        assert caller.attempts_at_first_content[number] == len(transport.attempts[number]), number
    broken = [error for _, error in caller.outcomes.values() if error is not None]
    assert len(broken) > CALLS // 100  # the case has been tried
    counted = Counter(behaviour for _, _, _, behaviour in seen["arrivals"])
    assert len(counted) >= 18, counted

    # No permit leaked, no connection leaked.
    limiter: Any = policy.limiter
    assert (limiter.in_use, limiter.waiting) == (0, 0)
    transport.close()
    left = wait_for(lambda: [report(server)[key] for key in ("running", "connections")], [0, 1])
    assert left == [0, 1]  # the one that asks for the report

    # Never more than rate x time + burst, in any window. A request that the server saw in a window was granted in that
    # window or shortly before it: by the longest time that any took to arrive.
    late = max(received - sent for received, sent, _, _ in seen["arrivals"]) + ON_THE_WAY
    requests = sorted((received, 1) for received, _, _, _ in seen["arrivals"])
    assert most_over(requests, REQUESTS_PER_MINUTE / 60) <= REQUEST_BURST + late * REQUESTS_PER_MINUTE / 60
    tokens = sorted((received, amount) for received, amount in seen["tokens"])
    assert most_over(tokens, TOKENS_PER_MINUTE / 60) <= TOKEN_BURST + late * TOKENS_PER_MINUTE / 60
    # A server learns a little late that the other side has hung up.
    assert seen["most_running"] <= CONCURRENCY * 1.25


def wait_for(look: Any, wanted: Any) -> Any:
    until = time.monotonic() + 5
    while (value := look()) != wanted and time.monotonic() < until:
        threading.Event().wait(0.05)
    return value
