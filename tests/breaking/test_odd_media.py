"""Media that says what it is by its first bytes, and errors of Ollama's that say what they are by their words alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import error_of, read_plain

from polywire.contents import AudioContent, ImageContent
from polywire.errors import AuthenticationFailed, BadRequest, ContextLengthExceeded, ModelError, NotFound, Overloaded


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        # ISO base media: the brand after `ftyp` (ISO/IEC 23008-12, and the AVIF specification).
        (b"\0\0\0\x20ftypavif\0\0\0\0", "image/avif"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "image/heic"),
        # A form of IFF, as RIFF is.
        (b"FORM\0\0\0\x10AIFFCOMM", "audio/aiff"),
        # ADTS of MPEG-4 and of MPEG-2, without a checksum.
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"\xff\xf9\x50\x80", "audio/aac"),
    ],
)
def test_media_is_known_by_its_first_bytes(data: bytes, kind: str) -> None:
    content = (ImageContent if kind.startswith("image/") else AudioContent)(data=data)

    assert content.media_type == kind


# Ollama's server source (server/routes.go, server/sched.go): an error is a bare text, and in a stream it has no status.
WORDS = [
    ("server busy, please try again.  maximum pending requests exceeded", Overloaded, True),
    ("registry.ollama.ai/library/m does not support tools", BadRequest, False),
    ('"m" does not support thinking', BadRequest, False),
    ('model "m" not found, try pulling it first', NotFound, False),
    ("unauthorized", AuthenticationFailed, False),
    ("the input length exceeds the context length", ContextLengthExceeded, False),
]


@pytest.mark.parametrize(("words", "kind", "retryable"), WORDS)
def test_an_error_without_a_status_is_what_its_words_say(words: str, kind: type[ModelError], retryable: bool) -> None:
    body = {"error": words}

    error = error_of("ollama", json.dumps(body).encode() + b"\n")
    assert (type(error), error.retryable) == (kind, retryable)
    assert words in error.message
    with pytest.raises(kind):
        read_plain("ollama", body)
