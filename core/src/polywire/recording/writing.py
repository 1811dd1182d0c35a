"""From what was captured to a folder of recordings, in the form that `polywire.testing.load_recordings` reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polywire.errors import ModelError
from polywire.recording.capturing import Captured
from polywire.recording.secrets import SecretFound, find_secret
from polywire.recording.toml_text import toml_key, toml_value
from polywire.responses import ChatResponse

__all__ = ["KEPT_HEADERS", "Take", "write_recordings"]

INDEX = "recordings.toml"
KEPT_HEADERS = re.compile(
    r"content-type|retry-after(-ms)?|x-should-retry|(x-|anthropic-)?ratelimit-.*|x-ms-retry-after.*", re.IGNORECASE
)
"""The headers of an answer that mean something to a codec; no other is written, for some say who called."""
_HEADING = """\
# What the endpoint really sent: one file for each body, and its entry here. What an entry expects is how the codec read
# the body when it was recorded: check it once, by eye.

"""
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")


@dataclass(slots=True)
class Take:
    """
    One answer: its bytes, and what the codec made of them.

    Attributes:
        name: the file's name, without its ending.
        captured: the bytes.
        result: the response, or the error.
        source: where it is from, for people.
        answer: the word that takes of one and the same answer share.
    """

    name: str
    captured: Captured
    result: ChatResponse | ModelError
    source: str
    answer: str | None = field(default=None)

    @property
    def ending(self) -> str:
        """The ending of the file's name."""
        kind = self.captured.headers.get("content-type", "").lower()
        if "event-stream" in kind:
            return ".sse"
        if "ndjson" in kind or "jsonl" in kind:
            return ".ndjson"
        if "json" in kind or self.captured.body.lstrip()[:1] in (b"{", b"["):
            return ".json"
        return ".txt" if kind.startswith("text/") else ".bin"


def write_recordings(takes: Sequence[Take], folder: Path, *, secrets: Iterable[str] = ()) -> tuple[Path, ...]:
    """
    Write takes into a folder: a file for each body, and an entry for each at the end of `recordings.toml`.

    Nothing that is there is changed; a name that is taken gets a number.

    Args:
        takes: what to write.
        folder: where; it is made if need be.
        secrets: what must not show. Everything is checked before anything is written.

    Returns:
        the files of the bodies.

    Raises:
        SecretFound: a key, or a piece of one, would show. Nothing was written.
        OSError: a file cannot be written.
    """
    secrets = tuple(secrets)
    taken = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    files: list[tuple[str, bytes]] = []
    entries: list[str] = []
    for take in takes:
        file = _free_name(take, taken)
        taken.add(file)
        entry = "\n".join(_entry(take, file)) + "\n"
        for what, text in (
            (f"the body of {file}", take.captured.body.decode("utf-8", "replace")),
            ("its entry", entry),
        ):
            if (problem := find_secret(text, secrets)) is not None:
                msg = f"{what} cannot be written: {problem}. Nothing was written"
                raise SecretFound(msg)
        files.append((file, take.captured.body))
        entries.append(entry)
    folder.mkdir(parents=True, exist_ok=True)
    for file, body in files:
        (folder / file).write_bytes(body)
    index = folder / INDEX
    before = index.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if index.exists() else _HEADING
    index.write_text(before + "\n".join(entries), encoding="utf-8", newline="\n")
    return tuple(folder / file for file, _ in files)


def _free_name(take: Take, taken: set[str]) -> str:
    number, file = 1, f"{take.name}{take.ending}"
    while file in taken:
        number += 1
        file = f"{take.name}-{number}{take.ending}"
    return file


def _entry(take: Take, file: str) -> list[str]:
    captured = take.captured
    lines = ["[[recording]]", f"file = {toml_value(file)}", f"source = {toml_value(take.source)}"]
    if captured.stream:
        lines.append("stream = true")
    if captured.status != 200:
        lines.append(f"status = {captured.status}")
    headers = {name: value for name, value in captured.headers.items() if KEPT_HEADERS.fullmatch(name)}
    if headers:
        lines.append(f"headers = {toml_value(headers)}")
    if take.answer is not None:
        lines.append(f"answer = {toml_value(take.answer)}")
    lines.append("[recording.expected]")
    lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in _expected(take.result).items()]
    return lines


def _expected(result: ChatResponse | ModelError) -> dict[str, Any]:
    if isinstance(result, ModelError):
        found: dict[str, Any] = {"error": result.kind}
        # A delay that was reckoned from a date is another one when it is read again.
        if result.retry_after is not None and result.retry_after == int(result.retry_after):
            found["retry_after"] = float(result.retry_after)
        return found
    found = {"no_text": True} if result.text is None else {"text": result.text}
    if result.thinking:
        found["thinking"] = result.thinking
    found["finish_reason"] = str(result.finish_reason)
    if result.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in result.tool_calls
        ]
    usage = {name: value for name in _USAGE if (value := getattr(result.usage, name)) is not None}
    if usage:
        found["usage"] = usage
    return {key: value for key, value in found.items() if not _unwritable(value)}


def _unwritable(value: Any) -> bool:
    """Whether a text holds half of a character, which a file in UTF-8 cannot."""
    return isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value)
