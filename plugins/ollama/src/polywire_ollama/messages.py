"""Messages, both ways. Ollama's content is always one string; pictures are raw base64 beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polywire import wire_json
from polywire.contents import (
    AudioContent,
    Content,
    ImageContent,
    MediaContent,
    OpaqueContent,
    TextContent,
    ThinkingContent,
)
from polywire.errors import UnsupportedByModel
from polywire.immutable import EMPTY
from polywire.messages import (
    AiMessage,
    AiPart,
    CustomMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.translation.calls import make_call
from polywire.translation.envelope import error_envelope, result_text
from polywire.translation.media import source_of

__all__ = ["decode_message_parts", "encode_messages"]

WIRE = "ollama"
_KNOWN = {"role", "content", "thinking", "images", "tool_calls"}


def encode_messages(messages: Sequence[Message], profile: Profile, notices: list[Notice]) -> list[dict[str, Any]]:
    """
    Write a prepared history.

    Raises:
        UnsupportedByModel: a message holds something that the server cannot take.
    """
    encoded: list[dict[str, Any]] = []
    order: dict[str, int] = {}
    results: list[tuple[int, dict[str, Any]]] = []
    for position, message in enumerate(messages):
        item = _encode(message, position, profile, notices)
        if isinstance(message, ToolResultMessage):
            # Templates that know no ids link a result to its call by its place.
            results.append((order.get(message.call_id, len(order)), item))
            continue
        encoded += _in_order(results)
        results = []
        order = (
            {call.id: place for place, call in enumerate(message.tool_calls)} if isinstance(message, AiMessage) else {}
        )
        encoded.append(item)
    return encoded + _in_order(results)


def _in_order(results: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [item for _, item in sorted(results, key=lambda result: result[0])]


def _encode(message: Message, position: int, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    where = f"messages[{position}]"
    match message:
        case SystemMessage() | UserMessage():
            return {"role": message.role, **_content(message.contents, where, profile, notices)}
        case AiMessage():
            return _encode_answer(message, where, notices)
        case ToolResultMessage():
            # Most templates read the name; newer servers link by id as well. There is no error flag.
            content = error_envelope(message) if message.is_error else result_text(message)
            linked: dict[str, Any] = {"role": "tool", "tool_call_id": message.call_id, "content": content}
            if message.tool_name:
                linked["tool_name"] = message.tool_name
            if images := _images(message.contents, where, profile, notices):
                linked["images"] = images
            return linked
        case CustomMessage():
            msg = f"{where}: this provider knows no custom messages"
            raise UnsupportedByModel(msg)


def _content(contents: Sequence[Content], where: str, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    texts: list[str] = []
    media = False
    for item in contents:
        if not isinstance(item, TextContent):
            media = True
        elif item.text:
            if media:
                notices.append(Notice("approximated", where, "this wire has no order between text and pictures"))
            texts.append(item.text)
    fields: dict[str, Any] = {"content": "\n\n".join(texts)}
    if media and (images := _images(contents, where, profile, notices)):
        fields["images"] = images
    return fields


def _images(contents: Sequence[Content], where: str, profile: Profile, notices: list[Notice]) -> list[str]:
    """The media of a message: base64, in `images` whatever it is, for that is the wire's only place."""
    images: list[str] = []
    for index, item in enumerate(contents):
        if isinstance(item, MediaContent):
            place = f"{where}.contents[{index}]"
            if source_of(item, profile, place) != "data" or not isinstance(item, (ImageContent, AudioContent)):
                # The profile was told that the model takes it.
                kind = type(item).__name__.removesuffix("Content").lower()
                msg = f"{place}: this wire has no place for a {kind} but a picture's or a sound's bytes"
                raise UnsupportedByModel(msg)
            images.append(item.base64 or "")
        elif isinstance(item, OpaqueContent):
            if "images" in item.data:
                images += item.data["images"]
            else:
                notices.append(Notice("dropped", where, "this wire has no blocks of its own in such a message"))
    return images


