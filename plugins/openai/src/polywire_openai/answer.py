"""
An answer, read piece by piece: the one set of functions for plain bodies and for the chunks of a stream.

A plain answer is read as a stream of one piece, so that both give the same response. The parts of the message are, in
this order: thinking, text, tool calls, and then what is rare: a refusal, sound, pictures and blocks of unknown types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polywire.contents import AudioContent, OpaqueContent, TextContent
from polywire.events import (
    NoticeAdded,
    PartEnd,
    ResponseEnd,
    ResponseStart,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from polywire.media_types import from_base64, sniff_media_type
from polywire.messages import Origin
from polywire.responses import FinishReason, Notice
from polywire.translation.finish import finish_reason, settle_finish_reason
from polywire.translation.halves import HalfJoiner
from polywire_openai.contents import decode_content, refusal
from polywire_openai.errors import error_inside, find_error
from polywire_openai.fields import WIRE, merged
from polywire_openai.metadata import absorb_choice, absorb_top
from polywire_openai.reading import Reading
from polywire_openai.refusals import REFUSAL
from polywire_openai.running_usage import RunningUsage
from polywire_openai.thinking import ThinkingReader
from polywire_openai.tool_fragments import ToolCallAssembler
from polywire_openai.usage import find_usage

__all__ = ["AnswerReader"]

THINKING, TEXT, FIRST_CALL = 0, 1, 2
AUDIO = REFUSAL + 1
FIRST_OTHER = REFUSAL + 2

_MESSAGE = frozenset(
    {
        "role", "content", "reasoning_content", "reasoning", "reasoning_details", "tool_calls", "function_call", "refusal",
        "audio", "annotations", "images", "prefix",
    }
)  # fmt: skip
_CLEAN_ENDS = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


class AnswerReader:
    """
    Reads one answer.

    Attributes:
        repeatable: whether the last piece, said again with another text, would add just that text, and other counts.
        seen: whether there was any piece.
        has_choice: whether there was any choice.
        usage: what the answer has cost so far.
    """

    def __init__(self, reading: Reading, origin: Origin | None = None) -> None:
        self._reading = reading
        self._origin = origin
        self._metadata: dict[str, Any] = {}
        self.usage = RunningUsage()
        self._choice_index: Any = None
        self._raw_finish: str | None = None
        self._thinking = ThinkingReader()
        self._text: list[str] = []
        self._halves = HalfJoiner()
        self._grown = False
        self._refusal: list[str] = []
        self._refusal_halves = HalfJoiner()
        self._audio: dict[str, Any] = {}
        self._sound: list[str] = []
        self._annotations: list[Any] = []
        self._message_extras: dict[str, Any] = {}
        self._others = 0
        self._told_choices = False
        self._calls = ToolCallAssembler(reading, FIRST_CALL)
        self.seen = False
        self.has_choice = False
        self.repeatable = False

    @property
    def has_finish_reason(self) -> bool:
        """Whether the endpoint has said why it ended."""
        return self._raw_finish is not None

    def fragments_of(self, event: StreamEvent) -> list[str]:
        """Return the list to which the text of further deltas like this one is added."""
        if type(event) is TextDelta:
            return self._text if event.part == TEXT else self._refusal
        if type(event) is ThinkingDelta:
            return self._thinking.fragments
        assert type(event) is ToolCallDelta
        return self._calls.fragments_of(event.part)

    def read(self, payload: Mapping[str, Any], *, whole: bool = False) -> list[StreamEvent]:
        """
        Read a chunk, or a `whole` body.

        Raises:
            ModelError: it is, or holds, an error.
        """
        error = find_error(payload)
        if error is not None:
            raise error_inside(error)
        events: list[StreamEvent] = []
        self.repeatable = True
        absorb_top(self._metadata, payload)
        choice = self._choice(payload.get("choices"), events)
        self.usage.add(find_usage(payload, choice))
        self.repeatable = self.repeatable and self.usage.repeatable
        if not self.seen:
            self.seen = True
            self._calls.seed = str(self._metadata.get("id") or "")
            events.append(ResponseStart(dict(self._metadata), self._origin_here()))
        if choice is not None:
            self._read_choice(choice, whole, events)
        self.usage.tell(events)
        return events

    def _origin_here(self) -> Origin:
        if self._origin is not None and self._origin.model is not None:
            return self._origin
        model = self._metadata.get("model")
        provider = self._origin.provider if self._origin is not None else None
        return Origin(WIRE, provider, model if isinstance(model, str) else None)

    def _choice(self, choices: Any, events: list[StreamEvent]) -> Mapping[str, Any] | None:
        """Return the one choice that is read: of several answers to one request only the first has a place."""
        found: Mapping[str, Any] | None = None
        others = False
        if isinstance(choices, Mapping):
            choices = [choices]
        if isinstance(choices, list):
            told = [choice for choice in choices if isinstance(choice, Mapping)]
            self.has_choice = self.has_choice or bool(told)
            if self._choice_index is None and told:
                self._choice_index = self._first_of([choice.get("index") or 0 for choice in told])
            for choice in told:
                if (choice.get("index") or 0) == self._choice_index and found is None:
                    found = choice
                else:
                    others = True
        if others:
            self.repeatable = False
            if not self._told_choices:
                self._told_choices = True
                message = "the endpoint gave several answers; only the first is read"
                events.append(NoticeAdded(Notice("dropped", "choices", message)))
        return found

    def _first_of(self, indexes: list[Any]) -> Any:
        """Return the index of the choice to be read: the first, which a stream of several may begin with another than."""
        request = self._reading.request
        if request is not None and request.parameters.custom_parameters.get("n", 1) != 1:
            return 0
        return min((index for index in indexes if type(index) is int), default=indexes[0])

    def _read_choice(self, choice: Mapping[str, Any], whole: bool, events: list[StreamEvent]) -> None:
        if absorb_choice(self._metadata, choice):
            self.repeatable = False
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            delta = choice.get("message")
            whole = True
            if self._grown and isinstance(delta, Mapping):
                delta = self._not_yet_told(delta)
        elif delta:
            self._grown = True
        if isinstance(delta, Mapping):
            self._read_delta(delta, whole, events)
        finish = choice.get("finish_reason")
        if finish is not None and finish not in ("", "null"):
            self.repeatable = False
            self._raw_finish = str(finish)

    def _not_yet_told(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of a whole message at the end of its own deltas, return what they did not say."""
        rest = dict(message)
        text, content = "".join(self._text), rest.get("content")
        if isinstance(content, str) and content.startswith(text):
            rest["content"] = content[len(text) :]
        if self._thinking:
            rest = {key: value for key, value in rest.items() if not key.startswith("reasoning")}
        if self._calls:
            rest.pop("tool_calls", None)
        return rest

    def _read_delta(self, delta: Mapping[str, Any], whole: bool, events: list[StreamEvent]) -> None:
        thought = self._thinking.read(delta, whole=whole)
        if thought:
            events.append(ThinkingDelta(thought, THINKING))
        self.repeatable = self.repeatable and not self._thinking.is_halved
        content = delta.get("content")
        if type(content) is str:
            if content:
                self._add_text(content, events)
        elif content is not None:
            self._read_parts(content, events)
        if delta.keys() <= {"content", "role"}:
            return
        declined = delta.get("refusal")
        if isinstance(declined, str) and declined:
            self._add_refusal(declined, events)
        calls = delta.get("tool_calls")
        if isinstance(calls, Mapping):
            calls = [calls]
        if isinstance(calls, list) and calls:
            self.repeatable = self._calls.add(calls, events, whole=whole) and self.repeatable
        legacy = delta.get("function_call")
        if isinstance(legacy, Mapping):
            self._calls.add([{"index": 0, "function": legacy}], events)
            self.repeatable = False
        self._read_rare(delta, events)

    def _read_rare(self, delta: Mapping[str, Any], events: list[StreamEvent]) -> None:
        for key in ("reasoning_details", "audio", "annotations", "images"):
            value = delta.get(key)
            if not value:
                continue
            self.repeatable = False
            if key == "annotations" and isinstance(value, list):
                self._annotations += value
            elif key == "audio" and isinstance(value, Mapping):
                self._read_audio(value)
            elif key == "images" and isinstance(value, list):
                self._read_parts(value, events)
        if not delta.keys() <= _MESSAGE:
            rest = {key: value for key, value in delta.items() if key not in _MESSAGE and value is not None}
            self._message_extras = merged(self._message_extras, rest)

    def _add_text(self, text: str, events: list[StreamEvent]) -> None:
        if self._halves.half or not text.isascii():
            text = self._halves.add(text)
            self.repeatable = self.repeatable and not self._halves.half
            if not text:
                return
        self._text.append(text)
        events.append(TextDelta(text, TEXT))

    def _add_refusal(self, text: str, events: list[StreamEvent]) -> None:
        text = self._refusal_halves.add(text)
        self.repeatable = self.repeatable and not self._refusal_halves.half
        if text:
            self._refusal.append(text)
            events.append(TextDelta(text, REFUSAL))

    def _read_parts(self, content: Any, events: list[StreamEvent]) -> None:
        """Read content that is a list of chunks: text and thinking are joined, others stand for themselves."""
        self.repeatable = False
        for part in content if isinstance(content, Sequence) else (content,):
            match part:
                case str(text):
                    if text:
                        self._add_text(text, events)
                case {"type": "text" | "output_text", "text": str(text)}:
                    if text:
                        self._add_text(text, events)
                case {"type": "thinking"}:
                    if text := self._thinking.read_chunk(part):
                        events.append(ThinkingDelta(text, THINKING))
                case {"type": "refusal", "refusal": str(text)}:
                    if text:
                        self._add_refusal(text, events)
                case Mapping():
                    value = decode_content(part)
                    if value is not None:
                        events.append(PartEnd(value, FIRST_OTHER + self._others))
                        self._others += 1

    def _read_audio(self, audio: Mapping[str, Any]) -> None:
        for key, value in audio.items():
            if key == "data":
                if isinstance(value, str) and value:
                    self._sound.append(value)
            elif key == "transcript" and isinstance(value, str):
                self._audio[key] = self._audio.get(key, "") + value
            elif value is not None:
                self._audio[key] = value

    def finish(self) -> list[StreamEvent]:
        """The answer is over: return its last events, `ResponseEnd` last."""
        events: list[StreamEvent] = []
        reason = finish_reason(self._raw_finish)
        if left := self._refusal_halves.finish():
            self._refusal.append(left)
            events.append(TextDelta(left, REFUSAL))
        if self._refusal and not self._text and reason in {FinishReason.STOP, None}:
            reason = FinishReason.REFUSAL
        if self._thinking:
            if left := self._thinking.finish():
                events.append(ThinkingDelta(left, THINKING))
            events.append(PartEnd(self._thinking.content(), THINKING))
        metadata = self._metadata
        if left := self._halves.finish():
            self._text.append(left)
            events.append(TextDelta(left, TEXT))
        self._end_text(events, metadata)
        self._calls.finish(events, cut=reason not in _CLEAN_ENDS)
        if self._refusal:
            events.append(PartEnd(refusal("".join(self._refusal)), REFUSAL))
        if self._audio or self._sound:
            events.append(PartEnd(self._audio_content(), AUDIO))
        if self._raw_finish is not None:
            metadata["raw_finish_reason"] = self._raw_finish
        if details := self.usage.details():
            metadata["usage_details"] = details
        events += self.usage.held_back()
        events.append(ResponseEnd(settle_finish_reason(reason, has_calls=bool(self._calls)), metadata))
        return events

    def _end_text(self, events: list[StreamEvent], metadata: dict[str, Any]) -> None:
        own = dict(self._message_extras)
        if self._annotations:
            own["annotations"] = self._annotations
        if not self._text:
            if own:
                metadata["message"] = own
            return
        lowered = self._reading.answer_schema
        text = "".join(self._text)
        restored = text if lowered is None else lowered.restore_text(text)
        if own or restored != text:
            events.append(PartEnd(TextContent(restored, extras={WIRE: own} if own else {}), TEXT))

    def _audio_content(self) -> AudioContent | OpaqueContent:
        own = dict(self._audio)
        transcript = own.pop("transcript", None)
        try:
            data = _joined_base64(self._sound)
        except ValueError:
            data = b""
        if not data:
            return OpaqueContent(WIRE, {"audio": {**self._audio, "data": "".join(self._sound)}})
        media_type = self._reading.audio_type or sniff_media_type(data) or "audio/pcm"
        return AudioContent(data=data, media_type=media_type, transcript=transcript, extras={WIRE: own} if own else {})


def _joined_base64(pieces: Sequence[str]) -> bytes:
    """Join base64 that came in pieces, each padded for itself or cut anywhere."""
    if any(piece.endswith("=") for piece in pieces[:-1]):
        return b"".join(from_base64(piece) for piece in pieces)
    return from_base64("".join(pieces))
