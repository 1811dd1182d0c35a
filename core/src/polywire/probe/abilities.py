"""Questions about what a model can do besides talking: tools, typed answers, pictures."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from polywire.contents import ImageContent
from polywire.messages import UserMessage
from polywire.probe.asking import Asked, Asker, refusal
from polywire.probe.values import Observation
from polywire.requests import ResponseFormat, ToolChoice, ToolSpecification

__all__ = ["choices", "images", "parallel", "response_formats", "strict", "tools"]

_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_STRICT_CITY = {**_CITY, "additionalProperties": False}
_WEATHER = ToolSpecification("get_weather", "Tell the weather in a city.", _CITY)
_TIME = ToolSpecification("get_time", "Tell the time in a city.", _CITY)
_FOR_A_TOOL = "What is the weather in Paris? Use the tool."
_FOR_TALK = "Say hello to me."


def tools(ask: Asker) -> Iterator[Observation]:
    """Does it call tools?"""
    asked = ask.ask(_FOR_A_TOOL, tools=[_WEATHER])
    if asked.error is not None:
        ask.settled["tool_calling"] = "none"
        yield Observation(name="tools", finding="no", detail=refusal(asked), profile={"tool_calling": "none"})
        return
    if asked.calls:
        assert asked.response is not None
        call = asked.response.tool_calls[0]
        valid = "" if call.is_valid else ", and its arguments are no JSON object"
        yield Observation(
            name="tools",
            finding="yes",
            detail=f"called {call.name} with {call.arguments[:60]}{valid}",
            profile={"tool_calling": "native"},
        )
        return
    form = markup_form(asked.text)
    if form is not None:
        ask.settled["tool_markup"] = [form]
        yield Observation(
            name="tools",
            finding="partly",
            detail=f"the call came as text, in the form {form!r}",
            profile={"tool_markup": [form]},
        )
        return
    yield Observation(name="tools", finding="unclear", detail=f"taken, and no call came: {asked.text[:60]!r}")


def markup_form(text: str) -> str | None:
    """Return the form in which a call stands in a text."""
    from polywire.markup import FORMS, CallPiece, MarkupParser

    for name in FORMS:
        parser = MarkupParser((name,))
        if any(isinstance(piece, CallPiece) for piece in (*parser.feed(text), *parser.finish())):
            return name
    return None


def choices(ask: Asker) -> Iterator[Observation]:
    """Can a call be forced, narrowed to one tool, and forbidden?"""
    if ask.settled.get("tool_calling") == "none":
        return
    both = [_WEATHER, _TIME]
    asked = {
        "required": ask.ask(_FOR_TALK, tools=both, tool_choice="required"),
        "named": ask.ask(_FOR_TALK, tools=both, tool_choice=ToolChoice.tool("get_time")),
        "none": ask.ask(_FOR_A_TOOL, tools=both, tool_choice="none"),
    }
    kept = {
        "required": asked["required"].calls > 0,
        "named": asked["named"].calls > 0 and _names(asked["named"]) == {"get_time"},
        "none": asked["none"].error is None and asked["none"].calls == 0,
    }
    taken = ["auto", *(name for name, holds in kept.items() if holds)]
    details = []
    for name, each in asked.items():
        if each.error is not None:
            details.append(f"{name}: {refusal(each)}")
        elif kept[name]:
            details.append(f"{name}: kept to")
        else:
            came = ", ".join(sorted(_names(each))) or "text"
            details.append(f"{name}: taken and not kept to ({came} came)")
    ask.settled["tool_choices"] = taken
    yield Observation(
        name="forced choice",
        finding="yes" if all(kept.values()) else "partly" if len(taken) > 1 else "no",
        detail="; ".join(details),
        profile={"tool_choices": taken},
    )


def _names(asked: Asked) -> set[str]:
    return {call.name for call in asked.response.tool_calls} if asked.response is not None else set()


def parallel(ask: Asker) -> Iterator[Observation]:
    """Does one turn hold several calls, and does the switch for that work?"""
    if ask.settled.get("tool_calling") == "none":
        return
    question = "What is the weather in Paris, in Rome and in Oslo? Call the tool three times at once."
    free = ask.ask(question, tools=[_WEATHER])
    if free.calls >= 2:
        profile: dict[str, Any] = {"parallel_tool_calls": True}
        yield Observation(
            name="parallel calls", finding="yes", detail=f"{free.calls} calls in one turn", profile=profile
        )
    else:
        yield Observation(name="parallel calls", finding="unclear", detail=f"asked for three, {free.calls} came")
    off = ask.ask(question, tools=[_WEATHER], parallel_tool_calls=False)
    if off.error is not None:
        yield Observation(name="parallel switch", finding="no", detail=refusal(off), profile={"parallel_switch": False})
        ask.settled["parallel_switch"] = False
    elif off.calls >= 2:
        yield Observation(
            name="parallel switch",
            finding="no",
            detail=f"switched off, {off.calls} calls came all the same",
            profile={"parallel_switch": False},
        )
        ask.settled["parallel_switch"] = False
    elif free.calls >= 2 and off.calls == 1:
        yield Observation(
            name="parallel switch", finding="yes", detail="switched off, one came", profile={"parallel_switch": True}
        )
    else:
        yield Observation(name="parallel switch", finding="unclear", detail="taken; what it does could not be seen")


def strict(ask: Asker) -> Iterator[Observation]:
    """Are strict tools taken?"""
    if ask.settled.get("tool_calling") == "none":
        return
    asked = ask.ask(
        _FOR_A_TOOL, tools=[ToolSpecification("get_weather", "Tell the weather.", _STRICT_CITY, strict=True)]
    )
    taken = asked.error is None
    ask.settled["strict_tools"] = taken
    yield Observation(
        name="strict tools",
        finding="yes" if taken else "no",
        detail="taken" if taken else refusal(asked),
        profile={"strict_tools": taken},
    )


def response_formats(ask: Asker) -> Iterator[Observation]:
    """Are typed answers taken, and kept to?"""
    schema = {**_STRICT_CITY, "properties": {"city": {"type": "string"}}}
    question = "Which city is the capital of France? Answer as a JSON object."
    asked = {
        "json": ask.ask(question, response_format=ResponseFormat("json")),
        "json_schema": ask.ask(question, response_format=ResponseFormat("json_schema", schema, "place")),
    }
    kept = {
        "json": isinstance(_parsed(asked["json"].text), dict),
        "json_schema": _is_city(_parsed(asked["json_schema"].text)),
    }
    details = [
        f"{name}: {refusal(each)}"
        if each.error is not None
        else f"{name}: kept to"
        if kept[name]
        else f"{name}: taken and not kept to ({each.text[:40]!r})"
        for name, each in asked.items()
    ]
    taken = [name for name, holds in kept.items() if holds]
    yield Observation(
        name="typed answers",
        finding="yes" if len(taken) == 2 else "partly" if taken else "no",
        detail="; ".join(details),
        profile={"response_formats": taken},
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _is_city(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"city"} and isinstance(value["city"], str)


def images(ask: Asker) -> Iterator[Observation]:
    """Are pictures taken? Sent as bytes; an address would have to be on the public network."""
    asked = ask.ask([UserMessage(["Which colour is this? One word.", ImageContent(data=red_square())])])
    if asked.error is not None:
        yield Observation(name="images", finding="no", detail=refusal(asked), profile={"image_sources": []})
        return
    seen = "seen" if "red" in asked.text.lower() else f"taken; whether it was seen is unclear ({asked.text[:40]!r})"
    yield Observation(name="images", finding="yes" if seen == "seen" else "unclear", detail=seen)


def red_square(size: int = 32) -> bytes:
    """Make a small red picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + b"\xff\x00\x00" * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
