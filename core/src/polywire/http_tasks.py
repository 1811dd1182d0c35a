"""
What models behind HTTP that are no chat models have in common: defaults, one exchange, and the answer's framework.

A *task* is one request and one whole answer: a batch of texts to embed, a picture, a spoken sentence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import fields, replace
from typing import Any, Literal, Protocol, TypeVar

from polywire.auth import NoAuth, credential_of
from polywire.codec import Auth, Encoded, HttpResponse
from polywire.errors import ModelError, PolywireError, SettingsError, UnsupportedByModel, did_you_mean
from polywire.fast_dataclass import dataclass
from polywire.http_driver import HttpDriver
from polywire.http_errors import request_id_of
from polywire.http_exchange import (
    Acquire,
    Endpoint,
    ErrorDecoder,
    Send,
    check_base_url,
    exchange,
    fill_in,
    metadata_of,
    unreadable,
)
from polywire.immutable import EMPTY
from polywire.models import ModelInformation
from polywire.requests import ChatRequestParameters
from polywire.task_requests import check_defaults, lay_over
from polywire.transport.streams import HttpTransport, Timeouts
from polywire.watchdog import Watchdog, shared_watchdog

__all__ = ["HttpTaskModel", "TaskEndpoint", "TaskPlan", "task_plan"]

ResultT = TypeVar("ResultT")
TaskPlan = Generator[Send | Acquire, Any, ResultT]

_NO_AUTH = NoAuth()


class TaskCodec(ErrorDecoder, Protocol):
    """The two other functions of a codec for embeddings, images or speech."""

    def encode(self, request: Any) -> Encoded:
        """Write one request."""

    def decode(self, response: HttpResponse, encoded: Encoded) -> Any:
        """Read the answer."""


@dataclass(slots=True, kw_only=True)
class TaskEndpoint(Endpoint):
    """What all tasks of one model have in common."""

    codec: TaskCodec
    defaults: Mapping[str, Any]
    unsupported: Literal["notice", "error"]


def task_plan(endpoint: TaskEndpoint, request: Any) -> TaskPlan[Any]:
    """Run one task whose request lies over its defaults: encode, sign, send, decode."""
    try:
        if request.model is None:
            msg = "no model is named: give model=… with the call, or set it in the settings"
            raise SettingsError(msg)
        encoded = endpoint.codec.encode(request)
        _refuse_dropped(endpoint, request, encoded)
        answer = yield from exchange(endpoint, encoded, stream=False)
        assert isinstance(answer, HttpResponse)
        return _decoded(endpoint, answer, encoded)
    except ModelError as error:
        fill_in(error, endpoint.provider, request.model)
        raise


def _refuse_dropped(endpoint: TaskEndpoint, request: Any, encoded: Encoded) -> None:
    if endpoint.unsupported == "error":
        names = {each.name for each in fields(request)}
        for notice in encoded.notices:
            if notice.kind == "dropped" and notice.subject in names:
                raise UnsupportedByModel(notice.message, code=notice.subject)


def _decoded(endpoint: TaskEndpoint, answer: HttpResponse, encoded: Encoded) -> Any:
    metadata = metadata_of(encoded, answer.headers)
    try:
        response = endpoint.codec.decode(answer, encoded)
    except PolywireError as error:
        if isinstance(error, ModelError) and error.request_id is None:
            error.request_id = metadata.get("request_id") or request_id_of(answer.headers)
        raise
    except Exception as error:
        raise unreadable(answer) from error
    if not metadata and not encoded.notices:
        return response
    notices = tuple(dict.fromkeys((*encoded.notices, *response.notices)))
    return replace(response, notices=notices, metadata={**metadata, **response.metadata})


class HttpTaskModel:
    """
    What embedding, image and speech models behind HTTP share. Safe for threads, event loops and forks, as far as the
    transport is.

    Args:
        codec: translates to and from the vendor's JSON.
        base_url: the service's address. Its query is kept; segments that a path begins with are not doubled.
        auth: signs the requests.
        transport: sends them. It may be shared; whoever made it closes it.
        defaults: fields of the request that count where a call leaves them out: `{"model": "…", "dimensions": 256}`.
        provider: the provider's name, for errors.
        headers: sent with every request; they win over the codec's.
        timeouts: limits of the transport.
        unsupported: what to do about a field that the vendor cannot take: leave it out with a `"notice"`, or raise an
            `"error"` (`UnsupportedByModel`) before the network.
        clock: the time, in seconds since the epoch.
        watchdog: cuts sync calls off when their deadline runs out; its clock times async calls too.

    Raises:
        SettingsError: `base_url` is no HTTP address.
        UnknownParameter: a default is no field of the request.
    """

    _request_type: type[Any]
    information: ModelInformation

    def __init__(
        self,
        codec: Any,
        *,
        base_url: str,
        transport: HttpTransport,
        auth: Auth = _NO_AUTH,
        defaults: Mapping[str, Any] = EMPTY,
        provider: str | None = None,
        headers: Mapping[str, str] = EMPTY,
        timeouts: Timeouts = Timeouts(),  # noqa: B008 - it never changes
        unsupported: Literal["notice", "error"] = "notice",
        clock: Callable[[], float] = time.time,
        watchdog: Watchdog | None = None,
    ) -> None:
        if unsupported not in ("notice", "error"):
            msg = f"unsupported {unsupported!r}{did_you_mean(str(unsupported), ('notice', 'error'))}"
            raise SettingsError(msg)
        check_base_url(base_url)
        self._endpoint = TaskEndpoint(
            codec=codec,
            base_url=base_url,
            auth=auth,
            credential=credential_of(auth),
            defaults=check_defaults(self._request_type, defaults),
            provider=provider,
            headers=dict(headers),
            unsupported=unsupported,
            clock=clock,
        )
        self._driver = HttpDriver(transport, timeouts, clock, watchdog or shared_watchdog())
        parameters = ChatRequestParameters(model=self._endpoint.defaults.get("model"))
        self.information = ModelInformation(provider, parameters, None, codec.wire)

    def __repr__(self) -> str:
        about = self.information
        return f"{type(self).__name__}(provider={about.provider!r}, model={about.model!r}, wire={about.wire!r})"

    def _plan(self, request: Any) -> TaskPlan[Any]:
        return task_plan(self._endpoint, lay_over(request, self._endpoint.defaults))

    def _run(self, request: Any) -> Any:
        return self._driver.drive(self._plan(request), self._driver.limits(request.options))

    async def _arun(self, request: Any) -> Any:
        return await self._driver.adrive(self._plan(request), self._driver.limits(request.options))
