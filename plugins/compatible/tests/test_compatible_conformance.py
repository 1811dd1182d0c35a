"""The conformance kit on every row, with the bytes of each service."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from polywire.auth import BearerAuth, HeaderAuth
from polywire.codec import Auth
from polywire.errors import StreamInterrupted
from polywire.testing import CodecUnderTest, check_rule, load_recordings
from polywire.testing.conformance.rules import RULES
from polywire_compatible import ROWS
from polywire_openai import OpenAIChatCodec, OpenAIWire

RECORDINGS = Path(__file__).parent / "recordings"

MODELS = {
    "deepseek": "deepseek-chat",
    "qwen": "qwen-plus",
    "openrouter": "anthropic/claude-sonnet-4.5",
    "vllm": "Qwen/Qwen3-8B",
    "llama-cpp": "gemma-3-4b-it",
    "lm-studio": "qwen3-8b",
    "ollama-compatible": "qwen3",
    "mistral": "magistral-medium-latest",
    "groq": "openai/gpt-oss-20b",
    "xai": "grok-4",
    "moonshot": "kimi-k2.6",
    "zhipu": "glm-4.6",
    "together": "deepseek-ai/DeepSeek-V3.1",
    "fireworks": "accounts/fireworks/models/kimi-k2-thinking",
    "azure-openai": "gpt-4.1",
    "openai-compatible": "m",
}

_TAGS = "thinking that was read from tags has no field's name to remember; written, it has one"
EXCEPTIONS = {("lm-studio", "wire-response-round-trip"): _TAGS, ("lm-studio", "unknown-blocks-kept"): _TAGS}

# text-generation-inference sends no `[DONE]`: there is no mark to be seen.
WITHOUT_END_MARK = {"captured-no-space.sse"}


def subject(name: str) -> CodecUnderTest:
    row = ROWS[name]

    def auth(key: str) -> Auth:
        return BearerAuth(key) if row.key_header is None else HeaderAuth(row.key_header, key)

    return CodecUnderTest(
        codec=OpenAIChatCodec(row.profiles(), path=row.path),
        model=MODELS[name],
        wire=OpenAIWire(row.profiles()),
        recordings=load_recordings(RECORDINGS / name),
        auth=auth,
    )


SUBJECTS = {name: subject(name) for name in MODELS}


def test_every_row_is_held_against_the_kit() -> None:
    assert set(MODELS) == set(ROWS)
    assert {path.name for path in RECORDINGS.iterdir()} == set(ROWS)


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("name", MODELS)
def test_a_row_keeps_a_rule_of_the_kit(name: str, rule: str) -> None:
    held = SUBJECTS[name]
    if reason := EXCEPTIONS.get((name, rule)):
        pytest.skip(reason)
    if rule == "wire-response-round-trip":
        # OpenAI's clients know four finish reasons; for others the nearest is written, with a notice.
        known = tuple(each for each in held.recordings if each.expected.finish_reason not in {"error", "other"})
        held = replace(held, recordings=known)
    if rule == "end-mark":
        held = replace(held, recordings=tuple(each for each in held.recordings if each.name not in WITHOUT_END_MARK))
    check_rule(rule, held)


def test_a_stream_without_an_end_mark_is_whole_and_says_so() -> None:
    held = SUBJECTS["openai-compatible"]
    (recording,) = (each for each in held.recordings if each.name in WITHOUT_END_MARK)
    assert b"[DONE]" not in recording.body
    response = held.decode_stream([recording.body])
    assert [(notice.kind, notice.subject) for notice in response.notices] == [("information", "stream")]


def test_a_finish_reason_with_the_first_of_two_calls_does_not_end_the_answer() -> None:
    held = SUBJECTS["zhipu"]
    (recording,) = (each for each in held.recordings if each.name == "captured-tools.sse")
    first, second = (recording.body.index(name) for name in (b'"name":"add"', b'"name":"multiply"'))
    cut = recording.body[: recording.body.rindex(b"data: ", first, second)]
    assert b'"finish_reason":"tool_calls"' in cut

    with pytest.raises(StreamInterrupted):
        held.decode_stream([cut])


# Of every service that answers over the net or on a machine, something that it really sent; Fireworks publishes nothing.
NEVER_CAPTURED = {"fireworks"}


def test_every_row_rests_on_bytes_that_its_service_sent() -> None:
    captured = {name for name, held in SUBJECTS.items() if any("captured" in each.source for each in held.recordings)}
    assert captured == set(SUBJECTS) - NEVER_CAPTURED


def test_every_captured_recording_says_from_where() -> None:
    for held in SUBJECTS.values():
        for each in held.recordings:
            if "captured" in each.source:
                assert re.search(r"github\.com/.+@[0-9a-f]{12}|xllamacpp", each.source), each.source
            else:
                assert not each.name.startswith("captured-"), each.name
