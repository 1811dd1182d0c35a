"""
The pytest plugin, for applications and plugin authors; installed with polywire, under the name `polywire`.

Fixtures:

    fake_transport    makes a `FakeTransport`: `fake_transport({"choices": […]}, Reply(status=429))`
    scripted_model    makes a `ScriptedChatModel`: `scripted_model("Hello", ToolCall("1", "search"))`. A script that was
                      not played to its end fails the test
    no_network        no connection leaves this machine while the test runs: an attempt is an error that names the address

`pytest --polywire-no-network` puts `no_network` around every test. `-p no:polywire` switches all of it off.

At pytest's start nothing is imported but this module; the rest comes when a fixture is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from polywire.testing.scripted import ScriptedChatModel
    from polywire.testing.transport import FakeTransport

__all__ = [
    "NetworkUsed",
    "fake_transport",
    "no_network",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "scripted_model",
]

_OPTION = "--polywire-no-network"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that guards every test."""
    parser.getgroup("polywire").addoption(
        _OPTION, action="store_true", help="let no test connect to anything but this machine"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the guard around every test, where so asked."""
    if config.getoption(_OPTION):
        for item in items:
            names = getattr(item, "fixturenames", None)
            if names is not None and "no_network" not in names:
                names.insert(0, "no_network")


@pytest.fixture
def fake_transport() -> Callable[..., FakeTransport]:
    """Make a transport with no network, that answers as scripted: see `polywire.testing.FakeTransport`."""
    from polywire.testing.transport import FakeTransport

    return FakeTransport


@pytest.fixture
def scripted_model() -> Iterator[Callable[..., ScriptedChatModel]]:
    """Make a model that plays a script: see `polywire.testing.ScriptedChatModel`. At the end it must have been played."""
    from polywire.testing.scripted import ScriptedChatModel

    made: list[ScriptedChatModel] = []

    def make(*answers: Any, **options: Any) -> ScriptedChatModel:
        made.append(ScriptedChatModel(*answers, **options))
        return made[-1]

    yield make
    for model in made:
        if model.remaining:
            pytest.fail(f"{model.remaining} of the scripted answers were never asked for: {model!r}")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that would leave this machine, sync and async, and every look-up of another's name."""
    import socket

    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _check(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _check(self.family, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        _check_host(host)
        return getaddrinfo(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


class NetworkUsed(AssertionError):
    """A test that may not use the network tried to."""


def _check(family: int, address: Any) -> None:
    import socket

    if family in (socket.AF_INET, socket.AF_INET6):
        _check_host(address[0])


def _check_host(host: Any) -> None:
    import ipaddress

    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        if ipaddress.ip_address(name.partition("%")[0]).is_loopback:
            return
    except ValueError:
        pass
    msg = f"this test may not use the network, and tried to reach {name!r}"
    raise NetworkUsed(msg)
