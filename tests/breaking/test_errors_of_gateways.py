"""
Errors of gateways and of other wires inside an answer of status 200, on every wire, plain and streamed.

None of them has the wire's own form. Each is told with its own words and the status that it states, never as an answer
that was empty, cut off, or of the wrong form.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import error_of, model_of

from polywire.errors import BadRequest, ModelError, RateLimited, ServerError
from polywire.testing import Reply

WIRES = ("openai-compatible", "openai-responses", "anthropic", "gemini", "ollama")
ERRORS: list[tuple[dict[str, Any], type[ModelError], str]] = [
    ({"error": {"message": "slow down", "code": 429}}, RateLimited, "slow down"),
    ({"error": "out of luck"}, ServerError, "out of luck"),
    ({"detail": "no such route"}, ServerError, "no such route"),
    ({"message": "slow down", "code": 429}, RateLimited, "slow down"),
    ({"object": "error", "message": "bad parts", "code": 400}, BadRequest, "bad parts"),
    ({"errors": [{"message": "one"}, {"message": "two"}]}, ServerError, "one; two"),
    ({"error": "Too Many Requests", "message": "wait a bit", "statusCode": 429}, RateLimited, "wait a bit"),
]


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize(("body", "kind", "message"), ERRORS)
def test_an_error_in_place_of_an_answer(
    provider: str, body: dict[str, Any], kind: type[ModelError], message: str
) -> None:
    model, _ = model_of(provider, Reply(body=body))

    with pytest.raises(ModelError, match=message) as caught:
        model.chat("q")

    assert type(caught.value) is kind


@pytest.mark.parametrize("provider", WIRES)
@pytest.mark.parametrize(("body", "kind", "message"), ERRORS)
def test_an_error_in_place_of_a_stream(
    provider: str, body: dict[str, Any], kind: type[ModelError], message: str
) -> None:
    text = json.dumps(body)
    # As a frame of the stream, and as the bare body of a server that did not begin one.
    for sent in (f"{text}\n" if provider == "ollama" else f"data: {text}\n\n", text):
        error = error_of(provider, sent.encode())

        assert type(error) is kind
        assert message in error.message


@pytest.mark.parametrize("provider", WIRES)
def test_an_error_that_says_nothing_is_one(provider: str) -> None:
    model, _ = model_of(provider, Reply(body={"error": {}}))

    with pytest.raises(ServerError):
        model.chat("q")
