"""
Loads media that a conversation holds as addresses, for services that take bytes alone. Opt-in: nothing calls it by itself.

    messages = inline_media(messages, profile=model.information.profile(None))
    model.chat(messages)

Whoever can write an address into a conversation chooses where this program connects to. So every address, and every
address that a redirect leads to, is checked before the connection is made: the scheme, the absence of a password, and
that its host stands for public addresses alone. The size, the time and the number of redirects have limits, and what
arrives must be what it was said to be.

One gap is left: the name is looked up once for the check and once by the transport. A name server that answers
differently the second time can lead behind the check. Where that matters, send downloads through a proxy that refuses
private addresses (`HttpxTransport(proxy=…)`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit, urlunsplit

from polywire.codec import HttpRequest, HttpResponse
from polywire.contents import AudioContent, DocumentContent, ImageContent, MediaContent, VideoContent
from polywire.errors import ModelError, PolywireError, SettingsError
from polywire.fast_dataclass import dataclass
from polywire.http_limits import CallLimits
from polywire.media_types import canonical_media_type, sniff_media_type
from polywire.messages import AiMessage, CustomMessage, Message
from polywire.profiles import Profile
from polywire.requests import CallOptions
from polywire.translation.media import taken_sources
from polywire.transport.streams import HttpStream, HttpTransport, Timeouts, is_success
from polywire.watchdog import Watchdog, shared_watchdog

__all__ = ["DownloadFailed", "DownloadLimits", "ainline_media", "inline_media"]

ResultT = TypeVar("ResultT")
Resolve = Callable[[str, int], Iterable[str]]
"""Looks a host's name up: its addresses, as text."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f\\]")
_SAYS_NOTHING = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_PREFIXES: tuple[tuple[type[MediaContent], tuple[str, ...]], ...] = (
    (ImageContent, ("image/",)),
    (AudioContent, ("audio/", "video/mp4", "video/webm")),  # containers that hold sound alone as well
    (VideoContent, ("video/",)),
    (DocumentContent, ("application/", "text/")),
)
# Addresses that carry an IPv4 address inside, and where in the 128 bits it ends.
_CARRIERS = tuple(
    (ipaddress.ip_network(network), shift) for network, shift in (("64:ff9b::/96", 0), ("2002::/16", 80), ("::/96", 0))
)


