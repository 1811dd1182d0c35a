"""
The public interface as a type checker sees it. Only checked, never run: by `test_typing.py`, with mypy and pyright strict.

A line that should be refused carries an ignore comment; a checker that no longer refuses it reports the comment.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_type

from polywire import (
    AiMessage,
    AsyncChatStream,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ChatStream,
    FinishReason,
    LlmFactory,
    StreamingChatModel,
    StreamingChatResponseHandler,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    ToolService,
    ToolSpecification,
    UserMessage,
    tool,
)
from polywire.codec import Codec, Encoded, Frame, HttpResponse, StreamDecoder
from polywire.errors import ModelError
from polywire.events import StreamEvent, TextDelta, ToolCallEnd
from polywire.messages import Message
from polywire.plugins import BuildContext, Provider, ProviderSettings, hookimpl
from polywire.responses import TypedChatResponse
from polywire.structured import stream_typed
from polywire.testing import CodecConformance, CodecUnderTest, FakeTransport, ScriptedChatModel, load_recordings


@dataclass
class Invoice:
    number: str
    total: float


def models(factory: LlmFactory) -> None:
    assert_type(factory.chat_model("assistant"), ChatModel)
    assert_type(factory.chat_model(), ChatModel)
    assert_type(factory.streaming_chat_model("assistant"), StreamingChatModel)
    with LlmFactory.from_config("settings.toml") as opened:
        assert_type(opened, LlmFactory)


def plain(model: ChatModel) -> None:
    response = model.chat("Hello", temperature=0.2, deadline=30)
    assert_type(response, ChatResponse)
    assert_type(response.text, str | None)
    assert_type(response.message, AiMessage)
    assert_type(response.tool_calls, tuple[ToolCall, ...])
    assert_type(response.usage, TokenUsage)
    assert_type(response.usage.input_tokens, int | None)
    assert_type(response.finish_reason, FinishReason)
    model.chat([SystemMessage("Be brief."), UserMessage("Hello")])
    model.chat(ChatRequest("Hello", ChatRequestParameters(max_tokens=10)))
    model.chat(17)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]


def typed(model: ChatModel) -> None:
    response = model.chat("Read this bill.", output=Invoice)
    assert_type(response, TypedChatResponse[Invoice])
    assert_type(response.output, Invoice)
    assert_type(response.output.total, float)
    assert_type(model.chat("How many?", output=int).output, int)
    assert_type(model.chat("Which?", output=list[str]).output, list[str])
    assert_type(model.chat("As JSON", output={"type": "object"}).output, Any)
    assert_type(model.chat("As text", output=None), ChatResponse)


async def typed_async(model: ChatModel) -> None:
    assert_type(await model.achat("Hello"), ChatResponse)
    assert_type((await model.achat("Read this bill.", output=Invoice)).output, Invoice)


def streams(model: StreamingChatModel, handler: StreamingChatResponseHandler) -> None:
    with model.stream("Hello") as stream:
        assert_type(stream, ChatStream)
        for event in stream:
            match event:
                case TextDelta():
                    assert_type(event.text, str)
                case ToolCallEnd():
                    assert_type(event.call, ToolCall)
                case _:
                    pass
    assert_type(stream.response, ChatResponse)
    assert_type(model.stream("Hello").text_stream(), Iterator[str])
    assert_type(model.stream("Hello").collect(), ChatResponse)
    model.stream("Hello").send_to(handler)
    assert_type(stream_typed(model, "Read this bill.", Invoice).output, Invoice)


async def streams_async(model: StreamingChatModel) -> None:
    async with model.astream("Hello") as stream:
        assert_type(stream, AsyncChatStream)
        async for event in stream:
            assert_type(event, StreamEvent)
    assert_type(model.astream("Hello").text_stream(), AsyncIterator[str])
    assert_type(await model.astream("Hello").collect(), ChatResponse)


@tool
def get_weather(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"{city}: {days} sunny days"


@tool(requires_approval=True)
async def book(city: str) -> bool:
    """Book a trip."""
    return bool(city)


def tools(model: ChatModel) -> None:
    assert_type(get_weather("Rome", days=2), str)
    assert_type(get_weather.specification, ToolSpecification)
    get_weather(17)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    result = ToolService([get_weather, book]).chat(model, "What is the weather?")
    assert_type(result.text, str | None)
    assert_type(result.final_response, ChatResponse)
    assert_type(ToolService([get_weather]).chat(model, "Read this bill.", output=Invoice).output, Invoice)


async def tools_async() -> None:
    assert_type(await book("Rome"), bool)


def history(response: ChatResponse) -> None:
    messages: list[Message] = [UserMessage("Hello"), response.message]
    messages += [ToolResultMessage(call.id, call.name, "ok") for call in response.tool_calls]
    try:
        ChatRequest(messages)
    except ModelError as error:
        assert_type(error.retryable, bool)
        assert_type(error.retry_after, float | None)
        assert_type(error.kind, str)


class Echo(ChatModel):
    """What an author of a model without HTTP writes."""

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        return ChatResponse(AiMessage("echo"))


class AcmeCodec:
    """What an author of a provider writes."""

    wire = "acme"

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        raise NotImplementedError

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        raise NotImplementedError

    def decode_error(self, response: HttpResponse) -> ModelError:
        raise NotImplementedError

    def stream_decoder(self, encoded: Encoded) -> AcmeDecoder:
        raise NotImplementedError


class AcmeDecoder:
    def __init__(self) -> None:
        self.ended = False

    def feed(self, frame: Frame) -> Iterable[StreamEvent]:
        raise NotImplementedError

    def finish(self) -> list[StreamEvent]:
        raise NotImplementedError


class GoodDecoder:
    def __init__(self) -> None:
        self.ended = False

    def feed(self, frame: Frame) -> list[StreamEvent]:
        raise NotImplementedError

    def finish(self) -> tuple[StreamEvent, ...]:
        raise NotImplementedError


class GoodCodec(AcmeCodec):
    def stream_decoder(self, encoded: Encoded) -> Any:
        return GoodDecoder()


good_decoder: StreamDecoder = GoodDecoder()
good_codec: Codec = GoodCodec()
bad_codec: Codec = AcmeCodec()  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class AcmeSettings(ProviderSettings):
    region: str = "eu"


def build_chat(context: BuildContext) -> ChatModel:
    return context.http_chat_model(GoodCodec(), auth=context.bearer_auth(), base_url="https://api.acme.example")


PROVIDER = Provider("acme", "Acme", AcmeSettings, build_chat, variables={"api_key": ("ACME_API_KEY",)})


@hookimpl
def polywire_provider(name: str) -> Provider | None:
    return PROVIDER if name == "acme" else None


class TestAcme(CodecConformance):
    subject = CodecUnderTest(codec=GoodCodec(), model="acme-1", recordings=load_recordings("recordings"))


def testing(transport: FakeTransport) -> None:
    assert_type(ScriptedChatModel("Hello").chat("Hi"), ChatResponse)
    assert_type(transport.last.url, str)
