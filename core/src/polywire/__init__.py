"""
polywire: one contract for chat models, many wires.

    from polywire import LlmFactory

    with LlmFactory.from_config("settings.toml") as factory:
        model = factory.chat_model("assistant")
        print(model.chat("What is a wire format?").text)

Public names are imported when first used, so that `import polywire` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polywire.codec import (
        Auth as Auth,
        Codec as Codec,
        Encoded as Encoded,
        Frame as Frame,
        Framing as Framing,
        Headers as Headers,
        HttpRequest as HttpRequest,
        HttpResponse as HttpResponse,
        StreamDecoder as StreamDecoder,
        StreamEncoder as StreamEncoder,
        Translated as Translated,
        Wire as Wire,
    )
    from polywire.config import (
        LlmFactory as LlmFactory,
        Settings as Settings,
    )
    from polywire.contents import (
        AudioContent as AudioContent,
        CacheMark as CacheMark,
        Content as Content,
        DocumentContent as DocumentContent,
        ImageContent as ImageContent,
        OpaqueContent as OpaqueContent,
        TextContent as TextContent,
        ThinkingContent as ThinkingContent,
        VideoContent as VideoContent,
    )
    from polywire.conversion import (
        Conversion as Conversion,
        aconvert_stream as aconvert_stream,
        convert as convert,
        convert_stream as convert_stream,
    )
    from polywire.errors import (
        AuthenticationFailed as AuthenticationFailed,
        BadRequest as BadRequest,
        ConnectionFailed as ConnectionFailed,
        ContentFiltered as ContentFiltered,
        ContextLengthExceeded as ContextLengthExceeded,
        EmptyResponse as EmptyResponse,
        HistoryError as HistoryError,
        InvalidToolArguments as InvalidToolArguments,
        ModelError as ModelError,
        ModelTimeout as ModelTimeout,
        NonRetryableModelError as NonRetryableModelError,
        NotFound as NotFound,
        Overloaded as Overloaded,
        PermissionDenied as PermissionDenied,
        PluginError as PluginError,
        PolywireError as PolywireError,
        ProtocolError as ProtocolError,
        QuotaExceeded as QuotaExceeded,
        RateLimited as RateLimited,
        RetryableModelError as RetryableModelError,
        ServerError as ServerError,
        SettingsError as SettingsError,
        StreamConsumed as StreamConsumed,
        StreamInterrupted as StreamInterrupted,
        ToolCallError as ToolCallError,
        ToolExecutionFailed as ToolExecutionFailed,
        UnknownParameter as UnknownParameter,
        UnknownProvider as UnknownProvider,
        UnknownTool as UnknownTool,
        UnsupportedByModel as UnsupportedByModel,
    )
    from polywire.events import (
        NoticeAdded as NoticeAdded,
        PartEnd as PartEnd,
        PartialToolCall as PartialToolCall,
        ResponseCollector as ResponseCollector,
        ResponseEnd as ResponseEnd,
        ResponseStart as ResponseStart,
        StreamEvent as StreamEvent,
        TextDelta as TextDelta,
        ThinkingDelta as ThinkingDelta,
        ToolCallDelta as ToolCallDelta,
        ToolCallEnd as ToolCallEnd,
        ToolCallStart as ToolCallStart,
        UsageUpdate as UsageUpdate,
    )
    from polywire.history import (
        Ledger as Ledger,
        check_history as check_history,
    )
    from polywire.http_model import (
        HttpChatModel as HttpChatModel,
    )
    from polywire.messages import (
        AiMessage as AiMessage,
        CustomMessage as CustomMessage,
        Message as Message,
        Origin as Origin,
        SystemMessage as SystemMessage,
        ToolCall as ToolCall,
        ToolError as ToolError,
        ToolResultMessage as ToolResultMessage,
        UserMessage as UserMessage,
    )
    from polywire.models import (
        ChatModel as ChatModel,
        StreamingChatModel as StreamingChatModel,
    )
    from polywire.requests import (
        CallOptions as CallOptions,
        ChatRequest as ChatRequest,
        ChatRequestParameters as ChatRequestParameters,
        OpaqueTool as OpaqueTool,
        Reasoning as Reasoning,
        ResponseFormat as ResponseFormat,
        ToolChoice as ToolChoice,
        ToolSpecification as ToolSpecification,
    )
    from polywire.responses import (
        ChatResponse as ChatResponse,
        FinishReason as FinishReason,
        Notice as Notice,
        TokenUsage as TokenUsage,
        TypedChatResponse as TypedChatResponse,
    )
    from polywire.serialization import (
        messages_from_json as messages_from_json,
        messages_to_json as messages_to_json,
        response_from_json as response_from_json,
        response_to_json as response_to_json,
    )
    from polywire.streams import (
        AsyncChatStream as AsyncChatStream,
        ChatStream as ChatStream,
        StreamingChatResponseHandler as StreamingChatResponseHandler,
    )
    from polywire.tools import (
        ToolService as ToolService,
        tool as tool,
    )

_HOMES = {
    name: module
    for module, names in {
        "polywire.codec": (
            "Auth Codec Encoded Frame Framing Headers HttpRequest HttpResponse StreamDecoder "
            "StreamEncoder Translated Wire"
        ),
        "polywire.config": "LlmFactory Settings",
        "polywire.contents": (
            "AudioContent CacheMark Content DocumentContent ImageContent OpaqueContent "
            "TextContent ThinkingContent VideoContent"
        ),
        "polywire.conversion": "Conversion aconvert_stream convert convert_stream",
        "polywire.errors": (
            "AuthenticationFailed BadRequest ConnectionFailed ContentFiltered "
            "ContextLengthExceeded EmptyResponse HistoryError InvalidToolArguments ModelError "
            "ModelTimeout NonRetryableModelError NotFound Overloaded PermissionDenied PluginError "
            "PolywireError ProtocolError QuotaExceeded RateLimited RetryableModelError "
            "ServerError SettingsError StreamConsumed StreamInterrupted ToolCallError "
            "ToolExecutionFailed UnknownParameter UnknownProvider UnknownTool UnsupportedByModel"
        ),
        "polywire.events": (
            "NoticeAdded PartEnd PartialToolCall ResponseCollector ResponseEnd ResponseStart "
            "StreamEvent TextDelta ThinkingDelta ToolCallDelta ToolCallEnd ToolCallStart "
            "UsageUpdate"
        ),
        "polywire.history": "Ledger check_history",
        "polywire.http_model": "HttpChatModel",
        "polywire.messages": (
            "AiMessage CustomMessage Message Origin SystemMessage ToolCall ToolError ToolResultMessage UserMessage"
        ),
        "polywire.models": "ChatModel StreamingChatModel",
        "polywire.requests": (
            "CallOptions ChatRequest ChatRequestParameters OpaqueTool Reasoning ResponseFormat "
            "ToolChoice ToolSpecification"
        ),
        "polywire.responses": "ChatResponse FinishReason Notice TokenUsage TypedChatResponse",
        "polywire.serialization": "messages_from_json messages_to_json response_from_json response_to_json",
        "polywire.streams": "AsyncChatStream ChatStream StreamingChatResponseHandler",
        "polywire.tools": "ToolService tool",
    }.items()
    for name in names.split()
}

__all__ = [
    "AiMessage",
    "AsyncChatStream",
    "AudioContent",
    "Auth",
    "AuthenticationFailed",
    "BadRequest",
    "CacheMark",
    "CallOptions",
    "ChatModel",
    "ChatRequest",
    "ChatRequestParameters",
    "ChatResponse",
    "ChatStream",
    "Codec",
    "ConnectionFailed",
    "Content",
    "ContentFiltered",
    "ContextLengthExceeded",
    "Conversion",
    "CustomMessage",
    "DocumentContent",
    "EmptyResponse",
    "Encoded",
    "FinishReason",
    "Frame",
    "Framing",
    "Headers",
    "HistoryError",
    "HttpChatModel",
    "HttpRequest",
    "HttpResponse",
    "ImageContent",
    "InvalidToolArguments",
    "Ledger",
    "LlmFactory",
    "Message",
    "ModelError",
    "ModelTimeout",
    "NonRetryableModelError",
    "NotFound",
    "Notice",
    "NoticeAdded",
    "OpaqueContent",
    "OpaqueTool",
    "Origin",
    "Overloaded",
    "PartEnd",
    "PartialToolCall",
    "PermissionDenied",
    "PluginError",
    "PolywireError",
    "ProtocolError",
    "QuotaExceeded",
    "RateLimited",
    "Reasoning",
    "ResponseCollector",
    "ResponseEnd",
    "ResponseFormat",
    "ResponseStart",
    "RetryableModelError",
    "ServerError",
    "Settings",
    "SettingsError",
    "StreamConsumed",
    "StreamDecoder",
    "StreamEncoder",
    "StreamEvent",
    "StreamInterrupted",
    "StreamingChatModel",
    "StreamingChatResponseHandler",
    "SystemMessage",
    "TextContent",
    "TextDelta",
    "ThinkingContent",
    "ThinkingDelta",
    "TokenUsage",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallError",
    "ToolCallStart",
    "ToolChoice",
    "ToolError",
    "ToolExecutionFailed",
    "ToolResultMessage",
    "ToolService",
    "ToolSpecification",
    "Translated",
    "TypedChatResponse",
    "UnknownParameter",
    "UnknownProvider",
    "UnknownTool",
    "UnsupportedByModel",
    "UsageUpdate",
    "UserMessage",
    "VideoContent",
    "Wire",
    "aconvert_stream",
    "check_history",
    "convert",
    "convert_stream",
    "messages_from_json",
    "messages_to_json",
    "response_from_json",
    "response_to_json",
    "tool",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("polywire")
    home = _HOMES.get(name)
    if home is None:
        msg = f"module 'polywire' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
