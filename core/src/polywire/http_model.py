"""
Runs any codec over any transport: the usual way to make a `ChatModel` for a service behind HTTP.

The course of a call is `http_plan.call_plan`, written once; `http_driver` drives it, sync and async.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal

from polywire.auth import NoAuth, credential_of
from polywire.codec import Auth, Codec
from polywire.errors import SettingsError, did_you_mean
from polywire.http_driver import HttpDriver
from polywire.http_exchange import check_base_url, join_url
from polywire.http_plan import Connection, Opened, call_plan, preview
from polywire.http_sources import AsyncHttpSource, HttpSource
from polywire.immutable import EMPTY
from polywire.models import ModelInformation, StreamingChatModel
from polywire.profiles.schema import ProfileTable
from polywire.requests import NO_PARAMETERS, ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, Notice
from polywire.transport.streams import HttpTransport, Timeouts
from polywire.watchdog import Watchdog, shared_watchdog

__all__ = ["HttpChatModel", "join_url"]

_NO_AUTH = NoAuth()


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
        self._driver = HttpDriver(transport, timeouts, clock, watchdog or shared_watchdog())
        profile = None if profiles is None else profiles.for_model
        self.information = ModelInformation(provider, defaults, profile, codec.wire)

    def __repr__(self) -> str:
        information = self.information
        return (
            f"HttpChatModel(provider={information.provider!r}, model={information.model!r}, wire={information.wire!r})"
        )

    def notices_for(self, request: ChatRequest) -> tuple[Notice, ...]:
        """
        Return what would be said on this side of a request, as notices, without sending it.

        Raises:
            UnsupportedByModel: something would be left out, and `unsupported` is `"error"`.
        """
        return preview(self._connection, request)

    # The contract

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request."""
        limits = self._driver.limits(request.options)
        result = self._driver.drive(call_plan(self._connection, request, stream=False), limits)
        assert isinstance(result, ChatResponse)
        return result

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from async code."""
        limits = self._driver.limits(request.options)
        result = await self._driver.adrive(call_plan(self._connection, request, stream=False), limits)
        assert isinstance(result, ChatResponse)
        return result

    def do_stream(self, request: ChatRequest) -> HttpSource:
        """Open a streamed answer: returns once the server has accepted the request."""
        limits = self._driver.limits(request.options, stream=True)
        result = self._driver.drive(call_plan(self._connection, request, stream=True), limits)
        assert isinstance(result, Opened)
        return HttpSource(self._connection, result, limits)

    async def do_astream(self, request: ChatRequest) -> AsyncHttpSource:
        """Open a streamed answer, from async code."""
        limits = self._driver.limits(request.options, stream=True)
        result = await self._driver.adrive(call_plan(self._connection, request, stream=True), limits)
        assert isinstance(result, Opened)
        return AsyncHttpSource(self._connection, result, limits)
