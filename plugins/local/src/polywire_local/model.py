"""The local model: the Chat Completions codec over an engine in this process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polywire.errors import NotFound
from polywire.http_model import HttpChatModel
from polywire.http_sources import AsyncHttpSource, HttpSource
from polywire.models import StreamingChatModel
from polywire.profiles import ProfileTable
from polywire.requests import NO_PARAMETERS, ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse
from polywire.streams import AsyncChatStream
from polywire_local.engine import Engine
from polywire_local.profiles import LOCAL_PROFILES
from polywire_local.transport import InProcessTransport
from polywire_openai import OpenAIChatCodec

__all__ = ["LocalChatModel"]

_NOWHERE = "http://in-process.invalid"
"""The driver wants an address; nothing is ever sent to it."""


class LocalChatModel(HttpChatModel):
    """
    A model inside this process. Safe for threads, event loops and forks; answers are made one after the other.

    llama.cpp answers in the form of Chat Completions, so the codec for that reads it, and everything that holds for a
    model behind HTTP holds for this one. A plain call reads a stream to its end, for only a stream can be broken off.

    Args:
        engine: what computes; shared by all models of the same weights.
        profiles: what the model can do.
        defaults: the parameters that each request is laid over; `model` is filled in.
        **arguments: what else `HttpChatModel` takes: `provider`, `timeouts`, `history`, `unsupported`, `clock`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        profiles: ProfileTable = LOCAL_PROFILES,
        defaults: ChatRequestParameters = NO_PARAMETERS,
        **arguments: Any,
    ) -> None:
        if defaults.model is None:
            defaults = defaults.merge(ChatRequestParameters(model=engine.weights.name))
        super().__init__(
            OpenAIChatCodec(profiles),
            base_url=_NOWHERE,
            transport=InProcessTransport(engine),
            defaults=defaults,
            profiles=profiles,
            **arguments,
        )
        self.engine = engine

    def __repr__(self) -> str:
        return f"LocalChatModel({self.information.model!r}, {str(self.engine.weights.path)!r})"

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request."""
        return StreamingChatModel.do_chat(self, request)

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        """Answer one request, from async code."""
        return await AsyncChatStream(lambda: self.do_astream(request)).collect()

    def do_stream(self, request: ChatRequest) -> HttpSource:
        """Begin an answer: returns when its first token is there."""
        return super().do_stream(self._meant(request))

    async def do_astream(self, request: ChatRequest) -> AsyncHttpSource:
        """Begin an answer, from async code."""
        return await super().do_astream(self._meant(request))

    def _meant(self, request: ChatRequest) -> ChatRequest:
        """Say what is meant where llama.cpp would take it otherwise, or not at all."""
        asked, own_id = request.parameters.model, self.information.model
        if asked not in (None, own_id, self.engine.weights.name):
            msg = f"there is no model {asked!r} here: this one has the weights of {own_id!r} and no others"
            raise NotFound(msg, provider=self.information.provider, model=asked)
        own = self.information.defaults
        tools = own.tools if request.parameters.tools is None else request.parameters.tools
        if not tools:
            return request
        choice = request.parameters.tool_choice or own.tool_choice
        if choice is not None and choice.mode == "none":
            # llama.cpp shows the tools to the model all the same, and it goes on to write calls, as text.
            parameters = replace(request.parameters, tools=(), tool_choice=None, parallel_tool_calls=None)
        elif (stops := request.parameters.stop_sequences or own.stop_sequences) and self.engine.weights.second_call:
            # The request's stop sequences take the place of the engine's own one.
            parameters = replace(request.parameters, stop_sequences=(*stops, self.engine.weights.second_call))
        else:
            return request
        return ChatRequest(request.messages, parameters, request.options)
