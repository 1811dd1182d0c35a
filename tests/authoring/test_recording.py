"""`polywire record`: what it writes, the kit replays; and no piece of a key is ever written."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from polywire.cli import main
from polywire.codec import Headers, HttpRequest
from polywire.errors import ConnectionFailed
from polywire.messages import AiMessage, ToolCall
from polywire.recording import Captured, SecretFound, Take, open_endpoint, record, write_recordings
from polywire.recording.secrets import find_secret, secrets_of_request
from polywire.recording.toml_text import toml_key, toml_value
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason, TokenUsage
from polywire.testing import RULES, CodecUnderTest, check_rule, load_recordings
from polywire_openai import COMPATIBLE_PROFILES, OpenAIChatCodec, OpenAIWire

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_endpoint import serving

KEY = "sk-proj-0123456789abcdef"


@pytest.fixture
def settings(tmp_path: Path) -> Callable[[str], Path]:
    def write(address: str) -> Path:
        path = tmp_path / "settings.toml"
        path.write_text(
            f'[providers.office]\nplugin = "openai-compatible"\nbase_url = "{address}"\napi_key = "{KEY}"\n'
            '[models.assistant]\nprovider = "office"\nmodel = "m"\nfallback = ["spare"]\n'
            '[models.spare]\nprovider = "office"\nmodel = "n"\n',
            encoding="utf-8",
        )
        return path

    return write


def subject_of(folder: Path) -> CodecUnderTest:
    return CodecUnderTest(
        codec=OpenAIChatCodec(COMPATIBLE_PROFILES),
        wire=OpenAIWire(),
        model="m",
        recordings=load_recordings(folder),
    )


def test_what_it_writes_the_kit_replays(settings: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    for oddities, options in (
        (("thinks", "limits"), ["Hello"]),
        ((), ["the weather", "--tool"]),
        (("busy",), ["Hello"]),
    ):
        with serving(*oddities) as endpoint:
            command = ["record", "assistant", *options, "--output", str(folder)]
            assert main([*command, "--settings", str(settings(endpoint.address))]) == 0
    subject = subject_of(folder)

    assert [each.name for each in subject.recordings] == [
        "thinking.json", "thinking.sse", "tool-call.json", "tool-call.sse", "error-429.json",
    ]  # fmt: skip
    for rule in RULES:
        check_rule(rule, subject)


def test_an_entry_says_what_came_and_nothing_of_who_asked(settings: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    with serving("limits", "thinks") as endpoint, open_endpoint(settings(endpoint.address), "assistant") as opened:
        takes = record(opened, ChatRequest("Hello"), now=lambda: datetime(2026, 12, 1, tzinfo=UTC))
        write_recordings(takes, folder, secrets=opened.all_secrets())
    text = (folder / "recordings.toml").read_text(encoding="utf-8")
    plain, streamed = tomllib.loads(text)["recording"]

    assert plain == {
        "file": "thinking.json",
        "source": "127.0.0.1, model m, recorded 2026-12-01",
        "headers": {
            "content-type": "application/json",
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "499",
        },
        "answer": "thinking",
        "expected": {
            "text": "42",
            "thinking": "Seventeen and twenty-five.",
            "finish_reason": "stop",
            "usage": {"input_tokens": 9, "output_tokens": 6, "total_tokens": 15},
        },
    }
    assert streamed["stream"] is True
    assert "secret-of-the-server" not in text
    assert (folder / "thinking.sse").read_bytes().endswith(b"data: [DONE]\n\n")


def test_what_is_there_stays(settings: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    for _ in range(2):
        with serving() as endpoint:
            command = ["record", "assistant", "Hello", "--output", str(folder)]
            assert main([*command, "--settings", str(settings(endpoint.address))]) == 0

    assert [each.name for each in load_recordings(folder)] == ["text.json", "text.sse", "text-2.json", "text-2.sse"]


def test_it_refuses_to_write_a_key(
    settings: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "recordings"
    with serving("echoes_key") as endpoint:
        command = ["record", "assistant", "Hello", "--output", str(folder)]
        code = main([*command, "--settings", str(settings(endpoint.address))])
    told = capsys.readouterr()

    assert code == 2
    assert "a key, or a piece of one, stands in it. Nothing was written" in told.err
    assert KEY[:12] not in told.out + told.err
    assert not folder.exists()


def test_no_answer_is_an_error(settings: Callable[[str], Path]) -> None:
    with open_endpoint(settings("http://127.0.0.1:9/v1"), "assistant") as opened, pytest.raises(ConnectionFailed):
        record(opened, ChatRequest("Hello"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"the key {KEY} is wrong", True),
        ("it began with sk-proj-01 or so", True),
        ("…9abcdef", True),
        ("incorrect key: sk-p****cdef", True),
        ("incorrect key: ****cdef", True),
        ("c2stcHJvai0wMTIzNDU2Nzg5YWJjZGVm", True),
        ("incorrect key: ****9999", False),
        ("nothing of it", False),
        ("abcdef", False),
    ],
)
def test_a_piece_of_a_key_is_found(text: str, shown: bool) -> None:
    assert (find_secret(text, {KEY}) is not None) is shown


def test_a_key_in_an_address_and_in_any_header_is_secret() -> None:
    request = HttpRequest(
        "x",
        headers={
            "Authorization": "Bearer abcdefgh1",
            "X-Goog-Api-Key": "abcdefgh2",
            "content-type": "application/json",
        },
        url="https://h/x?key=abcdefgh3&alt=sse",
    )

    assert {"abcdefgh1", "abcdefgh2", "abcdefgh3"} <= secrets_of_request(request)
    assert not {"application/json", "sse", "Bearer"} & secrets_of_request(request)


def take(result: Any, body: bytes = b"{}", **headers: str) -> Take:
    return Take("it", Captured(HttpRequest("x"), status=200, headers=Headers(headers), chunks=[body]), result, "here")


def response(text: str) -> ChatResponse:
    call = ToolCall("1", "f", '{"a": "it\'s \\"quoted\\""}')
    return ChatResponse(AiMessage([text, call]), TokenUsage(), FinishReason.TOOL_CALLS)


@pytest.mark.parametrize("text", ["", "a\nb", 'it\'s "quoted"', "\x7f \u2028 \x00", "東京 🦓", "'''", '"""', "\\"])
def test_any_text_is_read_back(text: str, tmp_path: Path) -> None:
    write_recordings([take(response(text))], tmp_path)
    (recording,) = load_recordings(tmp_path)

    assert recording.expected.text == text
    assert recording.expected.tool_calls == ({"id": "1", "name": "f", "arguments": '{"a": "it\'s \\"quoted\\""}'},)


def test_half_a_character_is_not_expected(tmp_path: Path) -> None:
    write_recordings([take(response("a\ud83d"))], tmp_path)

    assert load_recordings(tmp_path)[0].expected.text is None


def test_nothing_is_written_where_one_of_several_shows_a_key(tmp_path: Path) -> None:
    with pytest.raises(SecretFound):
        write_recordings([take(response("a")), take(response("b"), KEY.encode())], tmp_path, secrets={KEY})

    assert list(tmp_path.iterdir()) == []


def test_the_ending_tells_the_framing() -> None:
    kinds = {
        "text/event-stream; charset=utf-8": ".sse",
        "application/x-ndjson": ".ndjson",
        "application/json": ".json",
        "text/html": ".txt",
        "application/vnd.amazon.eventstream": ".bin",
    }
    for kind, ending in kinds.items():
        assert take(response("a"), b"x", **{"content-type": kind}).ending == ending


def test_toml_has_no_null() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        toml_value(None)
    assert toml_key("a b") == '"a b"'
    assert tomllib.loads(f"x = {toml_value({'b', 'a'})}")["x"] == ["a", "b"]
