"""
Call ids as a wire takes them.

Ids belong to their assistant turn: some back ends begin again at `call_0` in every answer. A wire may want another
pattern, or ids that are unique over the whole conversation. The map is injective, and the same history always gives
the same ids; a history whose ids already fit is left untouched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import islice

from polywire.messages import AiMessage, AiPart, Message, ToolCall, ToolResultMessage
from polywire.profiles import Profile
from polywire.responses import Notice
from polywire.survey import Survey

__all__ = ["map_call_ids", "must_map"]

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def must_map(found: Survey, profile: Profile) -> bool:
    """Whether any id of this history does not fit the profile's wire as it is."""
    if found.repeated_ids and profile.tool_ids_unique == "conversation":
        return True
    pattern = profile.tool_id_pattern
    if pattern is None:
        return False
    fitting = found.fitting[1] if found.fitting[0] == pattern else 0
    if not all(map(_pattern(pattern).fullmatch, islice(found.call_ids, fitting, None))):
        return True
    found.fitting = (pattern, len(found.call_ids))
    return False


def map_call_ids(messages: Sequence[Message], profile: Profile) -> tuple[Sequence[Message], list[Notice]]:
    """Return the history with the ids that this profile's wire takes, and what was changed."""
    matches = _pattern(profile.tool_id_pattern).fullmatch if profile.tool_id_pattern else None
    whole = profile.tool_ids_unique == "conversation"
    if matches is None and not whole:
        return messages, []
    seen: set[str] = set()
    turns: list[tuple[int, dict[str, str]]] = []
    kept: set[str] = set()
    wanted: list[tuple[int, str, int]] = []
    occurrences: dict[str, int] = {}
    for position, message in enumerate(messages):
        if type(message) is not AiMessage:
            continue
        calls = message.tool_calls
        if not calls:
            continue
        turns.append((position, {}))
        for call in calls:
            occurrence = occurrences.get(call.id, 0)
            occurrences[call.id] = occurrence + 1
            if (matches is None or matches(call.id)) and not (whole and call.id in seen):
                kept.add(call.id)
            else:
                wanted.append((len(turns) - 1, call.id, occurrence))
            seen.add(call.id)
    if not wanted:
        return messages, []
    notices: list[Notice] = []
    taken = set(kept)
    by_identity: dict[str, str] = {}
    for turn, call_id, occurrence in wanted:
        identity = f"{call_id}\0{occurrence if whole else 0}"
        mapped = by_identity.get(identity)
        if mapped is None:
            mapped = _made(call_id, identity, matches, taken)
            by_identity[identity] = mapped
            taken.add(mapped)
        turns[turn][1][call_id] = mapped
        notices.append(
            Notice(
                "approximated",
                f"messages[{turns[turn][0]}]",
                f"the call id {call_id!r} does not fit this wire; sent as {mapped!r}",
            )
        )
    return _rewritten(messages, dict(turns)), notices


def _made(call_id: str, identity: str, matches: object, taken: set[str]) -> str:
    number = int.from_bytes(sha256(identity.encode("utf-8", "surrogatepass")).digest(), "big")
    letters = ""
    while number:
        number, index = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[index]
    readable = _FOREIGN.sub("_", call_id)[:40]
    # Readable where the pattern leaves room for it; else as many characters as the pattern wants, 9 at the common one.
    candidates = [f"{readable}_{letters[:8]}", f"call_{letters[:9]}"]
    candidates += [letters[start : start + size] for size in (9, 24, 8, 12, 16, 32) for start in range(8)]
    for candidate in candidates:
        if candidate not in taken and (matches is None or matches(candidate)):  # type: ignore[operator]
            return candidate
    msg = f"no id that fits this wire's pattern can be made for the call {call_id!r}"
    raise ValueError(msg)


def _rewritten(messages: Sequence[Message], turns: dict[int, dict[str, str]]) -> Sequence[Message]:
    rewritten: list[Message] = []
    current: dict[str, str] = {}
    for position, message in enumerate(messages):
        if isinstance(message, AiMessage):
            current = turns.get(position, {})
            if current:
                parts: list[AiPart] = [
                    with_id(part, current[part.id]) if isinstance(part, ToolCall) and part.id in current else part
                    for part in message.parts
                ]
                message = AiMessage(parts, message.origin, extras=message.extras)
        elif isinstance(message, ToolResultMessage) and message.call_id in current:
            message = ToolResultMessage(
                current[message.call_id],
                message.tool_name,
                message.contents,
                message.is_error,
                message.error,
                extras=message.extras,
            )
        rewritten.append(message)
    return rewritten


def with_id(call: ToolCall, call_id: str) -> ToolCall:
    """Return the call under another id."""
    return ToolCall(call_id, call.name, call.arguments, call.source, incomplete=call.incomplete, extras=call.extras)
