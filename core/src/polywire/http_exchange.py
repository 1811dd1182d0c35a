"""
One exchange with a service behind HTTP: address, sign, send, and read an answer that is an error.

All kinds of models share it. It is a generator that decides and never waits: it yields what is to be done (`Send` a
request, `Acquire` a lock) and is sent what came of it. `http_driver` does these things, with and without `await`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import lru_cache
from types import NoneType
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from polywire.auth import Credential
from polywire.codec import Auth, Encoded, HttpRequest, HttpResponse
from polywire.errors import EmptyResponse, ModelError, NotFound, ProtocolError, SettingsError
from polywire.fast_dataclass import dataclass
from polywire.http_errors import error_from_response, parse_body, request_id_of, summarize_body
from polywire.http_errors.bodies import readable_body
from polywire.transport.streams import HttpStream, is_success

__all__ = [
    "Acquire",
    "Endpoint",
    "ErrorDecoder",
    "Send",
    "check_base_url",
    "exchange",
    "fill_in",
    "join_url",
    "metadata_of",
    "unreadable",
]


@dataclass(slots=True)
class Send:
    """Send this request; the answer is an `HttpResponse`, or an `HttpStream` where `stream` and the status is 2xx."""

    request: HttpRequest
    stream: bool


@dataclass(slots=True)
class Acquire:
    """Wait for this lock."""

    lock: threading.Lock


class ErrorDecoder(Protocol):
    """What an exchange needs of a codec, whatever kind of model it is for."""

    wire: str

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any status but 2xx. Never raises."""


@dataclass(slots=True, kw_only=True)
class Endpoint:
    """What all calls of one model behind HTTP have in common."""

    codec: ErrorDecoder
    base_url: str = field(repr=False)
    auth: Auth
    credential: Credential
    provider: str | None
    headers: Mapping[str, str] = field(repr=False)
    clock: Callable[[], float]


def exchange(
    endpoint: Endpoint, encoded: Encoded, *, stream: bool
) -> Generator[Send | Acquire, Any, HttpResponse | HttpStream]:
    """
    Send an encoded request and return its answer of status 2xx.

    Raises:
        ModelError: the answer has another status; what `decode_error` reads there, without the key.
    """
    http = _addressed(endpoint, encoded.http)
    signed, answer = yield from _signed_exchange(endpoint, http, stream=stream)
    if not is_success(answer.status):
        error = _decoded_error(endpoint, answer, encoded)
        if isinstance(error, NotFound) and not _names_a_model(error, answer):
            _say(error, f"{error.message}; asked was {_asked(endpoint, http)}: is base_url right?")
        _hide_key(error, http, signed)
        raise error
    return answer


def fill_in(error: ModelError, provider: str | None, model: str | None) -> None:
    """Say in an error whose it is, where it does not know."""
    error.provider = error.provider or provider
    error.model = error.model or model


def _addressed(endpoint: Endpoint, request: HttpRequest) -> HttpRequest:
    url = join_url(endpoint.base_url, request.path)
    headers = request.headers
    if endpoint.headers:
        own = {name.lower() for name in endpoint.headers}
        headers = {
            **{name: value for name, value in headers.items() if name.lower() not in own},
            **endpoint.headers,
        }
    return HttpRequest(request.path, request.body, headers, request.method, url)


# Signing


def _signed_exchange(
    endpoint: Endpoint, request: HttpRequest, *, stream: bool
) -> Generator[Send | Acquire, Any, tuple[HttpRequest, HttpResponse | HttpStream]]:
    """Sign and send; where the signature is refused and can be renewed, once more."""
    auth, credential = endpoint.auth, endpoint.credential
    refreshes = credential.refreshes
    signed = yield from _sign(endpoint, request, rejected=False, refreshes=refreshes)
    refreshes = credential.refreshes
    answer = yield Send(signed, stream)
    if answer.status == 401 and auth.refreshable:
        signed = yield from _sign(endpoint, request, rejected=True, refreshes=refreshes)
        answer = yield Send(signed, stream)
    return signed, answer


def _sign(
    endpoint: Endpoint, request: HttpRequest, *, rejected: bool, refreshes: int
) -> Generator[Send | Acquire, Any, HttpRequest]:
    """
    Run the auth's flow. If it needs requests of its own, one caller at a time does that.

    Who had to wait begins again, and finds the fresh credential that another has got meanwhile.
    """
    auth, credential = endpoint.auth, endpoint.credential
    now = datetime.fromtimestamp(endpoint.clock(), UTC)
    flow = auth.flow(request, rejected=rejected, now=now)
    if not rejected:
        try:
            next(flow)
        except StopIteration as signed:
            return _checked_request(signed.value)
        flow.close()  # it wants to send something: begin again under the lock
    yield Acquire(credential.lock)
    try:
        fresh = credential.refreshes != refreshes
        flow = auth.flow(request, rejected=rejected and not fresh, now=now)
        reply: HttpResponse | None = None
        while True:
            try:
                side_request = next(flow) if reply is None else flow.send(reply)
            except StopIteration as signed:
                if reply is not None or (rejected and not fresh):
                    credential.refreshes += 1
                return _checked_request(signed.value)
            try:
                reply = yield Send(side_request if side_request.url else _absolute(endpoint, side_request), False)
            except BaseException as error:
                side_request = flow.throw(error)
    finally:
        credential.lock.release()


