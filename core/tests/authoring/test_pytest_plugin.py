"""The pytest plugin: its fixtures, and what it costs those who do not use it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path


def run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(textwrap.dedent(test), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    plugin = [] if "polywire" in _entry_points() else ["-p", "polywire.testing.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *plugin, *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _entry_points() -> set[str]:
    from importlib.metadata import entry_points

    return {each.name for each in entry_points(group="pytest11")}


def test_the_fixtures_are_there(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        def test_transport(fake_transport):
            from polywire.codec import HttpRequest
            from polywire.transport import Timeouts
            transport = fake_transport({"a": 1})
            answer = transport.send(HttpRequest("x"), stream=False, timeouts=Timeouts())
            assert answer.body == b'{"a":1}'

        def test_model(scripted_model):
            model = scripted_model("Hello")
            assert model.chat("Hi").text == "Hello"
        """,
    )

    assert "2 passed" in done.stdout, done.stdout


def test_a_script_that_is_not_played_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_model(scripted_model):\n    scripted_model('Hello', 'never').chat('Hi')\n")

    assert "1 of the scripted answers were never asked for" in done.stdout


ATTEMPTS = [
    "socket.create_connection(('192.0.2.1', 80), timeout=1)",
    "socket.getaddrinfo('provider.example', 443)",
    "socket.socket().connect(('203.0.113.9', 9))",
    "socket.socket().connect_ex(('203.0.113.9', 9))",
    "asyncio.run(asyncio.open_connection('192.0.2.1', 80))",
    "httpx.get('https://provider.example', trust_env=False)",
]


def test_the_guard_refuses_the_network(tmp_path: Path) -> None:
    tests = "".join(f"def test_{number}(no_network):\n    {each}\n\n" for number, each in enumerate(ATTEMPTS))
    done = run(tmp_path, f"import asyncio, httpx, socket\n{tests}")

    assert f"{len(ATTEMPTS)} failed" in done.stdout, done.stdout
    for number in range(len(ATTEMPTS)):
        assert f"test_{number} - polywire.testing.pytest_plugin.NetworkUsed" in done.stdout, done.stdout


def test_the_guard_ends_with_its_test_and_leaves_this_machine_alone(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import socket

        def test_guarded(no_network):
            assert socket.getaddrinfo.__name__ == "guarded_getaddrinfo"
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
                socket.create_connection(("localhost", server.getsockname()[1])).close()

        def test_free():
            assert socket.getaddrinfo.__name__ == "getaddrinfo"
        """,
    )

    assert "2 passed" in done.stdout, done.stdout


def test_the_option_guards_every_test(tmp_path: Path) -> None:
    test = "import socket\ndef test_it():\n    socket.getaddrinfo('provider.example', 443)\n"

    assert "may not use the network" in run(tmp_path, test, "--polywire-no-network").stdout


def test_at_the_start_nothing_else_is_imported() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import polywire.testing.pytest_plugin;"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = [name for name in eval(done.stdout) if not name.startswith("_")]

    assert loaded == ["polywire", "polywire.testing", "polywire.testing.pytest_plugin"]
