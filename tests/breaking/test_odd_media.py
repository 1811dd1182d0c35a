"""Media that says what it is by its first bytes, and errors of Ollama's that say what they are by their words alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_answers import error_of, model_of, read_plain

from polywire.contents import AudioContent, DocumentContent, ImageContent, VideoContent
from polywire.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextLengthExceeded,
    ModelError,
    NotFound,
    Overloaded,
    UnsupportedByModel,
)
from polywire.messages import UserMessage


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
        (b"\0\0\0\x18ftypheix\0\0\0\0", "image/heic"),
        (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0", "image/bmp"),
        (b"\xff\xfa\x90\x64", "audio/mpeg"),
        # QuickTime, and the telephones' form of MPEG-4.
        (b"\0\0\0\x14ftypqt  \0\0\0\0", "video/quicktime"),
        (b"\0\0\0\x14ftyp3gp5\0\0\0\0", "video/3gpp"),
    ],
)
def test_media_is_known_by_its_first_bytes(data: bytes, kind: str) -> None:
    kinds = {"image": ImageContent, "audio": AudioContent, "video": VideoContent}
    content = kinds[kind.partition("/")[0]](data=data)

    assert content.media_type == kind


def test_a_text_that_begins_with_two_letters_is_no_picture() -> None:
    with pytest.raises(ValueError, match="cannot tell the media type"):
        DocumentContent(data=b"BMW is a maker of cars")


@pytest.mark.parametrize(("name", "kind"), [("a.txt", "text/plain"), ("a.csv", "text/csv"), ("a.jpg", "image/jpeg")])
def test_a_file_whose_bytes_say_nothing_is_what_its_name_says(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"hello")

    assert DocumentContent.from_path(path).media_type == kind
    path.write_bytes(b"%PDF-1")
    assert DocumentContent.from_path(path).media_type == "application/pdf"


def test_a_file_of_which_nothing_is_known_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello")

    with pytest.raises(ValueError, match="cannot tell the media type"):
        DocumentContent.from_path(path)


def test_a_data_url_may_be_written_as_any_url() -> None:
    assert ImageContent(url="data:image/png;base64,iVBOR%2BM%3D").data == ImageContent(
        url="data:image/png;base64,iVBOR+M="
    ).data  # fmt: skip


def test_an_empty_media_type_is_none() -> None:
    assert ImageContent(data=b"\x89PNG\r\n\x1a\n", media_type="").media_type == "image/png"
    assert ImageContent(url="https://a.example/p", media_type="").media_type is None


@pytest.mark.parametrize("path", ["C:\\p.png", "p.png", "/tmp/p.png"])
def test_a_path_is_no_address(path: str) -> None:
    model, transport = model_of("openai-compatible", {})
    with pytest.raises(UnsupportedByModel, match="is no url"):
        model.chat(UserMessage(ImageContent(url=path)))
    assert not transport.requests


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