class DownloadFailed(PolywireError):
    """An address in a conversation was refused, or could not be loaded. The message names its place and its host alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLimits:
    """
    What a download may do.

    Attributes:
        max_bytes: the largest item, decompressed.
        max_redirects: so many redirects are followed, each checked like the first address.
        max_seconds: for one item, redirects and all.
        allow_private: also load from private, loopback and link-local addresses; for services of one's own.
        schemes: the schemes that are taken.
        timeouts: limits of the transport.
    """

    max_bytes: int = 20 * 1024 * 1024
    max_redirects: int = 3
    max_seconds: float = 60.0
    allow_private: bool = False
    schemes: frozenset[str] = frozenset({"https", "http"})
    timeouts: Timeouts = field(default_factory=lambda: Timeouts(connect=10.0, read=30.0, write=30.0, pool=30.0))


DEFAULT_LIMITS = DownloadLimits()


def inline_media(
    messages: Sequence[Message],
    *,
    profile: Profile | None = None,
    limits: DownloadLimits = DEFAULT_LIMITS,
    transport: HttpTransport | None = None,
    resolve: Resolve | None = None,
    watchdog: Watchdog | None = None,
) -> tuple[Message, ...]:
    """
    Load the media that messages hold as addresses, and return the messages with the bytes in their place.

    What has bytes or a file id stays as it is; messages in which nothing changes come back themselves. An address that
    stands several times is loaded once.

    Args:
        profile: load only what this model does not take as an address; `None` loads everything.
        limits: size, time, redirects, and whether private addresses may be asked.
        transport: sends the requests; it must not follow redirects itself. `None` makes one for this call.
        resolve: looks names up; the system's own way if left out.
        watchdog: cuts downloads off that take too long.

    Raises:
        DownloadFailed: an address was refused or could not be loaded.
        SettingsError: the transport follows redirects, so that they could not be checked.
    """
    session = _Session(transport, limits, resolve, watchdog)
    plan = _messages(messages, profile, session)
    try:
        step = next(plan)
        while True:
            try:
                answer = step.run(session)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        result: tuple[Message, ...] = stop.value
        return result
    finally:
        if transport is None:
            session.transport.close()


async def ainline_media(
    messages: Sequence[Message],
    *,
    profile: Profile | None = None,
    limits: DownloadLimits = DEFAULT_LIMITS,
    transport: HttpTransport | None = None,
    resolve: Resolve | None = None,
    watchdog: Watchdog | None = None,
) -> tuple[Message, ...]:
    """As `inline_media`, from async code. Names are looked up in a thread."""
    session = _Session(transport, limits, resolve, watchdog)
    plan = _messages(messages, profile, session)
    try:
        step = next(plan)
        while True:
            try:
                answer = await step.arun(session)
            except Exception as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        result: tuple[Message, ...] = stop.value
        return result
    finally:
        if transport is None:
            await session.transport.aclose()


class _Session:
    """What the downloads of one call have in common."""

    def __init__(
        self,
        transport: HttpTransport | None,
        limits: DownloadLimits,
        resolve: Resolve | None,
        watchdog: Watchdog | None,
    ) -> None:
        if transport is None:
            from polywire.transport import HttpxTransport

            transport = HttpxTransport()
        if getattr(transport, "follow_redirects", False):
            msg = "the transport follows redirects by itself, so that where they lead could not be checked"
            raise SettingsError(msg)
        self.transport = transport
        self.limits = limits
        self.resolve = resolve or _look_up
        self.watchdog = watchdog or shared_watchdog()
        self.loaded: dict[str, tuple[bytes, str]] = {}


@dataclass(slots=True)
class _Resolve:
    """Look a name up."""

    host: str
    port: int

    def run(self, session: _Session) -> list[str]:
        return list(session.resolve(self.host, self.port))

    async def arun(self, session: _Session) -> list[str]:
        return await asyncio.to_thread(self.run, session)


@dataclass(slots=True)
class _Fetch:
    """Load an address that has been checked; of a body that is too long, one byte more than is allowed."""

    request: HttpRequest
    limits: CallLimits

    def run(self, session: _Session) -> HttpResponse:
        self._in_time()
        timeouts = session.limits.timeouts.capped(self.limits.remaining() or 1.0)
        answer = session.transport.send(self.request, stream=True, timeouts=timeouts)
        if not isinstance(answer, HttpStream):
            return answer
        watch = self.limits.watch(answer.abort)
        try:
            whole = answer.read_whole(session.limits.max_bytes + 1)
        finally:
            watch.cancel()
        self._in_time()
        return whole

    async def arun(self, session: _Session) -> HttpResponse:
        self._in_time()
        async with asyncio.timeout(self.limits.remaining()):
            answer = await session.transport.asend(self.request, stream=True, timeouts=session.limits.timeouts)
            return await answer.aread_whole(session.limits.max_bytes + 1) if isinstance(answer, HttpStream) else answer

    def _in_time(self) -> None:
        if (late := self.limits.expired()) is not None:
            raise late


_Plan = Generator[_Resolve | _Fetch, Any, ResultT]


def _messages(messages: Sequence[Message], profile: Profile | None, session: _Session) -> _Plan[tuple[Message, ...]]:
    changed: list[Message] = []
    for position, message in enumerate(messages):
        if isinstance(message, CustomMessage):
            changed.append(message)
            continue
        name = "parts" if isinstance(message, AiMessage) else "contents"
        items: list[Any] = list(getattr(message, name))
        loaded = False
        for index, item in enumerate(items):
            if isinstance(item, MediaContent) and _is_wanted(item, profile):
                items[index] = yield from _content(item, f"messages[{position}].{name}[{index}]", session)
                loaded = True
        changes: Any = {name: items}
        changed.append(replace(message, **changes) if loaded else message)
    return tuple(changed)


def _is_wanted(content: MediaContent, profile: Profile | None) -> bool:
    if content.url is None:
        return False
    return profile is None or "url" not in taken_sources(content, profile)[0]


def _content(content: MediaContent, where: str, session: _Session) -> _Plan[MediaContent]:
    url = content.url or ""
    if url not in session.loaded:
        session.loaded[url] = yield from _load(url, where, session)
    data, said = session.loaded[url]
    media_type = sniff_media_type(data) or ("" if said in _SAYS_NOTHING else said) or content.media_type
    wanted = next(prefixes for kind, prefixes in _PREFIXES if isinstance(content, kind))
    if media_type is None or not canonical_media_type(media_type).startswith(wanted):
        kind = type(content).__name__.removesuffix("Content").lower()
        msg = f"{where}: what {_host(url)} sent is no {kind}" + (f" but {media_type}" if media_type else "")
        raise DownloadFailed(msg)
    return replace(content, data=data, url=None, media_type=media_type)


def _load(url: str, where: str, session: _Session) -> _Plan[tuple[bytes, str]]:
    """Load one address, through its redirects; return the bytes, and what the server says they are."""
    limits = session.limits
    time = CallLimits(CallOptions(deadline=limits.max_seconds), session.watchdog, stream=False)
    for _ in range(limits.max_redirects + 1):
        url = yield from _checked(url, where, session)
        request = HttpRequest(url, b"", {"accept": "*/*", "accept-encoding": "identity"}, "GET", url)
        try:
            answer: HttpResponse = yield _Fetch(request, time)
        except (ModelError, TimeoutError, OSError) as error:
            problem = f"took longer than {limits.max_seconds:g} s" if time.expired() else "could not be loaded"
            msg = f"{where}: {_host(url)} {problem} ({type(error).__name__})"
            raise DownloadFailed(msg) from error
        location = answer.headers.get("location")
        if answer.status in _REDIRECTS and location:
            url = urljoin(url, location)
            continue
        if not is_success(answer.status):
            msg = f"{where}: {_host(url)} answered with HTTP {answer.status}"
            raise DownloadFailed(msg)
        if len(answer.body) > limits.max_bytes:
            msg = f"{where}: what {_host(url)} sends is larger than {limits.max_bytes} bytes"
            raise DownloadFailed(msg)
        if not answer.body:
            msg = f"{where}: {_host(url)} sent nothing"
            raise DownloadFailed(msg)
        return answer.body, answer.headers.get("content-type", "").split(";")[0].strip().lower()
    msg = f"{where}: {_host(url)}: more than {limits.max_redirects} redirects"
    raise DownloadFailed(msg)


def _checked(url: str, where: str, session: _Session) -> _Plan[str]:
    """
    Return an address that may be asked, put together again from the parts that were checked.

    Readers of addresses differ about odd characters; what one takes for a password another takes for the host. So
    nothing odd is passed on.
    """
    limits = session.limits
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        host = host and (host if ":" in host else host.encode("idna").decode())
    except (ValueError, UnicodeError):
        host = None
    if not host or _FORBIDDEN.search(url) or "%" in parts.netloc:
        msg = f"{where}: the address cannot be read, or holds characters that have no place there"
        raise DownloadFailed(msg)
    if parts.scheme not in limits.schemes:
        msg = f"{where}: addresses with {parts.scheme or 'no scheme'}: are not loaded, only {', '.join(sorted(limits.schemes))}"
        raise DownloadFailed(msg)
    if "@" in parts.netloc:
        msg = f"{where}: the address holds a user or a password"
        raise DownloadFailed(msg)
    if not limits.allow_private:
        try:
            addresses = yield _Resolve(host, port or (443 if parts.scheme == "https" else 80))
        except (OSError, UnicodeError) as error:
            msg = f"{where}: the host {host!r} is not known"
            raise DownloadFailed(msg) from error
        if not addresses or not all(map(_is_public, addresses)):
            msg = f"{where}: the host {host!r} stands for no public address (allow_private=True would load from it)"
            raise DownloadFailed(msg)
    netloc = f"[{host}]" if ":" in host else host
    return urlunsplit(
        (parts.scheme, netloc if port is None else f"{netloc}:{port}", parts.path or "/", parts.query, "")
    )


def _is_public(text: str) -> bool:
    """Whether an address is one of the public internet, and so is any other that it carries inside."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        carried = address.ipv4_mapped
        for network, shift in _CARRIERS:
            if carried is None and address in network:
                carried = ipaddress.IPv4Address((int(address) >> shift) & 0xFFFFFFFF)
        if carried is not None:
            return _is_public(str(carried))
        if address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast


def _look_up(host: str, port: int) -> Iterable[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _host(url: str) -> str:
    """The host alone: the rest of an address may hold a secret."""
    return repr(urlsplit(url).hostname or "the address")
