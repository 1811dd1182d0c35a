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
from collections.abc import Iterator, Sequence
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

CALLS = 2000
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


class Caller:
    """Makes the calls and keeps what each came to."""

    def __init__(self, model: PolicyModel) -> None:
        self.model: Any = model
        self.outcomes: dict[str, tuple[str, Any]] = {}

    def thread(self, numbers: list[str]) -> None:
        for number in numbers:
            seen = ""
            try:
                if streams(number):
                    for event in self.model.stream(number):
                        if type(event) is TextDelta:
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
    transport = HttpxTransport(max_connections=200)
    inner = HttpChatModel(
        Codec(),
        base_url=server,
        transport=transport,
        provider="office",
        defaults=ChatRequestParameters(model="m"),
        timeouts=Timeouts(connect=5, read=1.0, write=5, pool=5),
    )
    policies = [
        DeadlinePolicy(total=60, first_event=0.7, between_events=0.7),
        RetryPolicy(attempts=6, initial_wait=0.01, max_wait=1),
        policy,
    ]
    caller = Caller(PolicyModel(inner, policies))
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

    # No lost call, no doubled text, no retry after content.
    assert sorted(caller.outcomes) == sorted(numbers)
    for number, (text, error) in caller.outcomes.items():
        last = behaviours[number][-1]
        if last.endswith("-content"):
            assert isinstance(error, (StreamInterrupted, ModelTimeout)), (number, behaviours[number], error)
            assert text == "answer to", number
            assert error.partial is not None
            assert error.partial.text == "answer to"
        else:
            assert error is None, (number, behaviours[number], error, error.attempts)
            assert text == words(number)
            assert last in ("good", "slow"), (number, behaviours[number])
    # A connection reset can throw away what was sent before it, and a busy machine can read it too late: then the caller
    # saw nothing of it, and asking again is right. The texts above show that nobody saw a piece twice.
    unseen = [number for number in numbers if any(each.endswith("-content") for each in behaviours[number][:-1])]
    assert len(unseen) <= CALLS // 100, unseen
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
