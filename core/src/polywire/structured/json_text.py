"""Finding JSON in a model's text: bare, in a fence, among prose; and reading as much as there is of JSON that still grows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from polywire import wire_json

__all__ = ["MISSING", "json_candidates", "partial_json"]

_FENCE = re.compile(r"```[ \t]*([\w+-]*)[ \t]*\r?\n?(.*?)```", re.DOTALL)
_MOST = 64


def json_candidates(text: str) -> Iterator[Any]:
    """
    Give the values that a text may mean, the likeliest first: the whole text, what is fenced, what stands among prose.

    Nothing is mended: text that is cut off or malformed gives no value.
    """
    stripped = text.strip().removeprefix("\ufeff")
    try:
        yield wire_json.decode(stripped)
    except ValueError:
        pass
    else:
        return
    fences = [(tag.lower().startswith("json"), body) for tag, body in _FENCE.findall(stripped)]
    for _, body in sorted(fences, key=lambda fence: not fence[0]):
        try:
            yield wire_json.decode(body.strip())
        except ValueError:
            continue
    yield from _among_prose(stripped)


def _among_prose(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False)
    position = tries = 0
    while tries < _MOST:
        found = re.compile(r"[{\[]").search(text, position)
        if found is None:
            return
        tries += 1
        try:
            value, position = decoder.raw_decode(text, found.start())
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated string"):
                return
            # What was read before the fault belongs to a broken value: nothing is taken out of its middle.
            position = max(found.end(), error.pos)
            continue
        except RecursionError:
            return
        yield value


MISSING: Any = object()
"""There is nothing yet."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*', re.DOTALL)


class _Ended(Exception):
    """The text is over before the value is."""


def partial_json(text: str) -> Any:
    """
    Read what there is of a JSON object or array that is still being written.

    Strings come as far as they go; a number or word that may still grow, and a key without a value, are left out. Returns
    `MISSING` where nothing has begun.
    """
    start = re.search(r"[{\[]", text)
    if start is None:
        return MISSING
    try:
        value, _ = _value(text, start.start(), 0)
    except (_Ended, ValueError):
        return MISSING
    return value


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    if match.end() >= len(text):
        raise _Ended
    return match.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    at = _skip(text, at)
    mark = text[at]
    if depth > 200:
        msg = "nested too deeply"
        raise ValueError(msg)
    if mark == "{":
        return _object(text, at + 1, depth)
    if mark == "[":
        return _array(text, at + 1, depth)
    if mark == '"':
        return _string(text, at + 1)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return value, at + len(word)
        if word.startswith(text[at:]):
            raise _Ended
    number = _NUMBER.match(text, at)
    if number is None or number.end() >= len(text) or text[number.end()] in ".eE+-":
        raise _Ended
    return json.loads(number.group()), number.end()


def _string(text: str, at: int) -> tuple[str, int]:
    match = _STRING.match(text, at)
    assert match is not None
    value = json.loads(f'"{match.group()}"', strict=False)
    # Half of a pair of surrogates waits for the other half.
    if match.end() >= len(text) or text[match.end()] != '"':
        if value and "\ud800" <= value[-1] <= "\udbff":
            value = value[:-1]
        return value, len(text)
    return value, match.end() + 1


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    result: dict[str, Any] = {}
    try:
        at = _skip(text, at)
        while text[at] != "}":
            if text[at] != '"':
                break
            key, at = _string(text, at + 1)
            at = _skip(text, at)
            if text[at] != ":":
                break
            result[key], at = _value(text, at + 1, depth + 1)
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
        return result, at + 1
    except _Ended:
        return result, len(text)


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    result: list[Any] = []
    try:
        at = _skip(text, at)
        while text[at] != "]":
            value, at = _value(text, at, depth + 1)
            result.append(value)
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
            elif text[at] != "]":
                break
        return result, at + 1
    except _Ended:
        return result, len(text)
