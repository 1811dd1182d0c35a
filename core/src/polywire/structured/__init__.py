"""
Typed output: `model.chat(…, output=Invoice).output` is an `Invoice`.

The type is a pydantic model, a dataclass, a TypedDict, any annotation, or a JSON Schema. It is asked for in the best way
the model's profile has: the endpoint's schema mode, a forced tool, or words. The answer is read wherever it stands (bare,
in a fence, among prose), brought back to the original schema, and validated. A wrong answer is sent back to the model a
bounded number of times; the usage of every round is counted. An answer that was cut short, or refused, is its own error.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from polywire.models import ChatInput, ChatModel, StreamingChatModel, fold_request
from polywire.responses import TypedChatResponse
from polywire.structured.asking import OutputMode, TypedConversation
from polywire.structured.failures import OutputError, OutputInvalid, OutputRefused, OutputTruncated
from polywire.structured.streaming import AsyncTypedChatStream, TypedChatStream

__all__ = [
    "AsyncTypedChatStream",
    "OutputError",
    "OutputInvalid",
    "OutputMode",
    "OutputRefused",
    "OutputTruncated",
    "TypedChatStream",
    "achat_typed",
    "astream_typed",
    "chat_typed",
    "stream_typed",
]

OutputT = TypeVar("OutputT")
REPAIR_ROUNDS = 2
"""How often a wrong answer is sent back."""


@overload
def chat_typed(
    model: ChatModel,
    request: ChatInput,
    output: type[OutputT],
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[OutputT]: ...
@overload
def chat_typed(
    model: ChatModel,
    request: ChatInput,
    output: Any,
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[Any]: ...
def chat_typed(
    model: ChatModel,
    request: ChatInput,
    output: Any,
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[Any]:
    """
    Ask for an answer of a type; `ChatModel.chat(…, output=…)` calls this.

    Args:
        model: any model.
        request: what is asked, in any form that `ChatModel.chat` takes.
        output: a type or a JSON Schema.
        mode: how to ask; `None`: as the model's profile allows.
        repair_rounds: how often a wrong answer is sent back; 0: never.

    Raises:
        OutputTruncated: the answer met its token limit.
        OutputRefused: the model declined, or a filter cut in.
        OutputInvalid: the answer does not fit, also after the repairs.
        TypeError: no JSON Schema can be made of `output`.
    """
    conversation = TypedConversation(model, fold_request(request), output, mode, repair_rounds)
    while True:
        typed = conversation.accept(model.do_chat(conversation.request))
        if typed is not None:
            return typed


@overload
async def achat_typed(
    model: ChatModel,
    request: ChatInput,
    output: type[OutputT],
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[OutputT]: ...
@overload
async def achat_typed(
    model: ChatModel,
    request: ChatInput,
    output: Any,
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[Any]: ...
async def achat_typed(
    model: ChatModel,
    request: ChatInput,
    output: Any,
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = REPAIR_ROUNDS,
) -> TypedChatResponse[Any]:
    """Ask for an answer of a type. As `chat_typed`."""
    conversation = TypedConversation(model, fold_request(request), output, mode, repair_rounds)
    while True:
        typed = conversation.accept(await model.do_achat(conversation.request))
        if typed is not None:
            return typed


def stream_typed(
    model: StreamingChatModel,
    request: ChatInput,
    output: type[OutputT],
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = 0,
    **parameters: Any,
) -> TypedChatStream[OutputT]:
    """
    Ask for an answer of a type, and return the object as it grows; `.output` is the validated one at the end.

    Takes what `chat_typed` takes. A wrong answer is not sent back unless `repair_rounds` says so, for what was handed out
    cannot be taken back: with each round the object begins to grow anew.
    """
    conversation = TypedConversation(model, fold_request(request, **parameters), output, mode, repair_rounds)
    return TypedChatStream(conversation, model.stream)


def astream_typed(
    model: StreamingChatModel,
    request: ChatInput,
    output: type[OutputT],
    *,
    mode: OutputMode | None = None,
    repair_rounds: int = 0,
    **parameters: Any,
) -> AsyncTypedChatStream[OutputT]:
    """Ask for an answer of a type, and return the object as it grows, asynchronously. As `stream_typed`; no `await` needed."""
    conversation = TypedConversation(model, fold_request(request, **parameters), output, mode, repair_rounds)
    return AsyncTypedChatStream(conversation, model.astream)
