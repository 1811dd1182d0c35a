"""any-llm."""

from __future__ import annotations

from functools import partial
from typing import Any

from any_llm import AnyLLM
from openai_shaped import OpenAiShaped
from workload import openai_messages


class Peer(OpenAiShaped):
    def _made(self, kind: str) -> Any:
        return AnyLLM.create(self.wire, api_key="k", api_base=self.address(kind))

    def sender(self, kind: str) -> Any:
        return partial(self._made(kind).completion, model=self.model)

    def asender(self, kind: str) -> Any:
        return partial(self._made(kind).acompletion, model=self.model)

    def convert(self, messages: int) -> Any:
        from any_llm.providers.anthropic.utils import _convert_messages_for_anthropic

        history = openai_messages(messages)
        return lambda: _convert_messages_for_anthropic(history)


class PeerOnAnthropic(Peer):
    wire = "anthropic"
