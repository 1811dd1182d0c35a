"""Random legal histories: what a conversation may hold, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from polywire import wire_json
from polywire.contents import Content, ImageContent, OpaqueContent, TextContent, ThinkingContent
from polywire.messages import (
    AiMessage,
    AiPart,
    Message,
    Origin,
    SystemMessage,
    ToolCall,
    ToolError,
    ToolResultMessage,
    UserMessage,
)

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"

words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"]) | st.sampled_from("\n\u2028{}<>\"'"),
    min_size=1,
    max_size=24,
).filter(lambda text: bool(text.strip()))
"""Text that every wire carries; blank text is a matter of its own."""

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(words, plain_json, max_size=3).map(wire_json.compact)
invalid_arguments = st.sampled_from(['{"city": "Par', "[1,2]", '"abc"', "42", "true", "{]"])
call_ids = st.sampled_from(["call_0", "call_1", "toolu_01A", "functions.search:0", "x", "a b", "日本"])
tool_names = st.sampled_from(["search", "files.read", "wetter für", "get_weather", "n" * 70])

images = st.sampled_from(
    [ImageContent(data=PNG), ImageContent(data=JPEG), ImageContent(url="https://example.com/a.png")]
)
texts = words.map(TextContent)


def contents(*, media: bool) -> st.SearchStrategy[list[Content]]:
    return st.lists(texts | images if media else texts, min_size=1, max_size=3)


errors = st.none() | st.builds(
    ToolError,
    st.sampled_from(["timeout", "ValueError", "cancelled"]),
    words,
    st.none() | st.booleans(),
    st.dictionaries(words, plain_json, max_size=2),
)


@st.composite
def turns(draw: Any, *, thinking: bool, opaque: str | None, invalid: bool, media: bool) -> list[Message]:
    """One assistant turn, with the results of its calls."""
    parts: list[AiPart] = []
    if thinking and draw(st.booleans()):
        parts.append(
            draw(
                st.builds(ThinkingContent, words, st.sampled_from(["c2ln", "QUJD"]))
                | st.builds(ThinkingContent, redacted=st.sampled_from(["eHl6", "cXE="]))
            )
        )
    parts += draw(st.lists(texts, max_size=2))
    if opaque and draw(st.booleans()):
        parts.append(
            OpaqueContent(
                opaque,
                {
                    "type": "server_tool_use",
                    "id": "srv_1",
                    "name": "web",
                    "input": draw(plain_json.map(lambda value: {"v": value})),
                },
            )
        )
    ids = draw(st.lists(call_ids, max_size=3, unique=True))
    for call_id in ids:
        raw = draw(arguments | invalid_arguments if invalid else arguments)
        parts.append(ToolCall(call_id, draw(tool_names), raw))
        if draw(st.integers(0, 4)) == 0:
            parts.append(draw(texts))
    if not parts:
        parts.append(draw(texts))
    origin = Origin(opaque) if opaque else None
    message = AiMessage(parts, origin)
    results: list[Message] = []
    for call in message.tool_calls:
        failed = draw(st.booleans())
        error = draw(errors) if failed else None
        held = [TextContent(error.message)] if error is not None else draw(contents(media=media and not failed))
        results.append(ToolResultMessage(call.id, call.name, held, failed, error))
    return [message, *results]


@st.composite
def histories(
    draw: Any,
    *,
    thinking: bool = False,
    opaque: str | None = None,
    invalid: bool = True,
    media: bool = True,
    max_turns: int = 5,
) -> tuple[Message, ...]:
    """A whole legal history; `thinking` and `opaque` (a wire's name) are what only one wire can carry."""
    history: list[Message] = []
    if draw(st.booleans()):
        history.append(SystemMessage(draw(words)))
    history.append(UserMessage(draw(contents(media=media))))
    for _ in range(draw(st.integers(0, max_turns))):
        history += draw(turns(thinking=thinking, opaque=opaque, invalid=invalid, media=media))
        if draw(st.booleans()):
            history.append(UserMessage(draw(contents(media=media))))
    return tuple(history)
