"""The SDK `openai`."""

from __future__ import annotations

from functools import partial
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai_shaped import OpenAiShaped


class Peer(OpenAiShaped):
    def sender(self, kind: str) -> Any:
        return partial(OpenAI(api_key="k", base_url=self.address(kind)).chat.completions.create, model=self.model)

    def asender(self, kind: str) -> Any:
        return partial(AsyncOpenAI(api_key="k", base_url=self.address(kind)).chat.completions.create, model=self.model)
