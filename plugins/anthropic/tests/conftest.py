"""
What the tests of this package share.

Every request body that a test makes goes through `encode`, which holds it against the vendor's own current types, with
unknown, missing and ill-typed fields refused at every depth.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming  # noqa: E402
from support.strict_types import check  # noqa: E402

from polywire.codec import Encoded  # noqa: E402
from polywire.parameters import ChatRequestParameters  # noqa: E402
from polywire.requests import ChatRequest  # noqa: E402
from polywire.responses import Notice  # noqa: E402
from polywire_anthropic import AnthropicCodec  # noqa: E402

RECORDINGS = Path(__file__).parent / "recordings"

# Fields that the wire still takes under version 2023-06-01, and that the vendor's current types left out.
ONLY_IN_OLD_VERSIONS = frozenset({"temperature", "top_p", "top_k"})


def check_body(body: Mapping[str, Any], *, old: bool = False) -> None:
    """Hold a body against the vendor's types."""
    checked = {key: value for key, value in body.items() if not (old and key in ONLY_IN_OLD_VERSIONS)}
    kind = MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming

    assert check(json.loads(json.dumps(checked)), kind) == []


class Sent:
    """A body that was written, and the notices about it."""

    def __init__(self, encoded: Encoded) -> None:
        self.encoded = encoded
        self.body: dict[str, Any] = json.loads(encoded.http.body)
        self.notices: tuple[Notice, ...] = encoded.notices

    def told(self, kind: str, subject: str) -> bool:
        """Whether there is a notice of this kind about this subject."""
        return any(notice.kind == kind and notice.subject == subject for notice in self.notices)


@pytest.fixture
def encode() -> Callable[..., Sent]:
    """Write a request with the codec, checked."""

    def write(
        messages: Any,
        *,
        model: str = "claude-opus-5-5",
        version: str = "2026-10-21",
        stream: bool = False,
        codec: AnthropicCodec | None = None,
        **parameters: Any,
    ) -> Sent:
        codec = codec or AnthropicCodec(version=version)
        request = ChatRequest(messages, ChatRequestParameters(model=model, **parameters))
        sent = Sent(codec.encode(request, stream=stream))
        check_body(sent.body, old=version < "2026-10-21")
        return sent

    return write


@pytest.fixture
def golden() -> Callable[[str], bytes]:
    """Read a recorded answer."""
    return lambda name: (RECORDINGS / name).read_bytes()


@pytest.fixture
def check_request() -> Callable[..., None]:
    """Hold a body that a conversion wrote against the vendor's types."""
    return check_body
