"""
Does what plans ask for: sends requests and waits for locks, sync and async, within a call's limits.

One driver serves every kind of model behind HTTP; what a plan returns is its own affair.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from polywire.codec import HttpResponse
from polywire.errors import ModelTimeout
from polywire.http_exchange import Acquire, Send
from polywire.http_limits import CallLimits
from polywire.requests import CallOptions
from polywire.transport.streams import MAX_ERROR_BODY_BYTES, HttpStream, HttpTransport, Timeouts, is_success
from polywire.watchdog import Watchdog

__all__ = ["HttpDriver"]

_LOCK_POLL_SECONDS = 0.005
ResultT = TypeVar("ResultT")


class HttpDriver:
    """
    Runs plans over a transport. Shared by threads and event loops, as far as the transport is.

    Args:
        transport: sends the requests.
        timeouts: its limits.
        clock: the time, in seconds since the epoch.
        watchdog: cuts sync calls off when a limit runs out; its clock times async calls too.
    """

    __slots__ = ("_clock", "_timeouts", "_transport", "watchdog")

    def __init__(
        self, transport: HttpTransport, timeouts: Timeouts, clock: Callable[[], float], watchdog: Watchdog
    ) -> None:
        self._transport = transport
        self._timeouts = timeouts
        self._clock = clock
        self.watchdog = watchdog

    def limits(self, options: CallOptions, *, stream: bool = False) -> CallLimits | None:
        """Return the limits of a call that begins now; `None` where it has none."""
        return CallLimits.of(options, self.watchdog, stream=stream)

    def drive(self, plan: Generator[Send | Acquire, Any, ResultT], limits: CallLimits | None) -> ResultT:
        """Run a plan, blocking."""
        try:
            step = next(plan)
            while True:
                try:
                    reply = self._send(step, limits) if isinstance(step, Send) else _acquire(step.lock, limits)
                except BaseException as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(reply)
        except StopIteration as stop:
            result: ResultT = stop.value
            return result

    async def adrive(self, plan: Generator[Send | Acquire, Any, ResultT], limits: CallLimits | None) -> ResultT:
        """Run a plan, awaiting."""
        try:
            step = next(plan)
            while True:
                try:
                    if isinstance(step, Send):
                        reply = await self._asend(step, limits)
                    else:
                        reply = await _aacquire(step.lock, limits)
                except BaseException as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(reply)
        except StopIteration as stop:
            result: ResultT = stop.value
            return result

    def _send(self, step: Send, limits: CallLimits | None) -> HttpResponse | HttpStream:
        if limits is None:
            answer = self._transport.send(step.request, stream=step.stream, timeouts=self._timeouts)
        else:
            answer = self._send_limited(step, limits)
        if isinstance(answer, HttpStream) and not is_success(answer.status):
            answer = answer.read_whole(MAX_ERROR_BODY_BYTES)
        return self._received(answer)

    def _send_limited(self, step: Send, limits: CallLimits) -> HttpResponse | HttpStream:
        """Send with a limit on the whole: the body is always read as a stream, which can be cut from outside."""
        remaining = limits.remaining()
        if remaining == 0:
            raise limits.timeout()
        timeouts = self._timeouts if remaining is None else self._timeouts.capped(remaining)
        try:
            answer = self._transport.send(step.request, stream=True, timeouts=timeouts)
            if step.stream or not isinstance(answer, HttpStream):
                return answer
            watch = limits.watch(answer.abort)
            try:
                whole = answer.read_whole()
            finally:
                watch.cancel()
        except Exception as error:
            if (timeout := limits.expired()) is not None:
                raise timeout from error
            raise
        if limits.fired and (timeout := limits.expired()) is not None:
            raise timeout
        return whole

    async def _asend(self, step: Send, limits: CallLimits | None) -> HttpResponse | HttpStream:
        import asyncio

        if limits is None:
            answer = await self._transport.asend(step.request, stream=step.stream, timeouts=self._timeouts)
        else:
            if (timeout := limits.expired()) is not None:
                raise timeout
            try:
                async with asyncio.timeout(limits.remaining()):
                    answer = await self._transport.asend(step.request, stream=step.stream, timeouts=self._timeouts)
            except TimeoutError as error:
                if isinstance(error, ModelTimeout) and limits.expired() is None:
                    raise
                raise limits.timeout() from error
        if isinstance(answer, HttpStream) and not is_success(answer.status):
            answer = await answer.aread_whole(MAX_ERROR_BODY_BYTES)
        return self._received(answer)

    def _received(self, answer: HttpResponse | HttpStream) -> HttpResponse | HttpStream:
        if isinstance(answer, HttpStream):
            answer.received_at = answer.received_at or self._clock()
        elif not answer.received_at:
            return HttpResponse(answer.status, answer.headers, answer.body, self._clock())
        return answer


def _acquire(lock: threading.Lock, limits: CallLimits | None) -> Any:
    remaining = None if limits is None else limits.remaining()
    if not lock.acquire(timeout=-1 if remaining is None else remaining) and limits is not None:
        raise limits.timeout()


async def _aacquire(lock: threading.Lock, limits: CallLimits | None) -> Any:
    """
    Wait for a lock that threads and other event loops share.

    It is held while a token is fetched, which is seldom; looking again every few milliseconds blocks no loop and, when
    cancelled, leaves nothing behind.
    """
    import asyncio

    while not lock.acquire(blocking=False):
        if limits is not None and (timeout := limits.expired()) is not None:
            raise timeout
        await asyncio.sleep(_LOCK_POLL_SECONDS)
