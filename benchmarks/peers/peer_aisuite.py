"""aisuite."""

from __future__ import annotations

from functools import partial
from typing import Any

from aisuite import Client
from openai_shaped import OpenAiShaped
from workload import openai_messages


class Peer(OpenAiShaped):
    def _completions(self, kind: str) -> Any:
        settings = {self.wire: {"api_key": "k", "base_url": self.address(kind)}}
        return Client(settings, extra_param_mode="permissive").chat.completions

    def sender(self, kind: str) -> Any:
        return partial(self._completions(kind).create, model=f"{self.wire}:{self.model}")

    def asender(self, kind: str) -> Any:
        return partial(self._completions(kind).acreate, model=f"{self.wire}:{self.model}")

    def convert(self, messages: int) -> Any:
        from aisuite.providers.anthropic_provider import AnthropicMessageConverter

        converter, history = AnthropicMessageConverter(), openai_messages(messages)
        return lambda: converter.convert_request(history)


class PeerOnAnthropic(Peer):
    wire = "anthropic"
