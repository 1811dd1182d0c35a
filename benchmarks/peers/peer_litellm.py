"""LiteLLM."""

from __future__ import annotations

from functools import partial
from typing import Any

from litellm import acompletion, completion
from openai_shaped import OpenAiShaped
from workload import MODELS, TOOLS, openai_messages


class Peer(OpenAiShaped):
    def _bound(self, function: Any, kind: str) -> Any:
        return partial(function, model=f"{self.wire}/{self.model}", api_key="k", api_base=self.address(kind))

    def sender(self, kind: str) -> Any:
        return self._bound(completion, kind)

    def asender(self, kind: str) -> Any:
        return self._bound(acompletion, kind)

    def convert(self, messages: int) -> Any:
        from litellm import AnthropicConfig

        config, history = AnthropicConfig(), openai_messages(messages)

        def once() -> Any:
            given = {"tools": TOOLS, "max_tokens": 1024}
            options = config.map_openai_params(given, {}, MODELS["anthropic"], drop_params=False)
            return config.transform_request(MODELS["anthropic"], history, options, litellm_params={}, headers={})

        return once


class PeerOnAnthropic(Peer):
    wire = "anthropic"
