"""
Reading markup out of an answer, streamed or whole, by one and the same function of events.

A whole answer is told as events and goes through the stream's own transformation, so that both give the same response.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from polywire.codec import Frame, StreamDecoder
from polywire.contents import TextContent
from polywire.errors import ModelError
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseCollector,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    events_of,
)
from polywire.markup.gate import Names, tags_may_come
from polywire.markup.parser import MarkupParser
from polywire.markup.pieces import CallPiece, Piece, TextPiece
from polywire.markup.requesting import DEFAULT_FORM
from polywire.messages import AiMessage, ToolCall
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ToolSpecification
from polywire.responses import ChatResponse, FinishReason, Notice
from polywire.translation.calls import generate_call_id
from polywire.translation.finish import settle_finish_reason

__all__ = ["MarkupEvents", "MarkupStreamDecoder", "read_response"]


class _Text:
    """What became of one text part: the parts it was cut into, and the text that is left of it."""

    __slots__ = ("kinds", "parts", "texts")

    def __init__(self) -> None:
        self.kinds: list[type] = []
        self.parts: list[int] = []
        self.texts: list[str] = []


class MarkupEvents:
    """
    Turns the events of one answer into those of the answer as it is meant. One per answer.

    Args:
        profile: says what is read.
        request: as the caller made it; its tools tell how values are meant.
        names: maps tool names to the wire's and back, where the tools went out under other names.
    """

    def __init__(self, profile: Profile, request: ChatRequest | None = None, names: Names | None = None) -> None:
        forms = profile.tool_markup
        if not forms and profile.tool_calling == "markup":
            forms = (DEFAULT_FORM,)
        self._forms = forms
        self._think_tags = profile.think_tags
        self._opening_tag = str(profile.quirks.get("think_tags_opening", "optional"))
        if tags_may_come(profile):
            self._think_tags, self._opening_tag = True, "required"
        self._names = names
        tools = (request.parameters.tools or ()) if request is not None else ()
        self._tools = [
            tool if names is None else replace(tool, name=names.to_wire(tool.name))
            for tool in tools
            if isinstance(tool, ToolSpecification)
        ]
        self._parser: MarkupParser | None = None
        self._texts: dict[int, _Text] = {}
        self._text_part = -1
        self._parts: dict[int, int] = {}
        self._next = 0
        self._calls = 0
        self._seed = ""

    def transform(self, events: Iterable[StreamEvent]) -> list[StreamEvent]:
        """Return the events that these ones become; text that may be markup is held back."""
        result: list[StreamEvent] = []
        for event in events:
            match event:
                case TextDelta():
                    self._text(event.text, event.part, result)
                case ThinkingDelta():
                    result.append(ThinkingDelta(event.text, self._part(event.part, result)))
                case ToolCallStart():
                    result.append(ToolCallStart(event.id, event.name, self._part(event.part, result), event.extras))
                case ToolCallDelta():
                    result.append(ToolCallDelta(event.arguments, self._part(event.part, result)))
                case ToolCallEnd():
                    result.append(ToolCallEnd(event.call, self._part(event.part, result)))
                case PartEnd():
                    self._part_end(event, result)
                case ResponseStart():
                    self._seed = str(event.metadata.get("id") or "")
                    result.append(event)
                case ResponseEnd():
                    result += self.flush()
                    reason = event.finish_reason
                    if self._calls and reason is FinishReason.STOP:
                        reason = settle_finish_reason(reason, has_calls=True)
                    result.append(ResponseEnd(reason, event.metadata))
                case _:
                    result.append(event)
        return result

    def flush(self) -> list[StreamEvent]:
        """Return what is held back: the text is over."""
        if self._parser is None:
            return []
        result: list[StreamEvent] = []
        self._put(self._parser.finish(), result)
        self._parser = None
        return result

    def _text(self, text: str, part: int, result: list[StreamEvent]) -> None:
        if self._parser is None or part != self._text_part:
            result += self.flush()
            first = self._calls
            self._parser = MarkupParser(
                self._forms,
                self._think_tags,
                lambda index, name: generate_call_id(self._seed, first + index, name),
                tools=self._tools,
                opening_tag=self._opening_tag,
            )
            # Thinking between tags stands only at the very beginning.
            self._think_tags = False
            self._text_part = part
            self._texts[part] = _Text()
        self._put(self._parser.feed(text), result)

    def _part(self, part: int, result: list[StreamEvent]) -> int:
        """Return the place of a part that is no text; when a new one begins, the text before it is over."""
        if part not in self._parts:
            result += self.flush()
            self._parts[part] = self._new_part()
        return self._parts[part]

    def _part_end(self, event: PartEnd, result: list[StreamEvent]) -> None:
        content = event.content
        if not isinstance(content, TextContent) or not content.text:
            result.append(PartEnd(content, self._part(event.part, result)))
            return
        if event.part not in self._texts:
            self._text(content.text, event.part, result)
        if event.part == self._text_part:
            result += self.flush()
        text = self._texts[event.part]
        if text.kinds == [TextPiece] and "".join(text.texts) == content.text:
            result.append(PartEnd(content, text.parts[0]))
        elif content.extras or content.cache:
            message = "what came along with a text that holds markup is left out"
            result.append(NoticeAdded(Notice("dropped", f"parts[{event.part}]", message)))

    def _put(self, pieces: Sequence[Piece], result: list[StreamEvent]) -> None:
        text = self._texts[self._text_part]
        for piece in pieces:
            kind = type(piece)
            if isinstance(piece, CallPiece) or not text.kinds or text.kinds[-1] is not kind:
                text.kinds.append(kind)
                text.parts.append(self._new_part())
            part = text.parts[-1]
            if isinstance(piece, CallPiece):
                call = piece.call
                if self._names is not None and (name := self._names.from_wire(call.name)) != call.name:
                    call = ToolCall(call.id, name, call.arguments, call.source)
                self._calls += 1
                result += (
                    ToolCallStart(call.id, call.name, part),
                    ToolCallDelta(call.arguments, part),
                    ToolCallEnd(call, part),
                )
            elif isinstance(piece, TextPiece):
                text.texts.append(piece.text)
                result.append(TextDelta(piece.text, part))
            else:
                result.append(ThinkingDelta(piece.text, part))

    def _new_part(self) -> int:
        self._next += 1
        return self._next - 1


class MarkupStreamDecoder:
    """A stream decoder that reads the markup in what another one has decoded. See `with_markup`."""

    def __init__(
        self,
        inner: StreamDecoder,
        profile: Profile,
        request: ChatRequest | None = None,
        names: Names | None = None,
    ) -> None:
        self._inner = inner
        self._events = MarkupEvents(profile, request, names)
        self._collector = ResponseCollector()
        self.ended = False
        """Whether the wire's end mark was seen."""

    def feed(self, frame: Frame) -> Sequence[StreamEvent]:
        """Read one frame."""
        try:
            events = self._events.transform(self._inner.feed(frame))
        except ModelError as error:
            raise self._with_partial(error) from error.__cause__
        self.ended = self._inner.ended
        self._collector.add_all(events)
        return events

    def finish(self) -> Sequence[StreamEvent]:
        """The bytes are over."""
        try:
            return self._events.transform(self._inner.finish())
        except ModelError as error:
            raise self._with_partial(error) from error.__cause__

    def held_back(self) -> Sequence[StreamEvent]:
        """Return what may still have turned out to be markup, and what the decoder below has kept back."""
        held_back = getattr(self._inner, "held_back", None)
        return [*(() if held_back is None else self._events.transform(held_back())), *self._events.flush()]

    def _with_partial(self, error: ModelError) -> ModelError:
        """What was held back has arrived as well: it belongs to the error's partial answer."""
        if error.partial is None:
            self._collector.add_all(self._events.flush())
            error.partial = self._collector.partial()
        return error


def read_response(
    response: ChatResponse, profile: Profile, request: ChatRequest | None = None, names: Names | None = None
) -> ChatResponse:
    """Return a whole answer with its markup read; see `polywire.markup.gate.apply_markup_to_response`."""
    if not any(isinstance(part, TextContent) for part in response.message.parts):
        return response
    collector = ResponseCollector()
    collector.add_all(MarkupEvents(profile, request, names).transform(events_of(response)))
    read = collector.response()
    message = AiMessage(read.message.parts, response.message.origin, extras=response.message.extras)
    return ChatResponse(message, response.usage, read.finish_reason, read.notices, response.metadata)
