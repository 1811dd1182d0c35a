"""`polywire convert`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polywire.conversion import Conversion
from polywire.errors import HistoryError, ProtocolError, UnknownProvider, UnsupportedByModel
from polywire.responses import Notice

Run = Callable[..., Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """Put a conversion that only remembers in the place of the real one."""
    made: list[tuple[Any, dict[str, Any]]] = []

    def convert(payload: Any, **options: Any) -> Conversion:
        made.append((payload, options))
        return Conversion({"model": "m", "text": "é"}, (Notice("dropped", "seed", "has no place there"),))

    monkeypatch.setattr("polywire.conversion.convert", convert)
    return made


def test_the_result_goes_to_output_and_the_notices_beside_it(run: Run, calls: list[Any], tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text('{"messages": [{"role": "user", "content": "ü"}]}', encoding="utf-8")
    result = run("convert", "--from", "a", "--to", "b", "--kind", "request", "--history", "repair", str(file))

    assert result.code == 0
    assert json.loads(result.out) == {"model": "m", "text": "é"}
    assert "é" in result.out
    assert result.err == "dropped: seed: has no place there\n"
    assert calls == [
        (
            {"messages": [{"role": "user", "content": "ü"}]},
            {"source": "a", "target": "b", "kind": "request", "history": "repair"},
        )
    ]


@pytest.mark.parametrize("argument", [(), ("-",)])
def test_it_reads_standard_input(run: Run, calls: list[Any], argument: tuple[str, ...]) -> None:
    result = run("convert", "--from", "a", "--to", "b", *argument, stdin=b"[]")

    assert result.code == 0
    assert calls == [([], {"source": "a", "target": "b", "kind": None, "history": "strict"})]


def test_compact_is_one_line(run: Run, calls: list[Any]) -> None:
    assert run("convert", "--from", "a", "--to", "b", "--compact", stdin=b"[]").out == '{"model":"m","text":"é"}\n'


@pytest.mark.parametrize(
    ("stdin", "words"), [(b"", "standard input is empty"), (b" \n", "is empty"), (b"{", "standard input is not JSON")]
)
def test_input_that_is_no_json_is_said_to_be(run: Run, calls: list[Any], stdin: bytes, words: str) -> None:
    result = run("convert", "--from", "a", "--to", "b", stdin=stdin)

    assert (result.code, result.out) == (5, "")
    assert words in result.err
    assert calls == []


def test_a_file_that_is_not_there_is_a_usage_error(run: Run, calls: list[Any]) -> None:
    result = run("convert", "--from", "a", "--to", "b", "nowhere.json")

    assert result.code == 2
    assert result.err == "polywire: nowhere.json: No such file or directory\n"


@pytest.mark.parametrize("arguments", [("--from", "a"), ("--to", "b"), ("--from", "a", "--to", "b", "--kind", "poem")])
def test_missing_and_unknown_options_are_usage_errors(run: Run, calls: list[Any], arguments: tuple[str, ...]) -> None:
    result = run("convert", *arguments, stdin=b"[]")

    assert result.code == 2
    assert result.err.startswith("polywire: convert: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HistoryError("call_1 has no result"), 5),
        (UnknownProvider("no wire 'a'"), 4),
        (ProtocolError("messages[0] must be an object"), 5),
        (UnsupportedByModel("messages[0]: a video has no place there"), 5),
        (TypeError("a payload must be a JSON object"), 5),
        (ValueError("messages[0] has no role"), 5),
        (KeyError("role"), 5),
    ],
)
def test_what_cannot_be_converted_is_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def convert(*_: Any, **__: Any) -> Conversion:
        raise error

    monkeypatch.setattr("polywire.conversion.convert", convert)
    result = run("convert", "--from", "a", "--to", "b", stdin=b"[]")

    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("form", ["file", "pipe"])
def test_a_stream_is_converted_as_it_comes(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    class Converter:
        error = None

        def __init__(self, source: str, target: str) -> None:
            self.wires = (source, target)
            self.notices = (Notice("dropped", "logprobs", "has no place there"),)

        def feed(self, chunk: bytes) -> bytes:
            return chunk.upper()

        def finish(self) -> bytes:
            return f"end {self.wires}\n".encode()

    monkeypatch.setattr("polywire.conversion.StreamConverter", Converter)
    file = tmp_path / "answer.sse"
    file.write_bytes("data: é\n\n".encode())
    arguments = ("convert", "--from", "a", "--to", "b", "--kind", "stream")
    result = run(*arguments, str(file)) if form == "file" else run(*arguments, stdin=file.read_bytes())

    assert result.code == 0
    assert result.out == "DATA: é\n\nend ('a', 'b')\n"
    assert result.err == "dropped: logprobs: has no place there\n"


def test_a_stream_file_that_is_not_there_is_a_usage_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polywire.conversion.StreamConverter", lambda *_: None)

    assert run("convert", "--from", "a", "--to", "b", "--kind", "stream", "nowhere.sse").code == 2


REQUEST = {
    "model": "m",
    "max_tokens": 10,
    "system": "be brief",
    "messages": [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"city": "Paris"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain"}]},
    ],
}


@pytest.fixture
def _wires() -> None:
    pytest.importorskip("polywire_openai", reason="the plugins are distributions of their own")
    pytest.importorskip("polywire_anthropic", reason="the plugins are distributions of their own")


@pytest.mark.usefixtures("_wires")
def test_a_real_request_goes_there_and_back(run: Run) -> None:
    there = run("convert", "--from", "anthropic", "--to", "openai", stdin=json.dumps(REQUEST).encode())
    back = run("convert", "--from", "openai", "--to", "anthropic", stdin=there.out.encode())

    assert (there.code, back.code) == (0, 0)
    assert [message["role"] for message in json.loads(there.out)["messages"]] == ["system", "user", "assistant", "tool"]
    returned = json.loads(back.out)
    assert returned["system"] == "be brief"
    assert returned["messages"] == REQUEST["messages"]


@pytest.mark.usefixtures("_wires")
def test_a_real_history_that_does_not_close_is_refused_or_mended(run: Run) -> None:
    broken = json.dumps({**REQUEST, "messages": REQUEST["messages"][:2]}).encode()  # type: ignore[index]
    refused = run("convert", "--from", "anthropic", "--to", "openai", stdin=broken)
    mended = run("convert", "--from", "anthropic", "--to", "openai", "--history", "repair", stdin=broken)

    assert (refused.code, refused.out) == (5, "")
    assert "'c1'" in refused.err
    assert mended.code == 0
    assert "repaired: " in mended.err
    assert json.loads(mended.out)["messages"][-1]["role"] == "tool"


@pytest.mark.usefixtures("_wires")
@pytest.mark.parametrize("payload", [b'{"x": 1}', b"3", b"[1]", b'{"messages": "x"}', b'{"messages": [{"role": 1}]}'])
def test_a_payload_of_another_shape_is_an_input_failure(run: Run, payload: bytes) -> None:
    result = run("convert", "--from", "openai", "--to", "anthropic", stdin=payload)

    assert (result.code, result.out) == (5, "")
    assert result.err.startswith("polywire: standard input")
    assert result.err.count("\n") == 1


@pytest.mark.usefixtures("_wires")
@pytest.mark.parametrize(
    ("stream", "code", "words"),
    [
        (b'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n', 17, "stream interrupted: "),
        (b"", 17, "empty response: "),
        (b'data: {"error": {"message": "slow down", "type": "rate_limit_error"}}\n\n', 11, "rate limit: slow down"),
    ],
)
def test_a_stream_that_fails_is_told_to_its_reader_and_to_the_caller(
    run: Run, stream: bytes, code: int, words: str
) -> None:
    result = run("convert", "--from", "openai", "--to", "anthropic", "--kind", "stream", stdin=stream)

    assert result.code == code
    assert "event: error" in result.out
    assert result.err.startswith(f"polywire: {words}")
    assert result.err.count("\n") == 1
