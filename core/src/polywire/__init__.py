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
    )
    from polywire.codec import (
        Codec as Codec,
    )
    from polywire.codec import (
        Encoded as Encoded,
    )
    from polywire.codec import (
        Frame as Frame,
    )
    from polywire.codec import (
        Framing as Framing,
    )
    from polywire.codec import (
        Headers as Headers,
    )
    from polywire.codec import (
        HttpRequest as HttpRequest,
    )
    from polywire.codec import (
        HttpResponse as HttpResponse,
    )
    from polywire.codec import (
        StreamDecoder as StreamDecoder,
    )
    from polywire.codec import (
        StreamEncoder as StreamEncoder,
    )
    from polywire.codec import (
        Translated as Translated,
    )
    from polywire.codec import (
        Wire as Wire,
    )
    from polywire.config import (
        LlmFactory as LlmFactory,
    )
    from polywire.config import (
        Settings as Settings,
    )
    from polywire.contents import (
        AudioContent as AudioContent,
    )
    from polywire.contents import (
        CacheMark as CacheMark,
    )
    from polywire.contents import (
        Content as Content,
    )
    from polywire.contents import (
        DocumentContent as DocumentContent,
    )
    from polywire.contents import (
        ImageContent as ImageContent,
    )
    from polywire.contents import (
        OpaqueContent as OpaqueContent,
    )
    from polywire.contents import (
        TextContent as TextContent,
    )
    from polywire.contents import (
        ThinkingContent as ThinkingContent,
    )
    from polywire.contents import (
        VideoContent as VideoContent,
    )
    from polywire.conversion import (
        Conversion as Conversion,
    )
    from polywire.conversion import (
        aconvert_stream as aconvert_stream,
    )
    from polywire.conversion import (
        convert as convert,
    )
    from polywire.conversion import (
        convert_stream as convert_stream,
    )
    from polywire.errors import (
        AuthenticationFailed as AuthenticationFailed,
    )
    from polywire.errors import (
        BadRequest as BadRequest,
    )
    from polywire.errors import (
        ConnectionFailed as ConnectionFailed,
    )
    from polywire.errors import (
        ContentFiltered as ContentFiltered,
    )
    from polywire.errors import (
        ContextLengthExceeded as ContextLengthExceeded,
    )
    from polywire.errors import (
        EmptyResponse as EmptyResponse,
    )
    from polywire.errors import (
        HistoryError as HistoryError,
    )
    from polywire.errors import (
        InvalidToolArguments as InvalidToolArguments,
    )
    from polywire.errors import (
        ModelError as ModelError,
    )
    from polywire.errors import (
        ModelTimeout as ModelTimeout,
    )
    from polywire.errors import (
        NonRetryableModelError as NonRetryableModelError,
    )
    from polywire.errors import (
        NotFound as NotFound,
    )
    from polywire.errors import (
        Overloaded as Overloaded,
    )
    from polywire.errors import (
        PermissionDenied as PermissionDenied,
    )
    from polywire.errors import (
        PluginError as PluginError,
    )
    from polywire.errors import (
        PolywireError as PolywireError,
    )
    from polywire.errors import (
        ProtocolError as ProtocolError,
    )
    from polywire.errors import (
        QuotaExceeded as QuotaExceeded,
    )
    from polywire.errors import (
        RateLimited as RateLimited,
    )
    from polywire.errors import (
        RetryableModelError as RetryableModelError,
    )
    from polywire.errors import (
        ServerError as ServerError,
    )
    from polywire.errors import (
        SettingsError as SettingsError,
    )
    from polywire.errors import (
        StreamConsumed as StreamConsumed,
    )
    from polywire.errors import (
        StreamInterrupted as StreamInterrupted,
    )
    from polywire.errors import (
        ToolCallError as ToolCallError,
    )
    from polywire.errors import (
        ToolExecutionFailed as ToolExecutionFailed,
    )
    from polywire.errors import (
        UnknownParameter as UnknownParameter,
    )
    from polywire.errors import (
        UnknownProvider as UnknownProvider,
    )
    from polywire.errors import (
        UnknownTool as UnknownTool,
    )
    from polywire.errors import (
        UnsupportedByModel as UnsupportedByModel,
    )
    from polywire.events import (
        NoticeAdded as NoticeAdded,
    )
    from polywire.events import (
        PartEnd as PartEnd,
    )
    from polywire.events import (
        PartialToolCall as PartialToolCall,
    )
    from polywire.events import (
        ResponseCollector as ResponseCollector,
    )
    from polywire.events import (
        ResponseEnd as ResponseEnd,
    )
    from polywire.events import (
        ResponseStart as ResponseStart,
    )
    from polywire.events import (
        StreamEvent as StreamEvent,
    )
    from polywire.events import (
        TextDelta as TextDelta,
    )
    from polywire.events import (
        ThinkingDelta as ThinkingDelta,
    )
    from polywire.events import (
        ToolCallDelta as ToolCallDelta,
    )
    from polywire.events import (
        ToolCallEnd as ToolCallEnd,
    )
    from polywire.events import (
        ToolCallStart as ToolCallStart,
    )
    from polywire.events import (
        UsageUpdate as UsageUpdate,
    )
    from polywire.history import (
        Ledger as Ledger,
    )
    from polywire.history import (
        check_history as check_history,
    )
    from polywire.http_model import (
        HttpChatModel as HttpChatModel,
    )
    from polywire.messages import (
        AiMessage as AiMessage,
    )
    from polywire.messages import (
        CustomMessage as CustomMessage,
    )
    from polywire.messages import (
        Message as Message,
    )
    from polywire.messages import (
        Origin as Origin,
    )
    from polywire.messages import (
        SystemMessage as SystemMessage,
    )
    from polywire.messages import (
        ToolCall as ToolCall,
    )
    from polywire.messages import (
        ToolError as ToolError,
    )
    from polywire.messages import (
        ToolResultMessage as ToolResultMessage,
    )
    from polywire.messages import (
        UserMessage as UserMessage,
    )
    from polywire.models import (
        ChatModel as ChatModel,
    )
    from polywire.models import (
        StreamingChatModel as StreamingChatModel,
    )
    from polywire.requests import (
        CallOptions as CallOptions,
    )
    from polywire.requests import (
        ChatRequest as ChatRequest,
    )
    from polywire.requests import (
        ChatRequestParameters as ChatRequestParameters,
    )
    from polywire.requests import (
        OpaqueTool as OpaqueTool,
    )
    from polywire.requests import (
        Reasoning as Reasoning,
    )
    from polywire.requests import (
        ResponseFormat as ResponseFormat,
    )
    from polywire.requests import (
        ToolChoice as ToolChoice,
    )
    from polywire.requests import (
        ToolSpecification as ToolSpecification,
    )
    from polywire.responses import (
        ChatResponse as ChatResponse,
    )
    from polywire.responses import (
        FinishReason as FinishReason,
    )
    from polywire.responses import (
        Notice as Notice,
    )
    from polywire.responses import (
        TokenUsage as TokenUsage,
    )
    from polywire.responses import (
        TypedChatResponse as TypedChatResponse,
    )
    from polywire.serialization import (
        messages_from_json as messages_from_json,
    )
    from polywire.serialization import (
        messages_to_json as messages_to_json,
    )
    from polywire.serialization import (
        response_from_json as response_from_json,
    )
    from polywire.serialization import (
        response_to_json as response_to_json,
    )
    from polywire.streams import (
        AsyncChatStream as AsyncChatStream,
    )
    from polywire.streams import (
        ChatStream as ChatStream,
    )
    from polywire.streams import (
        StreamingChatResponseHandler as StreamingChatResponseHandler,
    )
    from polywire.tools import (
        ToolService as ToolService,
    )
    from polywire.tools import (
        tool as tool,
    )

