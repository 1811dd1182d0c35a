"""Pictures, sound, documents and videos, each in the form in which the service documents it; what nobody documents is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polywire.contents import AudioContent, Content, DocumentContent, ImageContent, TextContent, VideoContent
from polywire.errors import UnsupportedByModel
from polywire.messages import AiMessage, Origin, ToolCall, ToolResultMessage, UserMessage
from polywire.parameters import ChatRequestParameters
from polywire.plugins import BuildContext
from polywire.requests import ChatRequest
from polywire.testing.transport import FakeTransport, Reply
from polywire.tool_specifications import ToolSpecification
from polywire_compatible import ROWS
from polywire_compatible.provider import polywire_provider

Send = Callable[..., Any]
KINDS = ("image", "audio", "document", "video")
PNG = ImageContent(data=b"\x89PNG\r\n\x1a\n")
WAV = AudioContent(data=b"RIFF\x04\0\0\0WAVE")
PDF = DocumentContent(data=b"%PDF-1.4", name="a.pdf")
MP4 = VideoContent(data=b"\0\0\0\x18ftypmp42")
A_PNG, A_WAV, A_PDF, A_MP4 = (f"https://example.com/a.{end}" for end in ("png", "wav", "pdf", "mp4"))
IMAGE, SOUND = "iVBORw0KGgo=", "UklGRgQAAABXQVZF"
PAPER, FILM = "data:application/pdf;base64,JVBERi0xLjQ=", "data:video/mp4;base64,AAAAGGZ0eXBtcDQy"


def image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def video(url: str) -> dict[str, Any]:
    return {"type": "video_url", "video_url": {"url": url}}


def sound(data: str, form: str | None = "wav") -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": data, **({"format": form} if form else {})}}


FORMS: tuple[tuple[str, Content, dict[str, Any]], ...] = (
    ("qwen", PNG, image(f"data:image/png;base64,{IMAGE}")),
    ("qwen", WAV, sound(f"data:audio/wav;base64,{SOUND}")),
    ("qwen", AudioContent(url=A_WAV), sound(A_WAV, None)),
    ("qwen", AudioContent(url=A_WAV, media_type="audio/mpeg"), sound(A_WAV, "mp3")),
    ("qwen", VideoContent(url=A_MP4), video(A_MP4)),
    ("openrouter", ImageContent(url=A_PNG), image(A_PNG)),
    ("openrouter", WAV, sound(SOUND)),
    ("openrouter", PDF, {"type": "file", "file": {"filename": "a.pdf", "file_data": PAPER}}),
    ("openrouter", DocumentContent(url=A_PDF), {"type": "file", "file": {"filename": "a.pdf", "file_data": A_PDF}}),
    ("openrouter", MP4, video(FILM)),
    ("vllm", AudioContent(url=A_WAV), {"type": "audio_url", "audio_url": {"url": A_WAV}}),
    ("vllm", WAV, sound(SOUND)),
    ("vllm", VideoContent(url=A_MP4), video(A_MP4)),
    ("llama-cpp", WAV, sound(SOUND)),
    ("lm-studio", PNG, image(f"data:image/png;base64,{IMAGE}")),
    ("ollama-compatible", WAV, sound(SOUND)),
    ("mistral", WAV, {"type": "input_audio", "input_audio": SOUND}),
    ("mistral", AudioContent(url=A_WAV), {"type": "input_audio", "input_audio": A_WAV}),
    ("mistral", DocumentContent(file_id="file-1"), {"type": "file", "file_id": "file-1"}),
    ("mistral", PDF, {"type": "document_url", "document_url": PAPER, "document_name": "a.pdf"}),
    ("groq", ImageContent(url=A_PNG), image(A_PNG)),
    ("xai", PNG, image(f"data:image/png;base64,{IMAGE}")),
    ("moonshot", ImageContent(file_id="f1"), image("ms://f1")),
    ("moonshot", VideoContent(file_id="f1"), video("ms://f1")),
    ("zhipu", PNG, image(IMAGE)),
    ("zhipu", ImageContent(url=A_PNG), image(A_PNG)),
    ("zhipu", DocumentContent(url=A_PDF), {"type": "file_url", "file_url": {"url": A_PDF}}),
    ("zhipu", VideoContent(url=A_MP4), video(A_MP4)),
    ("together", AudioContent(url=A_WAV), {"type": "audio_url", "audio_url": {"url": A_WAV}}),
    ("together", WAV, sound(SOUND)),
    ("fireworks", VideoContent(url=A_MP4), video(A_MP4)),
)


@pytest.mark.parametrize(("name", "content", "written"), FORMS)
def test_media_have_the_services_form(send: Send, name: str, content: Content, written: dict[str, Any]) -> None:
    sent = send(name, [UserMessage(["What is this?", content])])

    assert sent.body["messages"][0]["content"] == [{"type": "text", "text": "What is this?"}, written]
    assert not sent.notices


REFUSED = (
    ("lm-studio", ImageContent(url=A_PNG), "load the bytes"),
    ("qwen", PDF, "takes no document"),
    ("vllm", PDF, "takes no document"),
    ("llama-cpp", AudioContent(data=b"fLaC\0\0\0\x22"), "takes no audio/flac"),
    ("together", AudioContent(data=b"ID3\x04\0\0"), "takes no audio/mpeg"),
    ("xai", ImageContent(data=b"GIF89a\x01\0\x01\0"), "takes no image/gif"),
    ("zhipu", PDF, "takes no document as data"),
)


@pytest.mark.parametrize(("name", "content", "why"), REFUSED)
def test_what_a_service_is_known_not_to_take_is_refused_before_the_network(
    send: Send, name: str, content: Content, why: str
) -> None:
    with pytest.raises(UnsupportedByModel, match=why):
        send(name, [UserMessage(["What is this?", content])])


# Each row knows of each kind of media: how the service takes it, or that nobody says that it does.

ONE_OF = {"image": PNG, "audio": WAV, "document": PDF, "video": MP4}
UNDOCUMENTED = {
    "deepseek": {"image", "audio", "document"},
    "groq": {"audio", "document"},
    "lm-studio": {"audio", "document"},
    "xai": {"audio", "document"},
    "moonshot": {"audio", "document"},
    "zhipu": {"audio"},
    "fireworks": {"audio", "document"},
    "openai-compatible": {"audio", "document"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ROWS)
def test_what_is_not_documented_goes_out_with_a_notice_and_all_else_without(send: Send, name: str, kind: str) -> None:
    row = ROWS[name]
    profile = row.profiles().base
    if "data" not in getattr(profile, f"{kind}_sources"):
        assert kind not in UNDOCUMENTED.get(name, ())
        return

    sent = send(name, [UserMessage(["q", ONE_OF[kind]])])

    told = [notice for notice in sent.notices if notice.kind == "information" and "not documented" in notice.message]
    assert [notice.subject for notice in told] == (
        ["messages[0].contents[1]"] if kind in UNDOCUMENTED.get(name, ()) else []
    )


def test_the_settings_may_say_that_a_service_takes_it(send: Send) -> None:
    provider = polywire_provider("groq")
    assert provider is not None
    assert provider.build_chat is not None
    transport = FakeTransport(Reply(body=b'{"choices":[{"message":{"role":"assistant","content":"Hi"}}]}'))
    context = BuildContext(
        "groq",
        provider.settings(api_key="sk-test"),
        defaults=ChatRequestParameters(model="m"),
        transport=transport,
        profile={"audio_sources": ["data"]},
    )

    response = provider.build_chat(context).chat(ChatRequest([UserMessage(["q", WAV, PDF])]))

    assert [notice.subject for notice in response.notices] == ["messages[0].contents[2]"]


def test_mistral_has_pictures_in_its_tools_results(send: Send) -> None:
    history = [
        UserMessage("q"),
        AiMessage(ToolCall("D681PevKs", "shoot"), Origin("openai")),
        ToolResultMessage("D681PevKs", "shoot", ["shot", PNG]),
    ]

    sent = send("mistral", history, tools=(ToolSpecification("shoot"),))

    assert sent.body["messages"][2] == {
        "role": "tool",
        "tool_call_id": "D681PevKs",
        "name": "shoot",
        "content": [{"type": "text", "text": "shot"}, image(f"data:image/png;base64,{IMAGE}")],
    }
    assert not sent.notices


@pytest.mark.parametrize("name", ["deepseek", "groq", "vllm", "together", "moonshot"])
def test_elsewhere_pictures_follow_the_results_and_no_base64_is_text(send: Send, name: str) -> None:
    history = [
        UserMessage("q"),
        AiMessage([ToolCall("call_aaaa", "shoot"), ToolCall("call_bbbb", "now")], Origin("openai")),
        ToolResultMessage("call_aaaa", "shoot", ["shot", PNG]),
        ToolResultMessage("call_bbbb", "now", "noon"),
    ]

    messages = send(name, history, tools=(ToolSpecification("shoot"), ToolSpecification("now"))).body["messages"]

    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert IMAGE not in str(messages[2])
    assert messages[3]["content"] == "noon"
    assert [part["type"] for part in messages[4]["content"]] == ["text", "image_url"]


def test_texts_that_stand_alone_are_one_string_for_together(send: Send) -> None:
    sent = send("together", [UserMessage([TextContent("a"), TextContent("b")])])

    assert sent.body["messages"][0]["content"] == "a\n\nb"
