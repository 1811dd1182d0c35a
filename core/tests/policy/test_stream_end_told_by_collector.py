"""What a limit learns of a stream's end is the same, whether a stream object reads the source or somebody else does."""

from __future__ import annotations

from typing import Any

import pytest

from polywire.events import ResponseEnd, ResponseStart, TextDelta, UsageUpdate
from polywire.models import ChatModel
from polywire.policy import PolicyModel
from polywire.policy.opening import Opened, StreamEnd
from polywire.requests import ChatRequest
from polywire.responses import FinishReason, TokenUsage

EVENTS = [
    ResponseStart({"id": "r"}),
    TextDelta("a"),
    UsageUpdate(TokenUsage(5, 1)),
    TextDelta("b"),
    UsageUpdate(TokenUsage(5, 2)),
    ResponseEnd(FinishReason.STOP, {"last": True}),
]


def watched() -> tuple[Any, list[StreamEnd]]:
    ends: list[StreamEnd] = []

    def policy(call: Any, proceed: Any) -> Any:
        opened = yield from proceed(call)
        assert isinstance(opened, Opened)
        opened.riders.append(ends.append)
        return opened

    return PolicyModel(ChatModel.from_function(lambda _: iter(EVENTS)), [policy]), ends


@pytest.mark.parametrize("read", range(2, len(EVENTS) + 1))
def test_both_readers_tell_the_same_end(read: int) -> None:
    model, by_stream = watched()
    stream = model.stream("hi")
    for _ in range(read):
        next(stream)
    if read == len(EVENTS):
        assert next(stream, None) is None
    stream.close()

    model, by_hand = watched()
    source = model.do_stream(ChatRequest("hi"))
    got = 0
    while got < read:
        got += len(source.read())
    source.close()

    assert by_stream == by_hand
    assert by_stream[0].complete == (read == len(EVENTS))
    assert by_stream[0].usage.output_tokens == (None if read < 3 else 1 if read < 5 else 2)
