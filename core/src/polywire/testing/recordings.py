"""
Recordings: bytes that a vendor really sent, with where they come from and what they say.

A folder of recordings holds the bodies as they came, one file each (`text.sse`, `tool-call.json`), and one
`recordings.toml` that tells of each:

    [[recording]]
    file = "tool-call.sse"
    source = "the vendor's API reference, 'Streaming', read 2026-12-01"
    stream = true
    answer = "tool-call"               # recordings of the same answer, plain and streamed, share this word

    [recording.expected]
    text = "Let me look."              # left out: not checked; `null` cannot be written in TOML, so `no_text = true`
    finish_reason = "tool_calls"
    tool_calls = [{ id = "call_1", name = "search", arguments = '{"q":"x"}' }]
    usage = { input_tokens = 10, output_tokens = 5 }

A recording of a failure has `status` and `expected.error`, the kind of error (`"rate_limit"`), and where the vendor asks
to wait `expected.retry_after`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polywire.codec import Headers, HttpResponse
from polywire.errors import did_you_mean
from polywire.immutable import EMPTY

__all__ = ["Expected", "Recording", "load_recordings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """
    What a recording says; what is `None` is not checked.

    `no_text` demands that there is no text at all: `response.text is None`.
    """

    text: str | None = None
    no_text: bool = False
    thinking: str | None = None
    finish_reason: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    usage: Mapping[str, int] | None = None
    metadata: Mapping[str, Any] = EMPTY
    error: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """
    One answer as it came over the network.

    Attributes:
        name: for messages; the file's name where it was loaded from one.
        body: the exact bytes, decompressed.
        source: where they come from, so that anyone can look again. Never the codec's own encoder.
        stream: whether they are a stream.
        status, headers: of the answer.
        answer: recordings of one and the same answer share this word: they must give the same response.
        expected: what they say.
    """

    name: str
    body: bytes = field(repr=False)
    source: str
    stream: bool = False
    status: int = 200
    headers: Mapping[str, str] = EMPTY
    answer: str | None = None
    expected: Expected = field(default_factory=Expected)

    def response(self) -> HttpResponse:
        """The recording as an answer that was read whole."""
        return HttpResponse(self.status, Headers(self.headers), self.body, 0.0)


_RECORDING_KEYS = {"file", "source", "stream", "status", "headers", "answer", "expected"}


def load_recordings(folder: str | Path) -> tuple[Recording, ...]:
    """
    Load a folder of recordings.

    Raises:
        ValueError: the index names a file that is not there, a file is in no index, or a key is unknown.
    """
    folder = Path(folder)
    index = tomllib.loads((folder / "recordings.toml").read_text(encoding="utf-8"))
    recordings = tuple(_recording(folder, item) for item in index.get("recording", ()))
    named = {recording.name for recording in recordings}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix in {".sse", ".json", ".ndjson", ".bin", ".txt"} and path.name not in named:
            msg = f"{path.name} lies in the folder and in no index: say in recordings.toml where it comes from"
            raise ValueError(msg)
    return recordings


def _recording(folder: Path, item: Mapping[str, Any]) -> Recording:
    file = item.get("file")
    _check_keys(item, _RECORDING_KEYS, f"recording {file!r}")
    if not isinstance(file, str) or not (folder / file).is_file():
        msg = f"recordings.toml names the file {file!r}, which is not there"
        raise ValueError(msg)
    if not str(item.get("source", "")).strip():
        msg = f"recording {file!r} does not say where it comes from (source)"
        raise ValueError(msg)
    expected = dict(item.get("expected", {}))
    _check_keys(expected, set(Expected.__dataclass_fields__), f"recording {file!r}, expected")
    calls: Sequence[Mapping[str, Any]] | None = expected.pop("tool_calls", None)
    return Recording(
        name=file,
        body=(folder / file).read_bytes(),
        source=item["source"],
        stream=item.get("stream", False),
        status=item.get("status", 200),
        headers=item.get("headers", {}),
        answer=item.get("answer"),
        expected=Expected(tool_calls=None if calls is None else tuple(calls), **expected),
    )


def _check_keys(item: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in item:
        if key not in known:
            msg = f"{where}: unknown key {key!r}{did_you_mean(key, known)}"
            raise ValueError(msg)