_HOMES = {
    "AiMessage": "polywire.messages",
    "AsyncChatStream": "polywire.streams",
    "AudioContent": "polywire.contents",
    "Auth": "polywire.codec",
    "AuthenticationFailed": "polywire.errors",
    "BadRequest": "polywire.errors",
    "CacheMark": "polywire.contents",
    "CallOptions": "polywire.requests",
    "ChatModel": "polywire.models",
    "ChatRequest": "polywire.requests",
    "ChatRequestParameters": "polywire.requests",
    "ChatResponse": "polywire.responses",
    "ChatStream": "polywire.streams",
    "Codec": "polywire.codec",
    "ConnectionFailed": "polywire.errors",
    "Content": "polywire.contents",
    "ContentFiltered": "polywire.errors",
    "ContextLengthExceeded": "polywire.errors",
    "Conversion": "polywire.conversion",
    "CustomMessage": "polywire.messages",
    "DocumentContent": "polywire.contents",
    "EmptyResponse": "polywire.errors",
    "Encoded": "polywire.codec",
    "FinishReason": "polywire.responses",
    "Frame": "polywire.codec",
    "Framing": "polywire.codec",
    "Headers": "polywire.codec",
    "HistoryError": "polywire.errors",
    "HttpChatModel": "polywire.http_model",
    "HttpRequest": "polywire.codec",
    "HttpResponse": "polywire.codec",
    "ImageContent": "polywire.contents",
    "InvalidToolArguments": "polywire.errors",
    "Ledger": "polywire.history",
    "LlmFactory": "polywire.config",
    "Message": "polywire.messages",
    "ModelError": "polywire.errors",
    "ModelTimeout": "polywire.errors",
    "NonRetryableModelError": "polywire.errors",
    "NotFound": "polywire.errors",
    "Notice": "polywire.responses",
    "NoticeAdded": "polywire.events",
    "OpaqueContent": "polywire.contents",
    "OpaqueTool": "polywire.requests",
    "Origin": "polywire.messages",
    "Overloaded": "polywire.errors",
    "PartEnd": "polywire.events",
    "PartialToolCall": "polywire.events",
    "PermissionDenied": "polywire.errors",
    "PluginError": "polywire.errors",
    "PolywireError": "polywire.errors",
    "ProtocolError": "polywire.errors",
    "QuotaExceeded": "polywire.errors",
    "RateLimited": "polywire.errors",
    "Reasoning": "polywire.requests",
    "ResponseCollector": "polywire.events",
    "ResponseEnd": "polywire.events",
    "ResponseFormat": "polywire.requests",
    "ResponseStart": "polywire.events",
    "RetryableModelError": "polywire.errors",
    "ServerError": "polywire.errors",
    "Settings": "polywire.config",
    "SettingsError": "polywire.errors",
    "StreamConsumed": "polywire.errors",
    "StreamDecoder": "polywire.codec",
    "StreamEncoder": "polywire.codec",
    "StreamEvent": "polywire.events",
    "StreamInterrupted": "polywire.errors",
    "StreamingChatModel": "polywire.models",
    "StreamingChatResponseHandler": "polywire.streams",
    "SystemMessage": "polywire.messages",
    "TextContent": "polywire.contents",
    "TextDelta": "polywire.events",
    "ThinkingContent": "polywire.contents",
    "ThinkingDelta": "polywire.events",
    "TokenUsage": "polywire.responses",
    "ToolCall": "polywire.messages",
    "ToolCallDelta": "polywire.events",
    "ToolCallEnd": "polywire.events",
    "ToolCallError": "polywire.errors",
    "ToolCallStart": "polywire.events",
    "ToolChoice": "polywire.requests",
    "ToolError": "polywire.messages",
    "ToolExecutionFailed": "polywire.errors",
    "ToolResultMessage": "polywire.messages",
    "ToolService": "polywire.tools",
    "ToolSpecification": "polywire.requests",
    "Translated": "polywire.codec",
    "TypedChatResponse": "polywire.responses",
    "UnknownParameter": "polywire.errors",
    "UnknownProvider": "polywire.errors",
    "UnknownTool": "polywire.errors",
    "UnsupportedByModel": "polywire.errors",
    "UsageUpdate": "polywire.events",
    "UserMessage": "polywire.messages",
    "VideoContent": "polywire.contents",
    "Wire": "polywire.codec",
    "aconvert_stream": "polywire.conversion",
    "check_history": "polywire.history",
    "convert": "polywire.conversion",
    "convert_stream": "polywire.conversion",
    "messages_from_json": "polywire.serialization",
    "messages_to_json": "polywire.serialization",
    "response_from_json": "polywire.serialization",
    "response_to_json": "polywire.serialization",
    "tool": "polywire.tools",
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