def _absolute(endpoint: Endpoint, request: HttpRequest) -> HttpRequest:
    url = join_url(endpoint.base_url, request.path)
    return HttpRequest(request.path, request.body, request.headers, request.method, url)


def _checked_request(value: Any) -> HttpRequest:
    if not isinstance(value, HttpRequest):
        msg = f"the auth's flow must return the signed HttpRequest, not {type(value).__name__}"
        raise TypeError(msg)
    return value


# Answers


def _decoded_error(endpoint: Endpoint, answer: Any, encoded: Encoded) -> ModelError:
    if 300 <= answer.status < 400:
        error = error_from_response(answer)
    else:
        try:
            error = endpoint.codec.decode_error(answer)
        except Exception as fault:
            error = error_from_response(answer)
            error.__cause__ = fault
    if error.request_id is None:
        error.request_id = metadata_of(encoded, answer.headers).get("request_id") or request_id_of(answer.headers)
    return error


def _say(error: ModelError, message: str) -> None:
    error.message = message
    error.args = (message, *error.args[1:])


def _names_a_model(error: ModelError, answer: Any) -> bool:
    """Whether it is the vendor's own word that there is no such model; else it may well be the address that is wrong."""
    said = f"{error.code or ''} {error.message}".lower()
    return not isinstance(parse_body(answer.body), (str, NoneType)) and ("model" in said or "deployment" in said)


def _asked(endpoint: Endpoint, request: HttpRequest) -> str:
    """Method and path, without the query. What looks like a key in the path of `base_url` is left out too."""
    own = {
        each for each in urlsplit(endpoint.base_url).path.split("/") if len(each) >= 16 and any(map(str.isdigit, each))
    }
    path = "/".join("…" if each in own else each for each in urlsplit(request.url).path.split("/"))
    return f"{request.method} {path}"


def _hide_key(error: ModelError, plain: HttpRequest, signed: HttpRequest) -> None:
    """Some servers repeat the key that they refuse: take it out of what the error says."""
    for name, value in signed.headers.items():
        secret = value.split(" ", 1)[-1].strip()
        if len(secret) >= 6 and plain.headers.get(name) != value:
            for field in ("message", "body", "code"):
                text = getattr(error, field)
                if text and secret in text:
                    setattr(error, field, text.replace(secret, "**********"))
            error.args = (error.message, *error.args[1:])


def unreadable(answer: HttpResponse) -> ModelError:
    """Make the error for a whole answer that a codec could not read: there is nothing in it, or not what was promised."""
    request_id = request_id_of(answer.headers)
    summary = summarize_body(answer.body)
    if not summary:
        return EmptyResponse("the server reported success and sent nothing", request_id=request_id)
    return ProtocolError(
        f"the answer is not what the wire promises: {summary}", request_id=request_id, body=readable_body(answer.body)
    )


def metadata_of(encoded: Encoded, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return what a codec wants of the response headers, under the names that it gave."""
    metadata: dict[str, Any] = {}
    for name, key, part in _wanted(tuple(encoded.metadata_headers.items()), tuple(headers)):
        if part is None:
            metadata[key] = headers[name]
        else:
            metadata.setdefault(key, {})[part] = headers[name]
    return metadata


@lru_cache(maxsize=256)  # a server names the same headers every time [measured: 5 % of an async call over aiohttp]
def _wanted(wanted: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> tuple[tuple[str, str, str | None], ...]:
    """Return of each header that is wanted: its name, where it goes, and its name among those gathered there."""
    found: list[tuple[str, str, str | None]] = []
    for name, key in wanted:
        lowered = name.lower()
        if lowered.endswith("*"):
            prefix = lowered[:-1]
            found += [(each, key, each[len(prefix) :]) for each in names if each.startswith(prefix)]
        elif lowered in names:
            found.append((lowered, key, None))
    return tuple(found)


# Addresses


def check_base_url(base_url: str) -> None:
    """
    Check a connection's address.

    Raises:
        SettingsError: it is no HTTP address, or holds a user and a password.
    """
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        msg = "base_url must be an address that begins with http:// or https://"
        raise SettingsError(msg)
    if parts.username or parts.password:
        msg = "base_url holds a user or a password; keys belong to the setting made for them, where nothing shows them"
        raise SettingsError(msg)


@lru_cache(maxsize=1024)
def join_url(base_url: str, path: str) -> str:
    """
    Join a connection's address and a path, keep the address's query, and double nothing.

    Segments that the address already ends with are not repeated: `v1/messages` on `https://h/v1`, on `https://h/` and
    on `https://h/v1/messages` is `https://h/v1/messages`.
    """
    if path.startswith(("http://", "https://")):
        return path
    base = urlsplit(base_url.strip())
    wanted, _, query = path.lstrip("/").partition("?")
    segments = [segment for segment in base.path.split("/") if segment]
    added = wanted.split("/")
    for length in range(min(len(segments), len(added)), 0, -1):
        if segments[-length:] == added[:length]:
            segments = segments[:-length]
            break
    joined = "/".join((*segments, *added))
    queries = "&".join(each for each in (base.query, query) if each)
    return urlunsplit((base.scheme, base.netloc, f"/{joined}", queries, ""))
