"""
Runs any codec over any transport: the usual way to make a `ChatModel` for a service behind HTTP.

The course of a call is `http_plan.call_plan`, written once. Here it is driven, sync and async.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

from polywire.auth import NoAuth, credential_of
from polywire.codec import Auth, Codec, HttpResponse
from polywire.errors import ModelTimeout, SettingsError, did_you_mean
from polywire.http_limits import CallLimits
from polywire.http_plan import CallPlan, Connection, Opened, Send, call_plan, check_base_url, join_url
from polywire.http_sources import AsyncHttpSource, HttpSource
from polywire.immutable import EMPTY
from polywire.models import ModelInformation, StreamingChatModel
from polywire.profiles.schema import ProfileTable
from polywire.requests import NO_PARAMETERS, ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse
from polywire.transport.streams import MAX_ERROR_BODY_BYTES, HttpStream, HttpTransport, Timeouts, is_success
from polywire.watchdog import Watchdog, shared_watchdog

__all__ = ["HttpChatModel", "join_url"]

_NO_AUTH = NoAuth()
_LOCK_POLL_SECONDS = 0.005


class HttpChatModel(StreamingChatModel):
    """
    A model behind HTTP. Safe for threads, event loops and forks, as far as its transport is.

    Args:
        codec: translates to and from the vendor's JSON.
        base_url: the service's address. Its query is kept; segments that a path begins with are not doubled.
        auth: signs the requests.
        transport: sends them. It may be shared; whoever made it closes it.
        defaults: the parameters that each request is laid over.
        provider: the provider's name, for errors and origins.
        headers: sent with every request; they win over the codec's.
        timeouts: limits of the transport.
        profiles: what the models can do, for `information`; the codec has its own.
        unsupported: what to do about a parameter that the vendor cannot take: leave it out with a `"notice"`, or raise
            an `"error"` (`UnsupportedByModel`) before the network.
        history: refuse a history whose tool calls do not close (`"strict"`), or `"repair"` it with notices.
        clock: the time, in seconds since the epoch.
        watchdog: cuts sync calls off when a limit of `CallOptions` runs out; its clock times async calls too.

    Raises:
        SettingsError: `base_url` is no HTTP address.
    """

    def __init__(
        self,
        codec: Codec,
        *,
        base_url: str,
        transport: HttpTransport,
        auth: Auth = _NO_AUTH,
        defaults: ChatRequestParameters = NO_PARAMETERS,
        provider: str | None = None,
        headers: Mapping[str, str] = EMPTY,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - it never changes
        profiles: ProfileTable | None = None,
        unsupported: Literal["notice", "error"] = "notice",
        history: Literal["strict", "repair"] = "strict",
        clock: Callable[[], float] = time.time,
        watchdog: Watchdog | None = None,
    ) -> None:
        for name, value, known in (
            ("unsupported", unsupported, ("notice", "error")),
            ("history", history, ("strict", "repair")),
        ):
            if value not in known:
                msg = f"{name} {value!r}{did_you_mean(str(value), known)}"
                raise SettingsError(msg)
        check_base_url(base_url)
        self._connection = Connection(
            codec=codec,
            base_url=base_url,
            auth=auth,
            credential=credential_of(auth),
            defaults=defaults,
            provider=provider,
            headers=dict(headers),
            unsupported=unsupported,
            history=history,
            clock=clock,
        )
        self._transport = transport
        self._timeouts = timeouts
        self._clock = clock
        self._watchdog = watchdog or shared_watchdog()
        profile = None if profiles is None else profiles.for_model
        self.information = ModelInformation(provider, defaults, profile, codec.wire)

    def __repr__(self) -> str:
        information = self.information
        return (
            f"HttpChatModel(provider={information.provider!r}, model={information.model!r}, wire={information.wire!r})"
        )

    # The contract

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request."""
        limits = CallLimits.of(request.options, self._watchdog, stream=False)
        result = self._drive(call_plan(self._connection, request, stream=False), limits)
        assert isinstance(result, ChatResponse)
        return result

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from async code."""
        limits = CallLimits.of(request.options, self._watchdog, stream=False)
        result = await self._adrive(call_plan(self._connection, request, stream=False), limits)
        assert isinstance(result, ChatResponse)
        return result

    def do_stream(self, request: ChatRequest) -> HttpSource:
        """Open a streamed answer: returns once the server has accepted the request."""
        limits = CallLimits.of(request.options, self._watchdog, stream=True)
        result = self._drive(call_plan(self._connection, request, stream=True), limits)
        assert isinstance(result, Opened)
        return HttpSource(self._connection, result, limits)

    async def do_astream(self, request: ChatRequest) -> AsyncHttpSource:
        """Open a streamed answer, from async code."""
        limits = CallLimits.of(request.options, self._watchdog, stream=True)
        result = await self._adrive(call_plan(self._connection, request, stream=True), limits)
        assert isinstance(result, Opened)
        return AsyncHttpSource(self._connection, result, limits)

    # The two drivers

    def _drive(self, plan: CallPlan, limits: CallLimits | None) -> ChatResponse | Opened:
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
            result: ChatResponse | Opened = stop.value
            return result

    async def _adrive(self, plan: CallPlan, limits: CallLimits | None) -> ChatResponse | Opened:
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
            result: ChatResponse | Opened = stop.value
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
        if (timeout := limits.expired()) is not None:
            raise timeout
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
    while not lock.acquire(blocking=False):
        if limits is not None and (timeout := limits.expired()) is not None:
            raise timeout
        await asyncio.sleep(_LOCK_POLL_SECONDS)
