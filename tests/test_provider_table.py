"""
The README's table of what each provider can do is the one that the profiles give, and each `yes` in it has its proof.

The proof is a request of the provider's in which it stands, without a notice that it was left out; and for what comes
back, recorded bytes of that provider's in which it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.provider_table import BEGIN, COLUMNS, END, README, cell, provider_table, written

from polywire.contents import AudioContent, CacheMark, DocumentContent, ImageContent, TextContent
from polywire.messages import AiMessage, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters, Reasoning, ResponseFormat
from polywire.plugins import BuildContext, Provider, Registry
from polywire.requests import ChatRequest
from polywire.responses import Notice
from polywire.testing import Recording, load_recordings
from polywire.testing.transport import FakeTransport, Reply
from polywire.tool_specifications import ToolSpecification

ROOT = README.parent
REGISTRY = Registry()
# The model in this process has no wire; its own tests are its proof.
NAMES = [name for name in sorted(REGISTRY.names()) if name != "local"]
FOLDERS = {
    "openai": "openai/tests/recordings/chat",
    "openai-responses": "openai/tests/recordings/responses",
    **{name: f"{name}/tests/recordings" for name in ("anthropic", "gemini", "ollama")},
}


def test_the_readme_says_what_the_profiles_say() -> None:
    readme = README.read_text()
    assert BEGIN in readme
    assert END in readme
    assert written(readme) == readme, "run `python tests/support/provider_table.py`"


def test_a_provider_that_is_not_in_the_table_would_be_missed() -> None:
    rows = provider_table().splitlines()[2:]
    assert len({row.count("|") for row in rows}) == 1
    assert [row.split("`")[1] for row in rows] == sorted(row.split("`")[1] for row in rows)


# What is asked for in each column, and the text by which it is known in the body.

PNG, PDF, WAV = b"\x89PNG\r\n\x1a\npicture", b"%PDF-1.4 paper", b"RIFF\x0c\0\0\0WAVEsound"
SCHEMA = {
    "type": "object",
    "properties": {"zone": {"type": "string"}},
    "required": ["zone"],
    "additionalProperties": False,
}
TOOLS = (ToolSpecification("get_time", "Tells the time.", SCHEMA),)
PARALLEL = [
    UserMessage("q"),
    AiMessage([ToolCall("callaaaaa", "get_time", {"zone": "A1"}), ToolCall("callbbbbb", "get_time", {"zone": "B2"})]),
    ToolResultMessage("callaaaaa", "get_time", "noon"),
    ToolResultMessage("callbbbbb", "get_time", "night"),
]
MARKED = SystemMessage([TextContent("long", cache=CacheMark())])
DOCUMENT = DocumentContent(url="https://example.com/paper.pdf", media_type="application/pdf")

ASKED: dict[str, tuple[list[Any], dict[str, Any], tuple[str, ...]]] = {
    "tools": ([UserMessage("q")], {"tools": TOOLS}, ("get_time", "zone")),
    "parallel tools": (PARALLEL, {"tools": TOOLS}, ("A1", "B2", "noon", "night")),
    "typed output": ([UserMessage("q")], {"response_format": ResponseFormat("json_schema", SCHEMA)}, ("zone",)),
    "images": ([UserMessage(["q", ImageContent(data=PNG)])], {}, (ImageContent(data=PNG).base64 or "",)),
    "documents": ([UserMessage(["q", DocumentContent(data=PDF)])], {}, (DocumentContent(data=PDF).base64 or "",)),
    "audio": ([UserMessage(["q", AudioContent(data=WAV)])], {}, (AudioContent(data=WAV).base64 or "",)),
    "thinking": ([UserMessage("q")], {"reasoning": Reasoning("high")}, ("think", "reason")),
    "cache marks": ([MARKED, UserMessage("q")], {}, ("cache",)),
}
ANY_OF = {"thinking", "cache marks"}


def sent(provider: Provider, messages: list[Any], parameters: dict[str, Any]) -> tuple[str, tuple[Notice, ...]]:
    """Return the body of a request through the provider's own model, and the notices about it."""
    assert provider.build_chat is not None
    plain = next(each for each in recordings(provider.name) if each.expected.text is not None and not each.stream)
    transport = FakeTransport(Reply(body=plain.body))
    settings = provider.settings(api_key="sk-test", base_url="https://example.com")
    context = BuildContext(provider.name, settings, transport=transport, defaults=ChatRequestParameters(model="m"))
    response = provider.build_chat(context).chat(ChatRequest(messages, ChatRequestParameters(**parameters)))
    return transport.requests[0].request.body.decode(), response.notices


def yes(column: str) -> list[str]:
    return [name for name in NAMES if cell(REGISTRY.provider(name), column) == "yes"]


CLAIMS = [(name, column) for column in COLUMNS for name in yes(column)]


@pytest.mark.parametrize(("name", "column"), CLAIMS)
def test_a_yes_is_asked_for_in_a_request(name: str, column: str) -> None:
    messages, parameters, marks = ASKED[column]
    provider = REGISTRY.provider(name)
    if column == "documents" and not takes_bytes(provider):
        messages, marks = [UserMessage(["q", DOCUMENT])], ("paper.pdf",)

    body, notices = sent(provider, messages, parameters)

    found = [mark in body for mark in marks]
    assert any(found) if column in ANY_OF else all(found), body
    assert not [notice for notice in notices if notice.kind == "dropped"]


def takes_bytes(provider: Provider) -> bool:
    profiles = provider.profiles() if callable(provider.profiles) else provider.profiles
    assert profiles is not None
    return "data" in profiles.base.document_sources


def recordings(name: str) -> tuple[Recording, ...]:
    folder = ROOT / "plugins" / FOLDERS.get(name, f"compatible/tests/recordings/{name}")
    return load_recordings(folder)


READ: dict[str, Callable[[Recording], bool]] = {
    "chat": lambda each: each.expected.text is not None and not each.stream,
    "stream": lambda each: each.expected.finish_reason is not None and each.stream,
    "tools": lambda each: bool(each.expected.tool_calls),
    "parallel tools": lambda each: len(each.expected.tool_calls or ()) > 1,
    "thinking": lambda each: bool(each.expected.thinking or (each.expected.usage or {}).get("reasoning_tokens")),
    "usage": lambda each: each.expected.usage is not None,
    "error body": lambda each: each.expected.error is not None and each.status >= 400,
}
ALWAYS = ("chat", "stream", "usage", "error body")


def read_claims() -> Iterator[tuple[str, str]]:
    for name in NAMES:
        yield from ((name, column) for column in ALWAYS)
        yield from ((name, column) for column in READ if column in COLUMNS and name in yes(column))


@pytest.mark.parametrize(("name", "column"), list(read_claims()))
def test_a_yes_has_recorded_bytes_in_which_it_is(name: str, column: str) -> None:
    assert any(READ[column](each) for each in recordings(name))
