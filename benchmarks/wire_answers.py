"""What the benchmark server says on the wires besides OpenAI's chat and Anthropic's: the same words in each one's bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

encode = msgspec.json.encode
TEXT = "A wire format is how data travels."


def gemini(words: Iterable[str] | None) -> bytes:
    """`generateContent` and its stream; each chunk says what the answer has cost so far, and lines end in CRLF."""

    def chunk(text: str, count: int, reason: str | None = None) -> dict[str, Any]:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        return {
            "candidates": [candidate | ({"finishReason": reason} if reason else {})],
            "usageMetadata": {
                "promptTokenCount": 20,
                "candidatesTokenCount": count,
                "totalTokenCount": 20 + count,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}],
            },
            "modelVersion": "bench",
            "responseId": "kGEvaebSO7Wgz7IP",
        }

    if words is None:
        return encode(chunk(TEXT, 9, "STOP"))
    chunks = [chunk(word, count) for count, word in enumerate(words, 1)]
    chunks.append(chunk("", len(chunks), "STOP"))
    return b"".join(b"data: %b\r\n\r\n" % encode(each) for each in chunks)


def ollama(words: Iterable[str] | None) -> bytes:
    """`/api/chat`: a line for each piece, with the time at which it was made."""

    def line(text: str, number: int, **more: Any) -> dict[str, Any]:
        created = f"2026-12-02T08:15:{number % 60:02}.{number * 7919 % 10**9:09}Z"
        message = {"role": "assistant", "content": text}
        return {"model": "bench", "created_at": created, "message": message, "done": bool(more), **more}

    end = {"done_reason": "stop", "total_duration": 900, "load_duration": 100, "prompt_eval_count": 20, "eval_count": 9}
    if words is None:
        return encode(line(TEXT, 0, **end))
    lines = [line(word, number) for number, word in enumerate(words)]
    return b"".join(encode(each) + b"\n" for each in [*lines, line("", 0, **end)])


def responses(words: Iterable[str] | None) -> bytes:
    """OpenAI's Responses: named events with numbers, and random letters that hide how long a text is."""

    def response(status: str, texts: list[str]) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []} for text in texts]
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content}
        usage = {"input_tokens": 20, "output_tokens": 9, "total_tokens": 29}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1796000000,
            "model": "bench",
            "status": status,
            "output": [item] if texts else [],
            "usage": usage if status == "completed" else None,
        }

    if words is None:
        return encode(response("completed", [TEXT]))
    words = list(words)
    whole = response("completed", ["".join(words)])
    place = {"item_id": "msg_1", "output_index": 0}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": response("in_progress", [])},
        {"type": "response.output_item.added", "output_index": 0, "item": whole["output"][0] | {"content": []}},
        {
            "type": "response.content_part.added",
            **place,
            "content_index": 0,
            "part": {"type": "output_text", "text": ""},
        },
    ]
    for number, word in enumerate(words):
        padding = "aB3dE5fG7hJ9"[number % 7 :]
        delta = {"content_index": 0, "delta": word, "logprobs": [], "obfuscation": padding}
        events.append({"type": "response.output_text.delta", **place, **delta})
    events += [
        {"type": "response.output_item.done", "output_index": 0, "item": whole["output"][0]},
        {"type": "response.completed", "response": whole},
    ]
    return b"".join(
        b"event: %b\ndata: %b\n\n"
        % (event["type"].encode(), encode({"type": event.pop("type"), "sequence_number": number, **event}))
        for number, event in enumerate(events)
    )


WIRES = {"/responses": responses, ":generateContent": gemini, ":streamGenerateContent": gemini, "/api/chat": ollama}
"""How the paths of requests end, and who answers them."""
