"""The whole path: the command, a settings file, a real plugin, and a server on the loopback address."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polywire_openai", reason="the plugin is a distribution of its own")

Run = Callable[..., Any]
KEY = "sk-proj-0123456789abcdefghijkl"
ANSWER = "Hello from the other side."


class Handler(BaseHTTPRequestHandler):
    """Answers by the model's name: in text, with a tool call, as a stream, or with an error."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        failure = {
            "refused": (401, f"Incorrect API key provided: {self.headers['authorization'].removeprefix('Bearer ')}"),
            "limited": (429, "Rate limit reached"),
            "broken": (500, "The server had an error"),
            "unknown": (404, "The model does not exist"),
        }.get(body["model"])
        if failure is not None:
            status, words = failure
            self.answer(status, {"error": {"message": words, "type": "x", "code": None}}, {"retry-after": "300"})
        elif body.get("stream"):
            self.stream(body["model"])
        else:
            message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
            reason = "stop"
            if body.get("tools"):
                name = body["tools"][0]["function"]["name"]
                call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": '{"city":"Paris"}'}}
                message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
            choice = {"index": 0, "message": message, "finish_reason": reason}
            usage = {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}
            self.answer(
                200,
                {
                    "id": "r",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "m",
                    "choices": [choice],
                    "usage": usage,
                },
            )

    def answer(self, status: int, payload: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(payload).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def stream(self, model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        pieces: list[tuple[dict[str, Any], str | None]] = [
            ({"content": ANSWER[:5]}, None),
            ({"content": ANSWER[5:]}, None),
        ]
        if model != "cut":
            pieces.append(({}, "stop"))
        for delta, reason in pieces:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        if model != "cut":
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _settings(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings.toml").write_text(
        f'default_model = "good"\n[providers.office]\nplugin = "openai"\nbase_url = "{address}"\napi_key = "{KEY}"\n'
        + "".join(
            f'[models.{name}]\nprovider = "office"\nmodel = "{name}"\nretry = {{ attempts = 1 }}\n'
            for name in ("good", "refused", "limited", "broken", "unknown", "cut")
        ),
        encoding="utf-8",
    )
    monkeypatch.delenv("POLYWIRE_SETTINGS", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("form", [(), ("--no-stream",)])
def test_an_answer(run: Run, form: tuple[str, ...]) -> None:
    result = run("chat", *form, "hi")

    assert (result.code, result.out, result.err) == (0, f"{ANSWER}\n", "")


def test_the_whole_response_as_json(run: Run) -> None:
    document = json.loads(run("chat", "--json", "hi").out)

    assert document["text"] == ANSWER
    assert document["usage"] == {"input_tokens": 9, "output_tokens": 6, "total_tokens": 15}
    assert document["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("model", "code", "words"),
    [
        ("refused", 10, "authentication: office:refused: "),
        ("limited", 11, "rate limit: office:limited: Rate limit reached"),
        ("broken", 14, "server: office:broken: "),
        ("unknown", 15, "not found: office:unknown: "),
        ("cut", 17, "stream interrupted: office:cut: "),
    ],
)
def test_each_failure_is_one_line_with_its_own_exit_code(run: Run, model: str, code: int, words: str) -> None:
    result = run("chat", "-m", model, "hi")

    assert result.code == code
    assert result.err.startswith(f"polywire: {words}")
    assert result.err.count("\n") == 1
    assert result.out == (f"{ANSWER}\n" if model == "cut" else "")


def test_nobody_there_is_a_network_failure(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(text.split("127.0.0.1:")[1].split("/")[0], "9"), encoding="utf-8")
    result = run("chat", "hi")

    assert result.code == 13
    assert result.err.startswith("polywire: connection: office:good: ")
    assert result.err.count("\n") == 1


def test_check_live(run: Run) -> None:
    result = run("check", "--live", "-m", "good", "-m", "limited")

    assert result.code == 6
    assert result.err == "polywire: check: failed: limited\n"
    assert 'get_weather({"city":"Paris"})' in result.out
    assert f'"{ANSWER}" in 2 pieces' in result.out
    assert result.out.count("rate limit: ") == 3


@pytest.mark.parametrize("form", [("chat",), ("chat", "--json"), ("chat", "--debug")])
def test_a_key_that_the_server_repeats_is_not_shown(run: Run, form: tuple[str, ...]) -> None:
    result = run(*form, "-m", "refused", "hi")

    assert KEY not in result.out + result.err
