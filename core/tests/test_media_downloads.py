"""Guarded downloads: what is loaded, what is refused, and that every redirect is checked like the first address."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polywire.codec import HttpRequest
from polywire.contents import AudioContent, DocumentContent, ImageContent, TextContent, VideoContent
from polywire.downloads import DownloadFailed, DownloadLimits, ainline_media, inline_media
from polywire.errors import ConnectionFailed, SettingsError, UnsupportedByModel
from polywire.messages import AiMessage, CustomMessage, Message, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.profiles import Profile
from polywire.testing.transport import FakeTransport, Reply
from polywire.translation.media import check_image_count
from polywire.transport import HttpxTransport

PNG = b"\x89PNG\r\n\x1a\n and so on"
PUBLIC = "93.184.216.34"
Inline = Callable[..., tuple[Any, ...]]


def resolver(*addresses: str, **hosts: str) -> Callable[[str, int], Sequence[str]]:
    def resolve(host: str, port: int) -> Sequence[str]:
        if host in hosts:
            return [hosts[host]]
        return addresses or [PUBLIC]

    return resolve


@pytest.fixture(params=["sync", "async"])
def inline(request: pytest.FixtureRequest) -> Inline:
    if request.param == "sync":
        return inline_media
    return lambda *arguments, **keywords: asyncio.run(ainline_media(*arguments, **keywords))


def load(inline: Inline, url: str, *answers: Any, content: Any = ImageContent, **keywords: Any) -> Any:
    transport = FakeTransport(*answers)
    keywords.setdefault("resolve", resolver())
    [message] = inline([UserMessage([content(url=url)])], transport=transport, **keywords)
    assert transport.open_streams == 0
    return message.contents[0]


def test_bytes_take_the_place_of_addresses_and_all_else_stays(inline: Inline) -> None:
    transport = FakeTransport(
        Reply(body=PNG, headers={"content-type": "application/octet-stream"}),
        Reply(body=b"%PDF-1.7", headers={"content-type": "application/pdf"}),
    )
    untouched = UserMessage([TextContent("a"), ImageContent(data=PNG), ImageContent(file_id="f1")])
    custom = CustomMessage({"kind": "x"})
    history: list[Message] = [
        SystemMessage("s"),
        untouched,
        UserMessage([TextContent("see"), ImageContent(url="https://a.test/1", detail="low")], name="ann"),
        AiMessage([TextContent("ok"), ToolCall("c", "shot", "{}")]),
        ToolResultMessage("c", "shot", [ImageContent(url="https://a.test/1"), DocumentContent(url="https://a.test/2")]),
        custom,
    ]

    done = inline(history, transport=transport, resolve=resolver())

    assert [each.url for each in transport.requests] == ["https://a.test/1", "https://a.test/2"]
    assert done[0] is history[0]
    assert done[1] is untouched
    assert done[3] is history[3]
    assert done[5] is custom
    assert done[2] == UserMessage([TextContent("see"), ImageContent(data=PNG, detail="low")], name="ann")
    assert done[4] == ToolResultMessage(
        "c", "shot", [ImageContent(data=PNG), DocumentContent(data=b"%PDF-1.7", media_type="application/pdf")]
    )
    assert history[2].contents[1].url == "https://a.test/1"  # type: ignore[union-attr]


def test_no_credentials_and_no_body_are_sent(inline: Inline) -> None:
    transport = FakeTransport(PNG)

    inline([UserMessage([ImageContent(url="https://a.test/x?sig=1#part")])], transport=transport, resolve=resolver())

    request = transport.last.request
    assert (request.method, request.body, request.url) == ("GET", b"", "https://a.test/x?sig=1")
    assert set(request.headers) == {"accept", "accept-encoding"}
    assert transport.last.stream


def test_only_what_a_model_does_not_take_as_an_address_is_loaded(inline: Inline) -> None:
    profile = Profile(image_sources=frozenset({"data", "url"}), document_sources=frozenset({"data"}))
    message = UserMessage([ImageContent(url="https://a.test/1"), DocumentContent(url="https://a.test/2")])
    transport = FakeTransport(b"%PDF-1.7")

    [done] = inline([message], profile=profile, transport=transport, resolve=resolver())

    assert done.contents[0].url == "https://a.test/1"
    assert done.contents[1].data == b"%PDF-1.7"


PRIVATE = [
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "192.0.2.7", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1",
    "fd12::3", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "::127.0.0.1", "not an address",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_a_host_that_stands_for_no_public_address_is_refused(inline: Inline, address: str) -> None:
    with pytest.raises(DownloadFailed, match=r"messages\[0\].contents\[0\]: the host 'a.test' stands for no public"):
        load(inline, "https://a.test/x", resolve=resolver(address))
    with pytest.raises(DownloadFailed, match="no public"):
        load(inline, "https://a.test/x", resolve=resolver(PUBLIC, address))


@pytest.mark.parametrize("address", [PUBLIC, "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_address_is_loaded(inline: Inline, address: str) -> None:
    assert load(inline, "https://a.test/x", PNG, resolve=resolver(address)).data == PNG


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/x", "http://127.1/x", "http://2130706433/x", "http://0x7f.0.0.1/x", "http://[::1]/x",
        "http://[::ffff:127.0.0.1]/x", "http://localhost/x", "http://169.254.169.254/latest/meta-data",
    ],
)  # fmt: skip
def test_every_spelling_of_this_machine_is_refused_by_the_systems_own_lookup(inline: Inline, url: str) -> None:
    def numeric_or_known(host: str, port: int) -> Sequence[str]:
        # As the system reads numbers and its hosts file; no name server is asked.
        return ["127.0.0.1"] if host == "localhost" else [
            str(found[4][0]) for found in socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST)
        ]  # fmt: skip

    with pytest.raises(DownloadFailed, match="no public address"):
        load(inline, url, resolve=numeric_or_known)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "cannot be read"),
        ("ftp://a.test/x", "with ftp: are not loaded"),
        ("gopher://a.test/x", "with gopher"),
        ("https://user:secret@a.test/x", "a user or a password"),
        ("https://a.test\\@b.test/x", "cannot be read"),
        ("https://a.test/x y", "cannot be read"),
        ("https://a.test/x\r\nhost: b", "cannot be read"),
        ("https:///x", "cannot be read"),
        ("https://a.test:99999/x", "cannot be read"),
        ("https://[fe80::1%25eth0]/x", "cannot be read"),
        ("https://a..test/x", "cannot be read"),
    ],
)
def test_odd_addresses_are_refused_and_their_secrets_not_shown(inline: Inline, url: str, why: str) -> None:
    with pytest.raises(DownloadFailed, match=why) as caught:
        load(inline, url)
    assert "secret" not in str(caught.value)


def test_a_name_that_is_not_known_is_named(inline: Inline) -> None:
    def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(8, "nodename nor servname provided")

    with pytest.raises(DownloadFailed, match=r"the host 'a\.test' is not known"):
        load(inline, "https://a.test/x", resolve=unknown)
    with pytest.raises(DownloadFailed, match="no public"):
        load(inline, "https://a.test/x", resolve=lambda host, port: [])


def test_private_addresses_are_asked_where_that_is_allowed(inline: Inline) -> None:
    def never(host: str, port: int) -> Sequence[str]:
        raise AssertionError

    limits = DownloadLimits(allow_private=True)
    assert load(inline, "http://127.0.0.1:9/x", PNG, resolve=never, limits=limits).data == PNG


def test_schemes_can_be_narrowed(inline: Inline) -> None:
    with pytest.raises(DownloadFailed, match="only https"):
        load(inline, "http://a.test/x", limits=DownloadLimits(schemes=frozenset({"https"})))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_each_is_checked(inline: Inline, status: int) -> None:
    def to(location: str) -> Reply:
        return Reply(status=status, headers={"location": location})

    assert load(inline, "https://a.test/x", to("/y"), to("https://b.test/z"), PNG).data == PNG
    with pytest.raises(DownloadFailed, match=r"the host 'inside\.test' stands for no public"):
        load(inline, "https://a.test/x", to("http://inside.test/"), resolve=resolver(**{"inside.test": "10.0.0.1"}))
    with pytest.raises(DownloadFailed, match=r"cannot be read|with file"):
        load(inline, "https://a.test/x", to("file:///etc/passwd"))
    with pytest.raises(DownloadFailed, match="more than 3 redirects"):
        load(inline, "https://a.test/x", *[to("/again")] * 4)
    with pytest.raises(DownloadFailed, match="more than 0 redirects"):
        load(inline, "https://a.test/x", to("/y"), limits=DownloadLimits(max_redirects=0))


def test_a_redirect_without_a_goal_is_a_failure(inline: Inline) -> None:
    with pytest.raises(DownloadFailed, match="HTTP 302"):
        load(inline, "https://a.test/x", Reply(status=302))


def test_a_transport_that_follows_redirects_itself_is_refused(inline: Inline) -> None:
    transport = HttpxTransport(follow_redirects=True)

    with pytest.raises(SettingsError, match="could not be checked"):
        inline([UserMessage([ImageContent(url="https://a.test/1")])], transport=transport)


def test_what_is_too_large_is_not_read_to_its_end(inline: Inline) -> None:
    read: list[int] = []

    def endless() -> Any:
        yield PNG
        for number in range(1000):
            read.append(number)
            yield bytes(10)

    with pytest.raises(DownloadFailed, match="larger than 100 bytes"):
        load(inline, "https://a.test/x", Reply(chunks=endless()), limits=DownloadLimits(max_bytes=100))
    assert len(read) < 12
    exact = PNG + bytes(100 - len(PNG))
    assert load(inline, "https://a.test/x", exact, limits=DownloadLimits(max_bytes=100)).data == exact


@pytest.mark.parametrize("answer", [Reply(status=404), Reply(status=500, body="oh"), Reply(body=b"")])
def test_what_is_no_answer_is_a_failure_without_the_addresss_secrets(inline: Inline, answer: Reply) -> None:
    with pytest.raises(DownloadFailed, match=r"'a\.test'") as caught:
        load(inline, "https://a.test/x?token=secret", answer)
    assert "secret" not in str(caught.value)


def test_a_broken_connection_is_a_failure_with_its_cause(inline: Inline) -> None:
    with pytest.raises(DownloadFailed, match="could not be loaded") as caught:
        load(inline, "https://a.test/x", ConnectionFailed("broken"))
    assert isinstance(caught.value.__cause__, ConnectionFailed)
    with pytest.raises(DownloadFailed, match="could not be loaded"):
        load(inline, "https://a.test/x", Reply(chunks=[PNG, ConnectionFailed("broken")]))


def test_time_that_is_over_begins_no_further_request() -> None:
    class Dog:
        now = 0.0

        def clock(self) -> float:
            return self.now

        def schedule(self, at: float, action: Any) -> Any:
            return type("Alarm", (), {"cancelled": False, "at": at, "cancel": lambda self: None})()

    dog: Any = Dog()

    def slow(request: HttpRequest) -> Reply:
        dog.now += 40
        return Reply(status=302, headers={"location": "/again"})

    transport = FakeTransport(slow, repeat=True)
    with pytest.raises(DownloadFailed, match="took longer than 60 s"):
        inline_media(
            [UserMessage([ImageContent(url="https://a.test/x")])], transport=transport, resolve=resolver(), watchdog=dog
        )
    assert len(transport.requests) == 2


def test_a_server_that_stalls_is_left(inline: Inline) -> None:
    with pytest.raises(DownloadFailed, match=r"took longer|could not be loaded"):
        load(inline, "https://a.test/x", Reply(body=PNG, stall_at=0), limits=DownloadLimits(max_seconds=0.02))


@pytest.mark.parametrize(
    ("content", "said", "body", "media_type"),
    [
        (ImageContent, "image/png", PNG, "image/png"),
        (ImageContent, "image/jpeg", PNG, "image/png"),
        (ImageContent, "text/html", PNG, "image/png"),
        (ImageContent, "image/avif; q=1", b"something", "image/avif"),
        (AudioContent, "audio/x-wav", b"something", "audio/wav"),
        (VideoContent, "", b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (DocumentContent, "text/csv; charset=utf-8", b"a,b", "text/csv"),
    ],
)
def test_the_bytes_tell_the_type_and_then_the_server(
    inline: Inline, content: Any, said: str, body: bytes, media_type: str
) -> None:
    answer = Reply(body=body, headers={"content-type": said})

    assert load(inline, "https://a.test/x", answer, content=content).media_type == media_type


@pytest.mark.parametrize(
    ("content", "said", "body"),
    [
        (ImageContent, "text/html", b"<html>sign in</html>"),
        (ImageContent, "", b"something"),
        (ImageContent, "image/png", b"%PDF-1.7"),
        (AudioContent, "audio/mpeg", PNG),
        (DocumentContent, "", PNG),
    ],
)
def test_what_is_not_what_it_was_said_to_be_is_refused(inline: Inline, content: Any, said: str, body: bytes) -> None:
    with pytest.raises(DownloadFailed, match="is no"):
        load(inline, "https://a.test/x", Reply(body=body, headers={"content-type": said}), content=content)


def test_more_pictures_than_a_model_takes_are_refused_with_the_place_of_the_first_too_many() -> None:
    picture = ImageContent(data=PNG)
    history: list[Message] = [
        UserMessage([picture, TextContent("a")]),
        AiMessage([ToolCall("c", "shot", "{}")]),
        ToolResultMessage("c", "shot", [picture, picture]),
        CustomMessage({"kind": "x"}),
    ]

    check_image_count(history, Profile())
    check_image_count(history, Profile(max_images=3))
    with pytest.raises(UnsupportedByModel, match=r"messages\[2\]\.contents\[1\]: this model takes at most 2 images"):
        check_image_count(history, Profile(max_images=2))
    with pytest.raises(UnsupportedByModel, match=r"messages\[0\]\.contents\[0\]: this model takes at most 0"):
        check_image_count(history, Profile(max_images=0))
