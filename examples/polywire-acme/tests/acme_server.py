"""
A small stand-in for Acme's service, on the loopback address: what the recordings were made with.

    python tests/acme_server.py            prints its address, and serves until it is stopped

It answers by what the last message says: "weather" gets calls, "think" a thought before the answer, "long" an answer that
is cut, "busy" and "limit" errors. The key is `acme-demo-key-0001`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "acme-demo-key-0001"

_CALLS = [
    {"call": {"id": "c-1", "name": "get_weather", "arguments": '{"city": "Zürich"}'}},
    {"call": {"id": "c-2", "name": "get_weather", "arguments": '{"city": "Rome"}'}},
]
_ANSWERS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "weather": ([{"text": "Let me look."}, *_CALLS], "calls"),
    "think": ([{"thought": "Six times seven."}, {"text": "42"}, {"chart": {"points": [6, 7]}}], "done"),
    "long": ([{"call": {"id": "c-9", "name": "get_weather", "arguments": '{"city": "Lon'}}], "limit"),
    "": ([{"text": "Hello, 世界! How can I help?"}], "done"),
}
_FAILURES = {
    "busy": (503, {"error": {"code": "busy", "message": "All models are busy."}}, {}),
    "limit": (429, {"error": {"code": "rate_limit", "message": "Too many requests."}}, {"retry-after": "20"}),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = json.dumps(body["messages"][-1])
        if self.headers["authorization"] != f"Bearer {KEY}":
            self._send(401, {"error": {"code": "bad_key", "message": "This key is not known."}})
            return
        for word, (status, failure, headers) in _FAILURES.items():
            if word in said:
                self._send(status, failure, headers)
                return
        blocks, ended = next(answer for word, answer in _ANSWERS.items() if word in said)
        head = {"id": "answer-1", "model": body["model"]}
        end = {"ended": ended, "tokens": {"in": 21, "out": 9, "cached": 8}}
        if body.get("stream"):
            self._stream(head, blocks, end, breaks="break" in said)
        else:
            self._send(200, {**head, "blocks": blocks, **end})

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "set-cookie": "who=you", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, head: Any, blocks: list[dict[str, Any]], end: Any, *, breaks: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("connection", "close")
        self.end_headers()
        self._event("start", head)
        self.wfile.write(b": keep-alive\n\n")
        for at, block in enumerate(blocks):
            for event, data in _pieces(at, block):
                self._event(event, data)
        if breaks:
            self._event("error", {"error": {"code": "busy", "message": "The model went away."}})
        else:
            self._event("end", end)
        self.close_connection = True

    def _event(self, event: str, data: Any) -> None:
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())


def _pieces(at: int, block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match block:
        case {"text": str(text)} | {"thought": str(text)}:
            for start in range(0, len(text), 5):
                yield next(iter(block)), {"at": at, "text": text[start : start + 5]}
        case {"call": call}:
            yield "call", {"at": at, "id": call["id"], "name": call["name"]}
            for start in range(0, len(call["arguments"]), 6):
                yield "arguments", {"at": at, "text": call["arguments"][start : start + 6]}
        case _:
            yield "block", {"at": at, "block": block}


@contextmanager
def serving() -> Iterator[str]:
    """Serve in a thread; the address is for `base_url`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with serving() as address:
        print(address, flush=True)
        threading.Event().wait()
