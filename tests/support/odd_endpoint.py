"""A compatible endpoint on the loopback address with oddities that a test chooses, for what finds them out."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Refused(Exception):
    """The endpoint says no."""

    def __init__(self, message: str, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class OddEndpoint:
    """
    Answers Chat Completions.

    Oddities, by name: `max_completion_tokens`, `developer_only`, `no_late_system`, `no_stream_options`,
    `no_stream_usage`, `no_penalties`, `no_tools`, `markup_calls`, `choice_ignored`, `named_refused`, `one_call`,
    `switch_ignored`, `switch_refused`, `strict_refused`, `no_json_schema`, `schema_ignored`, `no_images`, `thinks`,
    `think_tags`, `limits`, `any_model`, `echoes_key`, `busy`.
    """

    def __init__(self, *oddities: str) -> None:
        self.oddities = set(oddities)
        self.bodies: list[dict[str, Any]] = []
        self.address = ""

    def has(self, oddity: str) -> bool:
        return oddity in self.oddities

    def answer(self, body: dict[str, Any], key: str) -> dict[str, Any]:
        """Return the message of an answer."""
        self.bodies.append(body)
        if self.has("echoes_key"):
            raise Refused(f"Incorrect API key provided: {key}", 401, "invalid_api_key")
        if self.has("busy"):
            raise Refused("Too many requests", 429)
        self._check(body)
        if body["model"].startswith("polywire-probe") and not self.has("any_model"):
            raise Refused("The model does not exist", 404, "model_not_found")
        text = json.dumps(body["messages"][-1])
        calls = self._calls(body, text) if body.get("tools") else []
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else self._text(body, text)}
        if calls and self.has("markup_calls"):
            message["content"] = "".join(
                f"<tool_call>\n{json.dumps({'name': name, 'arguments': {'city': 'Paris'}})}\n</tool_call>"
                for name in calls
            )
        elif calls:
            message["tool_calls"] = [
                {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": '{"city":"Paris"}'}}
                for at, name in enumerate(calls)
            ]
        if self.has("thinks"):
            message["reasoning_content"] = "Seventeen and twenty-five."
        return message

    def _check(self, body: dict[str, Any]) -> None:
        refusals = {
            "max_completion_tokens": (
                "max_tokens" in body,
                "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'",
            ),
            "developer_only": (
                any(each["role"] == "system" for each in body["messages"]),
                "role 'system' is not allowed",
            ),
            "no_late_system": (
                any(each["role"] in ("system", "developer") for each in body["messages"][1:]),
                "system must come first",
            ),
            "no_stream_options": ("stream_options" in body, "Unknown field: stream_options"),
            "no_penalties": ("presence_penalty" in body or "frequency_penalty" in body, "penalties are not supported"),
            "no_tools": ("tools" in body, "tools are not supported by this model"),
            "named_refused": (isinstance(body.get("tool_choice"), dict), "tool_choice must be a string"),
            "switch_refused": ("parallel_tool_calls" in body, "Unknown field: parallel_tool_calls"),
            "strict_refused": (
                any(each["function"].get("strict") for each in body.get("tools", ())),
                "strict is unknown",
            ),
            "no_json_schema": (
                body.get("response_format", {}).get("type") == "json_schema",
                "response_format must be text or json_object",
            ),
            "no_images": ("image_url" in json.dumps(body["messages"]), "this model takes text alone"),
        }
        for oddity, (there, message) in refusals.items():
            if there and self.has(oddity):
                raise Refused(message)

    def _calls(self, body: dict[str, Any], text: str) -> list[str]:
        choice, names = body.get("tool_choice", "auto"), [each["function"]["name"] for each in body["tools"]]
        if self.has("choice_ignored"):
            choice = "auto"
        if choice == "none":
            return []
        if isinstance(choice, dict):
            return [choice["function"]["name"]]
        if choice == "auto" and "weather" not in text:
            return []
        many = "three times" in text and not self.has("one_call")
        if many and body.get("parallel_tool_calls") is False and not self.has("switch_ignored"):
            many = False
        return [names[0]] * (3 if many else 1)

    def _text(self, body: dict[str, Any], text: str) -> str:
        said = json.dumps(body["messages"])
        wanted = body.get("response_format", {}).get("type")
        if wanted == "json_schema" and not self.has("schema_ignored"):
            answer = '{"city": "Paris"}'
        elif wanted:
            answer = '{"capital": "Paris"}'
        elif "BANANA" in said:
            answer = "BANANA"
        elif "image_url" in said:
            answer = "Red."
        else:
            answer = "42"
        return f"<think>Let me see.</think>\n{answer}" if self.has("think_tags") else answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    endpoint: OddEndpoint

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = (self.headers["authorization"] or "").removeprefix("Bearer ")
        try:
            message = self.endpoint.answer(body, key)
        except Refused as no:
            self._send(no.status, {"error": {"message": str(no), "type": "x", "code": no.code}})
            return
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}
        head = {"id": "answer-1", "created": 1, "model": body["model"]}
        if body.get("stream"):
            self._stream(body, head, message, reason, usage)
            return
        choice = {"index": 0, "message": message, "finish_reason": reason}
        self._send(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})

    def _headers(self, status: int, kind: str, length: int | None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("set-cookie", "session=secret-of-the-server")
        if self.endpoint.has("limits"):
            self.send_header("x-ratelimit-limit-requests", "500")
            self.send_header("x-ratelimit-remaining-requests", "499")
            self.send_header("x-request-id", "req_1")
        if length is None:
            self.send_header("connection", "close")
            self.close_connection = True
        else:
            self.send_header("content-length", str(length))
        self.end_headers()

    def _send(self, status: int, payload: Any) -> None:
        data = json.dumps(payload).encode()
        self._headers(status, "application/json", len(data))
        self.wfile.write(data)

    def _stream(self, body: Any, head: Any, message: Any, reason: str, usage: Any) -> None:
        self._headers(200, "text/event-stream", None)
        text = message.get("content") or ""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if "reasoning_content" in message:
            deltas.append({"reasoning_content": message["reasoning_content"]})
        deltas += [{"content": text[at : at + 4]} for at in range(0, len(text), 4)]
        deltas += [{"tool_calls": [{"index": at, **call}]} for at, call in enumerate(message.get("tool_calls", ()))]
        for delta in deltas:
            self._event({**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
        last = {"index": 0, "delta": {}, "finish_reason": reason}
        self._event({**head, "object": "chat.completion.chunk", "choices": [last]})
        asked = body.get("stream_options", {}).get("include_usage")
        if asked and not self.endpoint.has("no_stream_usage"):
            self._event({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, payload: Any) -> None:
        self.wfile.write(b"data: " + json.dumps(payload).encode() + b"\n\n")


@contextmanager
def serving(*oddities: str) -> Iterator[OddEndpoint]:
    """Serve in a thread; `address` is for `base_url`."""
    endpoint = OddEndpoint(*oddities)
    handler = type("Handler", (_Handler,), {"endpoint": endpoint})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    endpoint.address = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