def _encode_answer(message: AiMessage, where: str, notices: list[Notice]) -> dict[str, Any]:
    encoded: dict[str, Any] = {"role": "assistant", "content": message.text or ""}
    if message.thinking:
        encoded["thinking"] = message.thinking
    calls: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            # Arguments are an object here; a text would be refused with 400.
            arguments = wire_json.decode_arguments(part.arguments)
            function = {
                "name": part.name,
                "arguments": {"INVALID_JSON": part.arguments} if arguments is None else arguments,
            }
            calls.append({"id": part.id, "function": {"index": len(calls), **function}})
        elif isinstance(part, ImageContent) and part.data is not None:
            encoded.setdefault("images", []).append(part.base64)
        elif isinstance(part, OpaqueContent) and part.wire == WIRE and "images" in part.data:
            encoded.setdefault("images", []).extend(part.data["images"])
        elif not isinstance(part, (TextContent, ThinkingContent)):
            notices.append(Notice("dropped", where, f"an answer's {part.kind} has no place on this wire"))
    if calls:
        encoded["tool_calls"] = calls
    return encoded


def decode_message_parts(
    message: Mapping[str, Any], *, seed: str, cut: bool, names: Any, taken: set[str] | None = None
) -> list[AiPart]:
    """
    Read an answer's message: thinking, text, calls, in the order in which the server makes them.

    `taken`: the ids given so far; an id that comes again is replaced. In a history ids stay as they are: results name them.
    """
    parts: list[AiPart] = []
    thinking, content = message.get("thinking"), text_of(message.get("content"))
    if thinking and isinstance(thinking, str):
        parts.append(ThinkingContent(thinking))
    calls, images = calls_in(message), images_in(message)
    if content or not (calls or images):
        parts.append(TextContent(content))
    parts += images
    for index, call in enumerate(calls):
        parts.append(decode_call(call, index, seed=seed, cut=cut, names=names, taken=taken))
    return parts


def text_of(content: Any) -> str:
    """The text of a message: a string on this wire, but some servers write a list of parts, as others do."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def images_in(message: Mapping[str, Any]) -> list[ImageContent | OpaqueContent]:
    """Return the pictures of a message of the model's; one that cannot be read is kept as it came."""
    images = message.get("images")
    found: list[ImageContent | OpaqueContent] = []
    for image in images if isinstance(images, (list, tuple)) else ():
        try:
            found.append(ImageContent.from_base64(image))
        except (ValueError, TypeError, AttributeError):
            found.append(OpaqueContent(WIRE, {"images": [image]}))
    return found


def calls_in(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the calls of a message, each an object; one alone may stand without a list."""
    calls = message.get("tool_calls")
    if isinstance(calls, Mapping):
        return [calls]
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, (list, tuple)) else []


def decode_call(
    call: Mapping[str, Any], index: int, *, seed: str, cut: bool, names: Any, taken: set[str] | None = None
) -> ToolCall:
    """Read one call; older servers send neither ids nor indexes. `taken`: the ids of the answer's calls before it."""
    function, call_id = call.get("function"), call.get("id")
    # Without a function of its own a call is flat.
    function = function if isinstance(function, Mapping) else call
    if not isinstance(call_id, str) or (taken is not None and call_id in taken):
        call_id = None
    made = make_call(
        names.from_wire(str(function.get("name") or "unnamed")),
        function.get("arguments"),
        id=call_id,
        seed=seed,
        index=index,
        source=WIRE,
        cut=cut,
        extras=EMPTY,
    )
    if taken is not None:
        taken.add(made.id)
    return made


HALF = re.compile(rb"\\u[dD][89a-fA-F]")
_IN_DELTAS = frozenset({"content", "thinking"})


def with_whole_characters(body: dict[str, Any]) -> dict[str, Any]:
    """Replace halves of characters, as in a whole answer, everywhere but where the next line may bring the other half."""
    message = body.get("message")
    read: dict[str, Any] = {key: wire_json.replace_surrogates(body[key]) for key in body if key != "message"}
    if isinstance(message, dict):
        return read | {
            "message": {
                key: each if key in _IN_DELTAS else wire_json.replace_surrogates(each) for key, each in message.items()
            }
        }
    return read if message is None else read | {"message": message}
